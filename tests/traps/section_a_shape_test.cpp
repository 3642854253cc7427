// Known traps, section A: broadcasting next to products, repeated ids, and values changed through a view.
#include <doctest/doctest.h>

#include <string>
#include <tinygrad/ops/elementary.hpp>
#include <tinygrad/ops/embedding.hpp>
#include <tinygrad/ops/matmul.hpp>
#include <tinygrad/ops/operators.hpp>
#include <tinygrad/ops/shape_ops.hpp>
#include <tinygrad/testing/close.hpp>
#include <tinygrad/testing/gradcheck.hpp>
#include <vector>

#include "support/op_examples.hpp"

using namespace tinygrad;
using tinygrad_test::text_of_error;

namespace {

using tensor = Tensor<double, packed>;

tensor random_leaf(const Shape& shape, std::uint64_t seed) {
  Random random(seed);
  return tensor::randn(shape, random).requires_grad();
}
/// The sum of all elements, for which any tensor will do whose gradient is one everywhere.
void backward_of_sum(const tensor& y) { y.backward(tensor::ones(y.shape())); }

}  // namespace

TEST_CASE("A05 a bias added by broadcasting behind a product gets a gradient of its own shape") {
  const tensor x = random_leaf({2, 3}, 1), w = random_leaf({3, 1}, 2), bias = random_leaf({1, 3}, 3);
  const tensor label = random_leaf({2, 1}, 4).requires_grad(false);
  const auto loss = [&label](const auto& in) {
    const auto error = matmul(in[0], in[1]) + in[2] - label;  // [2, 1] + [1, 3] is [2, 3]
    return error * error;
  };
  const std::vector<tensor> inputs{x, w, bias};
  const tensor y = loss(inputs);
  CHECK(y.shape() == Shape{2, 3});
  backward_of_sum(y);
  CHECK(w.grad().shape() == Shape{3, 1});
  CHECK(bias.grad().shape() == Shape{1, 3});
  for (std::size_t j = 0; j < 3; ++j) {  // column sums of 2 (x w + bias - label)
    double column = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      double product = 0;
      for (std::size_t k = 0; k < 3; ++k) product += x.at({i, k}) * w.at({k, 0});
      column += 2 * (product + bias.at({0, j}) - label.at({i, 0}));
    }
    CHECK(bias.grad().at({0, j}) == doctest::Approx(column).epsilon(1e-12));
  }
  CHECK(gradcheck(loss, inputs).max_elementwise < 1e-8);
}

TEST_CASE("A06 the gradient of a repeated operand is reduced, for views and products too") {
  const tensor a = random_leaf({3, 4}, 1), b = random_leaf({1, 4}, 2);
  const tensor sum = a + b;
  backward_of_sum(sum * sum);
  CHECK(b.grad().shape() == Shape{1, 4});
  for (std::size_t j = 0; j < 4; ++j) {
    double expected = 0;
    for (std::size_t i = 0; i < 3; ++i) expected += 2 * (a.at({i, j}) + b.at({0, j}));
    CHECK(b.grad().at({0, j}) == doctest::Approx(expected).epsilon(1e-12));
  }
  const tensor h = random_leaf({2, 1, 4, 64}, 3), mask = random_leaf({2, 1, 4, 1}, 4);
  backward_of_sum(h * mask);
  CHECK(mask.grad().shape() == Shape{2, 1, 4, 1});
  double expected = 0;
  for (std::size_t d = 0; d < 64; ++d) expected += h.at({1, 0, 2, d});
  CHECK(mask.grad().at({1, 0, 2, 0}) == doctest::Approx(expected).epsilon(1e-12));

  const tensor flat = random_leaf({4}, 5);  // the same through a view: [4] seen as [1, 4]
  backward_of_sum(a * reshape(flat, {1, 4}));
  CHECK(flat.grad().shape() == Shape{4});
  CHECK(flat.grad().at({2}) == doctest::Approx(a.at({0, 2}) + a.at({1, 2}) + a.at({2, 2})).epsilon(1e-12));
}

