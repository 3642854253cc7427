// Many rows of activations times stored weights, in whole numbers: y[n, rows] = x[n, k] W[rows, k]^T.
//
// Both operands are laid out in records of 32 values of k, in the order in which a tile of y reads them. A tile is that
// of the float product (gemm_tile.hpp), six rows at most; products of small integers are summed over one group of
// values, then scaled and added to the tile's floats:
//
//   y[i, j] += scale_x[i] scale_w[g, j] sum over the group of q[i, p] level[j, p]  +  base_w[g, j] sum_x[g, i]
//
// A record of the weights of `columns` rows of W:   levels [32 / depth][columns][depth] | scale [groups][columns] |
// base A record of H rows of x:                          q      [32 / depth][H][depth]       | scale [H] | sum_x
// [groups][H]
//
// where `depth` values fill 32 bits. The records of W for a tile's columns and a stretch of k are unpacked on the
// stack, small enough for the first cache, and meet all rows of x there. Which products are used depends on the machine
// and on how many bits the levels have:
//
//   byte_products     levels and q in bytes, sums of four in 32 bits (VNNI)
//   pair_products     the same in 16 bits, for levels of few bits: groups end before a sum could overflow (AVX2)
//   word_products     levels less their offset and q in 16 bits, sums in 32 (AVX2)
//
// Each element of y is computed by the same steps whichever thread does it and whatever rows are beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tinygrad/kernel/gemm_tile.hpp>
#include <tinygrad/kernel/quant_block.hpp>
#include <tinygrad/kernel/quant_dot.hpp>
#include <tinygrad/simd/narrow.hpp>
#include <tinygrad/simd/transpose.hpp>
#include <type_traits>

