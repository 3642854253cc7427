// The elementary functions against the standard library in a wider format, over the whole range of float and double:
// a stride through all bit patterns, every exponent, and the neighbourhoods of all thresholds inside.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <tinygrad/simd/math.hpp>

#include "ulp.hpp"

using namespace tinygrad;
using simd_test::reference_slack;
using simd_test::ulp_error;
using simd_test::wider;

namespace {

// The functions once per value type, not inlined into every check: that would cost seconds of compile time.
#define OUT_OF_LINE(name)                       \
  template <class V>                            \
  TINYGRAD_NOINLINE V call_##name(const V& x) { \
    return tinygrad::name(x);                   \
  }
OUT_OF_LINE(exp)
OUT_OF_LINE(log)
OUT_OF_LINE(tanh)
OUT_OF_LINE(sigmoid)
OUT_OF_LINE(erf)
OUT_OF_LINE(sin)
OUT_OF_LINE(cos)

// One function under test: the callable of the library, the reference, and the bound that is promised.
struct exp_case {
  static constexpr const char* name = "exp";
  static constexpr double bound = 1.25;
  static auto ours(const auto& x) { return call_exp(x); }
  static auto reference(auto x) { return std::exp(x); }
};
struct log_case {
  static constexpr const char* name = "log";
  static constexpr double bound = 1.25;
  static auto ours(const auto& x) { return call_log(x); }
  static auto reference(auto x) { return std::log(x); }
};
struct tanh_case {
  static constexpr const char* name = "tanh";
  static constexpr double bound = 3;
  static auto ours(const auto& x) { return call_tanh(x); }
  static auto reference(auto x) { return std::tanh(x); }
};
struct sigmoid_case {
  static constexpr const char* name = "sigmoid";
  static constexpr double bound = 3;
  static auto ours(const auto& x) { return call_sigmoid(x); }
  static auto reference(auto x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
};
struct erf_case {
  static constexpr const char* name = "erf";
  static constexpr double bound = 2;
  static auto ours(const auto& x) { return call_erf(x); }
  static auto reference(auto x) { return std::erf(x); }
};
struct sin_case {
  static constexpr const char* name = "sin";
  static constexpr double bound = 2;
  static auto ours(const auto& x) { return call_sin(x); }
  static auto reference(auto x) { return std::sin(x); }
};
struct cos_case {
  static constexpr const char* name = "cos";
  static constexpr double bound = 2;
  static auto ours(const auto& x) { return call_cos(x); }
  static auto reference(auto x) { return std::cos(x); }
};

template <class T>
void append_thresholds(std::vector<T>& x) {
  const double points[] = {0,       1,     0.5,   M_SQRT1_2, M_SQRT2, M_LN2 / 2, M_LN2,   1.5 * M_LN2,
                           0.93,    3.92,  4,     5.93,      6,       9.01,      10,      18.7,
                           20,      87.33, 88.72, 103.97,    104,     89,        708.396, 709.7827,
                           745.133, 746,   710,   131072,    1048576, 1e5,       1e6,     2097152};
  for (const double p : points) simd_test::append_around(x, p, 40);
  for (int k = 1; k < 400; ++k) simd_test::append_around(x, k * M_PI_4, 2);
  for (double k = 400; k < 700000; k *= 1.01) simd_test::append_around(x, std::floor(k) * M_PI_2, 2);
}

template <class T>
const std::vector<T>& samples() {
  static const std::vector<T> all = [] {
    std::vector<T> x;
    simd_test::sequence random;
    if constexpr (sizeof(T) == 4) {
      for (std::uint64_t p = 0; p < (std::uint64_t{1} << 32); p += 4099 * 3)
        x.push_back(simd_test::from_pattern<T>(static_cast<std::uint32_t>(p)));
    } else {
      for (int i = 0; i < 50000; ++i) x.push_back(simd_test::from_pattern<T>(random.next()));
    }
    for (int i = 0; i < 60000; ++i) x.push_back(static_cast<T>(random.uniform(-2, 2)));
    for (int i = 0; i < 30000; ++i) x.push_back(static_cast<T>(random.uniform(-110, 110)));
    for (int i = 0; i < 20000; ++i) x.push_back(static_cast<T>(random.uniform(-750, 750)));
    simd_test::append_exponent_sweep(x, random);
    append_thresholds(x);
    while (x.size() % 240 != 0) x.push_back(0);
    return x;
  }();
  return all;
}

template <class V, class Case>
void check_function() {
  using T = scalar_of<V>;
  const std::vector<T>& x = samples<T>();
  double worst = 0;
  T at = 0;
  for (std::size_t i = 0; i < x.size(); i += lanes<V>) {
    T y[lanes<V>];
    store(y, Case::ours(load<V>(&x[i])));
    for (std::size_t l = 0; l < lanes<V>; ++l) {
      const double e = ulp_error(y[l], Case::reference(static_cast<wider<T>>(x[i + l])));
      if (e > worst) worst = e, at = x[i + l];
    }
  }
  INFO(Case::name << " of " << at << " (pattern " << simd_test::pattern_of(at) << ")");
  CHECK(worst <= Case::bound + reference_slack<T>);
}

template <class V>
void check_all() {
  check_function<V, exp_case>();
  check_function<V, log_case>();
  check_function<V, tanh_case>();
  check_function<V, sigmoid_case>();
  check_function<V, erf_case>();
  check_function<V, sin_case>();
  check_function<V, cos_case>();
}

// Lane by lane the same as the native pack, but for the rounding that contraction may change.
template <class V, class Case>
double disagreement() {
  using T = scalar_of<V>;
  double worst = 0;
  simd_test::sequence random;
  for (int k = 0; k < 200; ++k) {
    T x[lanes<V>], y[lanes<V>];
    for (T& value : x) value = static_cast<T>(random.uniform(-6, 6));
    store(y, Case::ours(load<V>(x)));
    for (int l = 0; l < lanes<V>; ++l)
      worst = std::max(worst, ulp_error(y[l], Case::reference(static_cast<wider<T>>(x[l]))) - Case::bound);
  }
  return worst;
}

}  // namespace

