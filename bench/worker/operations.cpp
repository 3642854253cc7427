// chain N                           y = sigmoid(tanh(x + bias) x) - x for N floats in rows of 1024, and its gradients
// softmax|layer_norm|cross_entropy ROWS COLUMNS forward|backward     backward: forward and backward
// circle, xor                       100 training steps of a small network: 256 points, 2-16-2; 4 points, 2-8-1
// graph tensor|value N              N recorded operations on single numbers, walked back and freed
#include <tinygrad/autograd/no_grad.hpp>
#include <tinygrad/ops/activation.hpp>
#include <tinygrad/ops/cross_entropy.hpp>
#include <tinygrad/ops/loss.hpp>
#include <tinygrad/ops/map.hpp>
#include <tinygrad/ops/matmul.hpp>
#include <tinygrad/ops/norm.hpp>
#include <tinygrad/ops/operators.hpp>
#include <tinygrad/ops/softmax.hpp>
#include <tinygrad/optim/adam.hpp>
#include <tinygrad/optim/sgd.hpp>
#include <tinygrad/scalar/value.hpp>

#include "worker.hpp"

namespace tinygrad_bench {

namespace {

using namespace tinygrad;
using tensor = Tensor<float>;

tensor random_tensor(const Shape& shape) {
  Random random(1);
  return tensor::uniform(shape, random, -1, 1);
}

work make_chain(std::size_t count) {
  const tensor x = random_tensor({count / 1024, 1024}).requires_grad();
  const tensor bias = random_tensor({1024}).requires_grad(), ones = tensor::ones(x.shape());
  return {[=] {
    x.zero_grad();
    bias.zero_grad();
    map([](const auto& u, const auto& b) { return sigmoid(tanh(u + b) * u) - u; }, x, bias).backward(ones);
  }};
}

/// op(x) -> y; forward alone, or with the gradients of `leaves` from dy = 1.
template <class Op>
work make_rows(bool backward, std::vector<tensor> leaves, Op op) {
  if (!backward)
    return {[=] {
      const no_grad guard;
      static_cast<void>(op());
    }};
  const tensor ones = tensor::ones(op().shape());
  return {[=] {
    for (const tensor& leaf : leaves) leaf.zero_grad();
    op().backward(ones);
  }};
}

work make_rows(arguments what) {
  const std::size_t rows = number(at(what, 1)), columns = number(at(what, 2));
  const bool backward = at(what, 3) == "backward";
  const tensor x = random_tensor({rows, columns}).requires_grad();
  if (what[0] == "softmax") return make_rows(backward, {x}, [=] { return softmax(x); });
  if (what[0] == "cross_entropy")
    return make_rows(backward, {x}, [=, targets = random_ids(rows, columns)] {
      return cross_entropy(x, std::span<const int>(targets));
    });
  const tensor weight = tensor::ones({columns}).requires_grad(), bias = tensor::zeros({columns}).requires_grad();
  return make_rows(backward, {x, weight, bias}, [=] { return layer_norm(x, weight, bias); });
}

work make_circle() {
  Random random(1);
  const tensor x = random_tensor({256, 2});
  const tensor w1 = tensor::randn({2, 16}, random, 0.5F).requires_grad(), b1 = tensor::zeros({16}).requires_grad();
  const tensor w2 = tensor::randn({16, 2}, random, 0.5F).requires_grad(), b2 = tensor::zeros({2}).requires_grad();
  const auto optimizer = std::make_shared<AdamW<float>>(std::vector<tensor>{w1, b1, w2, b2});
  return {[=, labels = random_ids(256, 2)] {
    for (int i = 0; i < 100; ++i) {
      const tensor loss = cross_entropy(matmul(tanh(matmul(x, w1) + b1), w2) + b2, std::span<const int>(labels));
      optimizer->zero_grad();
      loss.backward();
      optimizer->step();
    }
  }};
}

work make_xor() {
  Random random(1);
  const tensor x = tensor::from({0, 0, 0, 1, 1, 0, 1, 1}, {4, 2}), y = tensor::from({0, 1, 1, 0}, {4, 1});
  const tensor w1 = tensor::randn({2, 8}, random).requires_grad(), b1 = tensor::zeros({8}).requires_grad();
  const tensor w2 = tensor::randn({8, 1}, random).requires_grad(), b2 = tensor::zeros({1}).requires_grad();
  const auto optimizer = std::make_shared<Sgd<float>>(std::vector<tensor>{w1, b1, w2, b2});
  return {[=] {
    for (int i = 0; i < 100; ++i) {
      const tensor loss = mse_loss(matmul(tanh(matmul(x, w1) + b1), w2) + b2, y);
      optimizer->zero_grad();
      loss.backward();
      optimizer->step();
    }
  }};
}

work make_graph(arguments what) {
  const std::size_t count = number(at(what, 2));
  if (at(what, 1) == "value")
    return {[count] {
      const Value<double> x = 0.5;
      Value<double> y = x;
      for (std::size_t i = 0; i < count; ++i) y = i % 2 == 0 ? y + x : y * x;
      y.backward();
    }};
  const tensor x = tensor::full({1}, 0.5F).requires_grad();
  return {[count, x] {
    x.zero_grad();
    tensor y = x;
    for (std::size_t i = 0; i < count; ++i) y = i % 2 == 0 ? y + x : y * x;
    y.backward();
  }};
}

}  // namespace

work make_operation(arguments what) {
  if (what[0] == "chain") return make_chain(number(at(what, 1)));
  if (what[0] == "circle") return make_circle();
  if (what[0] == "xor") return make_xor();
  if (what[0] == "graph") return make_graph(what);
  return make_rows(what);
}

}  // namespace tinygrad_bench
