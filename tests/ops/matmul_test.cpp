// matmul and matmul_t: values, shapes, errors, gradients, and how many gemm calls they make.
#include <doctest/doctest.h>

#include <cstring>
#include <tinygrad/ops/matmul.hpp>
#include <vector>

#include "support/op_examples.hpp"

using namespace tinygrad;
using tinygrad_test::text_of_error;

namespace {

/// packed, with a record of what its gemm was asked for.
struct counting : packed {
  static constexpr std::string_view name = "counting";
  struct call {
    std::size_t m, n, k, batch;
    friend bool operator==(const call&, const call&) = default;
  };
  static inline std::vector<call> calls;

  template <class T>
  static void gemm(const gemm_args<T>& args) noexcept {
    calls.push_back({args.m, args.n, args.k, args.batch});
    packed::gemm(args);
  }
};

using calls = std::vector<counting::call>;

calls calls_of(const auto& action) {
  counting::calls.clear();
  action();
  return counting::calls;
}

Tensor<float, counting> leaf(const Shape& shape) { return Tensor<float, counting>::ones(shape).requires_grad(); }

}  // namespace

TEST_CASE_TEMPLATE("a product of matrices has the values worked out by hand", P, naive, packed, threaded<packed>) {
  using tensor = Tensor<float, P>;
  const auto a = tensor::from({1, 2, 3, 4, 5, 6}, {2, 3});
  const auto b = tensor::from({7, 8, 9, 10, 11, 12}, {3, 2});
  const auto y = matmul(a, b);
  CHECK(y.shape() == Shape{2, 2});
  CHECK(max_abs_difference(y, tensor::from({58, 64, 139, 154}, {2, 2})) == 0);
  const auto bt = tensor::from({7, 9, 11, 8, 10, 12}, {2, 3});
  CHECK(max_abs_difference(matmul_t(a, bt), y) == 0);
}

TEST_CASE("gradients of a product are dy b^T and a^T dy") {
  using tensor = Tensor<double, naive>;
  const auto a = tensor::from({1, 2, 3, 4}, {2, 2}).requires_grad();
  const auto b = tensor::from({5, 6, 7, 8}, {2, 2}).requires_grad();
  matmul(a, b).backward(tensor::from({1, 0, 0, 2}, {2, 2}));
  CHECK(max_abs_difference(a.grad(), tensor::from({5, 7, 12, 16}, {2, 2})) == 0);
  CHECK(max_abs_difference(b.grad(), tensor::from({1, 6, 2, 8}, {2, 2})) == 0);
}

TEST_CASE("a tensor multiplied with itself gets both shares of its gradient") {
  using tensor = Tensor<double, packed>;
  const auto x = tensor::from({1, 2, 3, 4}, {2, 2}).requires_grad();
  matmul(x, x).backward(tensor::ones({2, 2}));
  CHECK(max_abs_difference(x.grad(), tensor::from({3 + 4, 7 + 4, 3 + 6, 7 + 6}, {2, 2})) == 0);
}

TEST_CASE("rank 1 operands are a row on the left and a column on the right") {
  const auto v = Tensor<float>::from({1, 2, 3});
  const auto m = Tensor<float>::from({1, 2, 3, 4, 5, 6}, {3, 2});
  CHECK(max_abs_difference(matmul(v, m), Tensor<float>::from({22, 28})) == 0);
  CHECK(max_abs_difference(matmul(Tensor<float>::from({1, 2, 3, 4, 5, 6}, {2, 3}), v), Tensor<float>::from({14, 32})) ==
        0);
  CHECK(matmul(v, v).rank() == 0);
  CHECK(matmul(v, v).item() == 14);
  CHECK(matmul_t(v, v).item() == 14);
  CHECK(max_abs_difference(matmul_t(v, Tensor<float>::from({1, 0, 0, 0, 1, 1}, {2, 3})), Tensor<float>::from({1, 5})) ==
        0);
  CHECK(matmul(Tensor<float>::ones({2, 5, 4, 3}), v).shape() == Shape{2, 5, 4});
  CHECK(matmul(v, Tensor<float>::ones({2, 5, 3, 4})).shape() == Shape{2, 5, 4});
}

TEST_CASE("empty sums are zero and empty batches are empty") {
  CHECK(max_abs_difference(matmul(Tensor<float>::ones({2, 0}), Tensor<float>::ones({0, 3})),
                           Tensor<float>::zeros({2, 3})) == 0);
  CHECK(matmul(Tensor<float>::ones({0, 2, 3}), Tensor<float>::ones({3, 4})).shape() == Shape{0, 2, 4});
  const auto w = Tensor<float>::ones({3, 4}).requires_grad();
  matmul(Tensor<float>::ones({0, 2, 3}), w).backward(Tensor<float>::ones({0, 2, 4}));
  CHECK(max_abs_difference(w.grad(), Tensor<float>::zeros({3, 4})) == 0);
}

