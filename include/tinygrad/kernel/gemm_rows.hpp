// Matrix products with one or a few rows: the weights are read once, so the speed of memory decides.
//
//   rows of B contiguous (x W):      y += x[p] W[p, :], eight rows of W at a time, y stays in cache
//   columns of B contiguous (x Wt):  y[j] = x . W[j, :], four or eight columns at a time, sums in registers
//
// Either way W is read as four or eight long streams that lie far apart, since caches fetch ahead within each of them:
// on a Zen 3, W (2304, 768) comes at 17 GB/s by eight runs of rows and at 10 by four neighbouring rows; in pieces as
// tiles read them it is 5 to 7, with or without prefetch instructions.
// Each element of C is computed by the same steps whatever range of columns a thread gets.
#pragma once

#include <tinygrad/kernel/gemm_args.hpp>
#include <tinygrad/kernel/gemm_tile.hpp>
#include <tinygrad/simd/transpose.hpp>
#include <type_traits>

namespace tinygrad::inline TINYGRAD_ABI {
namespace detail {

inline constexpr std::size_t few_rows = 8;

/// Calls functions[rows - 1](i, ...) for all rows of C in nearly equal groups of at most Most rows.
template <class F, std::size_t Most, class... Args>
TINYGRAD_ALWAYS_INLINE void for_row_groups(std::size_t m, F* const (&functions)[Most], const Args&... args) noexcept {
  const even_parts groups(m, ceil_div(m, Most));
  for (std::size_t group = 0; group < groups.parts; ++group) {
    functions[groups.size(group) - 1](groups.begin(group), args...);
  }
}

// ---- x W ------------------------------------------------------------------------------------------------------------

/// The part of B that a call of add_products multiplies with.
struct weight_block {
  std::size_t p, apart;  // its first row, and from one row to the next
  std::size_t j, cols;   // its columns
};

/// C[i.., j] += sum over p of A[i.., p] B[p, j] for Rows rows and R steps of p; B's rows are contiguous.
template <class T, std::size_t Rows, std::size_t R>
TINYGRAD_NOINLINE void add_products(std::size_t i, const gemm_args<T>& g, const weight_block& at) noexcept {
  using V = pack<T>;
  constexpr std::size_t L = gemm_tile<T>::lanes;
  T x[Rows * R];
  const T* w[R];
  T* c[Rows];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < R; ++r) w[r] = g.b + static_cast<std::ptrdiff_t>(at.p + r * at.apart) * g.b_row + at.j;
#pragma GCC unroll 4
  for (std::size_t row = 0; row < Rows; ++row) {
    c[row] = g.c + static_cast<std::ptrdiff_t>(i + row) * g.c_row + at.j;
    const T* const a = g.a + static_cast<std::ptrdiff_t>(i + row) * g.a_row;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) x[row * R + r] = a[static_cast<std::ptrdiff_t>(at.p + r * at.apart) * g.a_col];
  }
  const auto add = [&](auto packs, std::size_t j, auto load, auto store) TINYGRAD_INLINE_LAMBDA {
    constexpr std::size_t W = decltype(packs)::value;
    auto sum = registers<V, Rows * W>::zeros();
#pragma GCC unroll 8
    for (std::size_t s = 0; s < Rows * W; ++s) sum[s] = load(c[s / W] + j + s % W * L);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) {
      auto weight = registers<V, W>::zeros();
#pragma GCC unroll 2
      for (std::size_t v = 0; v < W; ++v) weight[v] = load(w[r] + j + v * L);
#pragma GCC unroll 4
      for (std::size_t row = 0; row < Rows; ++row) {
        const V factor(x[row * R + r]);
#pragma GCC unroll 2
        for (std::size_t v = 0; v < W; ++v) sum[row * W + v] = fma(factor, weight[v], sum[row * W + v]);
      }
    }
#pragma GCC unroll 8
    for (std::size_t s = 0; s < Rows * W; ++s) store(sum[s], c[s / W] + j + s % W * L);
  };
  constexpr std::integral_constant<std::size_t, 1> one{};
  constexpr std::integral_constant<std::size_t, 2> two{};  // packs that share a broadcast element of A
  const auto load = [](const T* from) { return V::load(from); };
  const auto store = [](const V& v, T* to) { v.store(to); };
  std::size_t j = 0;
  for (; j + 2 * L <= at.cols; j += 2 * L) add(two, j, load, store);
  for (; j + L <= at.cols; j += L) add(one, j, load, store);
  if (const int rest = static_cast<int>(at.cols - j); rest != 0) {
    const auto load_rest = [rest](const T* from) { return V::load(from, rest); };
    const auto store_rest = [rest](const V& v, T* to) { v.store(to, rest); };
    add(one, j, load_rest, store_rest);
  }
}

/// Columns [begin, end) of C (+)= A B, rows of B contiguous. Several rows of C are done in chunks of columns that stay
/// in the second cache, one row at a stretch.
template <class T>
void few_rows_columns(const gemm_args<T>& g, std::size_t begin, std::size_t end) noexcept {
  using function = void(std::size_t, const gemm_args<T>&, const weight_block&) noexcept;
  constexpr std::size_t steps = 8;
  static constexpr function* by_rows[] = {add_products<T, 1, steps>, add_products<T, 2, steps>,
                                          add_products<T, 3, steps>, add_products<T, 4, steps>};
  static constexpr function* single[] = {add_products<T, 1, 1>};
  constexpr std::size_t chunk_bytes = 65536;  // of C; with a quarter, W comes in pieces too short: 0.8 of the speed
  const std::size_t chunk = g.m == 1 ? end - begin : (chunk_bytes / sizeof(T) / g.m + 63) / 64 * 64;
  for (std::size_t j = begin; j < end; j += chunk) {
    weight_block at{0, g.k / steps, j, smaller(chunk, end - j)};
    for (std::size_t i = 0; i < g.m && !g.accumulate; ++i) {
      T* const row = g.c + static_cast<std::ptrdiff_t>(i) * g.c_row + j;
      for (std::size_t column = 0; column < at.cols; ++column) row[column] = T(0);
    }
    for (; at.p < at.apart; ++at.p) for_row_groups(g.m, by_rows, g, at);
    for (at.p = steps * at.apart; at.p < g.k; ++at.p) for_row_groups(g.m, single, g, at);
  }
}

