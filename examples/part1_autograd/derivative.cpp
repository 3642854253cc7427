// Sections 1 and 2: a derivative by moving x a little, and a tiny graph by hand, by backward, and by moving w.
//
// The printed digits are those of float arithmetic with every operation rounded. A compiler that fuses x * x - y into
// one rounding changes three of them, so the functions are kept out of line.
#include <cstdio>
#include <tinygrad/tinygrad.hpp>

#include "part1.hpp"

using namespace tinygrad;

namespace {

TINYGRAD_NOINLINE float square(float x) { return x * x; }
TINYGRAD_NOINLINE float moved(float x, float h) { return x + h; }

TINYGRAD_NOINLINE float product(float a, float b) { return a * b; }
float loss_of(float w) { return square(moved(product(w, 3.0F), 1.0F)); }

double as_double(float x) { return static_cast<double>(x); }

}  // namespace

void part1::derivative() {
  std::puts("== 1) Derivative of f(x) = x*x at x = 3 (exact answer: 2*x = 6)");
  for (const float h : {1.0F, 0.1F, 0.01F, 0.001F}) {
    const float forward = (square(moved(3, h)) - square(3)) / h;
    const float central = (square(moved(3, h)) - square(moved(3, -h))) / (2 * h);
    std::printf("h = %-6g (f(3+h) - f(3)) / h = %.4f   central (f(3+h) - f(3-h)) / 2h = %.4f\n", as_double(h),
                as_double(forward), as_double(central));
  }
  std::puts("");
}

void part1::tiny_graph() {
  std::puts("== 2) L = (w*x + b)^2 with w = 2, x = 3, b = 1");
  const auto w = Tensor<float>::scalar(2).requires_grad();
  const auto x = Tensor<float>::scalar(3).requires_grad();
  const auto b = Tensor<float>::scalar(1).requires_grad();
  const auto z = w * x + b;  // 7
  z.retain_grad();           // z is no leaf, and we want to see its gradient
  const auto loss = z * z;   // 49; z is used twice and its gradients add up
  loss.backward();
  const float h = 0.001F;
  const float slope = (loss_of(moved(2, h)) - loss_of(moved(2, -h))) / (2 * h);
  std::printf("forward:  z = %g, L = %g\n", as_double(z.item()), as_double(loss.item()));
  std::printf("backward: dL/dz = %g, dL/dw = %g, dL/dx = %g, dL/db = %g\n", as_double(z.grad().item()),
              as_double(w.grad().item()), as_double(x.grad().item()), as_double(b.grad().item()));
  std::printf("numeric:  dL/dw = (L(w+h) - L(w-h)) / 2h = %.3f\n\n", as_double(slope));
}
