// BF16: the upper half of a float, rounded to nearest even.
#pragma once

#include <tinygrad/quant/block.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace quant {

struct bf16 {
  static constexpr ggml_type type = ggml_type::bf16;
  static constexpr std::size_t elements = 1, bytes = 2;

  [[nodiscard]] static float value(const std::byte* p) noexcept {
    std::uint16_t bits;
    __builtin_memcpy(&bits, p, sizeof bits);
    return bf16_to_float(bits);
  }
  template <class V>
  [[nodiscard]] static TINYGRAD_ALWAYS_INLINE V widen(const std::byte* p) {
    return load_bf16<V>(p);
  }
  static void quantise(const float* x, std::byte* block) noexcept {
    const std::uint16_t bits = float_to_bf16(*x);
    __builtin_memcpy(block, &bits, sizeof bits);
  }
};

}  // namespace quant
}  // namespace tinygrad::inline TINYGRAD_ABI
