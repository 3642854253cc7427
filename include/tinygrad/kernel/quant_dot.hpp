// Products with weights that stay as they are stored: y[n, rows] = x[n, k] W[rows, k]^T, W in any format of
// quant_block.hpp.
//
//   few rows of x    the blocks are multiplied where they lie, a row of W after the other; reading W is what it costs
//     bytes          x in blocks of 32 signed bytes with one scale, products in whole numbers; formats of small levels
//     exact          every weight dequantised, products in floats
//   many rows of x   panels of W are dequantised and go to the policy's gemm; or, where the machine multiplies bytes
//                    faster than floats, tiles of whole numbers (quant_tile.hpp)
//
// W is read from front to back, once, as prefetchers like it: four rows side by side were up to seven times slower on
// matrices out of cache. Each element of y is computed by the same steps whichever thread does it.
// Source of the byte products: llama.cpp's ggml_vec_dot_q8_0_q8_0 and its kin. There the scale of x is rounded to half
// precision; here it is a float.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tinygrad/kernel/gemm_args.hpp>
#include <tinygrad/kernel/quant_block.hpp>
#include <tinygrad/simd/narrow.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

/// Stored weights: rows of `row_bytes` bytes.
struct quant_rows {
  const std::byte* data;
  std::size_t rows, k, row_bytes;
};

/// Rows of activations as bytes: x[i] = scale[i / 32] * q[i], with the sums of every four q. All in one piece of
/// memory.
class byte_activations {
 public:
  static constexpr std::size_t block = 32;

  /// Bytes needed for n rows; k is a multiple of 32.
  [[nodiscard]] static constexpr std::size_t memory_for(std::size_t n, std::size_t k) noexcept {
    return n * (2 * k + k / block * sizeof(float));
  }
  byte_activations(std::byte* memory, std::size_t k) noexcept : memory_(memory), k_(k) {}

  struct row {
    std::int8_t* q;
    float* scale;
    std::int32_t* sums;
  };
  [[nodiscard]] row operator[](std::size_t i) const noexcept {
    std::byte* const start = memory_ + memory_for(i, k_);
    return {reinterpret_cast<std::int8_t*>(start), reinterpret_cast<float*>(start + 2 * k_),
            reinterpret_cast<std::int32_t*>(start + k_)};
  }

 private:
  std::byte* memory_;
  std::size_t k_;
};

namespace detail {

/// q[32] = x / scale rounded, scale = largest magnitude / 127. A block with an infinity or a NaN gets a NaN for scale,
/// so that it is seen in every product; one of magnitudes that no normal scale reaches is zero.
template <class V>
TINYGRAD_ALWAYS_INLINE float bytes_of_block(const float* x, std::int8_t* q) noexcept {
  constexpr int L = lanes<V>, parts = 32 / L;
  V value[parts], largest(0.0f), not_finite(0.0f);
  for (int p = 0; p < parts; ++p) {
    value[p] = load<V>(x + p * L);
    largest = maximum(largest, (abs)(value[p]));
    not_finite = not_finite + (value[p] - value[p]);
  }
  const float size = reduce_max(largest);
  const bool usable = reduce_add(not_finite) == 0.0f;
  const float inverse = usable && size >= 0x1p-119f ? 127.0f / size : 0.0f;
  std::uint32_t bits[32];  // the nearest whole number is in the low byte of the mantissa
  for (int p = 0; p < parts; ++p) {
    const auto rounded = to_bits(fma(value[p], V(inverse), V(shifter<V>)));
    __builtin_memcpy(bits + p * L, &rounded, sizeof rounded);
  }
  for (int i = 0; i < 32; ++i) q[i] = static_cast<std::int8_t>(bits[i]);
  if (!usable) return __builtin_nanf("");
  return inverse == 0.0f ? 0.0f : size / 127.0f;
}

template <class V>
TINYGRAD_NOINLINE void quantise_activations(const float* x, std::size_t k, const byte_activations::row& to) noexcept {
  constexpr int N = byte_lanes<V>;
  for (std::size_t i = 0; i < k; i += 32) {
    to.scale[i / 32] = bytes_of_block<V>(x + i, to.q + i);
    for (int at = 0; at < 8; at += N) {
      const auto q = signed_bytes<N>::load(to.q + i + 4 * at);
      dot_bytes<N>(int_lanes<N>(0), level_bytes<N>(1), q).store(to.sums + i / 4 + static_cast<std::size_t>(at));
    }
  }
}

/// add(i, sum) for i = 0 .. count - 1 with one of four sums in turn, so that no addition waits for the last; then the
/// sum of all.
template <class S, class Add>
TINYGRAD_ALWAYS_INLINE float sum_in_turns(std::size_t count, Add&& add) {
  S sum[4];
  for (S& s : sum) s = S(0.0f);
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
#pragma GCC unroll 4
    for (std::size_t turn = 0; turn < 4; ++turn) add(i + turn, sum[turn]);
  }
#pragma GCC unroll 4
  for (std::size_t turn = 0; turn < 3; ++turn)
    if (i + turn < count) add(i + turn, sum[turn]);
  return reduce_add(S((sum[0] + sum[1]) + (sum[2] + sum[3])));
}