namespace tinygrad::inline TINYGRAD_ABI {
namespace detail {

template <int N>
struct byte_products {
  using element = std::int8_t;
  using sum_type = int_lanes<N>;
  static constexpr int lanes = N;
  static constexpr bool signed_levels = false;
  /// Values that may be summed before the sum must be used, for levels of so many bits.
  static constexpr std::size_t longest_sum(int /*bits*/) noexcept { return 32; }
  static TINYGRAD_ALWAYS_INLINE sum_type add(const sum_type& sum, const level_bytes<N>& w, const signed_bytes<N>& x) {
    return dot_bytes<N>(sum, w, x);
  }
  static TINYGRAD_ALWAYS_INLINE int_lanes<N> total(const sum_type& sum) { return sum; }
};

#if TINYGRAD_PACK_BACKEND != 0 && defined(__AVX2__)
struct pair_products {
  using element = std::int8_t;
  using sum_type = pack<std::int16_t, 16>;
  static constexpr int lanes = 8;
  static constexpr bool signed_levels = false;
  static constexpr std::size_t longest_sum(int bits) noexcept {
    std::size_t steps = 32767U / (2U * 127U * ((1U << bits) - 1U)), power = 1;
    while (2 * power <= steps && power < 8) power *= 2;
    return 4 * power;
  }
  static TINYGRAD_ALWAYS_INLINE sum_type add(const sum_type& sum, const level_bytes<8>& w, const signed_bytes<8>& x) {
    return add_pairs(sum, w, x);
  }
  static TINYGRAD_ALWAYS_INLINE int_lanes<8> total(const sum_type& sum) {
    return add_words(int_lanes<8>(0), sum, sum_type(1));
  }
};

struct word_products {
  using element = std::int16_t;
  using sum_type = int_lanes<8>;
  static constexpr int lanes = 8;
  static constexpr bool signed_levels = true;
  static constexpr std::size_t longest_sum(int /*bits*/) noexcept { return 32; }
  static TINYGRAD_ALWAYS_INLINE sum_type add(const sum_type& sum, const pack<std::int16_t, 16>& w,
                                             const pack<std::int16_t, 16>& x) {
    return add_words(sum, w, x);
  }
  static TINYGRAD_ALWAYS_INLINE int_lanes<8> total(const sum_type& sum) { return sum; }
};
#endif

/// What a tile of some format is made of. Base: whether records have base and sum_x.
template <class Products, std::size_t Groups, bool Base>
struct quant_tile {
  using products = Products;
  using element = typename Products::element;
  static constexpr std::size_t block = 32, groups = Groups, lanes = static_cast<std::size_t>(Products::lanes);
  static constexpr bool has_base = Base;
  static constexpr std::size_t height = gemm_tile<float>::height;
  static constexpr std::size_t width = gemm_tile<float>::width;  // registers of `lanes` columns
  static constexpr std::size_t columns = width * lanes;
  static constexpr std::size_t depth = 4 / sizeof(element), steps = block / depth;
  static constexpr std::size_t scales = groups * (has_base ? 2 : 1);  // floats for each column of a record
  static constexpr std::size_t w_record = columns * 4 * (steps + scales);
  /// Bytes of a record of some rows of x.
  static constexpr std::size_t x_record(std::size_t rows) noexcept {
    return rows * 4 * (steps + 1 + (has_base ? groups : 0));
  }
  /// Values of k whose records of W fill about three quarters of the first cache: a multiple of every block.
  static constexpr std::size_t deep = (24576 / w_record * block < 512 ? 256 : 24576 / w_record * block / 256 * 256);
};

template <class Products, class F>
using quant_tile_with = quant_tile<Products, 32 / smaller(F::group, Products::longest_sum(F::bits)),
                                   F::has_base || (F::offset != 0 && !Products::signed_levels)>;

/// The tile for a format, for packs of this width; void where products of floats are faster.
template <class F, class V>
struct choose_quant_tile {
  using type = void;
};
#if TINYGRAD_PACK_BACKEND != 0 && defined(__AVX2__)
template <class F>
requires has_pair_sums struct choose_quant_tile<F, pack<float, 8>> {
  using type = quant_tile_with<std::conditional_t<(F::bits <= 5), pair_products, word_products>, F>;
};
#endif
template <class F>
requires has_byte_dots struct choose_quant_tile<F, pack<float, 16>> {
  using type = quant_tile_with<byte_products<16>, F>;
};
template <class F, class V>
using quant_tile_for = typename choose_quant_tile<F, V>::type;

/// sums[H][columns] += the products of `blocks` records.
template <class Tile, std::size_t H>
TINYGRAD_NOINLINE void multiply_records(const std::byte* x, const std::byte* w, std::size_t blocks,
                                        float* sums) noexcept {
  using products = typename Tile::products;
  using bits = int_lanes<Tile::products::lanes>;
  using S = pack<float, Tile::products::lanes>;
  constexpr std::size_t W = Tile::width, L = Tile::lanes, per_group = Tile::steps / Tile::groups;
  const auto add = [](auto sum, const bits& level, const bits& q) TINYGRAD_INLINE_LAMBDA {
    if constexpr (sizeof(typename Tile::element) == 1)
      return products::add(sum, __builtin_bit_cast(level_bytes<products::lanes>, level),
                           __builtin_bit_cast(signed_bytes<products::lanes>, q));
    else
      return products::add(sum, __builtin_bit_cast(pack<std::int16_t, 2 * products::lanes>, level),
                           __builtin_bit_cast(pack<std::int16_t, 2 * products::lanes>, q));
  };
  auto result = registers<S, H * W>::zeros();
#pragma GCC unroll 32
  for (std::size_t v = 0; v < H * W; ++v) result[v] = S::load(sums + v * L);
  for (; blocks != 0; --blocks, x += Tile::x_record(H), w += Tile::w_record) {
    const auto* const q = reinterpret_cast<const std::int32_t*>(x);
    const auto* const scale_x = reinterpret_cast<const float*>(x) + Tile::steps * H;
    const auto* const level = reinterpret_cast<const std::int32_t*>(w);
    const auto* const scale_w = reinterpret_cast<const float*>(w) + Tile::steps * Tile::columns;
    for (std::size_t g = 0; g < Tile::groups; ++g) {
      auto sum = registers<typename products::sum_type, H * W>::zeros();
#pragma GCC unroll 1  // unrolled, g++ computes all products first and adds them up from the stack
      for (std::size_t step = g * per_group; step < (g + 1) * per_group; ++step) {
        auto levels = registers<bits, W>::zeros();
#pragma GCC unroll 8
        for (std::size_t v = 0; v < W; ++v) levels[v] = bits::load(level + step * Tile::columns + v * L);
#pragma GCC unroll 8
        for (std::size_t h = 0; h < H; ++h) {
          const bits q_vec(q[step * H + h]);
#pragma GCC unroll 8
          for (std::size_t v = 0; v < W; ++v) sum[h * W + v] = add(sum[h * W + v], levels[v], q_vec);
        }
      }
#pragma GCC unroll 8
      for (std::size_t v = 0; v < W; ++v) {
        const S scale = S::load(scale_w + g * Tile::columns + v * L);
        S base(0.0f);
        if constexpr (Tile::has_base) base = S::load(scale_w + (Tile::groups + g) * Tile::columns + v * L);
#pragma GCC unroll 8
        for (std::size_t h = 0; h < H; ++h) {
          S& to = result[h * W + v];
          if constexpr (Tile::has_base) to = fma(base, S(scale_x[(1 + g) * H + h]), to);
          to = fma(scale * S(scale_x[h]), convert<float>(products::total(sum[h * W + v])), to);
        }
      }
    }
  }
#pragma GCC unroll 32
  for (std::size_t v = 0; v < H * W; ++v) result[v].store(sums + v * L);
}

/// The records of up to `height` rows of x[rows][k]: to[k / 32].
template <class Tile, class V>
TINYGRAD_NOINLINE void quantise_records(const float* x, std::size_t k, std::size_t rows, std::byte* to) noexcept {
  constexpr std::size_t depth = Tile::depth, per_group = 32 / Tile::groups;
  for (std::size_t p = 0; p < k; p += 32, to += Tile::x_record(rows)) {
    auto* const scale = reinterpret_cast<float*>(to) + Tile::steps * rows;
    for (std::size_t row = 0; row < rows; ++row) {
      std::int8_t block[32];
      scale[row] = bytes_of_block<V>(x + row * k + p, block);
      typename Tile::element wide[32];
      for (int i = 0; i < 32; ++i) wide[i] = block[i];
      for (std::size_t step = 0; step < Tile::steps; ++step)
        __builtin_memcpy(to + (step * rows + row) * 4, wide + step * depth, 4);
      if constexpr (Tile::has_base) {
        for (std::size_t g = 0; g < Tile::groups; ++g) {
          int sum = 0;
          for (std::size_t i = g * per_group; i < (g + 1) * per_group; ++i) sum += block[i];
          scale[(1 + g) * rows + row] = scale[row] * static_cast<float>(sum);
        }
      }
    }
  }
}

/// Levels, scales and bases of F::elements values of one row, as a tile wants them; zeros for no row.
template <class Tile, class F>
TINYGRAD_ALWAYS_INLINE void unpack_column(const std::byte* block, typename Tile::element* level, std::byte* record,
                                          std::size_t column) noexcept {
  constexpr std::size_t per_group = 32 / Tile::groups;
  quant::unpacked_block<F> b{};
  if (block != nullptr) F::unpack(block, b.levels.data(), b.scale.data(), b.base.data());
  for (std::size_t i = 0; i < F::elements; ++i)
    level[i] = static_cast<typename Tile::element>(b.levels[i] - (Tile::products::signed_levels ? F::offset : 0));
  for (std::size_t i = 0; i < F::elements; i += 32, record += Tile::w_record) {
    auto* const scale = reinterpret_cast<float*>(record) + Tile::steps * Tile::columns + column;
    for (std::size_t g = 0; g < Tile::groups; ++g) {
      const std::size_t from = (i + g * per_group) / F::group;
      scale[g * Tile::columns] = b.scale[from];
      if constexpr (F::has_base)
        scale[(Tile::groups + g) * Tile::columns] = b.base[from];
      else if constexpr (Tile::has_base)
        scale[(Tile::groups + g) * Tile::columns] = b.scale[from] * static_cast<float>(-F::offset);
    }
  }
}

/// The records of values [p, p + depth) of rows [row, row + rows) of W, rows <= columns.
template <class Tile, class F>
TINYGRAD_NOINLINE void unpack_records(const quant_rows& w, std::size_t row, std::size_t rows, std::size_t p,
                                      std::size_t depth, std::byte* to) noexcept {
  constexpr std::size_t at_once = 8, words = F::elements * sizeof(typename Tile::element) / 4;
  using square = pack<float, 8>;  // levels are moved four bytes at a time, as a float's
  const std::byte* const first = w.data + row * w.row_bytes + p / F::elements * F::bytes;
  for (std::size_t i = 0; i < depth; i += F::elements, to += F::elements / 32 * Tile::w_record) {
    const std::byte* const block = first + i / F::elements * F::bytes;
    for (std::size_t column = 0; column < Tile::columns; column += at_once) {
      alignas(64) float level[at_once][words];
      for (std::size_t c = 0; c < at_once; ++c)
        unpack_column<Tile, F>(column + c < rows ? block + (column + c) * w.row_bytes : nullptr,
                               reinterpret_cast<typename Tile::element*>(level[c]), to, column + c);
      for (std::size_t at = 0; at < words; at += at_once) {
        std::byte* const record = to + at / Tile::steps * Tile::w_record;
        transpose_square<square>(level[0] + at, words,
                                 reinterpret_cast<float*>(record) + at % Tile::steps * Tile::columns + column,
                                 Tile::columns);
      }
    }
  }
}

}  // namespace detail

/// Whether a policy multiplies many rows with this format in whole numbers; elsewhere products of floats are faster.
template <class P, class F>
inline constexpr bool has_quant_tiles = false;
template <class P, quant::block_format F>
inline constexpr bool has_quant_tiles<P, F> =
    !std::is_void_v<detail::quant_tile_for<F, typename P::template lanes_t<float>>>;

/// y[n, rows] = x[n, k] W^T by tiles, k not zero; only where has_quant_tiles.
template <class P, class F>
class quant_tiles {
  using V = typename P::template lanes_t<float>;
  using tile = detail::quant_tile_for<F, V>;
  using function = void (*)(const std::byte*, const std::byte*, std::size_t, float*) noexcept;
  static constexpr function multiply[] = {detail::multiply_records<tile, 1>, detail::multiply_records<tile, 2>,
                                          detail::multiply_records<tile, 3>, detail::multiply_records<tile, 4>,
                                          detail::multiply_records<tile, 5>, detail::multiply_records<tile, 6>};

