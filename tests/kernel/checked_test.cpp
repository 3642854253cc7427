// checked<Leaf>: same results as Leaf, an error where a value stops being finite, and where a kernel overwrites its
// input.
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <tinygrad/kernel/checked.hpp>
#include <tinygrad/ops/elementary.hpp>
#include <tinygrad/ops/matmul.hpp>
#include <tinygrad/ops/operators.hpp>
#include <tinygrad/testing/close.hpp>

using namespace tinygrad;

namespace {

using debug = checked<packed>;
using tensor = Tensor<float, debug>;
constexpr float inf = std::numeric_limits<float>::infinity();

std::string text_of_error(const auto& action) {
  try {
    action();
  } catch (const value_error& caught) {
    return caught.what();
  }
  return "no error";
}

/// An operation with a mistake: its product is written over its first input.
struct overwriting_op {
  static constexpr std::string_view name = "overwriting";
  [[nodiscard]] Shape shape_of(const Shape& x) const { return x; }
  template <class P, class T>
  void forward(view<T> y, view<const T> x) const {
    const std::size_t n = x.shape[0];
    for (std::size_t i = 0; i < n * n; ++i) y.data[i] = x.data[i];
    const auto row = static_cast<std::ptrdiff_t>(n);
    P::gemm(gemm_args<T>{n, n, n, y.data, row, 1, x.data, row, 1, y.data, row, false});
  }
  template <class P, class T>
  void backward(const result<T>&, view<const T>, grad_slot<T>) const {}
};

}  // namespace

TEST_CASE("a checked policy computes what its leaf computes") {
  static_assert(kernel_policy<checked<naive>> && kernel_policy<checked<threaded<packed>>>);
  Random random(1);
  const auto a = Tensor<float, packed>::randn({5, 7}, random).requires_grad();
  const auto b = Tensor<float, packed>::randn({7, 3}, random);
  const auto y = exp(matmul(a, b));
  y.backward(Tensor<float, packed>::ones({5, 3}));
  const auto c = a.detach().with_policy<debug>().requires_grad();
  const auto z = exp(matmul(c, b.with_policy<debug>()));
  z.backward(tensor::ones({5, 3}));
  CHECK(max_abs_difference(y, z) == 0);
  CHECK(max_abs_difference(a.grad(), c.grad()) == 0);
}

TEST_CASE("the first operation that makes a value that is not finite is named") {
  CHECK(text_of_error([] {
          static_cast<void>(exp(tensor::from({1, 2, 3, 1000})));
        }) == "[exp] non-finite value inf at element 3 of the output; every operation before it gave finite values");
  CHECK(text_of_error([] {
          static_cast<void>(log(tensor::from({1, 0})));
        }) == "[log] non-finite value -inf at element 1 of the output; every operation before it gave finite values");
  CHECK(text_of_error([] {
          static_cast<void>(log(tensor::from({-1, 1})));
        }) == "[log] non-finite value nan at element 0 of the output; every operation before it gave finite values");
  CHECK(text_of_error([] { static_cast<void>(tensor::zeros({0}) / 0); }) == "no error");
}

TEST_CASE("a gradient that is not finite is found where it is made") {
  const auto x = tensor::from({0, 1}).requires_grad();
  const auto y = sqrt(x) * 2;
  const std::string text = text_of_error([&] { y.backward(tensor::ones({2})); });
  CHECK(text.find("[sqrt] non-finite value inf at element 0 of ") == 0);
}

TEST_CASE("a product that writes over its own input is an error of the operation that asked for it") {
  CHECK(text_of_error([] {
          static_cast<void>(apply(overwriting_op{}, tensor::ones({3, 3})));
        }) == "[overwriting] gemm was told to write over its own input; the output must not overlap an operand");
  CHECK(text_of_error([] { static_cast<void>(exp(tensor::ones({1}))); }) == "no error");  // noted once, thrown once
}

TEST_CASE("a reduction that writes over its own input is noted, one beside it is not") {
  float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  debug::fold(fold_add{}, fold_args<float>{2, 3, 1, values, values + 6});
  CHECK(text_of_error([] { debug::inspect("sum", std::span<const float>{}); }) == "no error");
  debug::fold(fold_add{}, fold_args<float>{2, 3, 1, values, values + 5});
  CHECK(text_of_error([] { debug::inspect("sum", std::span<const float>{}); }) ==
        "[sum] fold was told to write over its own input; the output must not overlap an operand");
}

TEST_CASE("operands of a product may be the same memory, may have negative steps, and may be empty") {
  float a[9] = {}, c[9] = {};
  const auto noted = [](const gemm_args<float>& args) {
    debug::gemm(args);
    return text_of_error([] { debug::inspect("matmul", std::span<const float>{}); }) != "no error";
  };
  CHECK_FALSE(noted({3, 3, 3, a, 3, 1, a, 1, 3, c, 3, false}));
  CHECK_FALSE(noted({3, 0, 3, a, 3, 1, a, 1, 3, a, 3, true}));
  CHECK_FALSE(noted({1, 1, 3, a + 8, 3, -1, a, 1, 1, a + 3, 1, false}));  // reads a[6..8] and a[0..2], writes a[3]
  CHECK(noted({1, 1, 3, a + 8, 3, -1, a, 1, 1, a + 6, 1, false}));
}

TEST_CASE("values are looked at in every element type and in the middle of a large tensor") {
  Tensor<double, checked<threaded<packed>>> x = Tensor<double, checked<threaded<packed>>>::ones({100000});
  x.mutable_data()[77777] = static_cast<double>(inf);
  CHECK(text_of_error([&] { static_cast<void>(x + 1); }) ==
        "[shift] non-finite value inf at element 77777 of the output; every operation before it gave finite values");
}
