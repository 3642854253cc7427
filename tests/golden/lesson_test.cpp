// The lesson on automatic differentiation with scalars: every number it prints, and those that its code prints.
// The longer ones are from a run of that code under Python 3.11; its last digits (1e-15) vary from run to run.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <tinygrad/core/random_compat.hpp>
#include <tinygrad/dual/derivative.hpp>
#include <tinygrad/scalar/value.hpp>
#include <vector>

using namespace tinygrad;

namespace {

using V = Value<double>;

doctest::Approx to_digits(double expected, double tolerance = 1e-11) {
  return doctest::Approx(expected).epsilon(tolerance);
}

/// The lesson's training of a 2-4-1 network on XOR.
struct xor_run {
  python_random random{42};
  scalar::MLP<double> model{{2, 4, 1}, random};
  const std::array<std::vector<double>, 4> inputs = {{{0, 0}, {0, 1}, {1, 0}, {1, 1}}};
  const std::array<double, 4> targets = {-1, 1, 1, -1};

  [[nodiscard]] V loss() const {
    V sum = 0.0;
    for (std::size_t k = 0; k < 4; ++k) sum += pow(model(inputs[k])[0] - targets[k], 2);
    return sum;
  }
  double step() {
    const V now = loss();
    for (const V& p : model.parameters()) p.zero_grad();
    now.backward();
    for (const V& p : model.parameters()) p.set_data(p.data() - 0.05 * p.grad());
    return now.data();
  }
};

}  // namespace

TEST_CASE("lesson: sin(x^2) at 2 by forward mode, value and derivative hand in hand") {
  const dual<double, 1> x(2.0, 1.0);
  const auto a = x * x;
  const auto y = sin(a);
  CHECK(a.d[0] == 4.0);
  CHECK(std::cos(4.0) == to_digits(-0.6536436, 1e-7));
  CHECK(y.d[0] == to_digits(-2.6145745, 1e-7));
}

TEST_CASE("lesson: sin(x^2) at 2 by reverse mode, with the gradient in between") {
  const V x = 2.0;
  const V a = pow(x, 2);
  sin(a).backward();
  CHECK(a.grad() == to_digits(-0.6536436, 1e-7));
  CHECK(x.grad() == to_digits(-2.6145745, 1e-7));
}

TEST_CASE("lesson: x^2 + 3x + 1 at 2 has slope 7") {
  const V x = 2.0;
  (pow(x, 2) + 3 * x + 1).backward();
  CHECK(x.grad() == 7.0);
}

TEST_CASE("lesson: Python's random stream after seed 42, as the network draws it") {
  python_random random(42);
  CHECK(python_random(42).random() == 0.6394267984578837);
  for (const double expected : {0.2788535969157675, -0.9499784895546661, -0.4499413632617615, -0.5535785237023545,
                                0.4729424283280248, 0.3533989748458226, 0.7843591354096908, -0.8261223347411677,
                                -0.15615636062945915, -0.9404055611238593, -0.5627240503927933, 0.010710576206724776})
    CHECK(random.uniform(-1, 1) == expected);
}

TEST_CASE("lesson: the losses of the XOR training") {
  xor_run run;
  CHECK(run.model.parameters().size() == 17);
  for (int step = 0; step < 100; ++step) {
    const double loss = run.step();
    CAPTURE(step);
    if (step == 0) CHECK(loss == to_digits(4.149063026466));
    if (step == 20) CHECK(loss == to_digits(2.916626778294));
    if (step == 40) CHECK(loss == to_digits(1.473297120929));
    if (step == 60) CHECK(loss == to_digits(0.601078890897));
    if (step == 80) CHECK(loss == to_digits(0.293562505125));
    if (step == 99) CHECK(loss == to_digits(0.178339303356));
  }
  CHECK(run.loss().data() == to_digits(0.174372936591));
  const std::array<double, 4> expected = {-0.852833447132, 0.771338104456, 0.801125513550, -0.753266097843};
  for (std::size_t k = 0; k < 4; ++k) CHECK(run.model(run.inputs[k])[0].data() == to_digits(expected[k]));
}

TEST_CASE("lesson: the gradient check of tanh(x^3 + 2x + 1) at 0.5") {
  const auto expression = [](const auto& x) { return tanh(pow(x, 3) + x * 2 + 1); };
  const V x = 0.5;
  expression(x).backward();
  CHECK(x.grad() == to_digits(0.15252425581397372, 1e-14));
  const double h = 1e-7;
  const double numeric = (expression(V(0.5 + h)).data() - expression(V(0.5 - h)).data()) / (2 * h);
  CHECK(std::fabs(x.grad() - numeric) < 1e-8);  // the lesson asks for 1e-5
  CHECK(derivative(expression, 0.5) == to_digits(x.grad(), 1e-14));
}

TEST_CASE("lesson: relu(x1 x2 + 1), checked by hand") {
  const V x1 = 2.0;
  const V x2 = 3.0;
  const V a = x1 * x2;
  const V b = a + V(1.0);
  const V y = relu(b);
  y.backward();
  CHECK(a.data() == 6.0);
  CHECK(b.data() == 7.0);
  CHECK(y.data() == 7.0);
  CHECK(x1.grad() == 3.0);
  CHECK(x2.grad() == 2.0);
}

TEST_CASE("lesson: relu(a b + c)") {
  const V a = 2.0;
  const V b = -3.0;
  const V c = 10.0;
  const V f = relu(a * b + c);
  f.backward();
  CHECK(f.data() == 4.0);
  CHECK(a.grad() == -3.0);
  CHECK(b.grad() == 2.0);
  CHECK(c.grad() == 1.0);
}

TEST_CASE("lesson: exercises 1 and 2, the slopes of x^3 and of tanh") {
  const V x = 2.0;
  pow(x, 3).backward();
  CHECK(x.grad() == 12.0);
  for (const auto& [at, slope] : {std::pair{0.0, 1.0}, std::pair{2.0, 0.07065082485316443}}) {
    const V t = at;
    tanh(t).backward();
    CHECK(t.grad() == to_digits(slope, 1e-13));
    const double h = 1e-5;
    CHECK((std::tanh(at + h) - std::tanh(at - h)) / (2 * h) == to_digits(slope, 1e-9));
  }
}

TEST_CASE("lesson: exercise 3, the five gradients of one neuron, open and closed") {
  for (const double bias : {7.0, 5.0}) {
    const V w1 = -3.0;
    const V w2 = 1.0;
    const V x1 = 2.0;
    const V x2 = 0.5;
    const V b = bias;
    const V y = relu(w1 * x1 + w2 * x2 + b);
    y.backward();
    const double open = bias == 7.0 ? 1 : 0;
    CHECK(y.data() == open * 1.5);
    CHECK(w1.grad() == open * 2.0);
    CHECK(w2.grad() == open * 0.5);
    CHECK(x1.grad() == open * -3.0);
    CHECK(x2.grad() == open * 1.0);
    CHECK(b.grad() == open * 1.0);
  }
}

TEST_CASE("lesson: exercise 4, dual numbers agree with reverse mode") {
  const auto f = [](const auto& x) { return sin(x * x) * exp(-x) + pow(x, 3) / (1 + sigmoid(x)) - sqrt(x + 2); };
  for (const double at : {-1.5, -0.3, 0.0, 0.8, 2.0}) {
    const V x = at;
    f(x).backward();
    CHECK(derivative(f, at) == to_digits(x.grad(), 1e-13));
  }
}
