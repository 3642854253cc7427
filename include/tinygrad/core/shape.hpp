// Shape: the sizes of a tensor's axes, outermost first, row-major. Rank 0 (a scalar, one element) to rank 6.
//
// Also the rules that many operations share: NumPy broadcasting, axes counted from the end, shapes as text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/checked.hpp>
#include <tinygrad/core/error.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

inline constexpr int max_rank = 6;

/// The sizes of up to six axes. A regular value type without heap memory; the element count never overflows.
class Shape {
 public:
  constexpr Shape() noexcept = default;
  /// Throws shape_error for more than six axes or a product that does not fit a signed 63-bit count.
  constexpr Shape(std::initializer_list<std::size_t> sizes)
      : Shape(std::span<const std::size_t>(sizes.begin(), sizes.size())) {}
  constexpr explicit Shape(std::span<const std::size_t> sizes) {
    if (sizes.size() > static_cast<std::size_t>(max_rank)) too_many_axes(sizes.size());
    for (const std::size_t size : sizes) sizes_[rank_++] = size;
    check_count();
  }

  [[nodiscard]] constexpr int rank() const noexcept { return static_cast<int>(rank_); }
  /// Number of elements: the product of the sizes, 1 for rank 0.
  [[nodiscard]] constexpr std::size_t count() const noexcept {
    std::size_t product = 1;
    for (const std::size_t size : *this) product *= size;
    return product;
  }
  /// Size of axis `axis`; negative axes count from the end. The axis must exist (see `axis_of` for the check).
  [[nodiscard]] constexpr std::size_t operator[](int axis) const noexcept {
    return sizes_[static_cast<std::size_t>(axis < 0 ? axis + rank() : axis)];
  }
  [[nodiscard]] constexpr const std::size_t* begin() const noexcept { return sizes_.data(); }
  [[nodiscard]] constexpr const std::size_t* end() const noexcept { return sizes_.data() + rank_; }

  friend constexpr bool operator==(const Shape& a, const Shape& b) noexcept {
    if (a.rank_ != b.rank_) return false;
    for (std::size_t axis = 0; axis < a.rank_; ++axis)
      if (a.sizes_[axis] != b.sizes_[axis]) return false;
    return true;
  }

  /// A copy with axis `axis` (not negative) replaced by `size`, removed, or inserted before.
  [[nodiscard]] constexpr Shape with(int axis, std::size_t size) const {
    Shape result = *this;
    result.sizes_[static_cast<std::size_t>(axis < 0 ? axis + rank() : axis)] = size;
    result.check_count();
    return result;
  }
  [[nodiscard]] constexpr Shape without(int axis) const {
    Shape result;
    for (int i = 0; i < rank(); ++i)
      if (i != axis) result.append((*this)[i]);
    return result;
  }
  /// The axes [first, last) as a shape of their own.
  [[nodiscard]] constexpr Shape slice(int first, int last) const {
    Shape result;
    for (int i = first; i < last; ++i) result.append((*this)[i]);
    return result;
  }
  /// Adds an innermost axis.
  constexpr Shape& append(std::size_t size) {
    if (rank_ == static_cast<std::size_t>(max_rank)) too_many_axes(rank_ + 1);
    sizes_[rank_++] = size;
    check_count();
    return *this;
  }

  /// Element counts around an axis: the shape read as [outer, axis, inner].
  [[nodiscard]] constexpr std::size_t outer(int axis) const noexcept {
    std::size_t product = 1;
    for (int i = 0; i < axis; ++i) product *= (*this)[i];
    return product;
  }
  [[nodiscard]] constexpr std::size_t inner(int axis) const noexcept {
    std::size_t product = 1;
    for (int i = axis + 1; i < rank(); ++i) product *= (*this)[i];
    return product;
  }
  /// Rows of the innermost axis: count() / [-1], also right when that axis is empty; 1 for rank 0.
  [[nodiscard]] constexpr std::size_t rows() const noexcept { return rank() == 0 ? 1 : outer(rank() - 1); }
  /// Size of the innermost axis, 1 for rank 0.
  [[nodiscard]] constexpr std::size_t columns() const noexcept { return rank() == 0 ? 1 : (*this)[-1]; }

 private:
  [[noreturn]] TINYGRAD_COLD static void too_many_axes(std::size_t rank) {
    throw shape_error("[shape] " + std::to_string(rank) + " axes; a tensor has at most " + std::to_string(max_rank));
  }
  constexpr void check_count() const {
    constexpr auto limit = static_cast<std::uint64_t>((std::numeric_limits<std::ptrdiff_t>::max)()) / 16;
    std::uint64_t product = 1;
    for (const std::size_t size : *this) {
      const auto next = checked_mul(product, size == 0 ? 1 : size);
      if (!next || *next > limit) throw_count();
      product = *next;
    }
  }
  [[noreturn]] TINYGRAD_COLD static void throw_count() {
    throw shape_error("[shape] the number of elements does not fit in memory");
  }

  std::array<std::size_t, static_cast<std::size_t>(max_rank)> sizes_{};
  std::size_t rank_ = 0;
};

/// "(2, 3)", "(3)", "()".
[[nodiscard]] inline std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return text + ")";
}

/// Throws shape_error "[op] what: name (shape), ...; rule".
[[noreturn]] TINYGRAD_COLD inline void throw_shape(std::string_view op, std::string_view what, const Shape& shape,
                                                   std::string_view rule) {
  throw shape_error("[" + std::string(op) + "] " + std::string(what) + ": input " + to_string(shape) + "; " +
                    std::string(rule));
}
[[noreturn]] TINYGRAD_COLD inline void throw_shape(std::string_view op, std::string_view what, const Shape& lhs,
                                                   const Shape& rhs, std::string_view rule) {
  throw shape_error("[" + std::string(op) + "] " + std::string(what) + ": lhs " + to_string(lhs) + ", rhs " +
                    to_string(rhs) + "; " + std::string(rule));
}

/// The axis as a number in [0, rank); negative ones count from the end. Throws index_error.
[[nodiscard]] constexpr int axis_of(std::string_view op, const Shape& shape, int axis) {
  const int resolved = axis < 0 ? axis + shape.rank() : axis;
  if (resolved < 0 || resolved >= shape.rank())
    throw index_error("[" + std::string(op) + "] axis out of range: axis " + std::to_string(axis) + ", input " +
                      to_string(shape) + "; -rank <= axis < rank");
  return resolved;
}

/// NumPy's rule: align at the innermost axis; sizes must be equal or 1. Throws shape_error.
[[nodiscard]] constexpr Shape broadcast_shapes(std::string_view op, const Shape& lhs, const Shape& rhs) {
  const Shape& longer = lhs.rank() >= rhs.rank() ? lhs : rhs;
  const Shape& shorter = lhs.rank() >= rhs.rank() ? rhs : lhs;
  Shape result = longer;
  for (int back = 1; back <= shorter.rank(); ++back) {
    const std::size_t a = longer[-back];
    const std::size_t b = shorter[-back];
    if (a != b && a != 1 && b != 1)
      throw_shape(op, "shapes do not broadcast", lhs, rhs, "sizes must be equal or 1, aligned at the last axis");
    result = result.with(-back, a == 1 ? b : a);
  }
  return result;
}

}  // namespace tinygrad::inline TINYGRAD_ABI
