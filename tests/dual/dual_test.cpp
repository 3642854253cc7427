#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <tinygrad/dual/dual.hpp>

using namespace tinygrad;

namespace {

using d1 = dual<double, 1>;
using d2 = dual<d1, 1>;  // carries second derivatives

constexpr double infinity = std::numeric_limits<double>::infinity();

d1 at(double x) { return d1(x, 1.0); }
d2 at_twice(double x) { return d2(d1(x, 1.0), d1(1.0)); }

double close_to(double a, double b) { return std::fabs(a - b) / (1 + std::fabs(b)); }

/// f on duals has the value of f on numbers, the given derivative, and (nested) the derivative of that one.
template <class F, class D>
void check_derivative(const char* name, F f, D derivative, std::initializer_list<double> points) {
  for (const double x : points) {
    CAPTURE(name);
    CAPTURE(x);
    const d1 y = f(at(x));
    CHECK(close_to(y.value, f(x)) < 1e-14);
    CHECK(close_to(y.d[0], derivative(x)) < 1e-13);
    const double h = 1e-5;
    const d2 twice = f(at_twice(x));
    CHECK(close_to(twice.d[0].value, derivative(x)) < 1e-13);
    CHECK(close_to(twice.value.d[0], derivative(x)) < 1e-13);
    CHECK(close_to(twice.d[0].d[0], (derivative(x + h) - derivative(x - h)) / (2 * h)) < 1e-7);
  }
}

}  // namespace

TEST_CASE("dual: arithmetic follows the rules of the lesson") {
  const d1 a(2.0, 1.0);
  const d1 b(3.0, 5.0);
  CHECK((a + b).value == 5.0);
  CHECK((a + b).d[0] == 6.0);
  CHECK((a - b).d[0] == -4.0);
  CHECK((a * b).value == 6.0);
  CHECK((a * b).d[0] == 1.0 * 3.0 + 2.0 * 5.0);
  CHECK((a / b).value == 2.0 / 3.0);
  CHECK((a / b).d[0] == doctest::Approx((1.0 * 3.0 - 2.0 * 5.0) / 9.0).epsilon(1e-15));
  CHECK((-a).d[0] == -1.0);
  CHECK((+a).value == 2.0);
}

TEST_CASE("dual: arithmetic is usable in constant expressions") {
  constexpr d1 x(3.0, 1.0);
  constexpr d1 y = x * x + 3 * x + 1;
  static_assert(y.value == 19.0 && y.d[0] == 9.0);
  static_assert(x > 2 && x == 3.0 && 4 >= x && x != 1_c);
}

TEST_CASE("dual: plain numbers and constants mix on both sides and are constants") {
  const d1 x(2.0, 1.0);
  const d1 five(5.0);
  CHECK((x + 5).value == 7.0);
  CHECK((5 + x).d[0] == 1.0);
  CHECK((x - 5.0).d[0] == 1.0);
  CHECK((5.0f - x).value == 3.0);
  CHECK((5.0f - x).d[0] == -1.0);
  CHECK((x * 5).d[0] == 5.0);
  CHECK((5_c * x).d[0] == (five * x).d[0]);
  CHECK((x / 5).d[0] == 0.2);
  CHECK((5 / x).value == 2.5);
  CHECK((5_c / x).d[0] == doctest::Approx((five / x).d[0]).epsilon(1e-15));
  d1 y = 0.25_c;
  y += 1;
  y -= x;
  y *= 2_c;
  y /= x;
  CHECK(y.value == -0.75);
  CHECK(y.d[0] == doctest::Approx(-1.0 + 0.75 / 2).epsilon(1e-15));
}

TEST_CASE("dual: a float stays float beside a double constant") {
  const dual<float, 1> x(0.5f, 1.0f);
  static_assert(std::is_same_v<decltype(0.1 * x), dual<float, 1>>);
  static_assert(std::is_same_v<decltype(0.1_c * x + 1), dual<float, 1>>);
  CHECK((0.1 * x).value == 0.1f * 0.5f);
  CHECK((0.1_c * x).d[0] == 0.1f);
}

TEST_CASE("dual: several directions are computed at once") {
  using d3 = dual<double, 3>;
  const d3 x = d3::variable(2, 0);
  const d3 y = d3::variable(3, 1);
  const d3 z = d3::variable(4, 2);
  const d3 f = x * y / z + exp(x) * pow(y, z);
  CHECK(f.d[0] == doctest::Approx(3.0 / 4 + std::exp(2.0) * 81));
  CHECK(f.d[1] == doctest::Approx(2.0 / 4 + std::exp(2.0) * 4 * 27));
  CHECK(f.d[2] == doctest::Approx(-6.0 / 16 + std::exp(2.0) * 81 * std::log(3.0)));
}

