// Copies of the operands of a matrix product in the order in which the tile reads them.
//
// Strips of B: [k][columns], contiguous, columns past the end of B are zero. Groups of rows of a transposed A:
// [k][rows]. Transposed operands are read here once and cost nothing later.
#pragma once

#include <cstddef>
#include <cstring>
#include <tinygrad/core/buffer.hpp>
#include <tinygrad/kernel/gemm_tile.hpp>
#include <tinygrad/simd/transpose.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace detail {

/// Pool memory for packed operands, or null when there is none to be had: kernels cannot throw.
template <class T>
class packing_buffer {
 public:
  explicit packing_buffer(std::size_t count) noexcept : count_(count) {
    if (count == 0) return;
    try {
      data_ = pool_allocator<T>{}.allocate(count);
    } catch (...) {
      data_ = nullptr;
    }
  }
  packing_buffer(const packing_buffer&) = delete;
  packing_buffer& operator=(const packing_buffer&) = delete;
  ~packing_buffer() {
    if (data_ != nullptr) pool_allocator<T>{}.deallocate(data_, count_);
  }
  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] bool failed() const noexcept { return data_ == nullptr && count_ != 0; }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

/// to[count] = from[count], and zeros up to `padded`.
template <class T>
TINYGRAD_ALWAYS_INLINE void copy_padded(const T* from, std::size_t count, std::size_t padded, T* to) noexcept {
  using V = pack<T>;
  constexpr std::size_t L = gemm_tile<T>::lanes;
  std::size_t j = 0;
  for (; j + L <= count; j += L) V::load(from + j).store(to + j);
  for (; j < count; ++j) to[j] = from[j];
  for (; j < padded; ++j) to[j] = T(0);
}

/// strip[p][width] = B[p][cols] and zeros, for one multiple of the lanes of p, columns contiguous in p.
template <class T>
TINYGRAD_ALWAYS_INLINE void pack_columns(const T* b, std::ptrdiff_t b_col, std::size_t cols, std::size_t width,
                                         std::size_t depth, T* strip) noexcept {
  using V = pack<T>;
  constexpr std::size_t L = gemm_tile<T>::lanes;
  std::size_t j = 0;
  if (depth == L) {
    for (; j + L <= cols; j += L, b += static_cast<std::ptrdiff_t>(L) * b_col) {
      transpose_square<V>(b, b_col, strip + j, static_cast<std::ptrdiff_t>(width));
    }
  }
  for (; j < cols; ++j, b += b_col) {
    for (std::size_t p = 0; p < depth; ++p) strip[p * width + j] = b[p];
  }
  for (; j < width; ++j) {
    for (std::size_t p = 0; p < depth; ++p) strip[p * width + j] = T(0);
  }
}

/// strip[k][width] = B[k][cols] and zeros; cols <= width.
template <class T>
TINYGRAD_NOINLINE void pack_strip(const T* b, std::ptrdiff_t b_row, std::ptrdiff_t b_col, std::size_t k,
                                  std::size_t cols, std::size_t width, T* strip) noexcept {
  if (b_col == 1) {
    for (std::size_t p = 0; p < k; ++p, b += b_row, strip += width) copy_padded(b, cols, width, strip);
  } else if (b_row == 1) {
    constexpr std::size_t L = gemm_tile<T>::lanes;
    for (std::size_t p = 0; p < k; p += L) {
      pack_columns(b + p, b_col, cols, width, k - p < L ? k - p : L, strip + p * width);
    }
  } else {
    for (std::size_t p = 0; p < k; ++p, b += b_row, strip += width) {
      const T* element = b;
      for (std::size_t j = 0; j < width; ++j, element += b_col) strip[j] = j < cols ? *element : T(0);
    }
  }
}

/// The same for a number of rows known at compile time that lie side by side: a few whole moves.
template <std::size_t Rows, class T>
void pack_neighbours(const T* a, std::ptrdiff_t a_col, std::size_t k, T* to) noexcept {
  for (std::size_t p = 0; p < k; ++p, a += a_col, to += Rows) std::memcpy(to, a, Rows * sizeof(T));
}

/// to[k][rows] = A[rows][k] transposed: the form of A whose columns are contiguous.
template <class T>
TINYGRAD_NOINLINE void pack_rows_transposed(const T* a, std::ptrdiff_t a_row, std::ptrdiff_t a_col, std::size_t rows,
                                            std::size_t k, T* to) noexcept {
  constexpr std::size_t height = gemm_tile<T>::height;
  if (a_row == 1 && rows == height) return pack_neighbours<height>(a, a_col, k, to);
  if (a_row == 1 && rows == height - 1) return pack_neighbours<height - 1>(a, a_col, k, to);
  for (std::size_t p = 0; p < k; ++p, a += a_col) {
    const T* element = a;
    for (std::size_t i = 0; i < rows; ++i, element += a_row) *to++ = *element;
  }
}

}  // namespace detail
}  // namespace tinygrad::inline TINYGRAD_ABI