TEST_CASE_TEMPLATE("exp log tanh sigmoid erf sin cos keep their bounds over the whole range", V, NATIVE_AND_PLAIN) {
  check_all<V>();
}

TEST_CASE_TEMPLATE("odd and small packs compute the same functions", V, pack<float, 1>, pack<float, 3>, pack<float, 8>,
                   pack<double, 3>) {
  CHECK(disagreement<V, exp_case>() <= 0);
  CHECK(disagreement<V, log_case>() <= 0);
  CHECK(disagreement<V, erf_case>() <= 0);
  CHECK(disagreement<V, sin_case>() <= 0);
}

TEST_CASE_TEMPLATE("zeros, infinities and NaN come out as they should", V, NATIVE_AND_PLAIN) {
  using T = scalar_of<V>;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN(),
          max = std::numeric_limits<T>::max();
  const auto is = [](const V& got, T want) {
    T y[lanes<V>];
    store(y, got);
    for (const T lane : y)
      if (ulp_error(lane, want) != 0) return false;
    return true;
  };
  CHECK((is(call_exp(V(0)), 1) && is(call_exp(V(T(-0.0))), 1) && is(call_exp(V(inf)), inf) &&
         is(call_exp(V(-inf)), 0) && is(call_exp(V(nan)), nan)));
  CHECK((is(call_exp(V(max)), inf) && is(call_exp(V(-max)), 0)));
  CHECK((is(call_log(V(1)), 0) && is(call_log(V(0)), -inf) && is(call_log(V(T(-0.0))), -inf) &&
         is(call_log(V(inf)), inf)));
  CHECK((is(call_log(V(-1)), nan) && is(call_log(V(-inf)), nan) && is(call_log(V(nan)), nan)));
  CHECK((is(call_tanh(V(0)), 0) && is(call_tanh(V(T(-0.0))), T(-0.0)) && is(call_tanh(V(inf)), 1) &&
         is(call_tanh(V(-inf)), -1)));
  CHECK((is(call_tanh(V(nan)), nan) && is(call_tanh(V(-max)), -1)));
  CHECK((is(call_sigmoid(V(0)), T(0.5)) && is(call_sigmoid(V(inf)), 1) && is(call_sigmoid(V(-inf)), 0) &&
         is(call_sigmoid(V(nan)), nan)));
  CHECK((is(call_erf(V(0)), 0) && is(call_erf(V(T(-0.0))), T(-0.0)) && is(call_erf(V(inf)), 1) &&
         is(call_erf(V(-inf)), -1)));
  CHECK((is(call_erf(V(nan)), nan) && is(call_erf(V(max)), 1)));
  CHECK((is(call_sin(V(0)), 0) && is(call_sin(V(T(-0.0))), T(-0.0)) && is(call_sin(V(inf)), nan) &&
         is(call_sin(V(nan)), nan)));
  CHECK((is(call_cos(V(0)), 1) && is(call_cos(V(T(-0.0))), 1) && is(call_cos(V(-inf)), nan) &&
         is(call_cos(V(nan)), nan)));
}

TEST_CASE("one huge argument among the lanes does not disturb its neighbours") {
  using V = pack<float>;
  float x[lanes<V>], s[lanes<V>], c[lanes<V>];
  for (int huge_lane = 0; huge_lane < lanes<V>; ++huge_lane) {
    for (int l = 0; l < lanes<V>; ++l) x[l] = 0.25F + static_cast<float>(l);
    x[huge_lane] = 1e30F;
    store(s, call_sin(load<V>(x)));
    store(c, call_cos(load<V>(x)));
    double worst = 0;
    for (int l = 0; l < lanes<V>; ++l) {
      worst = std::max(worst, ulp_error(s[l], std::sin(static_cast<double>(x[l]))));
      worst = std::max(worst, ulp_error(c[l], std::cos(static_cast<double>(x[l]))));
    }
    CHECK(worst <= 2);
  }
}

TEST_CASE("generic code finds the same names for numbers and packs, without qualification") {
  const auto f = [](const auto& x) {
    return exp(x) + log(x) + tanh(x) + erf(x) + sin(x) + cos(x) + sigmoid(x) + pow(x, 2_c) + sqrt(x);
  };
  const float plain = f(0.75F);
  CHECK(static_cast<double>(plain) == doctest::Approx(f(0.75)).epsilon(1e-6));
  CHECK(static_cast<double>(f(pack<float>(0.75F))[0]) == doctest::Approx(f(0.75)).epsilon(1e-6));
}