TEST_CASE("a weight shared by the batch is one gemm forward and one for each gradient") {
  const auto x = leaf({4, 8, 16}), w = leaf({16, 5});
  Tensor<float, counting> y;
  CHECK(calls_of([&] { y = matmul(x, w); }) == calls{{32, 5, 16, 1}});
  CHECK(calls_of([&] { y.backward(leaf({4, 8, 5})); }) == calls{{32, 16, 5, 1}, {16, 5, 32, 1}});
  const auto wt = leaf({5, 16});
  CHECK(calls_of([&] { y = matmul_t(x, wt); }) == calls{{32, 5, 16, 1}});
  CHECK(calls_of([&] { y.backward(leaf({4, 8, 5})); }) == calls{{32, 16, 5, 1}, {5, 16, 32, 1}});
}

TEST_CASE("batch axes become one batched gemm, irregular ones a few") {
  const auto q = leaf({2, 3, 4, 5}), k = leaf({2, 3, 7, 5});
  Tensor<float, counting> y;
  CHECK(calls_of([&] { y = matmul_t(q, k); }) == calls{{4, 7, 5, 6}});
  CHECK(calls_of([&] { y.backward(leaf({2, 3, 4, 7})); }) == calls{{4, 5, 7, 6}, {7, 5, 4, 6}});
  // The right side repeats over the inner batch axis, so those batches are rows of one product.
  CHECK(calls_of([&] { y = matmul(leaf({2, 3, 4, 5}), leaf({2, 1, 5, 6})); }) == calls{{12, 6, 5, 2}});
  CHECK(calls_of([&] { y = matmul(leaf({2, 1, 4, 5}), leaf({1, 3, 5, 6})); }) == calls{{4, 6, 5, 3}, {4, 6, 5, 3}});
}

TEST_CASE("large batches give the same bits on one thread and on all") {
  const auto run = []<class P>(P) {
    Random random(5);
    const auto q = Tensor<float, P>::randn({2, 6, 65, 40}, random).requires_grad();
    const auto k = Tensor<float, P>::randn({2, 1, 70, 40}, random).requires_grad();
    const auto y = matmul_t(q, k);
    y.backward(Tensor<float, P>::randn(y.shape(), random));
    return std::vector{y.detach().template with_policy<packed>(), q.grad().template with_policy<packed>(),
                       k.grad().template with_policy<packed>()};
  };
  const auto one = run(packed{}), all = run(threaded<packed>{});
  for (std::size_t i = 0; i < one.size(); ++i)
    CHECK(std::memcmp(one[i].data().data(), all[i].data().data(), one[i].count() * sizeof(float)) == 0);
}

TEST_CASE("work for an operand that needs no gradient is not done") {
  const auto x = Tensor<float, counting>::ones({4, 8});
  const auto y = matmul(x, leaf({8, 3}));
  CHECK(calls_of([&] { y.backward(leaf({4, 3})); }) == calls{{8, 3, 4, 1}});
  CHECK_FALSE(x.has_grad());
}

TEST_CASE("errors of products name both shapes and the rule") {
  const auto ones = [](const Shape& shape) { return Tensor<float>::ones(shape); };
  const auto product = [&](const Shape& a, const Shape& b) {
    return text_of_error([&] { static_cast<void>(matmul(ones(a), ones(b))); });
  };
  CHECK(product({2, 3}, {4, 5}) == "[matmul] inner sizes differ: lhs (2, 3), rhs (4, 5); lhs[-1] must equal rhs[-2]");
  CHECK(product({2, 3}, {4}) == "[matmul] inner sizes differ: lhs (2, 3), rhs (4); lhs[-1] must equal rhs[-1]");
  CHECK(product({}, {4, 5}) ==
        "[matmul] a scalar has no axis to sum over: lhs (), rhs (4, 5); both need at least one axis; use * to scale");
  CHECK(
      product({2, 3, 4}, {5, 4, 3}) ==
      "[matmul] batch axes do not broadcast: lhs (2, 3, 4), rhs (5, 4, 3); all axes but the last two must be equal or "
      "1, aligned at the end");
  CHECK(text_of_error([&] {
          static_cast<void>(matmul_t(ones({2, 3}), ones({5, 4})));
        }) == "[matmul_t] inner sizes differ: lhs (2, 3), rhs (5, 4); lhs[-1] must equal rhs[-1]");
  CHECK_THROWS_AS(static_cast<void>(matmul(ones({2, 3}), ones({4, 5}))), shape_error);
  CHECK(text_of_error([&] {
          static_cast<void>(matmul(Tensor<float>{}, ones({4, 5})));
        }) == "[matmul] an input is an undefined Tensor{}");
}

TEST_CASE("changing an operand before backward is an error that names the product") {
  const auto x = Tensor<float>::ones({2, 3}).requires_grad(), w = Tensor<float>::ones({3, 4}).requires_grad();
  const auto y = matmul(x, w);
  w.mutable_data()[0] = 2;
  CHECK(text_of_error([&] {
          y.backward(Tensor<float>::ones({2, 4}));
        }) ==
        "[matmul] input 1 (3, 4) was changed in place after it was saved for backward: version 0 was saved, version 1 "
        "is there now; change a clone() instead");
}
