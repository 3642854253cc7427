// permute and transpose: values against a loop over elements, errors, gradients.
#include <doctest/doctest.h>

#include <cstddef>
#include <tinygrad/ops/shape_ops.hpp>
#include <vector>

#include "support/op_examples.hpp"

using namespace tinygrad;
using tinygrad_test::text_of_error;

namespace {

using tensor = Tensor<float, packed>;

/// y[i_axes[0], i_axes[1], ...] = x[i_0, i_1, ...], one element at a time.
template <class T, class P>
std::vector<T> permuted_by_hand(const Tensor<T, P>& x, const std::vector<int>& axes) {
  const int rank = x.rank();
  Shape shape;
  for (const int axis : axes) shape.append(x.shape()[axis]);
  std::vector<T> y(x.count());
  for (std::size_t i = 0; i < y.size(); ++i) {
    std::size_t rest = i, offset = 0;
    for (int k = rank; k-- > 0; rest /= shape[k])
      offset += rest % shape[k] * x.shape().inner(axes[static_cast<std::size_t>(k)]);
    y[i] = x.data()[offset];
  }
  return y;
}

template <class P>
bool permutes_right(const Shape& shape, const std::vector<int>& axes) {
  const auto x = Tensor<float, P>::arange(shape.count(), 1);
  const auto shaped = reshape(x, shape);
  const auto y = permute(shaped, axes);
  const auto expected = permuted_by_hand(shaped, axes);
  return std::vector<float>(y.data().begin(), y.data().end()) == expected;
}

}  // namespace

TEST_CASE("transpose and permute give the values worked out by hand") {
  const auto x = tensor::from({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(max_abs_difference(transpose(x), tensor::from({1, 4, 2, 5, 3, 6}, {3, 2})) == 0);
  CHECK(max_abs_difference(permute(x, {1, 0}), transpose(x)) == 0);
  CHECK(max_abs_difference(permute(x, {-2, -1}), x) == 0);
  CHECK(transpose(tensor::ones({2, 3, 4, 5}), 1, 2).shape() == Shape{2, 4, 3, 5});
  CHECK(transpose(tensor::ones({2, 3, 4, 5})).shape() == Shape{2, 3, 5, 4});
}

TEST_CASE_TEMPLATE("permute agrees with a loop over elements", P, naive, packed, threaded<packed>) {
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{1, 5, 1}, Shape{17, 3, 33}, Shape{0, 2, 3}, Shape{40, 1, 50}})
    for (const std::vector<int>& axes : {std::vector{0, 1, 2}, std::vector{0, 2, 1}, std::vector{1, 0, 2},
                                         std::vector{1, 2, 0}, std::vector{2, 0, 1}, std::vector{2, 1, 0}}) {
      CAPTURE(to_string(shape));
      CHECK(permutes_right<P>(shape, axes));
    }
  CHECK(permutes_right<P>({2, 3, 2, 3, 2, 3}, {5, 3, 1, 4, 2, 0}));
  CHECK(permutes_right<P>({3, 300, 200}, {2, 1, 0}));  // more than one thread's worth of strips
  CHECK(permutes_right<P>({2, 128, 4, 64}, {0, 2, 1, 3}));
  CHECK(permutes_right<P>({100000}, {0}));
}

TEST_CASE("permute wants each axis once") {
  const auto x = tensor::ones({2, 3, 4});
  CHECK(text_of_error([&] {
          static_cast<void>(permute(x, {0, 0, 1}));
        }) == "[permute] not a permutation of the axes (0, 0, 1): input (2, 3, 4); each axis exactly once");
  CHECK(text_of_error([&] {
          static_cast<void>(permute(x, {0, 1}));
        }) == "[permute] not a permutation of the axes (0, 1): input (2, 3, 4); each axis exactly once");
  CHECK(text_of_error([&] {
          static_cast<void>(permute(x, {0, 1, 3}));
        }) == "[permute] axis out of range: axis 3, input (2, 3, 4); -rank <= axis < rank");
  CHECK_THROWS_AS(static_cast<void>(transpose(tensor::scalar(1))), index_error);
}
