// Duals of packs: every lane is the dual of its own point.
#include <doctest/doctest.h>

#include <cmath>
#include <tinygrad/dual/dual.hpp>

using namespace tinygrad;

namespace {

/// f on dual<V, 2> in x and y, lane by lane against dual<double, 2> at the same points.
template <class V, class F>
void check_lanes(const char* name, F f, double tolerance) {
  using T = scalar_of<V>;
  T x[64];
  T y[64];
  for (int i = 0; i < lanes<V>; ++i) {
    x[i] = T(0.1) + T(0.13) * static_cast<T>(i);
    y[i] = T(2.5) - T(0.11) * static_cast<T>(i % 16);
  }
  using wide = dual<V, 2>;
  const wide result = f(wide::variable(load<V>(x), 0), wide::variable(load<V>(y), 1));
  T value[64];
  T slope[2][64];
  store(value, result.value);
  store(slope[0], result.d[0]);
  store(slope[1], result.d[1]);
  using one = dual<double, 2>;
  for (int i = 0; i < lanes<V>; ++i) {
    CAPTURE(name);
    CAPTURE(i);
    const one want = f(one::variable(static_cast<double>(x[i]), 0), one::variable(static_cast<double>(y[i]), 1));
    CHECK(std::fabs(value[i] - want.value) <= tolerance * (1 + std::fabs(want.value)));
    for (int k = 0; k < 2; ++k) CHECK(std::fabs(slope[k][i] - want.d[k]) <= tolerance * (1 + std::fabs(want.d[k])));
  }
}

template <class V>
void check_common(double tolerance) {
  check_lanes<V>(
      "arithmetic", [](auto x, auto y) { return (x + y) * x - 2_c / y + x / (y + 1) - 0.5_c * x * 3; }, tolerance);
  check_lanes<V>(
      "choices",
      [](auto x, auto y) {
        return maximum(x, y) + minimum(x, 1) * abs(x - y) + relu(y - x) + select(x > 1_c, x * y, y);
      },
      tolerance);
  check_lanes<V>(
      "exp log sqrt", [](auto x, auto y) { return exp(x * y) - log(x + y) * sqrt(y); }, tolerance);
}

}  // namespace

TEST_CASE("dual of packs: each lane is the dual of its point, float") {
  constexpr double tolerance = 2e-5;
  using V = pack<float>;
  check_common<V>(tolerance);
  check_lanes<V>(
      "tanh sigmoid erf", [](auto x, auto y) { return tanh(x) + sigmoid(x - y) * erf(x * y); }, tolerance);
  check_lanes<V>(
      "sin cos", [](auto x, auto y) { return sin(x) * cos(y * x); }, tolerance);
  check_lanes<V>(
      "pow", [](auto x, auto y) { return pow(x, y) + pow(x, 3) + pow(y, 1.5) + pow(2, x) + pow(x, 2_c); }, tolerance);
}

TEST_CASE("dual of packs: each lane is the dual of its point, double") { check_common<pack<double>>(1e-12); }

TEST_CASE("dual of packs: ties, kinks and poles are decided lane by lane") {
  using V = pack<float, 4>;
  using D = dual<V, 1>;
  const float points[4] = {-1, 0, 0.5f, 2};
  const D x = D::variable(V::load(points));
  const auto lane_slopes = [](const D& y, float a, float b, float c, float d) {
    CHECK(y.d[0][0] == a);
    CHECK(y.d[0][1] == b);
    CHECK(y.d[0][2] == c);
    CHECK(y.d[0][3] == d);
  };
  lane_slopes(relu(x), 0, 0, 1, 1);
  lane_slopes(maximum(x, 0), 0, 0, 1, 1);
  lane_slopes(abs(x), -1, 0, 1, 1);
  lane_slopes(minimum(x, 0.5f), 1, 1, 0, 0);
  lane_slopes(maximum(x, D(0.5_c)), 0, 0, 0.5f, 1);
  lane_slopes(pow(x, 2), -2, 0, 1, 4);
  lane_slopes(sqrt(x * x), -1, 0, 1, 1);
  lane_slopes(pow(x, V(3.0f)), 3, 0, 0.75f, 12);
}

TEST_CASE("dual of packs: nested in a dual of a dual") {
  using V = pack<double>;
  using D = dual<dual<V, 1>, 1>;
  const D x(dual<V, 1>(V(0.7), V(1.0)), dual<V, 1>(V(1.0)));
  const D y = tanh(x) * 2_c + 0.5 * x * x;
  const double t = std::tanh(0.7);
  CHECK(y.d[0].d[0][0] == doctest::Approx(2 * -2 * t * (1 - t * t) + 1));
}
