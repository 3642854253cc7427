// Matrix products with one or a few rows: the weights are read once, so the speed of memory decides.
//
//   rows of B contiguous (x W):      y += x[p] W[p, :], four or eight rows of W at a time, y stays in cache
//   columns of B contiguous (x Wt):  y[j] = x . W[j, :], four columns at a time, sums in registers
//
// Each element of C is computed by the same steps whatever range of columns a thread gets.
#pragma once

#include <tinygrad/kernel/gemm_args.hpp>
#include <tinygrad/kernel/gemm_tile.hpp>
#include <tinygrad/simd/transpose.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace detail {

/// What a call of add_products or dot_block works on.
struct row_block {
  std::size_t i;         // first row of C
  std::size_t j, cols;   // columns of C
  std::size_t p, depth;  // of k
};

/// C[i, j] += sum over p of A[i, p] B[p, j] for Rows rows and R steps of p, added in order; B's rows are contiguous.
/// Asks for the R rows of B that follow, so that the next call finds them.
template <class T, std::size_t Rows, std::size_t R>
TINYGRAD_NOINLINE void add_products(const gemm_args<T>& g, const row_block& at) noexcept {
  using V = pack<T>;
  constexpr std::size_t L = gemm_tile<T>::lanes;
  const auto [i, first, cols, p, depth] = at;
  auto scale = registers<V, Rows * R>::zeros();
  const T* w[R];
  T* c[Rows];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < R; ++r) w[r] = g.b + static_cast<std::ptrdiff_t>(p + r) * g.b_row + first;
#pragma GCC unroll 4
  for (std::size_t row = 0; row < Rows; ++row) {
    c[row] = g.c + static_cast<std::ptrdiff_t>(i + row) * g.c_row + first;
    const T* const x = g.a + static_cast<std::ptrdiff_t>(i + row) * g.a_row + static_cast<std::ptrdiff_t>(p) * g.a_col;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) scale[row * R + r] = V(x[static_cast<std::ptrdiff_t>(r) * g.a_col]);
  }
  const auto add = [&](std::size_t j, auto load, auto store) {
    auto sum = registers<V, Rows>::zeros();
#pragma GCC unroll 4
    for (std::size_t row = 0; row < Rows; ++row) sum[row] = load(c[row] + j);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) {
      const V weight = load(w[r] + j);
#pragma GCC unroll 4
      for (std::size_t row = 0; row < Rows; ++row) sum[row] = fma(scale[row * R + r], weight, sum[row]);
    }
#pragma GCC unroll 4
    for (std::size_t row = 0; row < Rows; ++row) store(sum[row], c[row] + j);
  };
  std::size_t j = 0;
  for (; j + L <= cols; j += L) {
    add(
        j, [](const T* from) { return V::load(from); }, [](const V& v, T* to) { v.store(to); });
  }
  if (const int rest = static_cast<int>(cols - j); rest != 0) {
    add(
        j, [rest](const T* from) { return V::load(from, rest); }, [rest](const V& v, T* to) { v.store(to, rest); });
  }
}

/// C[i, j] (+)= A[i, p..] . B[p.., j] for M rows and up to four columns; A's rows and B's columns are contiguous in p.
template <class T, std::size_t M>
TINYGRAD_NOINLINE void dot_block(const gemm_args<T>& g, const row_block& at) noexcept {
  using V = pack<T>;
  constexpr std::size_t L = gemm_tile<T>::lanes, N = 4;
  const T* const a = g.a + static_cast<std::ptrdiff_t>(at.i) * g.a_row + at.p;
  const T* b[N];  // beyond the last column the last one again, computed in vain
#pragma GCC unroll 4
  for (std::size_t c = 0; c < N; ++c) {
    b[c] = g.b + static_cast<std::ptrdiff_t>(at.j + smaller(c, at.cols - 1)) * g.b_col + at.p;
  }
  auto sum = registers<V, M * N>::zeros();
  const auto add = [&](std::size_t p, auto load) {
    auto b_vec = registers<V, N>::zeros();
#pragma GCC unroll 4
    for (std::size_t c = 0; c < N; ++c) b_vec[c] = load(b[c] + p);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < M; ++r) {
      const V a_vec = load(a + static_cast<std::ptrdiff_t>(r) * g.a_row + p);
#pragma GCC unroll 4
      for (std::size_t c = 0; c < N; ++c) sum[r * N + c] = fma(a_vec, b_vec[c], sum[r * N + c]);
    }
  };
  std::size_t p = 0;
  for (; p + L <= at.depth; p += L) add(p, [](const T* from) { return V::load(from); });
  if (const int rest = static_cast<int>(at.depth - p); rest != 0) {
    add(p, [rest](const T* from) { return V::load(from, rest); });
  }
  const bool accumulate = g.accumulate || at.p != 0;