/// A row of values that need no block.
template <class F, class V>
TINYGRAD_NOINLINE float dot_plain(const quant_rows& w, std::size_t row, const float* x) noexcept {
  constexpr auto L = static_cast<std::size_t>(lanes<V>);
  const std::byte* const first = w.data + row * w.row_bytes;
  const std::size_t whole_packs = w.k / L;
  const float sum = sum_in_turns<V>(whole_packs, [&](std::size_t i, V& s) TINYGRAD_INLINE_LAMBDA {
    s = fma(F::template widen<V>(first + i * L * F::bytes), load<V>(x + i * L), s);
  });
  float rest = 0;
  for (std::size_t i = whole_packs * L; i < w.k; ++i) rest += F::value(first + i * F::bytes) * x[i];
  return sum + rest;
}

/// A row of blocks of 32 levels that unpack into registers.
template <class F, class V>
TINYGRAD_NOINLINE float dot_registers(const quant_rows& w, std::size_t row, const byte_activations::row& x) noexcept {
  constexpr int N = byte_lanes<V>, parts = block_levels<N>::parts;
  using S = pack<float, N>;
  const std::byte* const first = w.data + row * w.row_bytes;
  return sum_in_turns<S>(w.k / 32, [&](std::size_t b, S& sum) TINYGRAD_INLINE_LAMBDA {
    const std::byte* const block = first + b * F::bytes;
    const auto levels = F::template levels<N>(block);
    auto q_sums = int_lanes<N>::load(x.sums + 8 * b);
    for (int p = 1; p < parts; ++p) q_sums += int_lanes<N>::load(x.sums + 8 * b + static_cast<std::size_t>(p * N));
    auto dot = q_sums * int_lanes<N>(-F::offset);
    for (int p = 0; p < parts; ++p)
      dot =
          dot_bytes<N>(dot, levels.part[p], signed_bytes<N>::load(x.q + 32 * b + static_cast<std::size_t>(p * 4 * N)));
    sum = fma(S(F::scale_of(block) * x.scale[b]), convert<float>(dot), sum);
    if constexpr (F::has_base) sum = fma(S(F::base_of(block) * x.scale[b]), convert<float>(q_sums), sum);
  });
}

/// scale[group of lane] for the lanes of one pack of bytes, the first of which is level `at`.
template <class F, int N>
TINYGRAD_ALWAYS_INLINE pack<float, N> lane_scales(const float* scale, std::size_t at) noexcept {
  if constexpr (4 * N <= F::group) {
    return pack<float, N>(scale[at / F::group]);
  } else {
    static_assert(2 * N == static_cast<int>(F::group), "at most two groups a pack");
    return two_values<N>(scale[at / F::group], scale[at / F::group + 1]);
  }
}

/// One row of blocks that are unpacked into memory first.
template <class F, class V>
TINYGRAD_NOINLINE float dot_unpacked(const quant_rows& w, std::size_t row, const byte_activations::row& x) noexcept {
  constexpr int N = byte_lanes<V>;
  constexpr std::size_t step = 4 * std::size_t{N};
  using S = pack<float, N>;
  const std::byte* block = w.data + row * w.row_bytes;
  S sum[2];
  for (std::size_t first = 0; first < w.k; first += F::elements, block += F::bytes) {
    quant::unpacked_block<F> b;
    F::unpack(block, b.levels.data(), b.scale.data(), b.base.data());
    for (std::size_t i = 0; i < F::elements; i += step) {
      const S scale(x.scale[(first + i) / 32]);
      const auto q = signed_bytes<N>::load(x.q + first + i);
      const auto q_sums = int_lanes<N>::load(x.sums + (first + i) / 4);
      const auto dot = dot_bytes<N>(q_sums * int_lanes<N>(-F::offset), level_bytes<N>::load(b.levels.data() + i), q);
      S& part = sum[i / step % 2];
      part = fma(lane_scales<F, N>(b.scale.data(), i) * scale, convert<float>(dot), part);
      if constexpr (F::has_base) part = fma(lane_scales<F, N>(b.base.data(), i) * scale, convert<float>(q_sums), part);
    }
  }
  return reduce_add(sum[0] + sum[1]);
}

