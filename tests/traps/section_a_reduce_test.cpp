// Known traps, section A: the cases about reductions and losses.
#include <doctest/doctest.h>

#include <tinygrad/ops/elementary.hpp>
#include <tinygrad/ops/loss.hpp>
#include <tinygrad/ops/operators.hpp>
#include <tinygrad/ops/reduce.hpp>
#include <tinygrad/testing/close.hpp>

#include "support/error_text.hpp"

using namespace tinygrad;
using tinygrad_test::error_text;

TEST_CASE("A08 a mean over several axes gives every entry its share, in the shape of the input") {
  const auto share_of = [](axis_list axes) {
    const auto x = Tensor<double>::ones({2, 3, 4}).requires_grad();
    sum(mean(x, axes)).backward();
    return x.grad();
  };
  CHECK(max_abs_difference(share_of({1, 2}), Tensor<double>::full({2, 3, 4}, 1.0 / 12)) == 0);
  CHECK(max_abs_difference(share_of({0, 2}), Tensor<double>::full({2, 3, 4}, 1.0 / 8)) == 0);
}

TEST_CASE("A09 a rank 1 tensor reduced over axis 0 has a gradient") {
  const auto x = Tensor<double>::ones({5}).requires_grad();
  mean(pow(x, 2.0), 0).backward();
  CHECK(max_abs_difference(x.grad(), Tensor<double>::full({5}, 0.4)) < 1e-16);
}

TEST_CASE("A16 tied maxima share a total gradient of 1") {
  const auto x = Tensor<double>::from({2, 5, 5}).requires_grad();
  (max)(x, 0).backward();
  CHECK(max_abs_difference(x.grad(), Tensor<double>::from({0, 0.5, 0.5})) == 0);
}

TEST_CASE("A18 a loss does not broadcast (N) against (N, 1)") {
  const auto flat = Tensor<float>::from({1, 2, 3});
  const auto column = Tensor<float>::from({1, 2, 3}, {3, 1});
  CHECK(error_text([&] { (void)mse_loss(flat, column); }) ==
        "[mse_loss] shapes differ: lhs (3), rhs (3, 1); both must be equal, nothing is broadcast in a loss");
  CHECK_THROWS_AS((void)mse_loss(flat, column), shape_error);
  CHECK(mse_loss(flat, flat).item() == 0);
}
