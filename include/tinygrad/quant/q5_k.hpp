// Q5_K: 256 values of 5 bits in groups of 32, each with a scale and a minimum of 6 bits.
//
//   f16 scale | f16 scale of the minima | u8 scales[12] | u8 high[32] | u8 q[128]
//   value = scale * scale[g] * level - minima * minimum[g]
// q and scales as in Q4_K. The fifth bits of group g are bit g of the 32 bytes `high`.
#pragma once

#include <tinygrad/quant/k_scales.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace quant {

struct q5_k {
  static constexpr ggml_type type = ggml_type::q5_k;
  static constexpr std::size_t elements = 256, bytes = 176, group = 32;
  static constexpr int offset = 0, bits = 5;
  static constexpr bool has_base = true;

  static void unpack(const std::byte* TINYGRAD_RESTRICT block, std::uint8_t* TINYGRAD_RESTRICT level, float* scale,
                     float* base) noexcept {
    detail::unpack_k_scales(block, scale, base);
    for (std::size_t part = 0; part < 4; ++part)
      detail::unpack_k_nibbles(detail::bytes_at(block, 48 + 32 * part), level + 64 * part);
    const std::uint8_t* const high = detail::bytes_at(block, 16);
    detail::for_byte_packs(high, 32, [level](std::size_t i, detail::byte_pack bits) {
      for (int g = 0; g < 8; ++g) {
        std::uint8_t* const to = level + i + 32 * g;
        const auto fifth = (g < 4 ? bits << (4 - g) : bits >> (g - 4)) & detail::byte_pack(16);
        (detail::byte_pack::load(to) | fifth).store(to);
      }
    });
  }

  static void quantise(const float* x, std::byte* block) noexcept {
    std::uint8_t level[elements];
    detail::quantise_k_nibbles(x, {0, 31}, block, 48, level);
    std::uint8_t* const high = detail::bytes_at(block, 16);
    for (std::size_t i = 0; i < 32; ++i) {
      int fifth_bits = 0;
      for (std::size_t g = 0; g < 8; ++g) fifth_bits |= level[i + 32 * g] >> 4 << g;
      high[i] = static_cast<std::uint8_t>(fifth_bits);
    }
  }
};

}  // namespace quant
}  // namespace tinygrad::inline TINYGRAD_ABI
