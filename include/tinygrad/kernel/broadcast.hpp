// broadcast_plan: how K inputs of NumPy-broadcastable shapes line up with one output, as strides.
//
// Neighbouring axes that every operand walks the same way are merged, so that the usual cases (equal shapes, a bias
// over rows, a scalar) end with one or two axes whatever the rank was. The innermost axis is always walked with a
// step of 1 (the operand has it) or 0 (the operand repeats one element along it).
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <tinygrad/core/shape.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

template <std::size_t K>
struct broadcast_plan {
  static constexpr auto axes_max = static_cast<std::size_t>(max_rank);
  using steps = std::array<std::size_t, axes_max>;

  std::size_t axes = 1;           // merged axes, at least one
  steps size{1};                  // outermost first
  std::array<steps, K> stride{};  // elements to step along an axis, 0 where the operand repeats

  [[nodiscard]] constexpr std::size_t columns() const noexcept { return size[axes - 1]; }
  [[nodiscard]] constexpr std::size_t rows() const noexcept {
    std::size_t product = 1;
    for (std::size_t axis = 0; axis + 1 < axes; ++axis) product *= size[axis];
    return product;
  }
  [[nodiscard]] constexpr bool walks_columns(std::size_t operand) const noexcept {
    return stride[operand][axes - 1] != 0;
  }
  /// True when some axis of the output repeats the operand, so that its gradient is a sum.
  [[nodiscard]] constexpr bool repeats(std::size_t operand) const noexcept {
    for (std::size_t axis = 0; axis < axes; ++axis)
      if (stride[operand][axis] == 0 && size[axis] != 1) return true;
    return false;
  }
  /// Element offset of `operand` at the start of row `row`.
  [[nodiscard]] constexpr std::size_t row_offset(std::size_t operand, std::size_t row) const noexcept {
    std::size_t offset = 0;
    for (std::size_t axis = axes - 1; axis-- > 1;) {  // the outermost axis needs no division
      offset += row % size[axis] * stride[operand][axis];
      row /= size[axis];
    }
    return axes > 1 ? offset + row * stride[operand][0] : offset;
  }
};

namespace detail {

/// Row-major steps of `shape` along the axes of an output of rank `rank`; 0 where it repeats.
constexpr broadcast_plan<1>::steps broadcast_steps(const Shape& shape, int rank) noexcept {
  broadcast_plan<1>::steps result{};
  std::size_t step = 1;
  for (int back = 1; back <= shape.rank(); ++back) {
    const std::size_t size = shape[-back];
    result[static_cast<std::size_t>(rank - back)] = size == 1 ? 0 : step;
    step *= size;
  }
  return result;
}

}  // namespace detail

/// The plan for inputs whose shapes broadcast to `output` (as broadcast_shapes computed it).
template <std::size_t K>
[[nodiscard]] constexpr broadcast_plan<K> plan_broadcast(const Shape& output, const std::array<Shape, K>& inputs) {
  const int rank = output.rank();
  std::array<broadcast_plan<1>::steps, K> full{};
  for (std::size_t k = 0; k < K; ++k) full[k] = detail::broadcast_steps(inputs[k], rank);

  broadcast_plan<K> plan;
  plan.axes = 0;
  for (int axis = 0; axis < rank; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const std::size_t size = output[axis];
    if (size == 1) continue;
    bool merges = plan.axes > 0;  // with the axis before: one step there equals `size` steps here, for everyone
    for (std::size_t k = 0; k < K && merges; ++k) merges = plan.stride[k][plan.axes - 1] == full[k][a] * size;
    if (!merges) plan.size[plan.axes++] = 1;
    plan.size[plan.axes - 1] *= size;
    for (std::size_t k = 0; k < K; ++k) plan.stride[k][plan.axes - 1] = full[k][a];
  }
  if (plan.axes == 0) plan.axes = 1;  // a single element
  return plan;
}

}  // namespace tinygrad::inline TINYGRAD_ABI
