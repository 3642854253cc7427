// Q8_K: 256 signed bytes and one float scale; ggml makes it of activations, and rarely stores it.
//
//   f32 scale | i8 q[256] | i16 sums[16]        value = scale * q        sums: of 16 q each
#pragma once

#include <tinygrad/quant/block.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace quant {

struct q8_k {
  static constexpr ggml_type type = ggml_type::q8_k;
  static constexpr std::size_t elements = 256, bytes = 292, group = 32;
  static constexpr int offset = 128, bits = 8;
  static constexpr bool has_base = false;

  static void unpack(const std::byte* TINYGRAD_RESTRICT block, std::uint8_t* TINYGRAD_RESTRICT level, float* scale,
                     float* /*base*/) noexcept {
    float d;
    __builtin_memcpy(&d, block, sizeof d);
    for (std::size_t g = 0; g < elements / group; ++g) scale[g] = d;
    const std::uint8_t* const q = detail::bytes_at(block, 4);
    for (std::size_t i = 0; i < elements; ++i) level[i] = q[i] ^ 128;
  }

  /// The value farthest from zero becomes -127.
  static void quantise(const float* x, std::byte* block) noexcept {
    const float farthest = detail::farthest_from_zero(x, elements);
    const float inverse = detail::inverse(farthest / -127);
    const float scale = inverse == 0 ? 0 : 1 / inverse;
    __builtin_memcpy(block, &scale, sizeof scale);
    std::uint8_t* const q = detail::bytes_at(block, 4);
    for (std::size_t g = 0; g < 16; ++g) {
      int sum = 0;
      for (std::size_t i = g * 16; i < g * 16 + 16; ++i) {
        const int value = static_cast<int>((round)(x[i] * inverse));
        q[i] = static_cast<std::uint8_t>(value);
        sum += value;
      }
      const auto stored = static_cast<std::int16_t>(sum);
      __builtin_memcpy(block + 260 + 2 * g, &stored, sizeof stored);
    }
  }
};

}  // namespace quant
}  // namespace tinygrad::inline TINYGRAD_ABI
