// Scales and minima of Q4_K and Q5_K: eight pairs of 6-bit numbers in 12 bytes.
//
//   bytes 0-3    low six bits: scales 0-3     high two bits: the upper bits of scales 4-7
//   bytes 4-7    low six bits: minima 0-3     high two bits: the upper bits of minima 4-7
//   bytes 8-11   low nibble: scales 4-7       high nibble: minima 4-7
#pragma once

#include <tinygrad/quant/block.hpp>
#include <tinygrad/quant/k_search.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace quant {
namespace detail {

struct k_pair {
  std::uint8_t scale, minimum;
};
[[nodiscard]] inline k_pair k_pair_of(const std::uint8_t* s, std::size_t group) noexcept {
  if (group < 4) return {static_cast<std::uint8_t>(s[group] & 63), static_cast<std::uint8_t>(s[group + 4] & 63)};
  return {static_cast<std::uint8_t>((s[group + 4] & 15) | ((s[group - 4] >> 2) & 48)),
          static_cast<std::uint8_t>((s[group + 4] >> 4) | ((s[group] >> 2) & 48))};
}
inline void put_k_pair(std::uint8_t* s, std::size_t group, k_pair pair) noexcept {
  if (group < 4) {
    s[group] = pair.scale;
    s[group + 4] = pair.minimum;
    return;
  }
  s[group + 4] = static_cast<std::uint8_t>((pair.scale & 15) | (pair.minimum & 15) << 4);
  s[group - 4] = static_cast<std::uint8_t>(s[group - 4] | (pair.scale >> 4) << 6);
  s[group] = static_cast<std::uint8_t>(s[group] | (pair.minimum >> 4) << 6);
}

/// The eight scales and bases of a block that begins f16 scale | f16 scale of the minima | 12 bytes.
inline void unpack_k_scales(const std::byte* block, float* scale, float* base) noexcept {
  const float d = f16_at(block), minima = f16_at(block + 2);
  for (std::size_t g = 0; g < 8; ++g) {
    const k_pair pair = k_pair_of(bytes_at(block, 4), g);
    scale[g] = d * static_cast<float>(pair.scale);
    base[g] = -(minima * static_cast<float>(pair.minimum));
  }
}

/// The other way: the first 16 bytes of a block.
inline void put_k_scales(const shifted_block<8, 32>& from, std::byte* block) noexcept {
  put_f16(block, from.d);
  put_f16(block + 2, from.e);
  for (std::size_t g = 0; g < 8; ++g)
    put_k_pair(bytes_at(block, 4), g, {static_cast<std::uint8_t>(from.s[g]), static_cast<std::uint8_t>(from.m[g])});
}

/// 64 levels out of 32 bytes: the low halves of all, then the high ones.
inline void unpack_k_nibbles(const std::uint8_t* TINYGRAD_RESTRICT from,
                             std::uint8_t* TINYGRAD_RESTRICT level) noexcept {
  for_byte_packs(from, 32, [level](std::size_t i, byte_pack q) {
    (q & byte_pack(15)).store(level + i);
    (q >> 4).store(level + i + 32);
  });
}

/// The other way.
inline void pack_k_nibbles(const std::uint8_t* level, std::uint8_t* to) noexcept {
  for (std::size_t i = 0; i < 32; ++i) to[i] = static_cast<std::uint8_t>((level[i] & 15) | (level[i + 32] & 15) << 4);
}

/// Levels up to range.most for 256 values, with the first 16 bytes of their block and the low halves of the levels.
inline void quantise_k_nibbles(const float* x, level_range range, std::byte* block, std::size_t nibbles_at,
                               std::uint8_t* level) noexcept {
  const auto found = shifted_block<8, 32>::of(x, range, 63);
  found.put_levels_of(x, range, level);
  put_k_scales(found, block);
  for (std::size_t part = 0; part < 4; ++part)
    pack_k_nibbles(level + 64 * part, bytes_at(block, nibbles_at + 32 * part));
}

}  // namespace detail
}  // namespace quant
}  // namespace tinygrad::inline TINYGRAD_ABI
