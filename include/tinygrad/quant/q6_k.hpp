// Q6_K: 256 values of 6 bits in groups of 16, each with a scale of 8 bits.
//
//   u8 low[128] | u8 high[64] | i8 scales[16] | f16 scale        value = scale * scales[g] * (level - 32)
// Each half of `low` and `high` holds 128 values. Low four bits: the low halves of 64 bytes, then the high ones. High
// two bits: bits 0-1 of 32 bytes, then bits 2-3, 4-5, 6-7.
#pragma once

#include <tinygrad/quant/block.hpp>
#include <tinygrad/quant/k_search.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace quant {

struct q6_k {
  static constexpr ggml_type type = ggml_type::q6_k;
  static constexpr std::size_t elements = 256, bytes = 210, group = 16;
  static constexpr int offset = 32, bits = 6;
  static constexpr bool has_base = false;

  static void unpack(const std::byte* TINYGRAD_RESTRICT block, std::uint8_t* TINYGRAD_RESTRICT level, float* scale,
                     float* /*base*/) noexcept {
    const std::uint8_t* const scales = detail::bytes_at(block, 192);
    const float d = f16_at(block + 208);
    for (std::size_t g = 0; g < 16; ++g) scale[g] = d * static_cast<float>(static_cast<std::int8_t>(scales[g]));
    const std::uint8_t *low = detail::bytes_at(block, 0), *high = detail::bytes_at(block, 128);
    for (std::size_t half = 0; half < 2; ++half, low += 64, high += 32, level += 128) {
      using detail::byte_pack;
      detail::for_byte_packs(high, 32, [level, low](std::size_t i, byte_pack bits) {
        const auto first = byte_pack::load(low + i), second = byte_pack::load(low + i + 32);
        const byte_pack nibble(15), upper(48);
        ((first & nibble) | ((bits << 4) & upper)).store(level + i);
        ((second & nibble) | ((bits << 2) & upper)).store(level + i + 32);
        ((first >> 4) | (bits & upper)).store(level + i + 64);
        ((second >> 4) | ((bits >> 2) & upper)).store(level + i + 96);
      });
    }
  }

  static void quantise(const float* x, std::byte* block) noexcept {
    constexpr detail::level_range range{-32, 31};
    const auto found = detail::scaled_block<16, 16>::of(x, range, 127);
    std::uint8_t level[elements];
    found.put_levels_of(x, range, offset, level);
    std::uint8_t *low = detail::bytes_at(block, 0), *high = detail::bytes_at(block, 128);
    for (const std::uint8_t* from = level; from != level + elements; from += 128, low += 64, high += 32) {
      std::uint8_t upper[128];
      for (std::size_t i = 0; i < 128; ++i) upper[i] = from[i] >> 4;
      for (std::size_t i = 0; i < 64; ++i)
        low[i] = static_cast<std::uint8_t>((from[i] & 15) | (from[i + 64] & 15) << 4);
      for (std::size_t i = 0; i < 32; ++i) high[i] = detail::four_pairs_of_bits(upper + i);
    }
    for (std::size_t g = 0; g < 16; ++g) detail::bytes_at(block, 192)[g] = static_cast<std::uint8_t>(found.s[g]);
    detail::put_f16(block + 208, found.d);
  }
};

}  // namespace quant
}  // namespace tinygrad::inline TINYGRAD_ABI
