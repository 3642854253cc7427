// What a format of stored weights must offer, as the kernels see it, and how a block is read. A format is a type:
//
//   type, elements, bytes    its number in files; `elements` values are stored in `bytes` bytes
//   quantise(x, block)       values to a block
//
// Plain formats have one value a block and say how it is read:
//   value(p), widen<V>(p)    one value; lanes<V> values that follow each other
// The others hold small whole numbers, the levels, and for each group of them a scale and perhaps a base:
//
//   value = scale[group] * (level - offset) + base[group]            0 <= level < 2^bits
//
//   group                    values that share a scale, 16 or 32
//   offset, bits, has_base  at most 8 bits
//   unpack(block, levels, scale, base)     everything above; base is left alone unless has_base
//   levels<N>(block), scale_of, base_of    optional: the same in registers, for the formats with 32 values a block
//
// Dequantising, exact products and products in whole numbers are all derived from this. The product of scale and level
// is exact in float for every half-precision scale (22 bits at most), so that values do not depend on how a compiler
// fuses them.
// Source of all formats: ggml's ggml-common.h (layouts) and ggml-quants.c (reference quantisation).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tinygrad/simd/narrow.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace quant {

template <class F>
concept plain_format = F::elements == 1;
template <class F>
concept block_format = F::elements != 1 && (F::group == 16 || F::group == 32);
/// Formats that also unpack into registers.
template <class F>
concept register_format = block_format<F> && requires(const std::byte* block) {
  F::template levels<4>(block);
};
template <class F>
concept quantisable = requires(const float* x, std::byte* block) {
  F::quantise(x, block);
};

/// Levels, scales and bases of one block.
template <class F>
struct unpacked_block {
  static constexpr std::size_t groups = F::elements / F::group;
  std::array<std::uint8_t, F::elements> levels;
  std::array<float, groups> scale, base;
};

/// x[F::elements] = the values of a block.
template <class F>
void dequantise_block(const std::byte* block, float* TINYGRAD_RESTRICT x) noexcept {
  if constexpr (plain_format<F>) {
    *x = F::value(block);
  } else {
    using V = pack<float>;
    static_assert(lanes<V> <= 16, "a group has one scale");
    unpacked_block<F> b;
    F::unpack(block, b.levels.data(), b.scale.data(), b.base.data());
    for (std::size_t g = 0; g < b.groups; ++g) {
      for (std::size_t i = g * F::group; i < (g + 1) * F::group; i += static_cast<std::size_t>(lanes<V>)) {
        V value = load_levels<V>(b.levels.data() + i, F::offset) * V(b.scale[g]);
        if constexpr (F::has_base) value = value + V(b.base[g]);
        store(x + i, value);
      }
    }
  }
}

}  // namespace quant
}  // namespace tinygrad::inline TINYGRAD_ABI
