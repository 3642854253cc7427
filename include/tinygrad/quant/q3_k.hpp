// Q3_K: 256 values of 3 bits in groups of 16, each with a scale of 6 bits.
//
//   u8 high[32] | u8 q[64] | u8 scales[12] | f16 scale        value = scale * (scales[g] - 32) * (level - 4)
// Low two bits as in Q2_K. The third bits of values 32 b to 32 b + 31 are bit b of the 32 bytes `high`.
// Scales: four low bits in bytes 0-7 (groups 0-7 in their low halves, 8-15 in the high ones), two high bits in bytes
// 8-11 (groups 0-3 in bits 0-1 of the four bytes, 4-7 in bits 2-3, ...).
#pragma once

#include <tinygrad/quant/block.hpp>
#include <tinygrad/quant/k_search.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace quant {

struct q3_k {
  static constexpr ggml_type type = ggml_type::q3_k;
  static constexpr std::size_t elements = 256, bytes = 110, group = 16;
  static constexpr int offset = 4, bits = 3;
  static constexpr bool has_base = false;

  static void unpack(const std::byte* TINYGRAD_RESTRICT block, std::uint8_t* TINYGRAD_RESTRICT level, float* scale,
                     float* /*base*/) noexcept {
    const std::uint8_t* const s = detail::bytes_at(block, 96);
    const float d = f16_at(block + 108);
    for (std::size_t g = 0; g < 16; ++g) {
      const int low = g < 8 ? s[g] & 15 : s[g - 8] >> 4, high = (s[8 + g % 4] >> (g / 4 * 2)) & 3;
      scale[g] = d * static_cast<float>((low | high << 4) - 32);
    }
    const std::uint8_t* const high = detail::bytes_at(block, 0);
    using detail::byte_pack;
    detail::for_byte_packs(high, 32, [level, block](std::size_t i, byte_pack third) {
      for (int part = 0; part < 8; ++part) {
        const auto q = byte_pack::load(detail::bytes_at(block, 32 + i) + part / 4 * 32) >> (part % 4 * 2);
        const auto bit = ((third >> part) & byte_pack(1)) << 2;
        ((q & byte_pack(3)) | bit).store(level + i + 32 * part);
      }
    });
  }

  static void quantise(const float* x, std::byte* block) noexcept {
    constexpr detail::level_range range{-4, 3};
    const auto found = detail::scaled_block<16, 16>::of(x, range, 31);
    std::uint8_t level[elements];
    found.put_levels_of(x, range, offset, level);
    std::uint8_t *const high = detail::bytes_at(block, 0), *const q = detail::bytes_at(block, 32);
    for (std::size_t i = 0; i < 32; ++i) {
      int bits_of_eight = 0;
      for (std::size_t part = 0; part < 8; ++part) bits_of_eight |= level[i + 32 * part] >> 2 << part;
      high[i] = static_cast<std::uint8_t>(bits_of_eight);
    }
    for (std::uint8_t& each : level) each &= 3;
    for (std::size_t i = 0; i < 64; ++i) q[i] = detail::four_pairs_of_bits(level + i / 32 * 128 + i % 32);
    std::uint8_t* const s = detail::bytes_at(block, 96);
    std::fill_n(s, 12, std::uint8_t{0});
    for (std::size_t g = 0; g < 16; ++g) {
      const int scale = found.s[g] + 32;
      s[g % 8] = static_cast<std::uint8_t>(s[g % 8] | (scale & 15) << (g / 8 * 4));
      s[8 + g % 4] = static_cast<std::uint8_t>(s[8 + g % 4] | scale >> 4 << (g / 4 * 2));
    }
    detail::put_f16(block + 108, found.d);
  }
};

}  // namespace quant
}  // namespace tinygrad::inline TINYGRAD_ABI
