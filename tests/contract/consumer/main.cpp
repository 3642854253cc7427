// A program of somebody else's, built against the library by its CMake target alone.
#include <cstdio>
#include <tinygrad/tinygrad.hpp>

int main() {
  tinygrad::Random rng(1);
  const auto x = tinygrad::Tensor<float>::randn({8, 3}, rng);
  const auto w = tinygrad::Tensor<float>::randn({3, 2}, rng).requires_grad();
  const auto loss = mse_loss(matmul(x, w), tinygrad::Tensor<float>::zeros({8, 2}));
  loss.backward();
  std::printf("loss %f, gradient of %zu weights\n", static_cast<double>(loss.item()), w.grad().count());
  return w.grad().count() == 6 ? 0 : 1;
}
