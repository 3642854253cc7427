// The innermost loop of the packed matrix product: one tile of C held in registers while k runs.
//
//   C[h, w] (+)= sum over p of A[h, p] B[p, w]        at most `height` rows and `columns` columns
//
// The tile is sized from the number of vector registers: height x width accumulators, a row of B (width registers) and
// an element of A must fit. AVX-512 and NEON hold 6 rows of 4 vectors, AVX2 and SSE 6 rows of 2.
// After Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008), and BLIS.
#pragma once

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

template <class T>
struct gemm_tile {
  using vec = pack<T>;
  static constexpr std::size_t lanes = static_cast<std::size_t>(vec::size());
  static constexpr std::size_t height = 6;
  static constexpr std::size_t width = (vector_registers - 2) / (height + 1);  // vectors
  static constexpr std::size_t columns = width * lanes;
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

/// Writes the part of a full tile that lies inside C.
template <class T>
TINYGRAD_NOINLINE void store_clipped(const T* tile, std::size_t tile_row, std::size_t rows,
                                     const tile_args<T>& args) noexcept {
  using V = typename gemm_tile<T>::vec;
  T* c = args.c;
  for (; rows != 0; --rows, tile += tile_row, c += args.c_row) {
    for (std::size_t j = 0; j < args.cols; j += gemm_tile<T>::lanes) {
      const int count = static_cast<int>(args.cols - j);  // store writes all lanes when there are more
      const V sum = V::load(tile + j);
      (args.accumulate ? V::load(c + j, count) + sum : sum).store(c + j, count);
    }
  }
}

/// Every loop over the tile has constant bounds and is unrolled: the array of sums lives in registers.
template <class T, std::size_t H, std::size_t W, std::size_t... K>
TINYGRAD_ALWAYS_INLINE void compute_tile(const tile_args<T>& args, std::index_sequence<K...>) noexcept {
  using V = typename gemm_tile<T>::vec;
  constexpr std::size_t L = gemm_tile<T>::lanes;
  V sum[] = {(static_cast<void>(K), V(T(0)))...};
  const T* a = args.a;
  const T* b = args.b;
  const std::ptrdiff_t a_row = args.a_row, a_col = args.a_col, b_row = args.b_row;
  for (std::size_t p = args.k; p != 0; --p, a += a_col, b += b_row) {
    V b_vec[W];
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

template <class T, std::size_t H, std::size_t W>
TINYGRAD_NOINLINE void tile_of(const tile_args<T>& args) noexcept {
  compute_tile<T, H, W>(args, std::make_index_sequence<H * W>{});
}

/// A tile of `rows` (1 to height) rows; wide: all of the tile's vectors, else half of them.
template <class T>
TINYGRAD_ALWAYS_INLINE void run_tile(std::size_t rows, bool wide, const tile_args<T>& args) noexcept {
  constexpr std::size_t W = gemm_tile<T>::width, half = W / 2;
  using function = void (*)(const tile_args<T>&) noexcept;
  static constexpr function table[2][gemm_tile<T>::height] = {
      {tile_of<T, 1, half>, tile_of<T, 2, half>, tile_of<T, 3, half>, tile_of<T, 4, half>, tile_of<T, 5, half>,
       tile_of<T, 6, half>},
      {tile_of<T, 1, W>, tile_of<T, 2, W>, tile_of<T, 3, W>, tile_of<T, 4, W>, tile_of<T, 5, W>, tile_of<T, 6, W>}};
  table[wide ? 1 : 0][rows - 1](args);
}

}  // namespace detail
}  // namespace tinygrad::inline TINYGRAD_ABI
