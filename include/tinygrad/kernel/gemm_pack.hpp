// Copies of the operands of a matrix product in the order in which the tile reads them.
//
// Panels of B: [k][columns], contiguous, columns past the end of B are zero. Groups of rows of A: rows that are
// contiguous in k stay so, at a padded distance; otherwise [k][rows of the group]. Transposed operands are therefore
// read here once and cost nothing later.
#pragma once

#include <cstddef>
#include <tinygrad/core/buffer.hpp>
#include <tinygrad/kernel/gemm_tile.hpp>

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

/// to[count] = from[count], and zeros up to `padded`, a multiple of the lanes.
template <class T>
TINYGRAD_ALWAYS_INLINE void copy_padded(const T* from, std::size_t count, std::size_t padded, T* to) noexcept {
  using V = typename gemm_tile<T>::vec;
  std::size_t j = 0;
  for (; j + gemm_tile<T>::lanes <= count; j += gemm_tile<T>::lanes) V::load(from + j).store(to + j);
  for (; j < padded; j += gemm_tile<T>::lanes) {
    V::load(from + j, j < count ? static_cast<int>(count - j) : 0).store(to + j);
  }
}

/// panel[k][width] = B[k][cols] and zeros; cols <= width, a multiple of the lanes.
template <class T>
TINYGRAD_NOINLINE void pack_panel(const T* b, std::ptrdiff_t b_row, std::ptrdiff_t b_col, std::size_t k,
                                  std::size_t cols, std::size_t width, T* panel) noexcept {
  if (b_col == 1) {
    for (std::size_t p = 0; p < k; ++p, b += b_row, panel += width) copy_padded(b, cols, width, panel);
    return;
  }
  constexpr std::size_t depth = 16;  // of k, so that the part of the panel in work stays in the first cache
  for (; k != 0;) {
    const std::size_t steps = k < depth ? k : depth;
    for (std::size_t j = 0; j < width; ++j) {
      const T* column = b + static_cast<std::ptrdiff_t>(j) * b_col;
      for (std::size_t p = 0; p < steps; ++p) {
        panel[p * width + j] = j < cols ? column[static_cast<std::ptrdiff_t>(p) * b_row] : T(0);
      }
    }
    b += static_cast<std::ptrdiff_t>(steps) * b_row;
    panel += steps * width;
    k -= steps;
  }
}

/// to[k][rows] = A[rows][k] transposed: the form of A whose columns are contiguous.
template <class T>
TINYGRAD_NOINLINE void pack_rows_transposed(const T* a, std::ptrdiff_t a_row, std::ptrdiff_t a_col, std::size_t rows,
                                            std::size_t k, T* to) noexcept {
  for (std::size_t p = 0; p < k; ++p, a += a_col) {
    const T* element = a;
    for (std::size_t i = 0; i < rows; ++i, element += a_row) *to++ = *element;
  }
}

}  // namespace detail
}  // namespace tinygrad::inline TINYGRAD_ABI
