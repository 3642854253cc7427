// The arguments of a matrix product, shared by every gemm of the library.
//
// C[m, n] (+)= A[m, k] B[k, n], `batch` times. Element (i, p) of A lies at a[i * a_row + p * a_col], so a transposed
// operand is one with its two strides swapped; of each pair one stride is normally 1. The rows of C are contiguous.
// C must not overlap A or B.
#pragma once

#include <cstddef>
#include <tinygrad/core/config.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

template <class T>
struct gemm_args {
  std::size_t m, n, k;
  const T* a;
  std::ptrdiff_t a_row, a_col;
  const T* b;
  std::ptrdiff_t b_row, b_col;
  T* c;
  std::ptrdiff_t c_row;
  bool accumulate;  // true: C += A B; false: C = A B, which is zero for k == 0
  std::size_t batch = 1;
  // From one product of the batch to the next. c_batch == 0 with accumulate sums the batch into one C, in order.
  std::ptrdiff_t a_batch = 0, b_batch = 0, c_batch = 0;

  /// Product number `index` of the batch, alone.
  [[nodiscard]] constexpr gemm_args single(std::size_t index) const noexcept {
    gemm_args one = *this;
    const auto step = static_cast<std::ptrdiff_t>(index);
    one.a += step * a_batch;
    one.b += step * b_batch;
    one.c += step * c_batch;
    one.batch = 1;
    return one;
  }
};

}  // namespace tinygrad::inline TINYGRAD_ABI
