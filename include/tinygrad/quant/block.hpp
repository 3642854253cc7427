// Steps that several block formats share: where bytes lie, half-precision scales, rounding, nibbles, fifth bits.
// What a format must offer is written in kernel/quant_block.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tinygrad/core/half.hpp>
#include <tinygrad/kernel/quant_block.hpp>
#include <tinygrad/quant/ggml_type.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace quant {

namespace detail {

[[nodiscard]] inline const std::uint8_t* bytes_at(const std::byte* block, std::size_t offset) noexcept {
  return reinterpret_cast<const std::uint8_t*>(block) + offset;
}
[[nodiscard]] inline std::uint8_t* bytes_at(std::byte* block, std::size_t offset) noexcept {
  return reinterpret_cast<std::uint8_t*>(block) + offset;
}
inline void put_f16(std::byte* p, float value) noexcept {
  const std::uint16_t bits = float_to_f16(value);
  __builtin_memcpy(p, &bits, sizeof bits);
}

/// Eight bytes that are 1 where the bit of `byte` with their number is set, else 0; byte 0 is the lowest.
[[nodiscard]] constexpr std::uint64_t spread_bits(std::uint8_t byte) noexcept {
  const std::uint64_t picked = (byte * std::uint64_t{0x0101010101010101}) & 0x8040201008040201;
  return (picked + 0x7f7f7f7f7f7f7f7f) >> 7 & 0x0101010101010101;
}

/// 1 / d, or 0 where that is of no use: in blocks of zeros, or of numbers so small that the quotient overflows.
[[nodiscard]] inline float inverse(float d) noexcept {
  const float magnitude = d < 0 ? -d : d;
  return magnitude < 0x1p-126f ? 0.0f : 1 / d;
}
/// The value of largest magnitude, with its sign; of equal ones the first.
[[nodiscard]] inline float farthest_from_zero(const float* x, std::size_t count) noexcept {
  float found = 0, magnitude = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const float size = x[i] < 0 ? -x[i] : x[i];
    if (size > magnitude) magnitude = size, found = x[i];
  }
  return found;
}
struct value_range {
  float low, high;
};
[[nodiscard]] inline value_range range_of(const float* x, std::size_t count) noexcept {
  value_range range{x[0], x[0]};
  for (std::size_t i = 1; i < count; ++i) {
    if (x[i] < range.low) range.low = x[i];
    if (x[i] > range.high) range.high = x[i];
  }
  return range;
}
/// floor(x inverse + shift), at most `most`: the rounding of the 4- and 5-bit formats. The product is rounded before
/// the sum, as in the reference, on machines too that would fuse the two.
[[nodiscard]] inline std::uint8_t level_of(float x, float inverse_scale, float shift, int most) noexcept {
  const float product = tinygrad::detail::rounded_register(x * inverse_scale);
  const int level = static_cast<int>(product + shift);
  return static_cast<std::uint8_t>(level > most ? most : level);
}

/// The layout of the four simple formats: levels 0 to 15 in the low halves of 16 bytes, 16 to 31 in the high ones.
inline void unpack_nibbles(const std::uint8_t* TINYGRAD_RESTRICT from,
                           std::uint8_t* TINYGRAD_RESTRICT levels) noexcept {
  for (int i = 0; i < 16; ++i) {
    levels[i] = from[i] & 15;
    levels[i + 16] = from[i] >> 4;
  }
}
inline void pack_nibbles(const std::uint8_t* levels, std::uint8_t* to) noexcept {
  for (int i = 0; i < 16; ++i) to[i] = static_cast<std::uint8_t>((levels[i] & 15) | (levels[i + 16] & 15) << 4);
}
/// Adds 16 to the levels whose bit is set in the 4 bytes `high`.
inline void add_fifth_bits(const std::uint8_t* high, std::uint8_t* levels) noexcept {
  for (int byte = 0; byte < 4; ++byte) {
    std::uint64_t eight;
    __builtin_memcpy(&eight, levels + 8 * byte, 8);
    eight |= spread_bits(high[byte]) << 4;
    __builtin_memcpy(levels + 8 * byte, &eight, 8);
  }
}
inline void pack_fifth_bits(const std::uint8_t* levels, std::uint8_t* high) noexcept {
  for (int byte = 0; byte < 4; ++byte) {
    int bits = 0;
    for (int bit = 0; bit < 8; ++bit) bits |= (levels[8 * byte + bit] >> 4) << bit;
    high[byte] = static_cast<std::uint8_t>(bits);
  }
}

}  // namespace detail
}  // namespace quant
}  // namespace tinygrad::inline TINYGRAD_ABI
