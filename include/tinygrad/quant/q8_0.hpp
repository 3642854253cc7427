// Q8_0: 32 signed bytes and their scale.
//
//   f16 scale | i8 q[32]        value = scale * q       scale = largest magnitude / 127
#pragma once

#include <tinygrad/quant/block.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace quant {

struct q8_0 {
  static constexpr ggml_type type = ggml_type::q8_0;
  static constexpr std::size_t elements = 32, bytes = 34, group = 32;
  static constexpr int offset = 128, bits = 8;  // levels are the signed bytes moved up to 0 .. 255
  static constexpr bool has_base = false;

  static void unpack(const std::byte* TINYGRAD_RESTRICT block, std::uint8_t* TINYGRAD_RESTRICT level, float* scale,
                     float* /*base*/) noexcept {
    *scale = scale_of(block);
    const std::uint8_t* const q = detail::bytes_at(block, 2);
    for (std::size_t i = 0; i < elements; ++i) level[i] = q[i] ^ 128;
  }
  [[nodiscard]] static TINYGRAD_ALWAYS_INLINE float scale_of(const std::byte* block) { return f16_at(block); }
  template <int N>
  [[nodiscard]] static TINYGRAD_ALWAYS_INLINE block_levels<N> levels(const std::byte* block) {
    block_levels<N> result;
    for (int part = 0; part < result.parts; ++part) {
      const auto q = level_bytes<N>::load(detail::bytes_at(block, 2) + part * 4 * N);
      result.part[part] = q ^ level_bytes<N>(128);
    }
    return result;
  }

  static void quantise(const float* x, std::byte* block) noexcept {
    const float largest = detail::farthest_from_zero(x, elements);
    const float scale = (largest < 0 ? -largest : largest) / 127;
    const float inverse = detail::inverse(scale);
    detail::put_f16(block, scale);
    std::uint8_t* const q = detail::bytes_at(block, 2);
    for (std::size_t i = 0; i < elements; ++i) q[i] = static_cast<std::uint8_t>(nearest(x[i] * inverse));
  }

 private:
  // Halves go away from zero, as C's roundf; the difference is exact, where adding a half would round.
  static int nearest(float x) noexcept {
    const int whole = static_cast<int>(x);
    const float rest = x - static_cast<float>(whole);
    return whole + (rest >= 0.5f ? 1 : 0) - (rest <= -0.5f ? 1 : 0);
  }
};

}  // namespace quant
}  // namespace tinygrad::inline TINYGRAD_ABI
