// Products with weights that stay as they are stored: y[n, rows] = x[n, k] W[rows, k]^T, W in any format of
// quant_block.hpp.
//
//   few rows of x    the blocks are multiplied where they lie, four rows of W side by side; reading W is what it costs
//     bytes          x in blocks of 32 signed bytes with one scale, products in whole numbers; formats of small levels
//     exact          every weight dequantised, products in floats
//   many rows of x   panels of W are dequantised and go to the policy's gemm
//
// A row of y is computed by the same steps whichever thread does it: rows are dealt out in multiples of four.
// Source of the byte products: llama.cpp's ggml_vec_dot_q8_0_q8_0 and its kin. There the scale of x is rounded to half
// precision; here it is a float.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tinygrad/kernel/gemm_args.hpp>
#include <tinygrad/kernel/quant_block.hpp>
#include <tinygrad/simd/narrow.hpp>
#include <tinygrad/simd/transpose.hpp>

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

/// y[r] = the sum of the lanes of sum[r].
template <std::size_t R, class S>
TINYGRAD_ALWAYS_INLINE void store_sums(const S (&sum)[R], float* y) noexcept {
  if constexpr (R == 4 && is_pack<S>)
    sum_lanes(sum, y);
  else
    for (std::size_t r = 0; r < R; ++r) y[r] = reduce_add(sum[r]);
}

/// R rows of values that need no block.
template <class F, class V, std::size_t R>
TINYGRAD_NOINLINE void dot_plain(const quant_rows& w, std::size_t row, const float* x, float* y) noexcept {
  constexpr auto L = static_cast<std::size_t>(lanes<V>);
  const std::byte* const first = w.data + row * w.row_bytes;
  V sum[R];
  for (V& s : sum) s = V(0.0f);
  std::size_t i = 0;
  for (; i + L <= w.k; i += L) {
    const V value = load<V>(x + i);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < R; ++r)
      sum[r] = fma(F::template widen<V>(first + r * w.row_bytes + i * F::bytes), value, sum[r]);
  }
  if (i < w.k) {
    const V value = load<V>(x + i, static_cast<int>(w.k - i));
    for (std::size_t r = 0; r < R; ++r) {
      float rest[L] = {};
      for (std::size_t j = i; j < w.k; ++j) rest[j - i] = F::value(first + r * w.row_bytes + j * F::bytes);
      sum[r] = fma(load<V>(rest), value, sum[r]);
    }
  }
  store_sums(sum, y);
}

/// R rows of blocks of 32 levels that unpack into registers.
template <class F, class V, std::size_t R>
TINYGRAD_NOINLINE void dot_registers(const quant_rows& w, std::size_t row, const byte_activations::row& x,
                                     float* y) noexcept {
  constexpr int N = byte_lanes<V>, parts = block_levels<N>::parts;
  using S = pack<float, N>;
  const std::byte* block = w.data + row * w.row_bytes;
  S sum[R];
  for (std::size_t b = 0; b < w.k / 32; ++b, block += F::bytes) {
    signed_bytes<N> q[parts];
    auto q_sums = int_lanes<N>::load(x.sums + 8 * b);
#pragma GCC unroll 2
    for (int p = 0; p < parts; ++p) {
      q[p] = signed_bytes<N>::load(x.q + 32 * b + static_cast<std::size_t>(p * 4 * N));
      if (p > 0) q_sums += int_lanes<N>::load(x.sums + 8 * b + static_cast<std::size_t>(p * N));
    }
    const auto start = q_sums * int_lanes<N>(-F::offset);
    const float scale = x.scale[b];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < R; ++r) {
      const std::byte* const at = block + r * w.row_bytes;
      const auto levels = F::template levels<N>(at);
      auto dot = start;
#pragma GCC unroll 2
      for (int p = 0; p < parts; ++p) dot = dot_bytes<N>(dot, levels.part[p], q[p]);
      sum[r] = fma(S(F::scale_of(at) * scale), convert<float>(dot), sum[r]);
      if constexpr (F::has_base) sum[r] = fma(S(F::base_of(at) * scale), convert<float>(q_sums), sum[r]);
    }
  }
  store_sums(sum, y);
}

/// scale[group of lane] for the lanes of one pack of bytes, the first of which is level `at`.
template <class F, int N>
TINYGRAD_ALWAYS_INLINE pack<float, N> lane_scales(const float* scale, std::size_t at) noexcept {
  if constexpr (4 * N <= F::group) {
    return pack<float, N>(scale[at / F::group]);
  } else {
    struct halves {
      pack<float, N / 2> low, high;
    };
    return __builtin_bit_cast(pack<float, N>, halves{lane_scales<F, N / 2>(scale, at),
                                                     lane_scales<F, N / 2>(scale, at + 2 * std::size_t{N})});
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

/// Rows [begin, end) of W with n rows of x: four rows of W at a time, which then stay in the first cache.
template <std::size_t Side, class Dots>
TINYGRAD_ALWAYS_INLINE void for_row_groups(std::size_t begin, std::size_t end, std::size_t n, Dots&& dots) noexcept {
  std::size_t row = begin;
  for (; row + Side <= end; row += Side)
    for (std::size_t i = 0; i < n; ++i) dots(row, i, std::integral_constant<std::size_t, Side>{});
  for (; row < end; ++row)
    for (std::size_t i = 0; i < n; ++i) dots(row, i, std::integral_constant<std::size_t, 1>{});
}

/// Least rows of W worth a task: a multiple of four.
[[nodiscard]] constexpr std::size_t row_grain(std::size_t k) noexcept {
  constexpr std::size_t work = std::size_t{1} << 15;
  return k >= work ? 4 : (work / (k + 1) + 4) / 4 * 4;
}

}  // namespace detail

/// y[n, rows] by exact products: weights as dequantised, x as it is.
template <class P, class F>
void quant_dot_exact(const quant_rows& w, const float* x, std::size_t n, float* y) noexcept {
  using V = typename P::template lanes_t<float>;
  P::for_range(w.rows, detail::row_grain(w.k), [&](std::size_t begin, std::size_t end) noexcept {
    detail::for_row_groups<4>(begin, end, n, [&](std::size_t row, std::size_t i, auto side) {
      float* const to = y + i * w.rows + row;
      if constexpr (quant::plain_format<F>) {
        detail::dot_plain<F, V, side>(w, row, x + i * w.k, to);
      } else {
        for (std::size_t r = 0; r < side; ++r) to[r] = detail::dot_dequantised<F, V>(w, row + r, x + i * w.k);
      }
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
    detail::for_row_groups<4>(begin, end, n, [&](std::size_t row, std::size_t i, auto side) {
      float* const to = y + i * w.rows + row;
      if constexpr (quant::register_format<F>) {
        detail::dot_registers<F, V, side>(w, row, bytes[i], to);
      } else {
        for (std::size_t r = 0; r < side; ++r) to[r] = detail::dot_unpacked<F, V>(w, row + r, bytes[i]);
      }
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
