// pow against the standard library in a wider format: its bound, its special cases, and exact small powers.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <tinygrad/simd/math.hpp>

#include "ulp.hpp"

using namespace tinygrad;
using simd_test::reference_slack;
using simd_test::ulp_error;
using simd_test::wider;

namespace {

template <class V>
TINYGRAD_NOINLINE V call_pow(const V& x, const V& y) {
  return tinygrad::pow(x, y);
}

// (x, y) for pow: powers in and out of range, bases near 1 with huge exponents, integers, and all bit patterns.
template <class T>
void next_power(simd_test::sequence& random, int kind, T& x, T& y) {
  const double range = sizeof(T) == 4 ? 110 : 750;
  switch (kind % 5) {
    case 0:
      x = simd_test::from_pattern<T>(static_cast<simd_test::bits_of<T>>(random.next()));
      y = static_cast<T>(random.uniform(-3, 3));
      break;
    case 1:
      x = static_cast<T>(std::exp(random.uniform(-range, range) * 0.9));
      y = static_cast<T>(random.uniform(-range, range)) / std::log(x);
      break;
    case 2:
      x = static_cast<T>(1 + random.uniform(-1, 1) * std::exp2(-std::floor(random.uniform(0, 20))));
      y = static_cast<T>(random.uniform(-range, range)) / std::log(x);
      break;
    case 3:
      x = static_cast<T>(random.uniform(-10, 10));
      y = static_cast<T>(std::floor(random.uniform(-30, 31)));
      break;
    default:
      x = static_cast<T>(random.uniform(0, 4));
      y = static_cast<T>(random.uniform(-8, 8));
  }
}

template <class V>
void check_powers(int count) {
  using T = scalar_of<V>;
  simd_test::sequence random;
  double worst = 0;
  T at_x = 0, at_y = 0;
  for (int k = 0; k < count; ++k) {
    T x[lanes<V>], y[lanes<V>], z[lanes<V>];
    for (int l = 0; l < lanes<V>; ++l) next_power(random, k + l, x[l], y[l]);
    store(z, call_pow(load<V>(x), load<V>(y)));
    for (int l = 0; l < lanes<V>; ++l) {
      const double e = ulp_error(z[l], std::pow(static_cast<wider<T>>(x[l]), static_cast<wider<T>>(y[l])));
      if (e > worst) worst = e, at_x = x[l], at_y = y[l];
    }
  }
  INFO("pow(" << at_x << ", " << at_y << ")");
  CHECK(worst <= 2 + reference_slack<T>);
}

}  // namespace

TEST_CASE_TEMPLATE("pow keeps its bound, also for bases near one and huge exponents", V, NATIVE_AND_PLAIN) {
  check_powers<V>(30000);
}

TEST_CASE_TEMPLATE("pow knows the special cases of IEEE 754", V, NATIVE_AND_PLAIN) {
  using T = scalar_of<V>;
  using limits = std::numeric_limits<T>;
  const T values[] = {T(0),
                      T(-0.0),
                      T(1),
                      T(-1),
                      T(2),
                      T(-2),
                      T(0.5),
                      T(-0.5),
                      T(3),
                      T(-3),
                      T(1.5),
                      T(-1.5),
                      T(1e9),
                      T(-1e9),
                      T(16777217.0),
                      limits::max(),
                      limits::lowest(),
                      limits::min(),
                      T(1e-20),
                      T(2047),
                      T(-2046),
                      limits::denorm_min(),
                      -limits::denorm_min(),
                      T(0.9999),
                      limits::infinity(),
                      -limits::infinity(),
                      limits::quiet_NaN(),
                      T(-0.9999)};
  for (const T x : values)
    for (const T y : values) {
      T z[lanes<V>];
      store(z, call_pow(V(x), V(y)));
      const auto want = std::pow(static_cast<wider<T>>(x), static_cast<wider<T>>(y));
      INFO("pow(" << x << ", " << y << ") is " << z[0] << ", should be " << static_cast<T>(want));
      if (!(ulp_error(z[0], want) <= 2 + reference_slack<T>)) CHECK(z[0] == static_cast<T>(want));
    }
  CHECK(any_of(pow(T(2), V(T(3))) == V(T(8))));
}

TEST_CASE_TEMPLATE("small integer powers are exact", V, NATIVE_AND_PLAIN) {
  using T = scalar_of<V>;
  int wrong = 0;
  for (int base = -12; base <= 12; ++base)
    for (int e = 0; e <= 6; ++e) {
      T z[lanes<V>];
      store(z, call_pow(V(static_cast<T>(base)), V(static_cast<T>(e))));
      T product = 1;
      for (int i = 0; i < e; ++i) product *= static_cast<T>(base);
      wrong += z[lanes<V> - 1] != product;
    }
  CHECK(wrong == 0);
}