/// One row, every weight dequantised.
template <class F, class V>
TINYGRAD_NOINLINE float dot_dequantised(const quant_rows& w, std::size_t row, const float* x) noexcept {
  constexpr auto L = static_cast<std::size_t>(lanes<V>);
  const std::byte* block = w.data + row * w.row_bytes;
  V sum[2] = {V(0.0f), V(0.0f)};
  for (std::size_t first = 0; first < w.k; first += F::elements, block += F::bytes) {
    float weight[F::elements];
    quant::dequantise_block<F>(block, weight);
    for (std::size_t i = 0; i < F::elements; i += L)
      sum[i / L % 2] = fma(load<V>(weight + i), load<V>(x + first + i), sum[i / L % 2]);
  }
  return reduce_add(V(sum[0] + sum[1]));
}

/// dot(row, i) for every row of W in [begin, end) and every of n rows of x; W is read once.
template <class Dot>
TINYGRAD_ALWAYS_INLINE void for_products(const quant_rows& w, std::size_t begin, std::size_t end, std::size_t n,
                                         float* y, Dot&& dot) noexcept {
  for (std::size_t row = begin; row < end; ++row)
    for (std::size_t i = 0; i < n; ++i) y[i * w.rows + row] = dot(row, i);
}

/// Least rows of W worth a task; 16 floats of y are a cache line, which two threads should not share.
[[nodiscard]] constexpr std::size_t row_grain(std::size_t k) noexcept {
  constexpr std::size_t work = std::size_t{1} << 15;
  return (work / (k + 1) / 16 + 1) * 16;
}

}  // namespace detail

/// y[n, rows] by exact products: weights as dequantised, x as it is.
template <class P, class F>
void quant_dot_exact(const quant_rows& w, const float* x, std::size_t n, float* y) noexcept {
  using V = typename P::template lanes_t<float>;
  P::for_range(w.rows, detail::row_grain(w.k), [&](std::size_t begin, std::size_t end) noexcept {
    detail::for_products(w, begin, end, n, y, [&](std::size_t row, std::size_t i) {
      if constexpr (quant::plain_format<F>)
        return detail::dot_plain<F, V>(w, row, x + i * w.k);
      else
        return detail::dot_dequantised<F, V>(w, row, x + i * w.k);
    });
  });
}

/// y[n, rows] by products of bytes. `memory` has byte_activations::memory_for(n, k) bytes, aligned for floats.
template <class P, quant::block_format F>
void quant_dot_bytes(const quant_rows& w, const float* x, std::size_t n, float* y, std::byte* memory) noexcept {
  using V = typename P::template lanes_t<float>;
  const byte_activations bytes(memory, w.k);
  for (std::size_t i = 0; i < n; ++i) detail::quantise_activations<V>(x + i * w.k, w.k, bytes[i]);
  P::for_range(w.rows, detail::row_grain(w.k), [&](std::size_t begin, std::size_t end) noexcept {
    detail::for_products(w, begin, end, n, y, [&](std::size_t row, std::size_t i) {
      if constexpr (quant::register_format<F>)
        return detail::dot_registers<F, V>(w, row, bytes[i]);
      else
        return detail::dot_unpacked<F, V>(w, row, bytes[i]);
    });
  });
}

/// `count` rows from `first` on as floats: to[count, k].
template <class P, class F>
void quant_dequantise(const quant_rows& w, std::size_t first, std::size_t count, float* to) noexcept {
  P::for_range(count, detail::row_grain(w.k), [&](std::size_t begin, std::size_t end) noexcept {
    for (std::size_t row = begin; row < end; ++row) {
      const std::byte* block = w.data + (first + row) * w.row_bytes;
      float* const values = to + row * w.k;
      if constexpr (quant::plain_format<F>) {
        using V = typename P::template lanes_t<float>;
        constexpr auto L = static_cast<std::size_t>(lanes<V>);
        std::size_t i = 0;
        for (; i + L <= w.k; i += L) store(values + i, F::template widen<V>(block + i * F::bytes));
        for (; i < w.k; ++i) values[i] = F::value(block + i * F::bytes);
      } else {
        for (std::size_t i = 0; i < w.k; i += F::elements, block += F::bytes)
          quant::dequantise_block<F>(block, values + i);
      }
    }
  });
}

/// y[n, rows] panel by panel: `panel` holds panel_rows * k floats.
template <class P, class F>
void quant_gemm(const quant_rows& w, const float* x, std::size_t n, float* y, float* panel,
                std::size_t panel_rows) noexcept {
  const auto step = [](std::size_t elements) { return static_cast<std::ptrdiff_t>(elements); };
  for (std::size_t first = 0; first < w.rows; first += panel_rows) {
    const std::size_t count = w.rows - first < panel_rows ? w.rows - first : panel_rows;
    quant_dequantise<P, F>(w, first, count, panel);
    P::gemm(gemm_args<float>{n, count, w.k, x, step(w.k), 1, panel, 1, step(w.k), y + first, step(w.rows), false});
  }
}

}  // namespace tinygrad::inline TINYGRAD_ABI
