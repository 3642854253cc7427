// A network of 82 weights learns whether a point lies inside a circle.
#include <cstdio>
#include <tinygrad/tinygrad.hpp>

using namespace tinygrad;

int main() {
  Random random(1);
  const auto x = Tensor<float>::uniform({256, 2}, random, -1, 1);
  std::vector<int> inside;
  for (std::size_t i = 0; i < 256; ++i)
    inside.push_back(x.at({i, 0}) * x.at({i, 0}) + x.at({i, 1}) * x.at({i, 1}) < 0.5F);

  const auto w1 = Tensor<float>::randn({2, 16}, random, 0.5F).requires_grad(),
             b1 = Tensor<float>::zeros({16}).requires_grad();
  const auto w2 = Tensor<float>::randn({16, 2}, random, 0.5F).requires_grad(),
             b2 = Tensor<float>::zeros({2}).requires_grad();
  AdamW<float> optimizer({w1, b1, w2, b2});
  optimizer.set_learning_rate(0.05);
  for (int step = 0; step <= 500; ++step) {
    const auto loss = cross_entropy(matmul(tanh(matmul(x, w1) + b1), w2) + b2, inside);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (step % 100 == 0) std::printf("step %3d  loss %.4f\n", step, static_cast<double>(loss.item()));
  }
}
