// Automatic differentiation from nothing: the chain rule forward and backward, a number that remembers how it was
// made, a network trained on XOR with it, and four exercises. Prints every number; writes a picture of one neuron.
//
//   autograd_lesson [neuron.dot]      then: dot -Tsvg neuron.dot > neuron.svg
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <tinygrad/core/random_compat.hpp>
#include <tinygrad/dual/derivative.hpp>
#include <tinygrad/scalar/value.hpp>
#include <tinygrad/viz/dot.hpp>
#include <vector>

using namespace tinygrad;
using V = Value<double>;
using Dual = dual<double, 1>;

namespace {

void title(const char* text) { std::printf("\n== %s\n", text); }

// y = sin(x^2) at x = 2, with the derivative travelling along with the value.
void forward_mode() {
  title("Forward mode: seed dx/dx = 1, propagate forward");
  const Dual x(2.0, 1.0);
  const Dual a = x * x;
  const Dual y = sin(a);
  std::printf("x = %.0f         dx/dx = %.0f\n", x.value, x.d[0]);
  std::printf("a = x^2 = %.0f   da/dx = %.0f\n", a.value, a.d[0]);
  std::printf("y = sin(a)    dy/dx = cos(4) * 4 = %.3f\n", y.d[0]);
}

// The same derivative from the other end.
void reverse_mode() {
  title("Reverse mode: seed dy/dy = 1, propagate backward");
  const V x = 2.0;
  const V a = pow(x, 2);
  const V y = sin(a);
  y.backward();
  std::printf("y = sin(a)    dy/dy = %.0f\n", y.grad());
  std::printf("a = x^2       dy/da = cos(4) = %.3f\n", a.grad());
  std::printf("x = 2         dy/dx = dy/da * da/dx = %.3f * 4 = %.3f\n", a.grad(), x.grad());
}

void polynomial() {
  title("x^2 + 3x + 1 at x = 2");
  const V x = 2.0;
  const V y = pow(x, 2) + 3 * x + 1;
  y.backward();
  std::printf("x.grad = %.1f   (2x + 3 = 7)\n", x.grad());
}

void printing() {
  title("A Value knows its number, its gradient, its operation and its inputs");
  const V a = 2.0;
  const V b = 3.0;
  const V c = a * b;
  c.backward();
  std::printf("c = %s, made by '%s' from\n", to_string(c).c_str(), std::string(c.op()).c_str());
  for (const V& input : c.children()) std::printf("    %s\n", to_string(input).c_str());
}

void train_xor() {
  title("A network of Values learns XOR");
  python_random random(42);
  const scalar::MLP<double> model({2, 4, 1}, random);  // 2 inputs, 4 hidden neurons, 1 output
  const std::array<std::vector<double>, 4> xs = {{{0, 0}, {0, 1}, {1, 0}, {1, 1}}};
  const std::array<double, 4> ys = {-1, 1, 1, -1};  // tanh answers between -1 and 1

  for (int step = 0; step < 100; ++step) {
    V loss = 0.0;
    for (std::size_t k = 0; k < xs.size(); ++k) loss += pow(model(xs[k])[0] - ys[k], 2);

    for (const V& p : model.parameters()) p.zero_grad();
    loss.backward();

    const double learning_rate = 0.05;
    for (const V& p : model.parameters()) p.set_data(p.data() - learning_rate * p.grad());

    if (step % 20 == 0) std::printf("step %3d  loss = %.4f\n", step, loss.data());
  }

  std::printf("\nPredictions after training:\n");
  for (std::size_t k = 0; k < xs.size(); ++k)
    std::printf("  input=[%.0f, %.0f]  target=%2.0f  pred=%6.3f\n", xs[k][0], xs[k][1], ys[k], model(xs[k])[0].data());
  std::printf("%zu parameters, and %zu results left on the tape: each step used the memory of the one before\n",
              model.parameters().size(), V::usage().results);
}

void gradient_check() {
  title("Gradient check of tanh(x^3 + 2x + 1) at 0.5");
  const auto expression = [](const V& x) { return tanh(pow(x, 3) + x * 2 + 1); };
  const double at = 0.5;
  const double h = 1e-7;
  const V x = at;
  expression(x).backward();
  const double numerical = (expression(at + h).data() - expression(at - h).data()) / (2 * h);
  std::printf("Autodiff:  %.8f\nNumerical: %.8f\nDifference: %.2e   (must be below 1e-5)\n", x.grad(), numerical,
              std::fabs(x.grad() - numerical));
}

void by_hand() {
  title("Checked by hand: relu(x1 x2 + 1) at (2, 3), relu(a b + c) at (2, -3, 10)");
  const V x1 = 2.0;
  const V x2 = 3.0;
  const V product = x1 * x2;
  const V sum = product + V(1.0);
  const V y = relu(sum);
  y.backward();
  std::printf("a = %.1f, b = %.1f, y = %.1f\n", product.data(), sum.data(), y.data());
  std::printf("dy/dx1 = %.1f  (= x2)\ndy/dx2 = %.1f  (= x1)\n", x1.grad(), x2.grad());

  const V a = 2.0;
  const V b = -3.0;
  const V c = 10.0;
  relu(a * b + c).backward();
  std::printf("df/da = %.1f  (= b)\ndf/db = %.1f  (= a)\ndf/dc = %.1f\n", a.grad(), b.grad(), c.grad());
}

void exercise_1() {
  title("Exercise 1: d(x^3)/dx at 2");
  const V x = 2.0;
  pow(x, 3).backward();
  std::printf("%.1f\n", x.grad());
}

void exercise_2() {
  title("Exercise 2: tanh' from its own result, against finite differences");
  const double h = 1e-5;
  for (const double at : {0.0, 2.0}) {
    const V x = at;
    tanh(x).backward();
    const double numerical = (std::tanh(at + h) - std::tanh(at - h)) / (2 * h);
    std::printf("tanh'(%.0f) = %.4f   numerical %.4f\n", at, x.grad(), numerical);
  }
}

void exercise_3(const char* picture) {
  title("Exercise 3: the five gradients of one neuron, y = relu(w1 x1 + w2 x2 + b)");
  const V w1 = -3.0;
  const V w2 = 1.0;
  const V x1 = 2.0;
  const V x2 = 0.5;
  const V b = 7.0;
  const V y = relu(w1 * x1 + w2 * x2 + b);
  y.backward();
  std::printf("y = %.1f: the neuron is on, each gradient is the partner in its product\n", y.data());
  std::printf("dy/dw1 = %.1f  dy/dw2 = %.1f  dy/dx1 = %.1f  dy/dx2 = %.1f  dy/db = %.1f\n", w1.grad(), w2.grad(),
              x1.grad(), x2.grad(), b.grad());

  std::ofstream file(picture);
  file << to_dot(y, {{w1, "w1"}, {w2, "w2"}, {x1, "x1"}, {x2, "x2"}, {b, "b"}, {y, "y"}});
  if (file.flush())
    std::printf("its picture is in %s; dot -Tsvg draws it\n", picture);
  else
    std::printf("its picture could not be written to %s\n", picture);
}

void exercise_4() {
  title("Exercise 4: dual numbers against reverse mode, one function for both");
  const auto f = [](const auto& x) { return sin(x * x) * exp(-x) + pow(x, 3) / (1 + sigmoid(x)); };
  for (const double at : {-1.5, 0.0, 0.8, 2.0}) {
    const V x = at;
    f(x).backward();
    const double forward = derivative(f, at);
    std::printf("x = %4.1f   forward %.12f   reverse %.12f   difference %.0e\n", at, forward, x.grad(),
                std::fabs(forward - x.grad()));
  }
}

}  // namespace

int main(int count, char** arguments) {
  forward_mode();
  reverse_mode();
  polynomial();
  printing();
  train_xor();
  gradient_check();
  by_hand();
  exercise_1();
  exercise_2();
  exercise_3(count > 1 ? arguments[1] : "neuron.dot");
  exercise_4();
}
