#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <tinygrad/scalar/value.hpp>

using namespace tinygrad;

namespace {

using V = Value<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// d f / d x at x, by reverse mode.
template <class F>
double slope_at(double x, F f) {
  const V input = x;
  f(input).backward();
  return input.grad();
}

template <class F>
void check_slope(const char* name, F f, double derivative, double x) {
  CAPTURE(name);
  CAPTURE(x);
  CHECK(slope_at(x, f) == doctest::Approx(derivative).epsilon(1e-13));
  const double h = 1e-6;
  CHECK((f(V(x + h)).data() - f(V(x - h)).data()) / (2 * h) == doctest::Approx(derivative).epsilon(1e-7));
}

}  // namespace

TEST_CASE("Value: the four operations between two Values") {
  const V a = 6.0;
  const V b = 4.0;
  const V sum = a + b;
  const V difference = a - b;
  const V product = a * b;
  const V quotient = a / b;
  CHECK(sum.data() == 10.0);
  CHECK(difference.data() == 2.0);
  CHECK(product.data() == 24.0);
  CHECK(quotient.data() == 1.5);
  (sum + difference + product + quotient).backward();
  CHECK(a.grad() == 1 + 1 + 4 + 0.25);
  CHECK(b.grad() == 1 - 1 + 6 - 6.0 / 16);
}

TEST_CASE("Value: plain numbers on either side, whole or not, and constants") {
  check_slope(
      "x+2", [](const V& x) { return x + 2; }, 1, 3);
  check_slope(
      "2+x", [](const V& x) { return 2.0f + x; }, 1, 3);
  check_slope(
      "x-2", [](const V& x) { return x - 2; }, 1, 3);
  check_slope(
      "2-x", [](const V& x) { return 2 - x; }, -1, 3);
  check_slope(
      "x*2", [](const V& x) { return x * 2; }, 2, 3);
  check_slope(
      "2_c*x", [](const V& x) { return 2_c * x; }, 2, 3);
  check_slope(
      "x/2", [](const V& x) { return x / 2; }, 0.5, 3);
  check_slope(
      "2/x", [](const V& x) { return 2 / x; }, -2.0 / 9, 3);
  check_slope(
      "-x", [](const V& x) { return -x; }, -1, 3);
  check_slope(
      "compound",
      [](const V& x) {
        V y = x;
        y += 1;
        y *= x;
        y -= 2 * x;
        y /= 4;
        return y;
      },
      (2 * 3 - 1) / 4.0, 3);
}

TEST_CASE("Value: functions have their derivatives") {
  const double x = 0.7;
  check_slope(
      "exp", [](const V& v) { return exp(v); }, std::exp(x), x);
  check_slope(
      "log", [](const V& v) { return log(v); }, 1 / x, x);
  check_slope(
      "sqrt", [](const V& v) { return sqrt(v); }, 0.5 / std::sqrt(x), x);
  check_slope(
      "tanh", [](const V& v) { return tanh(v); }, 1 - std::tanh(x) * std::tanh(x), x);
  check_slope(
      "sin", [](const V& v) { return sin(v); }, std::cos(x), x);
  check_slope(
      "cos", [](const V& v) { return cos(v); }, -std::sin(x), x);
  check_slope(
      "erf", [](const V& v) { return erf(v); }, 2 / std::sqrt(std::acos(-1.0)) * std::exp(-x * x), x);
  const double s = 1 / (1 + std::exp(-x));
  check_slope(
      "sigmoid", [](const V& v) { return sigmoid(v); }, s * (1 - s), x);
  check_slope(
      "sigmoid", [](const V& v) { return sigmoid(-v); }, -s * (1 - s), x);
  for (const double sign : {-1.0, 1.0}) {
    check_slope(
        "relu", [](const V& v) { return relu(v); }, sign > 0, sign * x);
    check_slope(
        "abs", [](const V& v) { return abs(v); }, sign, sign * x);
  }
  check_slope(
      "x^-1.5", [](const V& v) { return pow(v, -1.5); }, -1.5 * std::pow(x, -2.5), x);
  check_slope(
      "x^2", [](const V& v) { return pow(v, 2); }, 2 * x, x);
  check_slope(
      "3^x", [](const V& v) { return pow(3, v); }, std::pow(3, x) * std::log(3), x);
  check_slope(
      "x^x", [](const V& v) { return pow(v, v); }, std::pow(x, x) * (std::log(x) + 1), x);
}

