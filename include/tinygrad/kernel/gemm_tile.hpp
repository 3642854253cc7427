// The innermost loop of the packed matrix product: one tile of C held in registers while k runs.
//
//   C[h, w] (+)= sum over p of A[h, p] B[p, w]        at most `height` rows and `columns` columns
//
// The tile is sized from the number of vector registers: height x width accumulators, a row of B (width registers) and
// an element of A must fit. AVX-512 and NEON hold 6 rows of 4 vectors, AVX2 and SSE 6 rows of 2.
// After Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008), and BLIS.
#pragma once

#include <bit>
#include <cstddef>
#include <tinygrad/simd/pack.hpp>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {
namespace detail {

#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int vector_registers = 32;
#else
inline constexpr int vector_registers = 16;
#endif

constexpr std::size_t ceil_div(std::size_t a, std::size_t b) noexcept { return a == 0 ? 0 : (a - 1) / b + 1; }
constexpr std::size_t smaller(std::size_t a, std::size_t b) noexcept { return b < a ? b : a; }

/// `count` things dealt into `parts` nearly equal runs, the longer ones first.
struct even_parts {
  std::size_t parts = 0, base = 0, longer = 0;
  constexpr even_parts() = default;
  constexpr even_parts(std::size_t count, std::size_t into) noexcept
      : parts(into), base(count / into), longer(count % into) {}
  [[nodiscard]] constexpr std::size_t begin(std::size_t part) const noexcept {
    return part * base + smaller(part, longer);
  }
  [[nodiscard]] constexpr std::size_t size(std::size_t part) const noexcept { return base + (part < longer ? 1 : 0); }
  [[nodiscard]] constexpr std::size_t largest() const noexcept { return size(0); }
};

template <class T>
struct gemm_tile {
  static constexpr std::size_t lanes = static_cast<std::size_t>(native_lanes<T>);
  static constexpr std::size_t height = 6;
  static constexpr std::size_t width = (vector_registers - 2) / (height + 1);  // vectors
  static constexpr std::size_t columns = width * lanes;
  // Strips narrower than a tile end a matrix: kind 0 is a full tile, each further kind has half the columns of the one
  // before, down to one vector, or half a vector where that is a register too.
  static constexpr std::size_t least = lanes * sizeof(T) >= 32 ? lanes / 2 : lanes;
  static constexpr std::size_t kinds = static_cast<std::size_t>(std::countr_zero(columns / least)) + 1;
  static_assert(std::has_single_bit(columns / least));

  static constexpr std::size_t columns_of(std::size_t kind) noexcept { return columns >> kind; }
  /// The widest strip that `cols` columns, rounded up to the narrowest strip, fill.
  static constexpr std::size_t kind_for(std::size_t cols) noexcept {
    std::size_t kind = 0;
    while (columns_of(kind) > (cols + least - 1) / least * least) ++kind;
    return kind;
  }
};

/// What one tile needs. The rows of B are readable over the whole width of the tile, whatever `cols` says.
template <class T>
struct tile_args {
  std::size_t k;
  const T* a;
  std::ptrdiff_t a_row, a_col;
  const T* b;
  std::ptrdiff_t b_row;  // the columns of B are contiguous
  T* c;
  std::ptrdiff_t c_row;
  std::size_t cols;  // columns of C to write
  bool accumulate;
};

/// N packs that are to live in registers: set one by one from the start, because clearing an array in a loop, as
/// default construction would, takes it to memory.
template <class V, std::size_t N>
struct registers {
  V v[N];
  TINYGRAD_ALWAYS_INLINE V& operator[](std::size_t i) noexcept { return v[i]; }
  static TINYGRAD_ALWAYS_INLINE registers zeros() noexcept { return zeros(std::make_index_sequence<N>{}); }

