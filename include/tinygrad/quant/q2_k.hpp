// Q2_K: 256 values of 2 bits in groups of 16, each with a scale and a minimum of 4 bits.
//
//   u8 scales[16] | u8 q[64] | f16 scale | f16 scale of the minima
//   value = scale * (scales[g] & 15) * level - minima * (scales[g] >> 4)
// Each half of q holds 128 values: bits 0-1 of its 32 bytes, then bits 2-3, 4-5, 6-7.
#pragma once

#include <tinygrad/quant/block.hpp>
#include <tinygrad/quant/k_search.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace quant {

struct q2_k {
  static constexpr ggml_type type = ggml_type::q2_k;
  static constexpr std::size_t elements = 256, bytes = 84, group = 16;
  static constexpr int offset = 0, bits = 2;
  static constexpr bool has_base = true;

  static void unpack(const std::byte* TINYGRAD_RESTRICT block, std::uint8_t* TINYGRAD_RESTRICT level, float* scale,
                     float* base) noexcept {
    const std::uint8_t* const scales = detail::bytes_at(block, 0);
    const float d = f16_at(block + 80), minima = f16_at(block + 82);
    for (std::size_t g = 0; g < 16; ++g) {
      scale[g] = d * static_cast<float>(scales[g] & 15);
      base[g] = -(minima * static_cast<float>(scales[g] >> 4));
    }
    const std::uint8_t* q = detail::bytes_at(block, 16);
    for (std::size_t half = 0; half < 2; ++half, q += 32, level += 128) {
      detail::for_byte_packs(q, 32, [level](std::size_t i, detail::byte_pack bits) {
        for (int part = 0; part < 4; ++part) ((bits >> (2 * part)) & detail::byte_pack(3)).store(level + i + 32 * part);
      });
    }
  }

  static void quantise(const float* x, std::byte* block) noexcept {
    constexpr detail::level_range range{0, 3};
    const auto found = detail::shifted_block<16, 16>::of(x, range, 15);
    std::uint8_t level[elements];
    found.put_levels_of(x, range, level);
    std::uint8_t* const scales = detail::bytes_at(block, 0);
    for (std::size_t g = 0; g < 16; ++g) scales[g] = static_cast<std::uint8_t>(found.s[g] | found.m[g] << 4);
    std::uint8_t* const q = detail::bytes_at(block, 16);
    for (std::size_t i = 0; i < 64; ++i) q[i] = detail::four_pairs_of_bits(level + i / 32 * 128 + i % 32);
    detail::put_f16(block + 80, found.d);
    detail::put_f16(block + 82, found.e);
  }
};

}  // namespace quant
}  // namespace tinygrad::inline TINYGRAD_ABI
