// F32: values as they are.
#pragma once

#include <tinygrad/quant/block.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace quant {

struct f32 {
  static constexpr ggml_type type = ggml_type::f32;
  static constexpr std::size_t elements = 1, bytes = 4;

  [[nodiscard]] static float value(const std::byte* p) noexcept {
    float x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
  }
  template <class V>
  [[nodiscard]] static TINYGRAD_ALWAYS_INLINE V widen(const std::byte* p) {
    return load_f32<V>(p);
  }
  static void quantise(const float* x, std::byte* block) noexcept { __builtin_memcpy(block, x, sizeof *x); }
};

}  // namespace quant
}  // namespace tinygrad::inline TINYGRAD_ABI