 private:
  template <std::size_t... K>
  static TINYGRAD_ALWAYS_INLINE registers zeros(std::index_sequence<K...>) noexcept {
    return {{(static_cast<void>(K), V(scalar_of<V>(0)))...}};
  }
};

/// Writes the part of a full tile that lies inside C.
template <class T>
TINYGRAD_NOINLINE void store_clipped(const T* tile, std::size_t tile_row, std::size_t rows,
                                     const tile_args<T>& args) noexcept {
  T* c = args.c;
  for (; rows != 0; --rows, tile += tile_row, c += args.c_row) {
    for (std::size_t j = 0; j < args.cols; ++j) c[j] = args.accumulate ? c[j] + tile[j] : tile[j];
  }
}

/// Asks for the part of C that a tile will add to, early enough to be there when its sums are done.
template <class T>
TINYGRAD_ALWAYS_INLINE void prefetch_rows(const T* c, std::ptrdiff_t c_row, std::size_t rows,
                                          std::size_t cols) noexcept {
  for (; rows != 0; --rows, c += c_row) {
    for (std::size_t j = 0; j < cols; j += 64 / sizeof(T)) __builtin_prefetch(c + j, 1);
  }
}

/// A tile of H rows and W packs V. Every loop over the tile has constant bounds and is unrolled: the array of sums
/// lives in registers.
template <class V, std::size_t H, std::size_t W>
TINYGRAD_ALWAYS_INLINE void compute_tile(const tile_args<scalar_of<V>>& args) noexcept {
  using T = scalar_of<V>;
  constexpr std::size_t L = static_cast<std::size_t>(lanes<V>);
  auto sum = registers<V, H * W>::zeros();
  const T* a = args.a;
  const T* b = args.b;
  const std::ptrdiff_t a_row = args.a_row, a_col = args.a_col, b_row = args.b_row;
  if (args.k >= 256) prefetch_rows(args.c, args.c_row, H, W * L);
  for (std::size_t p = args.k; p != 0; --p, a += a_col, b += b_row) {
    auto b_vec = registers<V, W>::zeros();
#pragma GCC unroll 8
    for (std::size_t w = 0; w < W; ++w) b_vec[w] = V::load(b + w * L);
#pragma GCC unroll 8
    for (std::size_t h = 0; h < H; ++h) {
      const V a_vec(a[static_cast<std::ptrdiff_t>(h) * a_row]);
#pragma GCC unroll 8
      for (std::size_t w = 0; w < W; ++w) sum[h * W + w] = fma(a_vec, b_vec[w], sum[h * W + w]);
    }
  }
  if (args.cols != W * L) {
    alignas(64) T tile[H * W * L];
#pragma GCC unroll 32
    for (std::size_t v = 0; v < H * W; ++v) sum[v].store(tile + v * L);
    return store_clipped(tile, W * L, H, args);
  }
  T* c = args.c;
#pragma GCC unroll 8
  for (std::size_t h = 0; h < H; ++h, c += args.c_row) {
#pragma GCC unroll 8
    for (std::size_t w = 0; w < W; ++w) {
      if (args.accumulate) sum[h * W + w] += V::load(c + w * L);
      sum[h * W + w].store(c + w * L);
    }
  }
}

template <class T, std::size_t H, std::size_t Kind>
TINYGRAD_NOINLINE void tile_of(const tile_args<T>& args) noexcept {
  constexpr std::size_t columns = gemm_tile<T>::columns_of(Kind);
  constexpr std::size_t L = columns < gemm_tile<T>::lanes ? columns : gemm_tile<T>::lanes, W = columns / L;
  compute_tile<pack<T, static_cast<int>(L)>, H, W>(args);
}

template <class T>
using tile_function = void (*)(const tile_args<T>&) noexcept;

/// All tiles, by kind and number of rows less one.
template <class T, class Kinds = std::make_index_sequence<gemm_tile<T>::kinds>>
struct tile_table;
template <class T, std::size_t... Kind>
struct tile_table<T, std::index_sequence<Kind...>> {
  static constexpr tile_function<T> functions[][gemm_tile<T>::height] = {{tile_of<T, 1, Kind>, tile_of<T, 2, Kind>,
                                                                          tile_of<T, 3, Kind>, tile_of<T, 4, Kind>,
                                                                          tile_of<T, 5, Kind>, tile_of<T, 6, Kind>}...};
};

}  // namespace detail
}  // namespace tinygrad::inline TINYGRAD_ABI
