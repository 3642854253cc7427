// Matrix product as the textbook writes it: three loops and a sum. This is the specification of gemm; the packed one
// must agree with it within the rounding of sums in another order.
#pragma once

#include <tinygrad/kernel/gemm_args.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

/// C (+)= A B: c[i][j] (+)= sum over p of a[i][p] * b[p][j].
template <class T>
void naive_gemm(const gemm_args<T>& args) noexcept {
  using index = std::ptrdiff_t;
  const auto m = static_cast<index>(args.m), n = static_cast<index>(args.n), k = static_cast<index>(args.k);
  for (std::size_t product = 0; product < args.batch; ++product) {
    const gemm_args<T> one = args.single(product);
    for (index i = 0; i < m; ++i) {
      for (index j = 0; j < n; ++j) {
        T sum = 0;
        for (index p = 0; p < k; ++p) {
          sum += one.a[i * one.a_row + p * one.a_col] * one.b[p * one.b_row + j * one.b_col];
        }
        T& c = one.c[i * one.c_row + j];
        c = one.accumulate ? c + sum : sum;
      }
    }
  }
}

}  // namespace tinygrad::inline TINYGRAD_ABI