TEST_CASE("Value: a sigmoid far out neither overflows nor loses its tail") {
  CHECK(sigmoid(V(-800.0)).data() == 0.0);
  CHECK(sigmoid(V(800.0)).data() == 1.0);
  CHECK(sigmoid(V(-30.0)).data() == doctest::Approx(std::exp(-30.0)));
}

TEST_CASE("Value: of float") {
  const Value<float> x = 0.5f;
  const Value<float> y = tanh(0.1_c * x + 2) * x;
  y.backward();
  const float t = std::tanh(0.1f * 0.5f + 2);
  CHECK(x.grad() == doctest::Approx(t + 0.5f * (1 - t * t) * 0.1f));
}

TEST_CASE("Value: comparisons look at the numbers") {
  const V a = 1.0;
  const V b = 2.0;
  CHECK(a < b);
  CHECK(b >= a);
  CHECK(a < 1.5);
  CHECK(1.5 > a);
}

TEST_CASE("Value: gradients of leaves accumulate until zero_grad, those of results belong to one pass") {
  const V x = 3.0;
  const V inner = x * x;
  const V y = inner * x;
  y.backward();
  CHECK(x.grad() == 27.0);
  CHECK(inner.grad() == 3.0);
  x.zero_grad();
  y.backward();
  CHECK(x.grad() == 27.0);  // an engine that keeps interior gradients says 45
  CHECK(inner.grad() == 3.0);

  const V a = 3.0;
  const V b = 2.0;
  const V d = 1.0;
  const V e = (a + b) * d;
  e.backward();
  e.backward();
  CHECK(a.grad() == 2.0);
  CHECK(b.grad() == 2.0);
  CHECK(d.grad() == 10.0);
}

TEST_CASE("Value: backward of a leaf, and with a seed") {
  const V x = 3.0;
  x.backward();
  CHECK(x.grad() == 1.0);
  (x * x).backward(0.5);
  CHECK(x.grad() == 1.0 + 3.0);
}

TEST_CASE("Value: a node reached on several paths is walked once") {
  const V x = 1.0;
  const double a = 1;
  const V xa = x * a;
  const V x2 = x * x;
  const V f = x * xa + x2 * a + x * xa;
  f.backward();
  CHECK(x.grad() == 6.0);
}

TEST_CASE("Value: sixty doublings take sixty steps, not 2^60") {
  const V x = 1.0;
  V y = x;
  for (int k = 0; k < 60; ++k) y = y + y;
  y.backward();
  CHECK(x.grad() == std::ldexp(1.0, 60));
}

TEST_CASE("Value: two losses share a subgraph") {
  const V t = 1.0;
  for (const bool exponential : {false, true}) {
    t.zero_grad();
    const V k = exponential ? exp(t) : 2 * t;
    const V l1 = 2 * k;
    const V l2 = 3 * k;
    l1.backward();
    l2.backward();
    CHECK(t.grad() == doctest::Approx(exponential ? 5 * std::exp(1.0) : 10.0));
  }
}

