// Half precision: IEEE binary16 (f16) and bfloat16 (bf16) to and from float, as integer arithmetic on the bits.
//
//   f16   1 sign, 5 exponent (bias 15), 10 fraction bits     65504 down to 2^-24
//   bf16  1 sign, 8 exponent (bias 127), 7 fraction bits     the upper half of a float
// Widening is exact. Narrowing rounds to nearest, ties to even; what is too large becomes infinity. A NaN keeps the
// fraction bits that fit and always stays a NaN, so narrow(widen(h)) gives back each of the 65,536 bit patterns.
// Nothing here depends on hardware conversions or on the flush-to-zero mode: the results are the same everywhere.
// Source: IEEE 754-2019, 3.6 and 4.3.1; bfloat16 is not an IEEE format but rounds the same way.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <tinygrad/core/config.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {
inline constexpr std::uint32_t float_infinity = 0x7f800000;
inline constexpr std::uint32_t half_bias_shift = (127 - 15) << 23;  // float exponent minus f16 exponent, in place

/// Drops the low `count` bits, rounding to nearest with ties to even. The carry may run into the exponent: intended.
[[nodiscard]] constexpr std::uint32_t round_shift(std::uint32_t bits, int count) noexcept {
  const std::uint32_t below_half = (std::uint32_t{1} << (count - 1)) - 1;
  return (bits + below_half + ((bits >> count) & 1)) >> count;
}

/// condition ? yes : no, as bit operations: compilers then keep a loop over halves free of branches and vectorise it.
[[nodiscard]] constexpr std::uint32_t bit_select(bool condition, std::uint32_t yes, std::uint32_t no) noexcept {
  return no ^ ((yes ^ no) & (0 - static_cast<std::uint32_t>(condition)));
}
}  // namespace detail

/// The float with exactly the value of binary16 `bits`.
[[nodiscard]] constexpr float f16_to_float(std::uint16_t bits) noexcept {
  const std::uint32_t sign = (bits & std::uint32_t{0x8000}) << 16;
  const std::uint32_t magnitude = bits & std::uint32_t{0x7fff};
  // A subnormal is a count of 2^-24, which int-to-float and one multiplication give exactly, as a normal float.
  const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f;
  const std::uint32_t normal = (magnitude << 13) + detail::half_bias_shift;
  const std::uint32_t special = normal + detail::half_bias_shift;  // infinity and NaN: exponent 255
  const std::uint32_t finite = detail::bit_select(magnitude < 0x0400, std::bit_cast<std::uint32_t>(subnormal), normal);
  return std::bit_cast<float>(sign | detail::bit_select(magnitude >= 0x7c00, special, finite));
}

/// The binary16 nearest to `value`, ties to even.
[[nodiscard]] constexpr std::uint16_t float_to_f16(float value) noexcept {
  constexpr std::uint32_t overflow = 0x477ff000;         // 65520, halfway between 65504 and 2^16: rounds to infinity
  constexpr std::uint32_t smallest_normal = 0x38800000;  // 2^-14
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  // The spacing of floats in [0.5, 1) is 2^-24, that of subnormal halves: the addition does the rounding.
  // (`below` keeps that sum finite when the branch is not the one taken.)
  const std::uint32_t below = detail::bit_select(magnitude < smallest_normal, magnitude, 0);
  const float shifted = std::bit_cast<float>(below) + 0.5f;
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5f);
  const std::uint32_t normal = detail::round_shift(magnitude - detail::half_bias_shift, 13);
  const std::uint32_t fraction = (magnitude >> 13) & 0x3ff;
  const std::uint32_t nan = 0x7c00 | fraction | static_cast<std::uint32_t>(fraction == 0);
  const std::uint32_t finite = detail::bit_select(magnitude < smallest_normal, subnormal, normal);
  const std::uint32_t special = detail::bit_select(magnitude > detail::float_infinity, nan, 0x7c00);
  return static_cast<std::uint16_t>(sign | detail::bit_select(magnitude >= overflow, special, finite));
}

/// The float with exactly the value of bfloat16 `bits`.
[[nodiscard]] constexpr float bf16_to_float(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// The bfloat16 nearest to `value`, ties to even.
[[nodiscard]] constexpr std::uint16_t float_to_bf16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool is_nan = (bits & 0x7fffffff) > detail::float_infinity;
  const std::uint32_t nan = (bits >> 16) | ((bits & 0x007f0000) == 0 ? 1 : 0);
  return static_cast<std::uint16_t>(is_nan ? nan : detail::round_shift(bits, 16));
}

/// A number stored as binary16. Converts to float by itself; from float only on request, because that rounds.
struct f16 {
  std::uint16_t bits = 0;

  f16() = default;
  constexpr explicit f16(float value) noexcept : bits(float_to_f16(value)) {}
  [[nodiscard]] static constexpr f16 from_bits(std::uint16_t pattern) noexcept {
    f16 result;
    result.bits = pattern;
    return result;
  }
  constexpr operator float() const noexcept { return f16_to_float(bits); }
};

/// A number stored as bfloat16.
struct bf16 {
  std::uint16_t bits = 0;

  bf16() = default;
  constexpr explicit bf16(float value) noexcept : bits(float_to_bf16(value)) {}
  [[nodiscard]] static constexpr bf16 from_bits(std::uint16_t pattern) noexcept {
    bf16 result;
    result.bits = pattern;
    return result;
  }
  constexpr operator float() const noexcept { return bf16_to_float(bits); }
};

static_assert(sizeof(f16) == 2 && sizeof(bf16) == 2, "arrays of halves are read straight from files");

}  // namespace tinygrad::inline TINYGRAD_ABI