// ---- x Wt -----------------------------------------------------------------------------------------------------------

/// Where N columns of B begin.
template <class T, std::size_t N>
struct column_streams {
  const T* at[N];
};
template <class T, std::size_t N>
using dot_function = void(std::size_t i, const gemm_args<T>& g, const column_streams<T, N>& b, T* dots) noexcept;
inline constexpr std::size_t dot_run = 16;  // neighbouring sums that are stored together

/// dots[i..][N][dot_run]: the first of each run = A[i.., :] . the N columns, for Rows rows; all contiguous in k.
template <class T, std::size_t Rows, std::size_t N>
TINYGRAD_NOINLINE void dot_block(std::size_t i, const gemm_args<T>& g, const column_streams<T, N>& b,
                                 T* dots) noexcept {
  using V = pack<T>;
  constexpr std::size_t L = gemm_tile<T>::lanes;
  const T* const a = g.a + static_cast<std::ptrdiff_t>(i) * g.a_row;
  auto sum = registers<V, Rows * N>::zeros();
  const auto add = [&](std::size_t p, auto load) TINYGRAD_INLINE_LAMBDA {
    auto b_vec = registers<V, N>::zeros();
#pragma GCC unroll 8
    for (std::size_t c = 0; c < N; ++c) b_vec[c] = load(b.at[c] + p);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < Rows; ++r) {
      const V a_vec = load(a + static_cast<std::ptrdiff_t>(r) * g.a_row + p);
#pragma GCC unroll 8
      for (std::size_t c = 0; c < N; ++c) sum[r * N + c] = fma(a_vec, b_vec[c], sum[r * N + c]);
    }
  };
  std::size_t p = 0;
  for (; p + L <= g.k; p += L) add(p, [](const T* from) { return V::load(from); });
  if (const int rest = static_cast<int>(g.k - p); rest != 0) {
    add(p, [rest](const T* from) { return V::load(from, rest); });
  }
#pragma GCC unroll 4
  for (std::size_t s = 0; s < Rows * N; s += 4) {
    const V four[4] = {sum[s], sum[s + 1], sum[s + 2], sum[s + 3]};
    T dot[4];
    sum_lanes(four, dot);
    for (std::size_t d = 0; d < 4; ++d) dots[(i * N + s + d) * dot_run] = dot[d];
  }
}

/// Columns [begin, end) of C (+)= A B by N streams, each a run of neighbouring columns. Sums wait in `dots`, because
/// the rows of C often lie multiples of 4 KiB apart, where they would throw each other out of the first cache.
template <class T, std::size_t N, std::size_t Most>
void dots_by_streams(const gemm_args<T>& g, std::size_t begin, std::size_t end,
                     dot_function<T, N>* const (&by_rows)[Most]) noexcept {
  T dots[few_rows * N * dot_run];
  const std::size_t length = ceil_div(end - begin, N);
  for (std::size_t first = 0; first < length; first += dot_run) {
    const std::size_t count = smaller(dot_run, length - first);
    for (std::size_t d = 0; d < count; ++d) {
      column_streams<T, N> b;  // beyond the last column the last one again, computed in vain
      for (std::size_t n = 0; n < N; ++n) {
        b.at[n] = g.b + static_cast<std::ptrdiff_t>(smaller(begin + n * length + first + d, end - 1)) * g.b_col;
      }
      for_row_groups(g.m, by_rows, g, b, dots + d);
    }
    for (std::size_t s = 0; s < g.m * N; ++s) {
      const std::size_t column = begin + s % N * length + first;
      T* const c = g.c + static_cast<std::ptrdiff_t>(s / N) * g.c_row;
      for (std::size_t d = 0; d < count && column + d < end; ++d) {
        c[column + d] = g.accumulate ? c[column + d] + dots[s * dot_run + d] : dots[s * dot_run + d];
      }
    }
  }
}

/// Columns [begin, end) of C (+)= A B, rows of A and columns of B contiguous in k.
template <class T>
void few_rows_dots(const gemm_args<T>& g, std::size_t begin, std::size_t end) noexcept {
  static constexpr dot_function<T, 8>* one_row[] = {dot_block<T, 1, 8>};
  if (g.m == 1) return dots_by_streams<T, 8>(g, begin, end, one_row);
  // As many rows of four sums as there are registers for.
  if constexpr (vector_registers == 32) {
    static constexpr dot_function<T, 4>* rows[] = {dot_block<T, 1, 4>, dot_block<T, 2, 4>, dot_block<T, 3, 4>,
                                                   dot_block<T, 4, 4>};
    dots_by_streams<T, 4>(g, begin, end, rows);
  } else {
    static constexpr dot_function<T, 4>* rows[] = {dot_block<T, 1, 4>, dot_block<T, 2, 4>, dot_block<T, 3, 4>};
    dots_by_streams<T, 4>(g, begin, end, rows);
  }
}

}  // namespace detail
}  // namespace tinygrad::inline TINYGRAD_ABI
