// Q4_K: 256 values of 4 bits in groups of 32, each with a scale and a minimum of 6 bits.
//
//   f16 scale | f16 scale of the minima | u8 scales[12] | u8 q[128]
//   value = scale * scale[g] * level - minima * minimum[g]
// Every 32 bytes of q hold two groups, in their low and their high halves. Scales and minima: k_scales.hpp.
#pragma once

#include <tinygrad/quant/k_scales.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace quant {

struct q4_k {
  static constexpr ggml_type type = ggml_type::q4_k;
  static constexpr std::size_t elements = 256, bytes = 144, group = 32;
  static constexpr int offset = 0, bits = 4;
  static constexpr bool has_base = true;

  static void unpack(const std::byte* block, std::uint8_t* level, float* scale, float* base) noexcept {
    detail::unpack_k_scales(block, scale, base);
    for (std::size_t part = 0; part < 4; ++part)
      detail::unpack_k_nibbles(detail::bytes_at(block, 16 + 32 * part), level + 64 * part);
  }

  static void quantise(const float* x, std::byte* block) noexcept {
    std::uint8_t level[elements];
    detail::quantise_k_nibbles(x, {0, 15}, block, 16, level);
  }
};

}  // namespace quant
}  // namespace tinygrad::inline TINYGRAD_ABI
