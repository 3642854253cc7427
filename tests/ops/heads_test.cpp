// split_heads and merge_heads: where each number goes, that one undoes the other, errors, gradients.
#include <doctest/doctest.h>

#include <tinygrad/ops/heads.hpp>
#include <tinygrad/ops/shape_ops.hpp>

#include "support/op_examples.hpp"

using namespace tinygrad;
using tinygrad_test::text_of_error;

TEST_CASE_TEMPLATE("channels become heads, and heads channels again", P, naive, packed, threaded<packed>) {
  using tensor = Tensor<float, P>;
  const auto x = reshape(tensor::arange(8), {1, 2, 4});  // two positions of four channels
  const auto y = split_heads(x, 2);
  CHECK(y.shape() == Shape{1, 2, 2, 2});
  CHECK(max_abs_difference(flatten(y), tensor::from({0, 1, 4, 5, 2, 3, 6, 7})) == 0);
  CHECK(max_abs_difference(merge_heads(y), x) == 0);

  const auto large = reshape(tensor::arange(2 * 100 * 4 * 64), {2, 100, 256});
  const auto split = split_heads(large, 4);
  CHECK(max_abs_difference(split, transpose(reshape(large, {2, 100, 4, 64}), 1, 2)) == 0);
  CHECK(max_abs_difference(merge_heads(split), large) == 0);
}

TEST_CASE("each is the other's gradient") {
  using tensor = Tensor<double, packed>;
  const auto x = tensor::zeros({2, 3, 6}).requires_grad();
  const auto dy = reshape(tensor::arange(36), {2, 3, 3, 2});
  split_heads(x, 3).backward(dy);
  CHECK(max_abs_difference(x.grad(), merge_heads(dy)) == 0);
  split_heads(x, 3).backward(dy);
  CHECK(x.grad().at({1, 2, 5}) == 70);
}

TEST_CASE("errors of heads name the shape and the rule") {
  using tensor = Tensor<float>;
  CHECK(text_of_error([] {
          static_cast<void>(split_heads(tensor::ones({2, 3, 10}), 4));
        }) ==
        "[split_heads] 10 channels do not divide into 4 heads: input (2, 3, 10); C must be a multiple of the number of "
        "heads");
  CHECK(text_of_error([] {
          static_cast<void>(split_heads(tensor::ones({2, 3, 10}), 0));
        }) ==
        "[split_heads] 10 channels do not divide into 0 heads: input (2, 3, 10); C must be a multiple of the number of "
        "heads");
  CHECK(text_of_error([] {
          static_cast<void>(split_heads(tensor::ones({3, 10}), 2));
        }) == "[split_heads] wrong number of axes: input (3, 10); it must be (B, T, C)");
  CHECK(text_of_error([] {
          static_cast<void>(merge_heads(tensor::ones({3, 10})));
        }) == "[merge_heads] wrong number of axes: input (3, 10); it must be (B, H, T, D)");
  CHECK_THROWS_AS(static_cast<void>(merge_heads(tensor::ones({3, 10}))), shape_error);
}
