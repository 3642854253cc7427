// Random: the library's own random numbers. The same seed gives the same bits with every compiler, instruction set
// and platform, which the distributions of <random> do not promise.
//
//   engine   xoshiro256++ 1.0, Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2019
//   seeding  SplitMix64, Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014
//   normal   inverse of the distribution function, Wichura's algorithm AS 241 (PPND16), Applied Statistics 37, 1988
//
// What could differ between builds is whether a*b+c rounds once or twice, and what libm returns for log. So every
// product that meets a sum is written as std::fma, which always rounds once (a call where the machine has no such
// instruction), and the logarithm is a series of our own. The rest is integers, single operations and sqrt, all of
// which IEEE 754 fixes. One normal costs exactly one draw and nothing is cached: four integers are the whole state.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

namespace random_detail {

// One step of SplitMix64: moves `counter` on and returns its scrambled value.
constexpr std::uint64_t splitmix64(std::uint64_t& counter) noexcept {
  std::uint64_t z = (counter += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// c[0] + c[1] x + c[2] x^2 + ..., one rounding a step on every machine.
template <std::size_t Count>
double polynomial(double x, const double (&c)[Count]) noexcept {
  double sum = c[Count - 1];
  for (std::size_t i = Count - 1; i-- > 0;) sum = std::fma(sum, x, c[i]);
  return sum;
}

// Natural logarithm of a normal positive number, within 2 ulp where |log x| > 1.
// x = m 2^e with m in [1/sqrt 2, sqrt 2); log m = 2 atanh(s) = 2 s (1 + s^2/3 + s^4/5 + ...), s = (m-1)/(m+1).
inline double portable_log(double x) noexcept {
  static constexpr double odd_reciprocals[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9, 1.0 / 11,
                                               1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // in [1/2, 1)
  if (mantissa < std::numbers::sqrt2 / 2) {
    mantissa *= 2;
    --exponent;
  }
  const double s = (mantissa - 1) / (mantissa + 1);
  const double log_mantissa = 2 * s * polynomial(s * s, odd_reciprocals);
  return std::fma(static_cast<double>(exponent), std::numbers::ln2, log_mantissa);
}

// The z of the tail: below it lies probability p, 2^-55 < p < 0.075. Returned positive.
inline double normal_tail(double p) noexcept {
  static constexpr double near_numerator[] = {
      1.42343711074968357734, 4.63033784615654529590,    5.76949722146069140550,    3.64784832476320460504,
      1.27045825245236838258, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr double near_denominator[] = {1.0,
                                                2.05319162663775882187,
                                                1.67638483018380384940,
                                                6.89767334985100004550e-1,
                                                1.48103976427480074590e-1,
                                                1.51986665636164571966e-2,
                                                5.47593808499534494600e-4,
                                                1.05075007164441684324e-9};
  static constexpr double far_numerator[] = {
      6.65790464350110377720,    5.46378491116411436990,    1.78482653991729133580,    2.96560571828504891230e-1,
      2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr double far_denominator[] = {1.0,
                                               5.99832206555887937690e-1,
                                               1.36929880922735805310e-1,
                                               1.48753612908506148525e-2,
                                               7.86869131145613259100e-4,
                                               1.84631831751005468180e-5,
                                               1.42151175831644588870e-7,
                                               2.04426310338993978564e-15};
  const double r = std::sqrt(-portable_log(p));
  if (r <= 5) return polynomial(r - 1.6, near_numerator) / polynomial(r - 1.6, near_denominator);
  return polynomial(r - 5, far_numerator) / polynomial(r - 5, far_denominator);
}

// The z below which a standard normal lies with probability 1/2 + q. `q` is an odd multiple of 2^-54 in (-1/2, 1/2).
inline double normal_quantile(double q) noexcept {
  static constexpr double numerator[] = {
      3.38713287279636660800,    1.33141667891784377450e+2, 1.97159095030655144270e+3, 1.37316937655094611250e+4,
      4.59219539315498714570e+4, 6.72657709270087008530e+4, 3.34305755835881281050e+4, 2.50908092873012267270e+3};
  static constexpr double denominator[] = {1.0,
                                           4.23133307016009112520e+1,
                                           6.87187007492057908300e+2,
                                           5.39419602142475110770e+3,
                                           2.12137943015865958670e+4,
                                           3.93078958000927106100e+4,
                                           2.87290857357219426740e+4,
                                           5.22649527885285456100e+3};
  if (std::fabs(q) <= 0.425) {
    const double r = std::fma(-q, q, 0.180625);  // 0.425^2 - q^2
    return q * polynomial(r, numerator) / polynomial(r, denominator);
  }
  const double tail = normal_tail(0.5 - std::fabs(q));  // the difference is exact: both are multiples of 2^-54
  return q < 0 ? -tail : tail;
}

}  // namespace random_detail

/// A stream of random numbers. A regular value: copying it copies the position in the stream.
class Random {
 public:
  using result_type = std::uint64_t;
  /// Everything the generator knows, for checkpoints.
  using State = std::array<std::uint64_t, 4>;

  explicit Random(std::uint64_t seed) noexcept {
    for (auto& word : state_) word = random_detail::splitmix64(seed);
  }
  /// Continues where `state()` was taken. Throws value_error for four zeros, which no generator ever reaches.
  explicit Random(const State& state) : state_(state) {
    if (state == State{}) throw value_error("[random] the state is all zeros; it must come from state()");
  }
  [[nodiscard]] const State& state() const noexcept { return state_; }
  friend bool operator==(const Random&, const Random&) = default;

  /// 64 random bits. With min and max below, any algorithm of the standard library accepts a Random.
  result_type operator()() noexcept {
    auto& [a, b, c, d] = state_;
    const std::uint64_t result = std::rotl(a + d, 23) + a;
    const std::uint64_t shifted = b << 17;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = std::rotl(d, 45);
    return result;
  }
  static constexpr result_type(min)() noexcept { return 0; }
  static constexpr result_type(max)() noexcept { return ~result_type{0}; }

  /// In [0, 1): a multiple of 2^-53 for double, of 2^-24 for float.
  template <std::floating_point T = double>
  T uniform() noexcept {
    if constexpr (sizeof(T) <= 4) return static_cast<T>((*this)() >> 40) * static_cast<T>(0x1p-24);
    return static_cast<T>(static_cast<double>((*this)() >> 11) * 0x1p-53);
  }

  /// In [lo, hi), or lo where both are equal. Throws value_error for lo > hi and for a width that is not finite.
  template <std::floating_point T>
  T uniform(T lo, T hi) {
    const T width = hi - lo;
    if (!(lo <= hi) || !std::isfinite(width)) throw_range(lo, hi);
    for (;;) {
      const T value = std::fma(uniform<T>(), width, lo);
      if (value < hi || lo == hi) return value;  // rounding may reach hi: draw again, once in millions
    }
  }

  /// Normal with mean 0 and standard deviation 1; |z| <= 8.3. A float is the rounded double.
  template <std::floating_point T = double>
  T normal() noexcept {
    // The middle of one of 2^53 equal cells: (k + 1/2) 2^-53, minus 1/2. Never zero, never an end; exact in double.
    const auto k = static_cast<std::int64_t>((*this)() >> 11);
    const std::int64_t odd = 2 * k + 1 - (std::int64_t{1} << 53);
    return static_cast<T>(random_detail::normal_quantile(static_cast<double>(odd) * 0x1p-54));
  }
  template <std::floating_point T>
  T normal(T mean, T deviation) noexcept {
    return std::fma(normal<T>(), deviation, mean);
  }

  /// A whole number in [0, n), each equally likely: the top bits are drawn again until they fall below n (less than
  /// two draws on average). Throws value_error for n = 0.
  std::uint64_t below(std::uint64_t n) {
    if (n == 0) throw value_error("[random] below(0): there is no number below zero; n must be positive");
    if (n == 1) return 0;
    const int unused = std::countl_zero(n - 1);
    for (;;)
      if (const std::uint64_t value = (*this)() >> unused; value < n) return value;
  }

  /// Puts the items in random order (Fisher and Yates, from the back).
  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t left = items.size(); left > 1; --left) {
      using std::swap;
      swap(items[left - 1], items[static_cast<std::size_t>(below(left))]);
    }
  }

  /// The numbers 0 to n-1 in random order.
  [[nodiscard]] std::vector<std::size_t> permutation(std::size_t n) {
    std::vector<std::size_t> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = i;
    shuffle(std::span(order));
    return order;
  }

  /// Moves 2^128 draws ahead: streams made by jumping never overlap.
  void jump() noexcept {
    State reached{};
    for (const std::uint64_t word :
         {0x180ec6d33cfd0abau, 0xd5a61266f0c9392cu, 0xa9582618e03fc9aau, 0x39abdc4529b1661cu})
      for (int bit = 0; bit < 64; ++bit) {
        if ((word >> bit & 1) != 0)
          for (std::size_t i = 0; i < 4; ++i) reached[i] ^= state_[i];
        (*this)();
      }
    state_ = reached;
  }

  /// A generator of its own for a part of the program, seeded by the next four draws. May be split again, to any
  /// depth, which jumping does not allow; the streams are independent by chance (2^256 positions), not by proof.
  [[nodiscard]] Random split() noexcept {
    Random child(0);
    for (auto& word : child.state_) {
      std::uint64_t drawn = (*this)();
      word = random_detail::splitmix64(drawn);
    }
    return child;
  }

 private:
  template <class T>
  [[noreturn]] TINYGRAD_COLD static void throw_range(T lo, T hi) {
    throw value_error("[random] uniform(" + std::to_string(lo) + ", " + std::to_string(hi) +
                      ") is no range; lo <= hi with a finite width");
  }

  State state_{};
};

}  // namespace tinygrad::inline TINYGRAD_ABI
