// Q4_0: 32 values of 4 bits and their scale.
//
//   f16 scale | u8 q[16]        value = scale * (level - 8)
// The scale is the value farthest from zero over -8, so that this value is level 0 and the other side ends at 7.
#pragma once

#include <tinygrad/quant/block.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace quant {

struct q4_0 {
  static constexpr ggml_type type = ggml_type::q4_0;
  static constexpr std::size_t elements = 32, bytes = 18, group = 32;
  static constexpr int offset = 8, bits = 4;
  static constexpr bool has_base = false;

  static void unpack(const std::byte* block, std::uint8_t* level, float* scale, float* /*base*/) noexcept {
    *scale = scale_of(block);
    detail::store_levels(levels<detail::unpack_lanes>(block), level);
  }
  [[nodiscard]] static TINYGRAD_ALWAYS_INLINE float scale_of(const std::byte* block) { return f16_at(block); }
  template <int N>
  [[nodiscard]] static TINYGRAD_ALWAYS_INLINE block_levels<N> levels(const std::byte* block) {
    return low_high_nibbles<N>(detail::bytes_at(block, 2));
  }

  static void quantise(const float* x, std::byte* block) noexcept {
    const float scale = detail::farthest_from_zero(x, elements) / -8;
    const float inverse = detail::inverse(scale);
    std::uint8_t level[elements];
    for (std::size_t i = 0; i < elements; ++i) level[i] = detail::level_of(x[i], inverse, 8.5f, 15);
    detail::put_f16(block, scale);
    detail::pack_nibbles(level, detail::bytes_at(block, 2));
  }
};

}  // namespace quant
}  // namespace tinygrad::inline TINYGRAD_ABI
