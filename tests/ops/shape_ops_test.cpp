// reshape, flatten, squeeze, unsqueeze, narrow, slice, row: values, sharing, errors, gradients.
#include <doctest/doctest.h>

#include <cstddef>
#include <tinygrad/ops/operators.hpp>
#include <tinygrad/ops/shape_ops.hpp>
#include <vector>

#include "support/op_examples.hpp"

using namespace tinygrad;
using tinygrad_test::text_of_error;

namespace {

using tensor = Tensor<float, packed>;

}  // namespace

TEST_CASE("reshape looks into the same memory") {
  const auto x = tensor::arange(6);
  const auto y = reshape(x, {3, 2});
  CHECK(y.shape() == Shape{3, 2});
  CHECK(y.data().data() == x.data().data());
  CHECK(reshape(x, Shape{1, 6}).shape() == Shape{1, 6});
  CHECK(reshape(tensor::ones({1, 1}), {}).rank() == 0);
}

TEST_CASE("reshape infers one size, and takes sizes of any integer type") {
  const auto x = tensor::ones({2, 3, 4});
  CHECK(reshape(x, {-1}).shape() == Shape{24});
  CHECK(reshape(x, {4, -1}).shape() == Shape{4, 6});
  CHECK(reshape(x, {-1, 3, 1}).shape() == Shape{8, 3, 1});
  CHECK(reshape(tensor::ones({0, 4}), {-1, 2}).shape() == Shape{0, 2});
  const std::size_t rows = x.size(0);
  const int columns = 12;
  CHECK(reshape(x, {rows, columns}).shape() == Shape{2, 12});
  CHECK(reshape(x, {rows, std::ptrdiff_t{-1}}).shape() == Shape{2, 12});
}

TEST_CASE("reshape says why a shape does not fit") {
  const auto x = tensor::ones({2, 3});
  CHECK(text_of_error([&] {
          static_cast<void>(reshape(x, Shape{4, 2}));
        }) == "[reshape] element counts differ: input (2, 3), wanted (4, 2); 6 elements cannot become 8");
  CHECK(text_of_error([&] {
          static_cast<void>(reshape(x, {4, -1}));
        }) == "[reshape] no size fits: input (2, 3), wanted (4, -1); the input has 6 elements, the other sizes make 4");
  CHECK(text_of_error([&] {
          static_cast<void>(reshape(x, {-1, -1}));
        }) == "[reshape] more than one size to infer: input (2, 3), wanted (-1, -1); at most one may be -1");
  CHECK(text_of_error([&] {
          static_cast<void>(reshape(x, {-2, 3}));
        }) == "[reshape] a size is negative: input (2, 3), wanted (-2, 3); -1 stands for the size to infer");
  CHECK(text_of_error([] {
          static_cast<void>(reshape(tensor::ones({0, 3}), {0, -1}));
        }) == "[reshape] no size fits: input (0, 3), wanted (0, -1); the input has 0 elements, the other sizes make 0");
}

TEST_CASE("the gradient of a reshape is handed over, not copied, when nobody else has it") {
  const auto x = tensor::arange(6).requires_grad();
  const auto y = reshape(x, {2, 3});
  y.backward(tensor::from({1, 2, 3, 4, 5, 6}, {2, 3}));
  CHECK(x.grad().shape() == Shape{6});
  CHECK(x.grad().at({4}) == 5);
  reshape(x, {3, 2}).backward(tensor::ones({3, 2}));  // a second gradient is added to the first
  CHECK(x.grad().at({4}) == 6);

  x.zero_grad();
  const auto z = reshape(x, {3, 2});
  z.retain_grad();  // a gradient that stays with its tensor must not be given away
  z.backward(tensor::ones({3, 2}));
  CHECK(x.grad().at({4}) == 1);
  REQUIRE(z.has_grad());
  CHECK(z.grad().at({0, 0}) == 1);
  CHECK(z.grad().data().data() != x.grad().data().data());
}

