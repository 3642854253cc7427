// Errors in units in the last place, and ready-made sample points over the whole range of a format.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace simd_test {

template <class T>
using bits_of = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
T from_pattern(bits_of<T> pattern) {
  T x;
  std::memcpy(&x, &pattern, sizeof x);
  return x;
}
template <class T>
bits_of<T> pattern_of(T x) {
  bits_of<T> pattern;
  std::memcpy(&pattern, &x, sizeof x);
  return pattern;
}

inline constexpr double wrong = 1e30;  // the error of a result that is not a matter of rounding

// |got - want| in units of the last place that a T near `want` has; the unit of denormals below the normal numbers.
// Zeros must agree in sign, NaN with NaN, infinity with infinity (one unit against the largest finite number).
template <class T, class Wide>
double ulp_error(T got, Wide want) {
  using limits = std::numeric_limits<T>;
  const T rounded = static_cast<T>(want);
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : wrong;
  if (std::isinf(rounded) || std::isinf(got)) {
    if (rounded == got) return 0;
    const bool edge = std::fabs(rounded) >= limits::max() && std::fabs(got) >= limits::max();
    return edge && std::signbit(got) == std::signbit(rounded) ? 1 : wrong;
  }
  if (rounded == 0 && got == 0) return std::signbit(rounded) == std::signbit(got) ? 0 : wrong;
  int exponent = 0;
  std::frexp(want, &exponent);
  const int last = std::max(exponent - limits::digits, limits::min_exponent - limits::digits);
  return static_cast<double>(std::fabs(std::ldexp(static_cast<Wide>(got) - want, -last)));
}

// The format to compare with.
template <class T>
using wider = std::conditional_t<sizeof(T) == 4, double, long double>;

// Where long double is no wider than double the reference itself is off by up to a unit.
template <class T>
constexpr double reference_slack = std::numeric_limits<wider<T>>::digits > std::numeric_limits<T>::digits + 8 ? 0 : 1;

// A small generator of our own: the samples are the same everywhere.
class sequence {
 public:
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545F4914F6CDD1DULL;
  }
  double uniform(double low, double high) { return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53); }

 private:
  std::uint64_t state_ = 88172645463325252ULL;
};

// Every exponent with a few mantissas, of both signs: zeros, denormals, normals, infinities and NaN.
template <class T>
void append_exponent_sweep(std::vector<T>& out, sequence& random) {
  using word = bits_of<T>;
  constexpr int mantissa = std::numeric_limits<T>::digits - 1;
  constexpr word exponents = word{1} << (8 * sizeof(T) - 1 - mantissa);
  constexpr word ones = (word{1} << mantissa) - 1;
  for (word sign = 0; sign < 2; ++sign)
    for (word e = 0; e < exponents; ++e)
      for (const word m :
           {word{0}, word{1}, static_cast<word>(ones / 3), ones, static_cast<word>(random.next() & ones)})
        out.push_back(from_pattern<T>((sign << (8 * sizeof(T) - 1)) | (e << mantissa) | m));
}

// x and its neighbours, so many to each side.
template <class T>
void append_around(std::vector<T>& out, double x, int neighbours) {
  const auto centre = static_cast<T>(x);
  for (int i = -neighbours; i <= neighbours; ++i) {
    const T neighbour = from_pattern<T>(static_cast<bits_of<T>>(pattern_of(centre) + static_cast<bits_of<T>>(i)));
    out.push_back(neighbour);
    out.push_back(-neighbour);
  }
}

}  // namespace simd_test

// What the math is tested on. Sanitizers make these long straight-line functions many times slower to compile.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMD_TEST_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SIMD_TEST_SANITIZED
#endif
#if defined(SIMD_TEST_SANITIZED)
#define NATIVE_AND_PLAIN tinygrad::pack<float>, double
#else
#define NATIVE_AND_PLAIN tinygrad::pack<float>, tinygrad::pack<double>, float, double
#endif