TEST_CASE("dual: every function has its derivative, and nested duals its second") {
  const auto cosine = [](double x) { return std::cos(x); };
  check_derivative(
      "exp", [](auto x) { return exp(x); }, [](double x) { return std::exp(x); }, {-3, 0, 1.5});
  check_derivative(
      "log", [](auto x) { return log(x); }, [](double x) { return 1 / x; }, {0.1, 1, 20});
  check_derivative(
      "sqrt", [](auto x) { return sqrt(x); }, [](double x) { return 0.5 / std::sqrt(x); }, {0.1, 1, 20});
  check_derivative(
      "tanh", [](auto x) { return tanh(x); }, [](double x) { return 1 / (std::cosh(x) * std::cosh(x)); }, {-2, 0, 0.3});
  check_derivative(
      "sigmoid", [](auto x) { return sigmoid(x); },
      [](double x) { return std::exp(-x) / ((1 + std::exp(-x)) * (1 + std::exp(-x))); }, {-4, 0, 2});
  check_derivative(
      "erf", [](auto x) { return erf(x); }, [](double x) { return 2 / std::sqrt(std::acos(-1.0)) * std::exp(-x * x); },
      {-1, 0, 2});
  check_derivative("sin", [](auto x) { return sin(x); }, cosine, {-1, 0, 2});
  check_derivative(
      "cos", [](auto x) { return cos(x); }, [](double x) { return -std::sin(x); }, {-1, 0, 2});
  check_derivative(
      "abs", [](auto x) { return abs(x); }, [](double x) { return x < 0 ? -1.0 : 1.0; }, {-1, 2});
  check_derivative(
      "1/x", [](auto x) { return 1 / x; }, [](double x) { return -1 / (x * x); }, {-1, 2});
  check_derivative(
      "x/(1+x*x)", [](auto x) { return x / (1 + x * x); },
      [](double x) { return (1 - x * x) / ((1 + x * x) * (1 + x * x)); }, {-1, 2});
  check_derivative(
      "x^x", [](auto x) { return pow(x, x); }, [](double x) { return std::pow(x, x) * (std::log(x) + 1); }, {0.5, 2});
  check_derivative(
      "fma", [](auto x) { return fma(x, x, x); }, [](double x) { return 2 * x + 1; }, {-1, 2});
}

TEST_CASE("dual: powers with a number as exponent or as base") {
  for (const double n : {-3.0, -2.5, -1.0, 0.5, 1.0, 2.0, 3.0, 17.0, 63.0, 64.0, 65.0, 2.25}) {
    CAPTURE(n);
    const d1 y = pow(at(1.5), n);
    CHECK(close_to(y.value, std::pow(1.5, n)) < 1e-14);
    CHECK(close_to(y.d[0], n * std::pow(1.5, n - 1)) < 1e-13);
    const d1 z = pow(n + 4, at(1.5));
    CHECK(close_to(z.d[0], std::pow(n + 4, 1.5) * std::log(n + 4)) < 1e-13);
  }
  CHECK(pow(at(-1.5), 3).d[0] == doctest::Approx(6.75));
  CHECK(pow(at(-1.5), -3_c).d[0] == doctest::Approx(-3 * std::pow(-1.5, -4)));
}

TEST_CASE("dual: a power at base zero has its derivatives, and no NaN (first and second)") {
  CHECK(pow(at(0), 2).d[0] == 0.0);
  CHECK((at(0) * at(0)).d[0] == 0.0);
  CHECK(pow(at_twice(0), 2).d[0].d[0] == 2.0);
  CHECK((at_twice(0) * at_twice(0)).d[0].d[0] == 2.0);
  CHECK(pow(at(0), 1.875).d[0] == 0.0);
  CHECK(pow(at(0), 1).d[0] == 1.0);
  CHECK(pow(at(0), 0).d[0] == 0.0);
  CHECK(pow(at(0), 0).value == 1.0);
  // the same with the exponent as a dual that does not move
  CHECK(pow(at(0), d1(2.0)).d[0] == 0.0);
  CHECK(pow(at(0), d1(1.0)).d[0] == 1.0);
  CHECK(pow(at(0), d1(0.0)).d[0] == 0.0);
  CHECK(pow(at_twice(0), d2(2.0)).d[0].d[0] == 2.0);
  // an exponent that moves over base zero
  CHECK(pow(0.0, at(2)).d[0] == 0.0);
  CHECK(pow(d1(0.0), at(0)).d[0] == 0.0);
}