#pragma GCC unroll 4
  for (std::size_t r = 0; r < M; ++r) {
    const V row[N] = {sum[r * N], sum[r * N + 1], sum[r * N + 2], sum[r * N + 3]};
    T dot[N];
    sum_lanes(row, dot);
    T* const c = g.c + static_cast<std::ptrdiff_t>(at.i + r) * g.c_row + at.j;
    for (std::size_t v = 0; v < at.cols; ++v) c[v] = accumulate ? c[v] + dot[v] : dot[v];
  }
}

template <class T>
using row_function = void (*)(const gemm_args<T>&, const row_block&) noexcept;

/// Calls the function for 1 to 4 rows on all rows of C, in nearly equal groups.
template <class T>
TINYGRAD_ALWAYS_INLINE void for_row_groups(const gemm_args<T>& g, const row_function<T> (&functions)[4],
                                           row_block at) noexcept {
  const even_parts groups(g.m, (g.m + 3) / 4);
  for (std::size_t group = 0; group < groups.parts; ++group) {
    at.i = groups.begin(group);
    functions[groups.size(group) - 1](g, at);
  }
}

/// Columns [begin, end) of C (+)= A B, rows of B contiguous. Several rows of C are done in chunks of columns that stay
/// in the first cache, one row at a stretch.
template <class T>
void few_rows_columns(const gemm_args<T>& g, std::size_t begin, std::size_t end) noexcept {
  static constexpr row_function<T> by_four[4] = {add_products<T, 1, 8>, add_products<T, 2, 8>, add_products<T, 3, 8>,
                                                 add_products<T, 4, 8>};
  constexpr std::size_t chunk_bytes = 16384;
  const std::size_t chunk = g.m == 1 ? end - begin : (chunk_bytes / sizeof(T) / g.m + 63) / 64 * 64;
  for (std::size_t j = begin; j < end; j += chunk) {
    row_block at{0, j, smaller(chunk, end - j), 0, 0};
    for (std::size_t i = 0; i < g.m && !g.accumulate; ++i) {
      T* const row = g.c + static_cast<std::ptrdiff_t>(i) * g.c_row + j;
      for (std::size_t column = 0; column < at.cols; ++column) row[column] = T(0);
    }
    for (; at.p + 8 <= g.k; at.p += 8) for_row_groups(g, by_four, at);
    for (; at.p < g.k; ++at.p) {
      for (at.i = 0; at.i < g.m; ++at.i) add_products<T, 1, 1>(g, at);
    }
  }
}

/// Columns [begin, end) of C (+)= A B, rows of A and columns of B contiguous in k.
template <class T>
void few_rows_dots(const gemm_args<T>& g, std::size_t begin, std::size_t end) noexcept {
  static constexpr row_function<T> by_rows[4] = {dot_block<T, 1>, dot_block<T, 2>, dot_block<T, 3>, dot_block<T, 4>};
  constexpr std::size_t deepest = 4096 / sizeof(T);  // eight rows of it fit into the first cache
  const even_parts depths(g.k, ceil_div(g.k, deepest));
  for (std::size_t j = begin; j < end; j += 4) {
    for (std::size_t part = 0; part < depths.parts; ++part) {
      for_row_groups(g, by_rows, {0, j, smaller(4, end - j), depths.begin(part), depths.size(part)});
    }
  }
}

}  // namespace detail
}  // namespace tinygrad::inline TINYGRAD_ABI
