// Every pack operation against the same operation on plain numbers, for native and odd lane counts in every back end.
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include <tinygrad/simd/build_info.hpp>
#include <tinygrad/simd/pack.hpp>

#include "ulp.hpp"

using namespace tinygrad;

namespace {

// Arithmetic on one pack of each kind: registers, one lane, odd; memory and masks on every size.
#define SOME_PACKS pack<float>, pack<double>, pack<float, 1>, pack<double, 3>
#define ALL_PACKS                                                                                             \
  pack<float>, pack<double>, pack<float, 1>, pack<double, 1>, pack<float, 2>, pack<float, 3>, pack<float, 4>, \
      pack<double, 2>, pack<double, 4>, pack<float, 8>

template <class T>
bool same(T a, T b) {
  return (a != a && b != b) || simd_test::pattern_of(a) == simd_test::pattern_of(b);
}

// Values that tell operations apart: signs, zeros, halves, integers, extremes, infinities, NaN.
template <class T>
std::vector<T> interesting() {
  using limits = std::numeric_limits<T>;
  std::vector<T> v{T(0),
                   T(-0.0),
                   T(1),
                   T(-1),
                   T(0.5),
                   T(-0.5),
                   T(1.5),
                   T(2.5),
                   T(-2.5),
                   T(0.499),
                   T(-0.499),
                   T(3.25),
                   T(-7.75),
                   T(1e-30),
                   T(8388607),
                   T(8388608.5),
                   T(-4194303.5),
                   T(1e15),
                   T(1e30),
                   limits::min(),
                   limits::denorm_min(),
                   -limits::denorm_min(),
                   limits::max(),
                   limits::lowest(),
                   limits::infinity(),
                   -limits::infinity(),
                   limits::quiet_NaN(),
                   T(0.1),
                   T(-0.3),
                   T(4503599627370495.5)};
  simd_test::sequence random;
  while (v.size() % 240 != 0) v.push_back(static_cast<T>(random.uniform(-20, 20)));
  return v;
}

// How many lanes of f(packs of a, b, c) differ from g on the numbers themselves, over all interesting values.
template <class V, class F, class G>
int differences(const F& f, const G& g) {
  using T = scalar_of<V>;
  const std::vector<T> a = interesting<T>();
  std::vector<T> b(a.rbegin(), a.rend()), c(a);
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = a[(7 * i + 3) % a.size()];
  int wrong = 0;
  for (std::size_t shift = 0; shift < 31; ++shift) {  // pair every value with many others
    for (std::size_t i = 0; i + lanes<V> <= a.size(); i += lanes<V>) {
      const V r = f(load<V>(&a[i]), load<V>(&b[i]), load<V>(&c[i]));
      for (int l = 0; l < lanes<V>; ++l) {
        const std::size_t k = i + static_cast<std::size_t>(l);
        wrong += !same(T(r[l]), T(g(a[k], b[k], c[k])));
      }
    }
    std::rotate(b.begin(), b.begin() + 1, b.end());
  }
  return wrong;
}

// Memory of `bytes` bytes that ends (or begins) exactly at a page nobody may touch.
class guarded {
 public:
  guarded() {
    map_ = static_cast<char*>(mmap(nullptr, 3 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(map_ != MAP_FAILED);
    REQUIRE(mprotect(map_, page_, PROT_NONE) == 0);
    REQUIRE(mprotect(map_ + 2 * page_, page_, PROT_NONE) == 0);
  }
  guarded(const guarded&) = delete;
  guarded& operator=(const guarded&) = delete;
  ~guarded() { munmap(map_, 3 * page_); }
  template <class T>
  T* last(int n) {
    return reinterpret_cast<T*>(map_ + 2 * page_) - n;
  }
  template <class T>
  T* first() {
    return reinterpret_cast<T*>(map_ + page_);
  }

 private:
  std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  char* map_ = nullptr;
};

}  // namespace

TEST_CASE("build_info names the lanes that packs have") {
  constexpr build_description build = build_info();
  CHECK(build.float_lanes == native_lanes<float>);
  CHECK(build.float_lanes == pack<float>::size());
  CHECK(pack<double>::size() == std::max(1, build.float_lanes / 2));
  CHECK((build.backend == "one lane") == (build.float_lanes == 1));
  CHECK(build.isa.find(' ') == std::string_view::npos);
#if defined(TINYGRAD_NO_SIMD)
  CHECK(build.float_lanes == 1);
#elif defined(__AVX512F__)
  CHECK(build.float_lanes == 16);
#elif defined(__AVX__)
  CHECK(build.float_lanes == 8);
#else
  CHECK(build.float_lanes == 4);
#endif
}

TEST_CASE_TEMPLATE("a pack is a regular type of its lanes' numbers", V, ALL_PACKS) {
  using T = scalar_of<V>;
  static_assert(std::is_same_v<T, typename V::value_type> && lanes<V> == V::size());
  static_assert(std::is_trivially_copyable_v<V> && std::is_nothrow_move_constructible_v<V>);
  static_assert(sizeof(V) == sizeof(T) * static_cast<std::size_t>(V::size()));
  const V zero, seven = T(7);
  V copy = seven;
  copy = copy + V(T(1));
  int wrong = 0;
  for (int i = 0; i < lanes<V>; ++i) wrong += zero[i] != 0 || seven[i] != 7 || copy[i] != 8;
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("arithmetic is the arithmetic of the numbers, to the bit", V, SOME_PACKS) {
  CHECK(differences<V>([](V a, V b, V) { return a + b; }, [](auto a, auto b, auto) { return a + b; }) == 0);
  CHECK(differences<V>([](V a, V b, V) { return a - b; }, [](auto a, auto b, auto) { return a - b; }) == 0);
  CHECK(differences<V>([](V a, V b, V) { return a * b; }, [](auto a, auto b, auto) { return a * b; }) == 0);
  CHECK(differences<V>([](V a, V b, V) { return a / b; }, [](auto a, auto b, auto) { return a / b; }) == 0);
  CHECK(differences<V>([](V a, V, V) { return -a; }, [](auto a, auto, auto) { return -a; }) == 0);
  CHECK(differences<V>([](V a, V, V) { return +a; }, [](auto a, auto, auto) { return a; }) == 0);
  CHECK(differences<V>([](V a, V, V) { return sqrt(a); }, [](auto a, auto, auto) { return std::sqrt(a); }) == 0);
  CHECK(differences<V>(
            [](V a, V b, V c) {
              a += b, a -= c, a *= b, a /= c;
              return a;
            },
            [](auto a, auto b, auto c) {
              const volatile auto sum = a + b, difference = sum - c, product = difference * b;  // no contraction
              return product / c;
            }) == 0);
}

TEST_CASE_TEMPLATE("plain numbers and constants mix with packs on either side", V, SOME_PACKS) {
  using T = scalar_of<V>;
  static_assert(std::is_same_v<decltype(0.5_c * V()), V> && std::is_same_v<decltype(V() / 3_c), V>);
  CHECK(differences<V>([](V a, V, V) { return T(3) - a; }, [](auto a, auto, auto) { return T(3) - a; }) == 0);
  CHECK(differences<V>([](V a, V, V) { return a / T(3); }, [](auto a, auto, auto) { return a / T(3); }) == 0);
  CHECK(differences<V>([](V a, V, V) { return 0.1_c * a; }, [](auto a, auto, auto) { return T(0.1) * a; }) == 0);
  CHECK(differences<V>([](V a, V, V) { return a - 0.1_c; }, [](auto a, auto, auto) { return a - T(0.1); }) == 0);
  CHECK(differences<V>([](V a, V, V) { return select(a > 0_c, a, 0.5_c); },
                       [](auto a, auto, auto) { return a > 0 ? a : T(0.5); }) == 0);
  CHECK(differences<V>([](V a, V, V) { return select(1_c >= a, T(2), a); },
                       [](auto a, auto, auto) { return 1 >= a ? T(2) : a; }) == 0);
  CHECK(differences<V>([](V a, V, V) { return maximum(-0.0_c, fma(2_c, a, 0_c)) + minimum(1_c, a); },
                       [](auto a, auto, auto) {
                         const auto twice = 2 * a;
                         return (T(-0.0) < twice ? twice : T(-0.0)) + (a < 1 ? a : 1);
                       }) == 0);
  CHECK(differences<V>([](V a, V, V) { return maximum(a, 0_c); }, [](auto a, auto, auto) { return a < 0 ? 0 : a; }) ==
        0);
}

TEST_CASE_TEMPLATE("fma is one of the two roundings of a * b + c", V, SOME_PACKS) {
  using T = scalar_of<V>;
  const auto two_roundings = [](T a, T b, T c) {
    const volatile T product = a * b;
    return product + c;
  };
  const std::vector<T> x = interesting<T>();
  int wrong = 0, fused = 0;
  for (std::size_t i = 0; i + 2 < x.size(); ++i) {
    const V r = fma(V(x[i]), V(x[i + 1]), V(x[i + 2]));
    for (int l = 0; l < lanes<V>; ++l) {
      const T once = std::fma(x[i], x[i + 1], x[i + 2]), twice = two_roundings(x[i], x[i + 1], x[i + 2]);
      wrong += !same(r[l], once) && !same(r[l], twice);
      fused += !same(once, twice) && same(r[l], once);
    }
  }
  CHECK(wrong == 0);
  if (!build_info().has_fma) CHECK(fused == 0);
}

TEST_CASE_TEMPLATE("rounding, signs and bounds treat halves, zeros and NaN as documented", V, SOME_PACKS) {
  using T = scalar_of<V>;
  CHECK(differences<V>([](V a, V, V) { return abs(a); }, [](auto a, auto, auto) { return std::fabs(a); }) == 0);
  CHECK(differences<V>([](V a, V b, V) { return copysign(a, b); },
                       [](auto a, auto b, auto) { return std::copysign(a, b); }) == 0);
  CHECK(differences<V>([](V a, V, V) { return round(a); }, [](auto a, auto, auto) { return std::nearbyint(a); }) == 0);
  CHECK(differences<V>([](V a, V, V) { return floor(a); }, [](auto a, auto, auto) { return std::floor(a); }) == 0);
  CHECK(differences<V>([](V a, V b, V) { return minimum(a, b); }, [](auto a, auto b, auto) { return b < a ? b : a; }) ==
        0);
  CHECK(differences<V>([](V a, V b, V) { return maximum(a, b); }, [](auto a, auto b, auto) { return a < b ? b : a; }) ==
        0);
  CHECK(differences<V>([](V a, V, V) { return minimum(T(1), a); }, [](auto a, auto, auto) { return a < 1 ? a : 1; }) ==
        0);
  const auto one_if = [](bool b) { return b ? T(1) : T(0); };
  CHECK(differences<V>([](V a, V, V) { return select(is_nan(a), V(1), V(0)); },
                       [&](auto a, auto, auto) { return one_if(std::isnan(a)); }) == 0);
  CHECK(differences<V>([](V a, V, V) { return select(is_finite(a), V(1), V(0)); },
                       [&](auto a, auto, auto) { return one_if(std::isfinite(a)); }) == 0);
}

TEST_CASE_TEMPLATE("comparisons and masks choose lane by lane", V, SOME_PACKS) {
  CHECK(differences<V>([](V a, V b, V c) { return select(a < b, c, a); },
                       [](auto a, auto b, auto c) { return a < b ? c : a; }) == 0);
  CHECK(differences<V>([](V a, V b, V c) { return select(a <= b, c, a); },
                       [](auto a, auto b, auto c) { return a <= b ? c : a; }) == 0);
  CHECK(differences<V>([](V a, V b, V c) { return select(a > b, c, a); },
                       [](auto a, auto b, auto c) { return a > b ? c : a; }) == 0);
  CHECK(differences<V>([](V a, V b, V c) { return select(a >= b, c, a); },
                       [](auto a, auto b, auto c) { return a >= b ? c : a; }) == 0);
  CHECK(differences<V>([](V a, V b, V c) { return select(round(a) == round(b), c, a); },
                       [](auto a, auto b, auto c) { return std::nearbyint(a) == std::nearbyint(b) ? c : a; }) == 0);
  CHECK(differences<V>([](V a, V b, V c) { return select(a != b, c, a); },
                       [](auto a, auto b, auto c) { return a != b ? c : a; }) == 0);
  CHECK(differences<V>([](V a, V b, V c) { return select((a < b && b < c) || !(a == a), c, b); },
                       [](auto a, auto b, auto c) { return (a < b && b < c) || !(a == a) ? c : b; }) == 0);
}

TEST_CASE_TEMPLATE("any_of and all_of see every single lane", V, ALL_PACKS) {
  using T = scalar_of<V>;
  T x[lanes<V>] = {};
  CHECK_FALSE(any_of(load<V>(x) == V(1)));
  CHECK(all_of(load<V>(x) == V(0)));
  int wrong = 0;
  for (int i = 0; i < lanes<V>; ++i) {
    x[i] = 1;
    const mask_of<V> one = load<V>(x) == V(1);
    wrong += !any_of(one) || all_of(!one) || all_of(one) != (lanes<V> == 1);
    for (int l = 0; l < lanes<V>; ++l) wrong += one[l] != (l == i);
    x[i] = 0;
  }
  CHECK(wrong == 0);
  CHECK((all_of(mask_of<V>(true)) && !any_of(mask_of<V>(false)) && !any_of(mask_of<V>())));
}

TEST_CASE_TEMPLATE("a partial load or store touches its lanes and nothing beyond", V, ALL_PACKS) {
  using T = scalar_of<V>;
  guarded memory;
  int wrong = 0;
  for (int n = 0; n <= lanes<V>; ++n) {
    T* const end = memory.last<T>(n);  // one element further is a fault
    for (int i = 0; i < n; ++i) end[i] = static_cast<T>(i + 1);
    const V v = load<V>(end, n);
    for (int i = 0; i < lanes<V>; ++i) wrong += v[i] != (i < n ? static_cast<T>(i + 1) : T(0));
    store(end, v + 10_c, n);
    for (int i = 0; i < n; ++i) wrong += end[i] != static_cast<T>(i + 11);

    T* const begin = memory.first<T>();
    for (int i = 0; i < 2 * lanes<V>; ++i) begin[i] = T(-5);
    store(begin, V(T(3)), n);
    for (int i = 0; i < 2 * lanes<V>; ++i) wrong += begin[i] != (i < n ? T(3) : T(-5));
  }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("whole loads and stores need no alignment", V, ALL_PACKS) {
  using T = scalar_of<V>;
  guarded memory;
  T* const p = memory.last<T>(lanes<V>);
  for (int i = 0; i < lanes<V>; ++i) p[i] = static_cast<T>(i);
  T out[2 * lanes<V> + 1] = {};
  int wrong = 0;
  for (int offset = 0; offset <= lanes<V>; ++offset) {
    store(out + offset, load<V>(p));
    for (int i = 0; i < lanes<V>; ++i) wrong += out[offset + i] != static_cast<T>(i);
  }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("reductions add halves in a fixed tree", V, ALL_PACKS) {
  using T = scalar_of<V>;
  const std::vector<T> x = interesting<T>();
  int wrong = 0;
  for (std::size_t i = 40; i + lanes<V> <= x.size(); ++i) {
    std::vector<T> sum(&x[i], &x[i] + lanes<V>);
    std::size_t n = lanes<V>;
    for (; n % 2 == 0; n /= 2)
      for (std::size_t k = 0; k < n / 2; ++k) sum[k] = sum[k] + sum[k + n / 2];
    for (std::size_t k = 1; k < n; ++k) sum[0] += sum[k];
    const V v = load<V>(&x[i]);
    wrong += !same(reduce_add(v), sum[0]);
    wrong += !same(reduce_max(v), *std::max_element(&x[i], &x[i] + lanes<V>));
    wrong += !same(reduce_min(v), *std::min_element(&x[i], &x[i] + lanes<V>));
  }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("scaling by a power of two rounds once, into the denormals too", V, SOME_PACKS) {
  using T = scalar_of<V>;
  const int most = sizeof(T) == 4 ? 252 : 2044;
  int wrong = 0;
  for (int n = -most; n <= most; ++n)
    for (const T x : {T(1), T(1.9999), T(-0.7071), T(1.25)})
      wrong += !same(scale_by_power(V(x), V(static_cast<T>(n)))[lanes<V> - 1], std::ldexp(x, n));
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("bits come and go unchanged, and integer packs shift and combine them", V, SOME_PACKS) {
  using T = scalar_of<V>;
  using word = simd_test::bits_of<T>;
  static_assert(std::is_same_v<bits_pack<V>, pack<word, lanes<V>>>);
  CHECK(differences<V>([](V a, V, V) { return from_bits<V>(to_bits(a)); }, [](auto a, auto, auto) { return a; }) == 0);
  const std::vector<T> x = interesting<T>();
  int wrong = 0;
  for (std::size_t i = 0; i + lanes<V> < x.size(); ++i) {
    const auto a = to_bits(load<V>(&x[i])), b = to_bits(load<V>(&x[i + 1]));
    const auto sum = a + b, difference = a - b, both = a & b, either = a | b, one = a ^ b, left = a << 5,
               right = a >> 7;
    const auto larger = a != b;
    for (int l = 0; l < lanes<V>; ++l) {
      const word p = simd_test::pattern_of(x[i + static_cast<std::size_t>(l)]);
      const word q = simd_test::pattern_of(x[i + 1 + static_cast<std::size_t>(l)]);
      wrong += sum[l] != static_cast<word>(p + q) || difference[l] != static_cast<word>(p - q);
      wrong += both[l] != (p & q) || either[l] != (p | q) || one[l] != (p ^ q) || larger[l] != (p != q);
      wrong += left[l] != static_cast<word>(p << 5) || right[l] != p >> 7;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("a mask from integers selects floating-point numbers of the same size", V, SOME_PACKS) {
  using word = simd_test::bits_of<scalar_of<V>>;
  CHECK(differences<V>([](V a, V b, V) { return select((to_bits(a) & word{1}) == bits_pack<V>(0), a, b); },
                       [](auto a, auto b, auto) { return simd_test::pattern_of(a) % 2 == 0 ? a : b; }) == 0);
}

TEST_CASE_TEMPLATE("float widens to double and narrows back by rounding", V, pack<float, 1>, pack<float, 2>,
                   pack<float, 3>, pack<float, 4>, pack<float, 8>, pack<float, 16>) {
  const std::vector<float> x = interesting<float>();
  int wrong = 0;
  for (std::size_t i = 0; i + lanes<V> <= x.size(); ++i) {
    const auto wide = convert<double>(load<V>(&x[i]));
    const V back = convert<float>(wide), third = convert<float>(wide / 3.0);
    for (int l = 0; l < lanes<V>; ++l) {
      const float value = x[i + static_cast<std::size_t>(l)];
      wrong += !same(wide[l], static_cast<double>(value)) || !same(back[l], value);
      wrong += !same(third[l], static_cast<float>(static_cast<double>(value) / 3.0));
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("plain numbers answer to the same names, as one lane") {
  static_assert(lanes<float> == 1 && lanes<double> == 1 && std::is_same_v<mask_of<float>, bool>);
  static_assert(std::is_same_v<scalar_of<float>, float> && std::is_same_v<scalar_of<pack<double, 3>>, double>);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  float x[2] = {2.25F, -1};
  CHECK(load<float>(x) == 2.25F);
  CHECK(load<float>(x, 0) == 0);
  CHECK(load<float>(x, 1) == 2.25F);
  store(x, 4.5F, 0);
  CHECK(x[0] == 2.25F);
  store(x, 4.5F, 1);
  store(x + 1, -4.5F);
  CHECK((x[0] == 4.5F && x[1] == -4.5F));
  CHECK(select(true, 1.0F, 2.0F) == 1);
  CHECK(select(false, 1_c, 2.0) == 2);
  CHECK((minimum(1.0, 2.0) == 1 && maximum(1.0, 2_c) == 2 && maximum(3_c, 1.0F) == 3 && minimum(3_c, 1.0) == 1 &&
         std::isnan(maximum(nan, 0_c)) && minimum(0.0F, nan) == 0));
  CHECK((tinygrad::abs(-3.0) == 3 && tinygrad::copysign(3.0, -1.0) == -3 && tinygrad::floor(-0.5) == -1));
  CHECK((tinygrad::round(2.5) == 2 && tinygrad::round(3.5F) == 4));
  CHECK((tinygrad::sqrt(9.0F) == 3 && tinygrad::fma(2.0, 3.0, 4.0) == 10 && fma(2.0F, 3_c, 4_c) == 10 &&
         fma(2_c, 3.0, 4_c) == 10));
  CHECK((reduce_add(3.0F) == 3 && reduce_max(3.0) == 3 && reduce_min(3.0) == 3));
  CHECK((any_of(true) && !all_of(false) && is_nan(nan) && !is_finite(nan) && is_finite(1.0)));
  CHECK((scale_by_power(3.0F, -1.0F) == 1.5F && from_bits<float>(to_bits(1.0F) + 1) > 1));
}

TEST_CASE("constants fold among themselves and take the type of what they meet") {
  static_assert(std::is_same_v<decltype(0.5_c * 2_c), constant> && (0.5_c * 2_c - 1_c) == 0_c);
  static_assert((-(3_c) / 4_c).value == -0.75 && (1_c + 0.25_c).value == 1.25 && (+1_c) == 1_c);
  static_assert(1_c < 2_c && 2_c <= 2_c && 3_c > 2_c && 3_c >= 3_c);
  static_assert(std::is_same_v<decltype(0.5_c * 1.0F), float> && std::is_same_v<decltype(1.0 - 0.5_c), double>);
  static_assert(0.1_c * 1.0F == 0.1F && 0.1_c * 1.0 == 0.1);
  static_assert(0.1_c == 0.1F && 0.1F == 0.1_c && 0.1_c != 0.1 + 0x1p-50 && 1_c < 2.0F && 2.0 >= 1_c);
  float x = 3;
  x += 1_c, x *= 2_c, x -= 0.5_c, x /= 3_c;
  CHECK(x == 2.5F);
  const float from_constant = 0.1_c;
  CHECK(from_constant == 0.1F);
}
