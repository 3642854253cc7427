// Q4_1: 32 values of 4 bits between the smallest and the largest of the block.
//
//   f16 scale | f16 base | u8 q[16]        value = scale * level + base
#pragma once

#include <tinygrad/quant/block.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace quant {

struct q4_1 {
  static constexpr ggml_type type = ggml_type::q4_1;
  static constexpr std::size_t elements = 32, bytes = 20, group = 32;
  static constexpr int offset = 0, bits = 4;
  static constexpr bool has_base = true;

  static void unpack(const std::byte* block, std::uint8_t* level, float* scale, float* base) noexcept {
    *scale = scale_of(block);
    *base = base_of(block);
    detail::store_levels(levels<detail::unpack_lanes>(block), level);
  }
  [[nodiscard]] static TINYGRAD_ALWAYS_INLINE float scale_of(const std::byte* block) { return f16_at(block); }
  [[nodiscard]] static TINYGRAD_ALWAYS_INLINE float base_of(const std::byte* block) { return f16_at(block + 2); }
  template <int N>
  [[nodiscard]] static TINYGRAD_ALWAYS_INLINE block_levels<N> levels(const std::byte* block) {
    return low_high_nibbles<N>(detail::bytes_at(block, 4));
  }

  static void quantise(const float* x, std::byte* block) noexcept {
    const auto [low, high] = detail::range_of(x, elements);
    const float scale = (high - low) / 15, inverse = detail::inverse(scale);
    std::uint8_t level[elements];
    for (std::size_t i = 0; i < elements; ++i) level[i] = detail::level_of(x[i] - low, inverse, 0.5f, 15);
    detail::put_f16(block, scale);
    detail::put_f16(block + 2, low);
    detail::pack_nibbles(level, detail::bytes_at(block, 4));
  }
};

}  // namespace quant
}  // namespace tinygrad::inline TINYGRAD_ABI