TEST_CASE("flatten, squeeze and unsqueeze are reshapes") {
  const auto x = tensor::ones({2, 3, 4});
  CHECK(flatten(x).shape() == Shape{24});
  CHECK(flatten(x, 1).shape() == Shape{2, 12});
  CHECK(flatten(x, 0, 1).shape() == Shape{6, 4});
  CHECK(flatten(x, -2, -1).shape() == Shape{2, 12});
  CHECK(flatten(tensor::scalar(1)).shape() == Shape{1});
  CHECK(unsqueeze(x, 0).shape() == Shape{1, 2, 3, 4});
  CHECK(unsqueeze(x, 3).shape() == Shape{2, 3, 4, 1});
  CHECK(unsqueeze(x, -1).shape() == Shape{2, 3, 4, 1});
  CHECK(unsqueeze(tensor::scalar(1), 0).shape() == Shape{1});
  CHECK(squeeze(tensor::ones({2, 1, 3}), 1).shape() == Shape{2, 3});
  CHECK(squeeze(tensor::ones({2, 3, 1}), -1).shape() == Shape{2, 3});
  CHECK(text_of_error([&] { static_cast<void>(squeeze(x, 1)); }) ==
        "[squeeze] axis 1 is no single element: input (2, 3, 4); only an axis of size 1 can go");
  CHECK(text_of_error([&] { static_cast<void>(unsqueeze(x, 4)); }) ==
        "[unsqueeze] axis out of range: axis 4, input (2, 3, 4); -rank - 1 <= axis <= rank");
  CHECK(text_of_error([&] { static_cast<void>(flatten(x, 2, 1)); }) ==
        "[flatten] the last axis comes before the first: input (2, 3, 4); axes 2 to 1 are no range");
  CHECK_THROWS_AS(static_cast<void>(flatten(x, 3)), index_error);
}

TEST_CASE("narrow of the leading axis is a view, of an inner axis a copy") {
  const auto x = reshape(tensor::arange(12), {3, 4});
  const auto rows = narrow(x, 0, 1, 2);
  CHECK(rows.data().data() == x.data().data() + 4);
  CHECK(max_abs_difference(rows, tensor::from({4, 5, 6, 7, 8, 9, 10, 11}, {2, 4})) == 0);
  const auto columns = narrow(x, -1, 1, 2);
  CHECK(max_abs_difference(columns, tensor::from({1, 2, 5, 6, 9, 10}, {3, 2})) == 0);
  CHECK(max_abs_difference(narrow(x, 1, 3, 1), tensor::from({3, 7, 11}, {3, 1})) == 0);
  const auto one_row = reshape(x, {1, 12});
  CHECK(narrow(one_row, 1, 5, 3).data().data() == x.data().data() + 5);  // nothing in between: still a view
  CHECK(text_of_error([&] { static_cast<void>(narrow(x, 1, 3, 2)); }) ==
        "[narrow] out of range: elements 3 to 3 + 2 of axis 1, input (3, 4); start + length <= size");
  CHECK_THROWS_AS(static_cast<void>(narrow(x, 1, 1, ~std::size_t{0})), index_error);
}

TEST_CASE("slice and row cut the leading axis, from the end where the number is negative") {
  const auto x = reshape(tensor::arange(12), {3, 4});
  CHECK(slice(x, 1, 3).data().data() == x.data().data() + 4);
  CHECK(slice(x, 0, -1).shape() == Shape{2, 4});
  CHECK(slice(x, -2, 3).at({0, 0}) == 4);
  CHECK(slice(x, 3, 3).shape() == Shape{0, 4});
  CHECK(row(x, 2).shape() == Shape{4});
  CHECK(row(x, 2).at({1}) == 9);
  CHECK(row(x, -3).data().data() == x.data().data());
  CHECK(row(row(x, 1), 1).item() == 5);
  CHECK(x[1][1].item() == 5);
  CHECK(x[std::size_t{2}][-1].item() == 11);
  CHECK(text_of_error([&] { static_cast<void>(slice(x, 2, 4)); }) ==
        "[slice] out of range: [2, 4), input (3, 4); 0 <= first <= last <= size of the leading axis");
  CHECK(text_of_error([&] { static_cast<void>(row(x, 3)); }) ==
        "[row] index out of range: index 3, input (3, 4); -size <= index < size of the leading axis");
  CHECK_THROWS_AS(static_cast<void>(slice(x, 2, 1)), index_error);
  CHECK_THROWS_AS(static_cast<void>(row(tensor::scalar(1), 0)), index_error);
}

TEST_CASE("gradients of parts land where the parts lie, and overlaps add up") {
  const auto x = tensor::zeros({4, 2}).requires_grad();
  (slice(x, 0, 3) + slice(x, 1, 4)).backward(tensor::ones({3, 2}));
  CHECK(max_abs_difference(x.grad(), tensor::from({1, 1, 2, 2, 2, 2, 1, 1}, {4, 2})) == 0);
  x.zero_grad();
  narrow(x, 1, 1, 1).backward(tensor::from({1, 2, 3, 4}, {4, 1}));
  CHECK(max_abs_difference(x.grad(), tensor::from({0, 1, 0, 2, 0, 3, 0, 4}, {4, 2})) == 0);
}
