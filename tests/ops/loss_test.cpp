// mse_loss: values, reductions, gradients of both sides. That it does not broadcast is trap A18.
#include <doctest/doctest.h>

#include <cmath>
#include <tinygrad/ops/loss.hpp>

#include "support/error_text.hpp"
#include "support/op_examples.hpp"

using namespace tinygrad;
using tinygrad_test::check_examples;
using tinygrad_test::error_text;

TEST_CASE("every example of mse_loss has right gradients under every policy") { check_examples<mse_loss_op>(); }

TEST_CASE_TEMPLATE("mse_loss has the values worked out by hand", P, naive, packed, threaded<packed>) {
  using tensor = Tensor<float, P>;
  const tensor a = tensor::from({1, 2, 3, 4}, {2, 2}), b = tensor::from({1, 0, 0, 3}, {2, 2});
  CHECK(mse_loss(a, b).item() == 3.5F);
  CHECK(mse_loss(a, b).shape() == Shape{});
  CHECK(mse_loss(a, b, reduction::sum).item() == 14);
  CHECK(max_abs_difference(mse_loss(a, b, reduction::none), tensor::from({0, 4, 9, 1}, {2, 2})) == 0);
}

TEST_CASE_TEMPLATE("both sides of mse_loss get gradients", P, naive, packed) {
  using tensor = Tensor<float, P>;
  const tensor a = tensor::from({1, 2, 3, 4}, {2, 2}).requires_grad();
  const tensor b = tensor::from({1, 0, 0, 3}, {2, 2}).requires_grad();
  mse_loss(a, b).backward();
  CHECK(max_abs_difference(a.grad(), tensor::from({0, 1, 1.5F, 0.5F}, {2, 2})) == 0);
  CHECK(max_abs_difference(b.grad(), tensor::from({0, -1, -1.5F, -0.5F}, {2, 2})) == 0);
  mse_loss(a, b, reduction::none).backward(tensor::from({1, 1, 0, 2}, {2, 2}));
  CHECK(max_abs_difference(a.grad(), tensor::from({0, 5, 1.5F, 4.5F}, {2, 2})) == 0);
}

TEST_CASE("the loss of a tensor with itself is 0, with a gradient of 0") {
  const auto x = Tensor<float>::from({1, 2, 3}).requires_grad();
  const auto loss = mse_loss(x, x, reduction::sum);
  CHECK(loss.item() == 0);
  loss.backward();
  CHECK(max_abs_difference(x.grad(), Tensor<float>::zeros({3})) == 0);
}

TEST_CASE("of no elements the sum of squares is 0 and their mean is NaN, as for sum and mean") {
  const auto none = Tensor<float>::zeros({0, 2});
  CHECK(mse_loss(none, none, reduction::sum).item() == 0);
  CHECK(std::isnan(mse_loss(none, none).item()));
}

TEST_CASE("shapes that only broadcast are an error") {
  CHECK(error_text([] {
          (void)mse_loss(Tensor<float>::zeros({2, 3}), Tensor<float>::zeros({3}));
        }) == "[mse_loss] shapes differ: lhs (2, 3), rhs (3); both must be equal, nothing is broadcast in a loss");
}