 public:
  /// Bytes for the records of n rows of x; the memory is aligned for floats.
  [[nodiscard]] static constexpr std::size_t memory_for(std::size_t n, std::size_t k) noexcept {
    return k / 32 * tile::x_record(n);
  }
  quant_tiles(const quant_rows& w, std::size_t n, std::byte* memory) noexcept
      : w_(w), n_(n), groups_(n, detail::ceil_div(n, tile::height)), memory_(memory) {}

  void run(const float* x, float* y) const noexcept {
    constexpr std::size_t task = std::size_t{1} << 17;  // multiplications worth handing to a thread
    P::for_range(groups_.parts, task / 8 / (w_.k * tile::height + 1) + 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t g = begin; g < end; ++g)
        detail::quantise_records<tile, V>(x + groups_.begin(g) * w_.k, w_.k, groups_.size(g), records_of(g));
    });
    P::for_range(detail::ceil_div(w_.rows, tile::columns), task / (n_ * w_.k * tile::columns + 1) + 1,
                 [&](std::size_t begin, std::size_t end) { multiply_panels(begin, end, y); });
  }

 private:
  [[nodiscard]] std::byte* records_of(std::size_t group) const noexcept {
    return memory_ + w_.k / 32 * tile::x_record(groups_.begin(group));
  }
  void multiply_panels(std::size_t begin, std::size_t end, float* y) const noexcept {
    alignas(64) std::byte panel[tile::deep / 32 * tile::w_record];
    for (std::size_t p = 0; p < w_.k; p += tile::deep) {
      const std::size_t depth = detail::smaller(tile::deep, w_.k - p);
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t row = i * tile::columns, rows = detail::smaller(tile::columns, w_.rows - row);
        detail::unpack_records<tile, F>(w_, row, rows, p, depth, panel);
        for (std::size_t g = 0; g < groups_.parts; ++g) multiply_group(g, p, depth, panel, y + row, rows);
      }
    }
  }
  /// A tile of y: the rows of group g, `columns` columns from y on.
  void multiply_group(std::size_t g, std::size_t p, std::size_t depth, const std::byte* panel, float* y,
                      std::size_t columns) const noexcept {
    alignas(64) float sums[tile::height * tile::columns];
    const std::size_t height = groups_.size(g);
    float* const first = y + groups_.begin(g) * w_.rows;
    for (std::size_t h = 0; h < height; ++h)
      for (std::size_t j = 0; j < tile::columns; ++j)
        sums[h * tile::columns + j] = p != 0 && j < columns ? first[h * w_.rows + j] : 0.0f;
    multiply[height - 1](records_of(g) + p / 32 * tile::x_record(height), panel, depth / 32, sums);
    for (std::size_t h = 0; h < height; ++h)
      for (std::size_t j = 0; j < columns; ++j) first[h * w_.rows + j] = sums[h * tile::columns + j];
  }

  quant_rows w_;
  std::size_t n_;
  detail::even_parts groups_;
  std::byte* memory_;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
