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

/// As many bytes as one register holds, at most 32: what formats are unpacked with.
inline constexpr int unpack_lanes = byte_lanes<pack<float>>;
using byte_pack = level_bytes<unpack_lanes>;

/// body(i, bytes [i, i + byte_pack::size())) for every pack of from[count].
template <class Body>
TINYGRAD_ALWAYS_INLINE void for_byte_packs(const std::uint8_t* from, std::size_t count, Body&& body) {
  for (std::size_t i = 0; i < count; i += static_cast<std::size_t>(byte_pack::size()))
    body(i, byte_pack::load(from + i));
}
/// level[32] = levels that are in registers.
TINYGRAD_ALWAYS_INLINE void store_levels(const block_levels<unpack_lanes>& levels, std::uint8_t* level) {
  for (int part = 0; part < levels.parts; ++part) levels.part[part].store(level + part * byte_pack::size());
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
inline void pack_nibbles(const std::uint8_t* levels, std::uint8_t* to) noexcept {
  for (int i = 0; i < 16; ++i) to[i] = static_cast<std::uint8_t>((levels[i] & 15) | (levels[i + 16] & 15) << 4);
}
/// Levels of two bits, 32 apart, in one byte.
[[nodiscard]] inline std::uint8_t four_pairs_of_bits(const std::uint8_t* levels) noexcept {
  return static_cast<std::uint8_t>(levels[0] | levels[32] << 2 | levels[64] << 4 | levels[96] << 6);
}
/// The fifth bits of 32 levels.
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