TEST_CASE("A07 the batch axes of a product are reduced on the right axes") {
  const auto check = [](const Shape& left, const Shape& right) {
    const std::vector<tensor> inputs{random_leaf(left, 1), random_leaf(right, 2)};
    backward_of_sum(matmul(inputs[0], inputs[1]));
    CHECK(inputs[0].grad().shape() == left);
    CHECK(inputs[1].grad().shape() == right);
    CHECK(gradcheck([](const auto& x) { return matmul(x[0], x[1]); }, inputs).max_elementwise < 1e-8);
  };
  check({5, 1, 3, 7}, {4, 5, 6, 7, 2});
  check({6, 1, 4, 2}, {2, 3, 6, 3, 2, 4});
  check({2, 3}, {2, 3, 3, 4});
}

TEST_CASE("A10 repeated ids add up, and rows without a hit stay exactly zero") {
  const tensor one = tensor::from({0.1}, {1, 1}).requires_grad();
  embedding(one, {0, 0}).backward(tensor::from({0.2, 0.3}, {2, 1}));
  CHECK(one.grad().item() == 0.5);
  const tensor table = random_leaf({4, 3}, 1);
  embedding(table, {2, 2, 2}).backward(tensor::ones({3, 3}));
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t column = 0; column < 3; ++column) CHECK(table.grad().at({row, column}) == (row == 2 ? 3 : 0));
}

TEST_CASE("A11 2048 hits on one row are all counted in float") {
  const auto table = Tensor<float, packed>::zeros({35, 4}).requires_grad();
  embedding(table, std::vector<int>(2048, 17)).backward(Tensor<float, packed>::ones({2048, 4}));
  for (std::size_t row = 0; row < 35; ++row) CHECK(table.grad().at({row, 3}) == (row == 17 ? 2048.0F : 0.0F));
}

TEST_CASE("A12 a saved value changed through a view is an error that names the operation") {
  const tensor ones = tensor::ones({2, 3});
  const auto expect_error = [&](const tensor& y, const std::string& start) {
    const std::string text = text_of_error([&] { y.backward(tensor::ones(y.shape())); });
    CAPTURE(text);
    CHECK(text.find(start) == 0);
    CHECK(text.find("was changed in place after it was saved for backward") != std::string::npos);
  };
  {  // x changed through a view of it that was made before
    const tensor x = random_leaf({2, 3}, 1);
    const tensor flat = reshape(x, {6});
    const tensor y = sin(x);
    flat.mutable_data()[0] += 1;
    expect_error(y, "[sin] input 0 (2, 3)");
  }
  {  // a view is what is saved, and its source is changed
    const tensor x = random_leaf({2, 3}, 2);
    const tensor y = matmul(reshape(x, {3, 2}), random_leaf({2, 2}, 3));
    x.mutable_data()[0] += 1;
    expect_error(y, "[matmul] input 0 (3, 2)");
  }
  {  // a part of the memory is enough
    const tensor x = random_leaf({4, 3}, 4);
    const tensor y = slice(x, 0, 2) * slice(x, 1, 3);
    x[3].mutable_data()[0] += 1;
    expect_error(y, "[mul] input 0 (2, 3)");
  }
  {  // x.t() is a copy here: changing x afterwards is no mistake, and the gradient is right
    const tensor x = random_leaf({2, 3}, 5);
    const tensor y = matmul(transpose(x), ones);
    x.mutable_data()[0] += 1;
    CHECK_NOTHROW(y.backward(tensor::ones({3, 3})));
    CHECK(max_abs_difference(x.grad(), tensor::full({2, 3}, 3)) == 0);
  }
  {  // nothing was saved by what only moves values
    const tensor x = random_leaf({2, 3}, 6);
    const tensor y = narrow(reshape(x, {3, 2}), 1, 0, 1);
    x.mutable_data()[0] += 1;
    CHECK_NOTHROW(y.backward(tensor::ones({3, 1})));
  }
}
