// Random generators of two other languages, number for number, so that tables printed by programs in C# and Python
// can be reproduced. New code wants Random (random.hpp).
//
//   dotnet_random   `new Random(seed)` of .NET: Knuth's subtractive generator ("The Art of Computer Programming",
//                   volume 2, 3.2.2), with the slip in its second lag (21 instead of 31) that .NET keeps for old seeds
//   python_random   `random.seed(n)` of Python 3: MT19937, Matsumoto and Nishimura, "Mersenne twister", 1998, seeded
//                   by their init_by_array
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <tinygrad/core/config.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

/// The seeded System.Random of .NET. Not safe against negative arguments, as the original checks them: n >= 0.
class dotnet_random {
 public:
  explicit dotnet_random(std::int32_t seed) noexcept {
    const std::int32_t size = seed == (std::numeric_limits<std::int32_t>::min)() ? limit : seed < 0 ? -seed : seed;
    std::int32_t last = 161803398 - size;
    std::int32_t current = 1;
    ring_[55] = last;
    for (std::size_t i = 1; i < 55; ++i) {
      const std::size_t place = 21 * i % 55;
      ring_[place] = current;
      current = difference(last, current);
      last = ring_[place];
    }
    for (int round = 0; round < 4; ++round)
      for (std::size_t i = 1; i < 56; ++i) ring_[i] = difference(ring_[i], ring_[1 + (i + 30) % 55]);
  }

  /// Next(): in [0, 2^31 - 1).
  std::int32_t next() noexcept {
    if (++first_ == 56) first_ = 1;
    if (++second_ == 56) second_ = 1;
    std::int32_t value = wrapping_difference(ring_[first_], ring_[second_]);
    if (value == limit) --value;
    if (value < 0) value += limit;
    return ring_[first_] = value;
  }
  /// Next(n): in [0, n), 0 for n = 0.
  std::int32_t next(std::int32_t n) noexcept { return static_cast<std::int32_t>(next_double() * n); }
  /// NextDouble(): in [0, 1), a multiple of 1 / (2^31 - 1).
  double next_double() noexcept { return next() * (1.0 / limit); }

 private:
  static constexpr std::int32_t limit = (std::numeric_limits<std::int32_t>::max)();

  // C#'s subtraction wraps around; so does this, without leaving defined behaviour.
  static constexpr std::int32_t wrapping_difference(std::int32_t a, std::int32_t b) noexcept {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b));
  }
  static constexpr std::int32_t difference(std::int32_t a, std::int32_t b) noexcept {
    const std::int32_t value = wrapping_difference(a, b);
    return value < 0 ? value + limit : value;
  }

  std::array<std::int32_t, 56> ring_{};  // counted from 1, as in the original
  std::size_t first_ = 0;
  std::size_t second_ = 21;
};

/// The module `random` of Python 3 after `random.seed(seed)` with a whole number.
class python_random {
 public:
  explicit python_random(std::uint64_t seed) noexcept {
    const std::array<std::uint32_t, 2> key = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
    seed_by_array(std::span(key).first(key[1] == 0 ? 1 : 2));
  }

  /// random(): in [0, 1), 53 bits from two draws.
  double random() noexcept {
    const std::uint32_t high = next() >> 5;
    const std::uint32_t low = next() >> 6;
    return (high * 67108864.0 + low) * (1.0 / 9007199254740992.0);  // exact, so contraction cannot change it
  }
  /// uniform(lo, hi): lo + (hi - lo) * random(), rounded after the product as Python does.
  double uniform(double lo, double hi) noexcept { return rounded((hi - lo) * random()) + lo; }
  /// gauss(mean, deviation). Uses log, sin and cos of this platform, as Python does: last digits may differ.
  double gauss(double mean, double deviation) noexcept {
    double z = spare_;
    if (!has_spare_) {
      const double angle = random() * (2 * std::numbers::pi);
      const double radius = std::sqrt(-2.0 * std::log(1.0 - random()));
      z = std::cos(angle) * radius;
      spare_ = std::sin(angle) * radius;
    }
    has_spare_ = !has_spare_;
    return mean + rounded(z * deviation);
  }

  /// 32 random bits: MT19937's own output.
  std::uint32_t next() noexcept {
    if (position_ == words) renew();
    std::uint32_t y = state_[position_++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }

 private:
  static constexpr std::size_t words = 624;
  static constexpr std::size_t shift = 397;

  // Keeps a product from being fused with the sum it goes into.
  static double rounded(double product) noexcept {
    const volatile double stored = product;
    return stored;
  }

  void seed_by_number(std::uint32_t seed) noexcept {
    state_[0] = seed;
    for (std::uint32_t i = 1; i < words; ++i) state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  }

  void seed_by_array(std::span<const std::uint32_t> key) noexcept {
    seed_by_number(19650218u);
    std::size_t i = 1;
    const auto mixed = [&](std::uint32_t factor) {
      return state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * factor);
    };
    const auto advance = [&] {
      if (++i < words) return;
      state_[0] = state_[words - 1];
      i = 1;
    };
    for (std::size_t step = 0; step < words; ++step) {
      const std::size_t j = step % key.size();
      state_[i] = mixed(1664525u) + key[j] + static_cast<std::uint32_t>(j);
      advance();
    }
    for (std::size_t step = 1; step < words; ++step) {
      state_[i] = mixed(1566083941u) - static_cast<std::uint32_t>(i);
      advance();
    }
    state_[0] = 0x80000000u;
  }

  // The next 624 words, in place.
  void renew() noexcept {
    for (std::size_t i = 0; i < words; ++i) {
      const std::uint32_t joined = (state_[i] & 0x80000000u) | (state_[(i + 1) % words] & 0x7fffffffu);
      state_[i] = state_[(i + shift) % words] ^ (joined >> 1) ^ ((joined & 1u) != 0 ? 0x9908b0dfu : 0u);
    }
    position_ = 0;
  }

  std::array<std::uint32_t, words> state_{};
  std::size_t position_ = words;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
