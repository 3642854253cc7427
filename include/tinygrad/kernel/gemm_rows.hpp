// Matrix products with one or a few rows: the weights are read once, so the speed of memory decides.
//
//   rows of B contiguous (x W):      y += x[p] W[p, :] for eight rows of W at a time, y stays in cache
//   columns of B contiguous (x Wt):  y[j] = x . W[j, :], four columns at a time, sums in registers
//
// Each element of C is computed by the same steps whatever range of columns a thread gets.
#pragma once

#include <tinygrad/kernel/gemm_args.hpp>
#include <tinygrad/kernel/gemm_pack.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace detail {

/// c[j] += sum over R of x[r] * w[r * w_row + j] for j < n; the rows are added in order.
template <class T, std::size_t R>
TINYGRAD_NOINLINE void add_scaled_rows(const T* x, std::ptrdiff_t x_col, const T* w, std::ptrdiff_t w_row, T* c,
                                       std::size_t n) noexcept {
  using V = pack<T>;
  constexpr std::size_t L = gemm_tile<T>::lanes;
  V scale[R];
  const T* row[R];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < R; ++r) {
    scale[r] = V(x[static_cast<std::ptrdiff_t>(r) * x_col]);
    row[r] = w + static_cast<std::ptrdiff_t>(r) * w_row;
  }
  std::size_t j = 0;
  for (; j + L <= n; j += L) {
    V sum = V::load(c + j);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) sum = fma(scale[r], V::load(row[r] + j), sum);
    sum.store(c + j);
  }
  if (j == n) return;
  const int rest = static_cast<int>(n - j);
  V sum = V::load(c + j, rest);
#pragma GCC unroll 8
  for (std::size_t r = 0; r < R; ++r) sum = fma(scale[r], V::load(row[r] + j, rest), sum);
  sum.store(c + j, rest);
}

/// Columns [begin, end) of C += A B, rows of B contiguous.
template <class T>
void few_rows_columns(const gemm_args<T>& g, std::size_t begin, std::size_t end) noexcept {
  const std::size_t n = end - begin;
  T* const c = g.c + begin;
  for (std::size_t i = 0; i < g.m && !g.accumulate; ++i) {
    T* const row = c + static_cast<std::ptrdiff_t>(i) * g.c_row;
    for (std::size_t j = 0; j < n; ++j) row[j] = T(0);
  }
  for (std::size_t p = 0; p < g.k;) {
    const std::size_t left = g.k - p, step = left >= 8 ? 8 : 1;
    const T* const w = g.b + static_cast<std::ptrdiff_t>(p) * g.b_row + begin;
    for (std::size_t i = 0; i < g.m; ++i) {
      const auto row = static_cast<std::ptrdiff_t>(i);
      const T* const x = g.a + row * g.a_row + static_cast<std::ptrdiff_t>(p) * g.a_col;
      if (step == 8)
        add_scaled_rows<T, 8>(x, g.a_col, w, g.b_row, c + row * g.c_row, n);
      else
        add_scaled_rows<T, 1>(x, g.a_col, w, g.b_row, c + row * g.c_row, n);
    }
    p += step;
  }
}

/// C[i, j] (+)= a[i, :] . b[:, j] for a block of M rows and N columns; both contiguous in k.
template <class T, std::size_t M, std::size_t N>
TINYGRAD_NOINLINE void dot_block(const gemm_args<T>& g, const T* a, std::ptrdiff_t a_row, std::size_t i,
                                 std::size_t j) noexcept {
  using V = pack<T>;
  constexpr std::size_t L = gemm_tile<T>::lanes;
  a += static_cast<std::ptrdiff_t>(i) * a_row;
  const T* const b = g.b + static_cast<std::ptrdiff_t>(j) * g.b_col;
  V sum[M * N];
  const auto add = [&](auto load) {
    V b_vec[N];
#pragma GCC unroll 4
    for (std::size_t c = 0; c < N; ++c) b_vec[c] = load(b + static_cast<std::ptrdiff_t>(c) * g.b_col);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < M; ++r) {
      const V a_vec = load(a + static_cast<std::ptrdiff_t>(r) * a_row);
#pragma GCC unroll 4
      for (std::size_t c = 0; c < N; ++c) sum[r * N + c] = fma(a_vec, b_vec[c], sum[r * N + c]);
    }
  };
  std::size_t p = 0;
  for (; p + L <= g.k; p += L) add([p](const T* from) { return V::load(from + p); });
  if (const int rest = static_cast<int>(g.k - p); rest != 0) {
    add([p, rest](const T* from) { return V::load(from + p, rest); });
  }
  for (std::size_t r = 0; r < M; ++r) {
    T* const c = g.c + static_cast<std::ptrdiff_t>(i + r) * g.c_row + j;
    for (std::size_t v = 0; v < N; ++v) {
      const T dot = reduce_add(sum[r * N + v]);
      c[v] = g.accumulate ? c[v] + dot : dot;
    }
  }
}

/// Columns [begin, end) of C (+)= A B, columns of B contiguous; the rows of a[m, k] are contiguous too.
template <class T>
void few_rows_dots(const gemm_args<T>& g, const T* a, std::ptrdiff_t a_row, std::size_t begin,
                   std::size_t end) noexcept {
  std::size_t j = begin;
  for (; j + 4 <= end; j += 4) {
    std::size_t i = 0;
    for (; i + 2 <= g.m; i += 2) dot_block<T, 2, 4>(g, a, a_row, i, j);
    if (i < g.m) dot_block<T, 1, 4>(g, a, a_row, i, j);
  }
  for (; j < end; ++j) {
    for (std::size_t i = 0; i < g.m; ++i) dot_block<T, 1, 1>(g, a, a_row, i, j);
  }
}

}  // namespace detail
}  // namespace tinygrad::inline TINYGRAD_ABI