TEST_CASE("dual: pow takes no logarithm into a direction in which the exponent does not move") {
  CHECK(pow(at(-2), 3).d[0] == 12.0);
  CHECK(pow(at(-2), d1(3.0)).d[0] == 12.0);
  const d1 x = at(1);
  const d1 y = x + pow(d1(-5.0), d1(5.0));
  CHECK(y.value == doctest::Approx(-3124.0));
  CHECK(y.d[0] == 1.0);
  CHECK(std::isnan(pow(d1(-5.0), at(5)).d[0]));  // honest where it is asked
}

TEST_CASE("dual: poles pass nothing into a direction that is zero") {
  CHECK(sqrt(at(0) * at(0)).d[0] == 0.0);
  CHECK(sqrt(d1(0.0)).d[0] == 0.0);
  CHECK(sqrt(at(0)).d[0] == infinity);
  CHECK(log(d1(0.0)).d[0] == 0.0);
  CHECK(log(at(0)).d[0] == infinity);
  // x^2 at 0 has derivative zero but a second derivative: it is not "a direction that is zero" to nested duals
  CHECK(log(at_twice(0) * at_twice(0) + 1).d[0].d[0] == 2.0);
}

TEST_CASE("dual: kinks have one rule in every spelling") {
  const d1 zero = at(0);
  CHECK(relu(zero).d[0] == 0.0);
  CHECK(maximum(zero, 0).d[0] == 0.0);
  CHECK(maximum(0_c, zero).d[0] == 0.0);
  CHECK(select(zero > 0, zero, 0).d[0] == 0.0);
  CHECK(abs(zero).d[0] == 0.0);
  const auto relu6 = [](auto x) { return minimum(maximum(x, 0), 6); };
  CHECK(relu6(at(6)).d[0] == 0.0);
  CHECK(relu6(at(3)).d[0] == 1.0);
  CHECK((at(3) * relu6(at(3) + 3) / 6).d[0] == 1.0);  // hard-swish
  CHECK(relu(at(-1)).d[0] == 0.0);
  CHECK(relu(at(2)).d[0] == 1.0);
}

TEST_CASE("dual: equal operands of maximum and minimum share the derivative") {
  using two = dual<double, 2>;
  const two a = two::variable(1, 0);
  const two b = two::variable(1, 1);
  for (const two& y : {maximum(a, b), minimum(a, b)}) {
    CHECK(y.value == 1.0);
    CHECK(y.d[0] == 0.5);
    CHECK(y.d[1] == 0.5);
  }
  CHECK(maximum(a, b + 1).d[1] == 1.0);
  CHECK(maximum(a, b + 1).d[0] == 0.0);
  CHECK(minimum(a, b + 1).d[0] == 1.0);
  CHECK(maximum(two(infinity), two(infinity)).value == infinity);
}

TEST_CASE("dual: SiLU has slope one half at zero and finite slopes far out") {
  const auto silu = [](auto x) { return x * sigmoid(x); };
  CHECK(silu(at(0)).d[0] == 0.5);
  CHECK(silu(at(-30)).d[0] == doctest::Approx(-2.7137e-12).epsilon(1e-3));
  CHECK(silu(at(30)).d[0] == doctest::Approx(1.0).epsilon(1e-11));
  CHECK(silu(at(-1000)).d[0] == 0.0);
}

TEST_CASE("dual: comparisons look at values only") {
  const d1 a(1.0, 100.0);
  const d1 b(2.0, -100.0);
  CHECK(a < b);
  CHECK(a <= b);
  CHECK(b > a);
  CHECK(b >= 2);
  CHECK(a == d1(1.0));
  CHECK(a != b);
  CHECK(1 == a);
  CHECK(0.5_c < a);
  CHECK(a > 0.5_c);
  CHECK(select(a < b, a, b).d[0] == 100.0);
}

TEST_CASE("dual: fma takes plain operands in any place") {
  const d1 x = at(3);
  CHECK(fma(x, x, x).d[0] == 7.0);
  CHECK(fma(2_c, x, 1_c).d[0] == 2.0);
  CHECK(fma(x, 2.0, x).value == 9.0);
  CHECK(fma(x, x, 1).d[0] == 6.0);
  CHECK(fma(2, 3.0, x).value == 9.0);
}

TEST_CASE("dual: steps are flat, copysign follows the magnitude") {
  CHECK(floor(at(2.7)).value == 2.0);
  CHECK(floor(at(2.7)).d[0] == 0.0);
  CHECK(round(at(2.5)).value == 2.0);
  CHECK(round(at(2.5)).d[0] == 0.0);
  CHECK(copysign(at(-3), d1(2.0)).value == 3.0);
  CHECK(copysign(at(-3), d1(2.0)).d[0] == -1.0);
  CHECK(copysign(d1(3.0), at(-2)).d[0] == 0.0);
  CHECK(is_nan(at(std::nan(""))));
  CHECK(is_finite(at(1)));
  CHECK_FALSE(is_finite(at(infinity)));
}
