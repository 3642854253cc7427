// concat and stack: values, errors, gradients.
#include <doctest/doctest.h>

#include <tinygrad/ops/concat.hpp>
#include <tinygrad/ops/operators.hpp>
#include <vector>

#include "support/op_examples.hpp"

using namespace tinygrad;
using tinygrad_test::text_of_error;

namespace {
using tensor = Tensor<float, packed>;
}

TEST_CASE("concat puts tensors side by side along the axis") {
  const auto a = tensor::from({1, 2, 3, 4}, {2, 2});
  const auto b = tensor::from({5, 6}, {2, 1});
  CHECK(max_abs_difference(concat({a, b}, 1), tensor::from({1, 2, 5, 3, 4, 6}, {2, 3})) == 0);
  CHECK(max_abs_difference(concat({b, a}, -1), tensor::from({5, 1, 2, 6, 3, 4}, {2, 3})) == 0);
  const auto c = tensor::from({7, 8}, {1, 2});
  CHECK(max_abs_difference(concat({a, c}), tensor::from({1, 2, 3, 4, 7, 8}, {3, 2})) == 0);
  const std::vector<tensor> many{c, c, c};
  CHECK(concat(many, 0).shape() == Shape{3, 2});
  CHECK(concat({a}).data().data() != a.data().data());  // one input: still a copy
  CHECK(concat({tensor::zeros({0, 2}), a}).shape() == Shape{2, 2});
}

TEST_CASE("stack makes the axis it stacks along") {
  const auto a = tensor::from({1, 2}), b = tensor::from({3, 4});
  CHECK(max_abs_difference(stack({a, b}), tensor::from({1, 2, 3, 4}, {2, 2})) == 0);
  CHECK(max_abs_difference(stack({a, b}, 1), tensor::from({1, 3, 2, 4}, {2, 2})) == 0);
  CHECK(max_abs_difference(stack({a, b}, -1), stack({a, b}, 1)) == 0);
  CHECK(max_abs_difference(stack(std::vector<tensor>{tensor::scalar(1), tensor::scalar(2)}), a) == 0);
}

TEST_CASE("each input gets its part of the gradient, an input given twice gets both") {
  const auto a = tensor::zeros({2, 2}).requires_grad(), b = tensor::zeros({2, 1}).requires_grad();
  const auto c = tensor::zeros({2, 1});
  const auto y = concat({a, b, c, b}, 1);
  y.backward(tensor::from({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {2, 5}));
  CHECK(max_abs_difference(a.grad(), tensor::from({1, 2, 6, 7}, {2, 2})) == 0);
  CHECK(max_abs_difference(b.grad(), tensor::from({3 + 5, 8 + 10}, {2, 1})) == 0);
  CHECK_FALSE(c.has_grad());
}

TEST_CASE("errors of concat name the input that does not fit") {
  const auto ones = [](const Shape& shape) { return tensor::ones(shape); };
  CHECK(text_of_error([&] {
          static_cast<void>(concat({ones({2, 3}), ones({3, 3})}, 1));
        }) ==
        "[concat] input 1 does not fit: input 0 (2, 3), input 1 (3, 3); all sizes but that of axis 1 must be equal");
  CHECK(text_of_error([&] {
          static_cast<void>(concat({ones({2, 3}), ones({2, 3}), ones({6})}, 0));
        }) == "[concat] input 2 does not fit: input 0 (2, 3), input 2 (6); all sizes but that of axis 0 must be equal");
  CHECK(text_of_error([&] { static_cast<void>(concat(std::vector<tensor>{})); }) ==
        "[concat] no inputs; at least one is needed");
  CHECK(text_of_error([&] { static_cast<void>(concat({ones({})}, 0)); }) ==
        "[concat] axis out of range: axis 0, input (); -rank <= axis < rank");
  CHECK(text_of_error([&] {
          static_cast<void>(stack({ones({2, 3}), ones({3, 2})}));
        }) == "[stack] shapes differ: lhs (2, 3), rhs (3, 2); all inputs must have one shape");
  CHECK(text_of_error([&] {
          static_cast<void>(stack({ones({2}), tensor{}}));
        }) == "[stack] an input is an undefined Tensor{}");
  CHECK_THROWS_AS(static_cast<void>(concat({ones({2})}, 1)), index_error);
  CHECK_THROWS_AS(static_cast<void>(concat({ones({2}), ones({2, 2})}, 0)), shape_error);
}
