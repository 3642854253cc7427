// Q5_0: 32 values of 5 bits and their scale; the fifth bits lie apart.
//
//   f16 scale | u8 high[4] | u8 q[16]        value = scale * (level - 16)
#pragma once

#include <tinygrad/quant/block.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace quant {

struct q5_0 {
  static constexpr ggml_type type = ggml_type::q5_0;
  static constexpr std::size_t elements = 32, bytes = 22, group = 32;
  static constexpr int offset = 16, bits = 5;
  static constexpr bool has_base = false;

  static void unpack(const std::byte* block, std::uint8_t* level, float* scale, float* /*base*/) noexcept {
    *scale = scale_of(block);
    detail::store_levels(levels<detail::unpack_lanes>(block), level);
  }
  [[nodiscard]] static TINYGRAD_ALWAYS_INLINE float scale_of(const std::byte* block) { return f16_at(block); }
  template <int N>
  [[nodiscard]] static TINYGRAD_ALWAYS_INLINE block_levels<N> levels(const std::byte* block) {
    return low_high_nibbles<N>(detail::bytes_at(block, 6)) | bits_as_sixteens<N>(detail::bytes_at(block, 2));
  }

  static void quantise(const float* x, std::byte* block) noexcept {
    const float scale = detail::farthest_from_zero(x, elements) / -16;
    const float inverse = detail::inverse(scale);
    std::uint8_t level[elements];
    for (std::size_t i = 0; i < elements; ++i) level[i] = detail::level_of(x[i], inverse, 16.5f, 31);
    detail::put_f16(block, scale);
    detail::pack_fifth_bits(level, detail::bytes_at(block, 2));
    detail::pack_nibbles(level, detail::bytes_at(block, 6));
  }
};

}  // namespace quant
}  // namespace tinygrad::inline TINYGRAD_ABI