TEST_CASE("Value: powers at base zero have no NaN, and no logarithm is taken for a number as exponent") {
  CHECK(slope_at(0, [](const V& x) { return pow(x, 2); }) == 0.0);
  CHECK(slope_at(0, [](const V& x) { return x * x; }) == 0.0);
  CHECK(slope_at(0, [](const V& x) { return pow(x, 1.875); }) == 0.0);
  CHECK(slope_at(0, [](const V& x) { return pow(x, 1); }) == 1.0);
  CHECK(slope_at(0, [](const V& x) { return pow(x, 0); }) == 0.0);
  CHECK(slope_at(0, [](const V& x) { return pow(x, V(2.0)); }) == 0.0);
  CHECK(slope_at(2, [](const V& p) { return pow(0, p); }) == 0.0);
  CHECK(slope_at(-2, [](const V& x) { return pow(x, 3); }) == 12.0);
  CHECK(slope_at(-2, [](const V& x) { return pow(x, V(3.0)); }) == 12.0);
  CHECK(slope_at(1, [](const V& x) { return x + std::pow(-5.0, 5.0); }) == 1.0);
}

TEST_CASE("Value: kinks have one rule in every spelling") {
  CHECK(slope_at(0, [](const V& x) { return relu(x); }) == 0.0);
  CHECK(slope_at(0, [](const V& x) { return maximum(x, 0); }) == 0.0);
  CHECK(slope_at(0, [](const V& x) { return maximum(0, x); }) == 0.0);
  CHECK(slope_at(0, [](const V& x) { return abs(x); }) == 0.0);
  CHECK(slope_at(6, [](const V& x) { return minimum(maximum(x, 0), 6); }) == 0.0);
  CHECK(slope_at(3, [](const V& x) { return x * minimum(maximum(x + 3, 0), 6) / 6; }) == 1.0);
  CHECK(slope_at(0, [](const V& x) { return sqrt(x * x); }) == 0.0);
  CHECK(slope_at(0, [](const V& x) { return sqrt(x); }) == infinity);
  const V a = 1.0;
  const V b = 1.0;
  maximum(a, b).backward();
  minimum(a, b).backward();
  CHECK(a.grad() == 1.0);
  CHECK(b.grad() == 1.0);
  maximum(a, V(2.0)).backward();
  CHECK(a.grad() == 1.0);
  minimum(a, 2).backward();
  CHECK(a.grad() == 2.0);
}

TEST_CASE("Value: SiLU has slope one half at zero and finite slopes far out") {
  const auto silu = [](const V& x) { return x * sigmoid(x); };
  CHECK(slope_at(0, silu) == 0.5);
  CHECK(slope_at(-30, silu) == doctest::Approx(-2.7137e-12).epsilon(1e-3));
  CHECK(slope_at(30, silu) == doctest::Approx(1.0).epsilon(1e-11));
}

TEST_CASE("Value: tells how it was made") {
  const V a = 2.0;
  const V b = 3.0;
  const V c = a * b;
  const V d = tanh(c * c - 1);
  CHECK(a.op().empty());
  CHECK(a.is_leaf());
  CHECK(a.children().empty());
  CHECK(c.op() == "*");
  CHECK_FALSE(c.is_leaf());
  REQUIRE(c.children().size() == 2);
  CHECK(c.children()[0].position_on_tape() == a.position_on_tape());
  CHECK(c.children()[1].data() == 3.0);
  REQUIRE(d.children().size() == 1);
  const V shifted = d.children()[0];
  CHECK(shifted.op() == "- c");
  const V squared = shifted.children()[0];
  CHECK(squared.children()[0].position_on_tape() == c.position_on_tape());
  CHECK(squared.children()[1].position_on_tape() == c.position_on_tape());
}

TEST_CASE("Value: prints as in the lesson") {
  const V x = 7.0;
  x.backward();
  CHECK(to_string(x) == "Value(data=7.0000, grad=1.0000)");
  std::ostringstream text;
  text << x * -0.5;
  CHECK(text.str() == "Value(data=-3.5000, grad=0.0000)");
  CHECK(to_string(V(1e308)).size() > 300);
  CHECK(to_string(V(-infinity)) == "Value(data=-inf, grad=0.0000)");
}
