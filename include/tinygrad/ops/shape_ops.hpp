// Operations that move values without computing any: reshape and its kin, permute, transpose, narrow, slice, row.
//
//   free (a view of the same memory)   reshape flatten squeeze unsqueeze slice row, narrow of the leading axis
//   a copy                             permute transpose, narrow of an inner axis
//
// The gradient of a view takes the way back: handed over whole, or added to its part of the input's gradient. A view
// shares the version of its memory, so a change through one is seen by every graph that saved the other.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/kernel/copy.hpp>
#include <tinygrad/ops/op.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

// --- operations
// --------------------------------------------------------------------------------------------------------

/// The same values in another shape. Recorded with apply_view.
struct reshape_op {
  static constexpr std::string_view name = "reshape";
  static constexpr saved_values saves = saved_values::none;

  template <class P, class T>
  void backward(const result<T>& y, view<const T> x, grad_slot<T> dx) const {
    if (y.may_give && dx.adopt(y.flow)) return;
    const grad_target<T> target = dx.open();
    copy_values<P>(y.grad, target.data, x.shape.count(), target.accumulate);
  }

  template <class Try>
  static void examples(Try&& attempt) {
    attempt({{2, 3}}, [](const auto& x) { return reshape(x[0], {3, -1}); });
    attempt({{}}, [](const auto& x) { return reshape(x[0], {1, 1}); });
    attempt({{1}}, [](const auto& x) { return reshape(x[0], {}); });
    attempt({{0, 4}}, [](const auto& x) { return reshape(x[0], {2, 0}); });
    attempt({{2, 3, 37}}, [](const auto& x) { return flatten(x[0], 1); });
    attempt({{5}}, [](const auto& x) { return reshape(x[0], {5}) * x[0]; });  // one gradient joins another
  }
  template <class Try>
  static void typical(Try&& attempt) {
    attempt({{1024, 1024}}, [](const auto& x) { return reshape(x[0], {-1}); });
  }
};

/// Axes in another order: y[i_axes[0], i_axes[1], ...] = x[i_0, i_1, ...].
struct permute_op {
  static constexpr std::string_view name = "permute";
  static constexpr saved_values saves = saved_values::none;

  std::array<int, static_cast<std::size_t>(max_rank)> axes{};  // axes[k]: the input's axis that becomes axis k

  [[nodiscard]] Shape shape_of(const Shape& x) const {
    Shape shape;
    for (int k = 0; k < x.rank(); ++k) shape.append(x[axes[static_cast<std::size_t>(k)]]);
    return shape;
  }
  template <class P, class T>
  void forward(view<T> y, view<const T> x) const {
    copy_plan plan;
    for_axes(x.shape,
             [&](std::size_t size, std::size_t x_step, std::size_t y_step) { plan.add(size, x_step, y_step); });
    copy_box<P>(plan, x.data, y.data, false);
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T> x, grad_slot<T> dx) const {
    copy_plan plan;
    for_axes(x.shape,
             [&](std::size_t size, std::size_t x_step, std::size_t y_step) { plan.add(size, y_step, x_step); });
    const grad_target<T> target = dx.open();
    copy_box<P>(plan, y.grad, target.data, target.accumulate);
  }

  template <class Try>
  static void examples(Try&& attempt) {
    attempt({{2, 3}}, [](const auto& x) { return transpose(x[0]); });
    attempt({{}}, [](const auto& x) { return permute(x[0], {}); });
    attempt({{1}}, [](const auto& x) { return permute(x[0], {0}); });
    attempt({{3, 0, 2}}, [](const auto& x) { return permute(x[0], {2, 0, 1}); });
    attempt({{2, 3, 2, 5}}, [](const auto& x) { return transpose(x[0], 1, 2); });
    attempt({{3, 17, 2}}, [](const auto& x) { return permute(x[0], {2, 0, 1}); });
    attempt({{19, 1, 37}}, [](const auto& x) { return transpose(x[0], 0, 2); });
    attempt({{2, 3, 2, 2, 2, 3}}, [](const auto& x) { return permute(x[0], {5, 1, 4, 0, 3, 2}); });
  }
  template <class Try>
  static void typical(Try&& attempt) {
    attempt({{8, 256, 12, 64}}, [](const auto& x) { return transpose(x[0], 1, 2); });
  }

 private:
  /// f(size, step in x, step in y) for each axis of y, outermost first.
  template <class F>
  void for_axes(const Shape& x, F&& f) const {
    const Shape y = shape_of(x);
    for (int k = 0; k < x.rank(); ++k) f(y[k], x.inner(axes[static_cast<std::size_t>(k)]), y.inner(k));
  }
};

/// The part [start, start + length) of one axis. Recorded with apply_view where that part is contiguous.
struct narrow_op {
  static constexpr std::string_view name = "narrow";
  static constexpr saved_values saves = saved_values::none;

  int axis = 0;
  std::size_t start = 0, length = 0;

  [[nodiscard]] Shape shape_of(const Shape& x) const { return x.with(axis, length); }
  template <class P, class T>
  void forward(view<T> y, view<const T> x) const {
    const std::size_t inner = x.shape.inner(axis);
    const std::size_t part = length * inner;
    copy_box<P>(copy_plan{}.add(x.shape.outer(axis), x.shape[axis] * inner, part).add(part, 1, 1),
                x.data + start * inner, y.data, false);
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T> x, grad_slot<T> dx) const {
    const std::size_t inner = x.shape.inner(axis);
    const std::size_t part = length * inner;
    copy_box<P>(copy_plan{}.add(x.shape.outer(axis), part, x.shape[axis] * inner).add(part, 1, 1), y.grad,
                dx.zeroed() + start * inner, true);
  }

  template <class Try>
  static void examples(Try&& attempt) {
    attempt({{4, 3}}, [](const auto& x) { return narrow(x[0], 0, 1, 2); });
    attempt({{4, 5}}, [](const auto& x) { return narrow(x[0], 1, 2, 2); });
    attempt({{3, 4}}, [](const auto& x) { return narrow(x[0], 1, 3, 1); });
    attempt({{1}}, [](const auto& x) { return narrow(x[0], 0, 0, 1); });
    attempt({{2, 3, 41}}, [](const auto& x) { return narrow(x[0], 2, 1, 37); });
    attempt({{3, 4, 2}}, [](const auto& x) { return narrow(x[0], 1, 2, 0); });
    attempt({{0, 4}}, [](const auto& x) { return narrow(x[0], 1, 1, 2); });
    attempt({{5, 3}}, [](const auto& x) { return slice(x[0], 1, 3) + slice(x[0], 2, 4) + row(x[0], 2); });
    attempt({{3}}, [](const auto& x) { return row(x[0], -1); });
  }
  template <class Try>
  static void typical(Try&& attempt) {
    attempt({{1024, 3072}}, [](const auto& x) { return narrow(x[0], 1, 1024, 1024); });
  }
};

// --- reshape
// -----------------------------------------------------------------------------------------------------------

/// A size in a list for reshape: any integer, -1 for the one that is to be inferred.
struct reshape_size {
  std::ptrdiff_t value;
  template <std::integral Integer>
  constexpr reshape_size(Integer size) noexcept : value(static_cast<std::ptrdiff_t>(size)) {}  // NOLINT: implicit
};

namespace detail {

[[noreturn]] TINYGRAD_COLD inline void throw_reshape(std::string_view what, const Shape& shape, std::string_view wanted,
                                                     std::string_view rule) {
  throw shape_error("[reshape] " + std::string(what) + ": input " + to_string(shape) + ", wanted " +
                    std::string(wanted) + "; " + std::string(rule));
}

/// "(2, -1)"; Shapes have no negative sizes, so they cannot print it.
[[nodiscard]] inline std::string to_text(std::span<const reshape_size> sizes) {
  std::string text = "(";
  for (std::size_t k = 0; k < sizes.size(); ++k) text += (k > 0 ? ", " : "") + std::to_string(sizes[k].value);
  return text + ")";
}

[[nodiscard]] inline Shape infer_shape(const Shape& input, std::span<const reshape_size> sizes) {
  Shape shape;
  int unknown = -1;
  for (const reshape_size size : sizes) {
    if (size.value < -1) throw_reshape("a size is negative", input, to_text(sizes), "-1 stands for the size to infer");
    if (size.value == -1 && unknown >= 0)
      throw_reshape("more than one size to infer", input, to_text(sizes), "at most one may be -1");
    if (size.value == -1) unknown = shape.rank();
    shape.append(size.value == -1 ? 1 : static_cast<std::size_t>(size.value));
  }
  if (unknown < 0) return shape;
  const std::size_t known = shape.count();
  if (known == 0 || input.count() % known != 0)
    throw_reshape(
        "no size fits", input, to_text(sizes),
        "the input has " + std::to_string(input.count()) + " elements, the other sizes make " + std::to_string(known));
  return shape.with(unknown, input.count() / known);
}

}  // namespace detail

/// The same values in another shape, without a copy. Throws shape_error when the element counts differ.
template <class T, class P>
[[nodiscard]] Tensor<T, P> reshape(const Tensor<T, P>& x, const Shape& shape) {
  detail::require_defined("reshape", x);
  if (shape.count() != x.count())
    detail::throw_reshape("element counts differ", x.shape(), to_string(shape),
                          std::to_string(x.count()) + " elements cannot become " + std::to_string(shape.count()));
  return apply_view(reshape_op{}, x, shape, 0);
}
/// The same from a list of sizes, of which one may be -1: it is inferred from the others.
template <class T, class P>
[[nodiscard]] Tensor<T, P> reshape(const Tensor<T, P>& x, std::initializer_list<reshape_size> sizes) {
  detail::require_defined("reshape", x);
  return reshape(x, detail::infer_shape(x.shape(), {sizes.begin(), sizes.size()}));
}

/// Axes first to last as one axis, by default all of them; a scalar becomes one element. A view.
/// Throws index_error for axes that do not exist and shape_error when last lies before first.
template <class T, class P>
[[nodiscard]] Tensor<T, P> flatten(const Tensor<T, P>& x, int first = 0, int last = -1) {
  detail::require_defined("flatten", x);
  const Shape& shape = x.shape();
  if (shape.rank() == 0) return reshape(x, Shape{1});
  const int from = axis_of("flatten", shape, first);
  const int to = axis_of("flatten", shape, last);
  if (from > to)
    throw_shape("flatten", "the last axis comes before the first", shape,
                "axes " + std::to_string(first) + " to " + std::to_string(last) + " are no range");
  Shape flat = shape.slice(0, from);
  flat.append(shape.slice(from, to + 1).count());
  for (int axis = to + 1; axis < shape.rank(); ++axis) flat.append(shape[axis]);
  return reshape(x, flat);
}

/// Without an axis of size 1. A view. Throws index_error for an axis that does not exist, shape_error for another size.
template <class T, class P>
[[nodiscard]] Tensor<T, P> squeeze(const Tensor<T, P>& x, int axis) {
  detail::require_defined("squeeze", x);
  const int at = axis_of("squeeze", x.shape(), axis);
  if (x.shape()[at] != 1)
    throw_shape("squeeze", "axis " + std::to_string(axis) + " is no single element", x.shape(),
                "only an axis of size 1 can go");
  return reshape(x, x.shape().without(at));
}

/// With an axis of size 1 put in as axis `axis` of the result; negative ones count from the result's end. A view.
template <class T, class P>
[[nodiscard]] Tensor<T, P> unsqueeze(const Tensor<T, P>& x, int axis) {
  detail::require_defined("unsqueeze", x);
  const Shape& shape = x.shape();
  const int at = axis < 0 ? axis + shape.rank() + 1 : axis;
  if (at < 0 || at > shape.rank())
    throw index_error("[unsqueeze] axis out of range: axis " + std::to_string(axis) + ", input " + to_string(shape) +
                      "; -rank - 1 <= axis <= rank");
  Shape wider = shape.slice(0, at);
  wider.append(1);
  for (int k = at; k < shape.rank(); ++k) wider.append(shape[k]);
  return reshape(x, wider);
}

// --- permute
// -----------------------------------------------------------------------------------------------------------

/// Axes in another order: axis k of the result is axis axes[k] of x. A copy.
/// Throws index_error for axes that do not exist and shape_error when `axes` does not name each axis once.
template <class T, class P>
[[nodiscard]] Tensor<T, P> permute(const Tensor<T, P>& x, std::span<const int> axes) {
  detail::require_defined("permute", x);
  const Shape& shape = x.shape();
  bool once = axes.size() == static_cast<std::size_t>(shape.rank());
  permute_op op;
  std::array<bool, static_cast<std::size_t>(max_rank)> seen{};
  for (std::size_t k = 0; once && k < axes.size(); ++k) {
    op.axes[k] = axis_of("permute", shape, axes[k]);
    bool& taken = seen[static_cast<std::size_t>(op.axes[k])];
    once = !taken;
    taken = true;
  }
  if (!once) {
    std::string text = "not a permutation of the axes (";
    for (std::size_t k = 0; k < axes.size(); ++k) text += (k > 0 ? ", " : "") + std::to_string(axes[k]);
    throw_shape("permute", text + ")", shape, "each axis exactly once");
  }
  return apply(op, x);
}
template <class T, class P>
[[nodiscard]] Tensor<T, P> permute(const Tensor<T, P>& x, std::initializer_list<int> axes) {
  return permute(x, std::span<const int>(axes.begin(), axes.size()));
}

/// x with two axes exchanged, by default the last two. A copy. Throws index_error.
template <class T, class P>
[[nodiscard]] Tensor<T, P> transpose(const Tensor<T, P>& x, int first = -2, int second = -1) {
  detail::require_defined("transpose", x);
  const int a = axis_of("transpose", x.shape(), first);
  const int b = axis_of("transpose", x.shape(), second);
  permute_op op;
  for (int k = 0; k < x.rank(); ++k) op.axes[static_cast<std::size_t>(k)] = k == a ? b : k == b ? a : k;
  return apply(op, x);
}

// --- parts
// -------------------------------------------------------------------------------------------------------------

/// The part [start, start + length) of an axis. A view where no axis before it is longer than 1, else a copy.
/// Throws index_error.
template <class T, class P>
[[nodiscard]] Tensor<T, P> narrow(const Tensor<T, P>& x, int axis, std::size_t start, std::size_t length) {
  detail::require_defined("narrow", x);
  const Shape& shape = x.shape();
  const int at = axis_of("narrow", shape, axis);
  if (!range_fits(start, length, shape[at]))
    throw index_error("[narrow] out of range: elements " + std::to_string(start) + " to " + std::to_string(start) +
                      " + " + std::to_string(length) + " of axis " + std::to_string(axis) + ", input " +
                      to_string(shape) + "; start + length <= size");
  const narrow_op op{at, start, length};
  if (shape.outer(at) == 1) return apply_view(op, x, op.shape_of(shape), start * shape.inner(at));
  return apply(op, x);
}

/// Elements [first, last) of the leading axis, a view. Negative numbers count from the end. Throws index_error.
template <class T, class P>
[[nodiscard]] Tensor<T, P> slice(const Tensor<T, P>& x, std::ptrdiff_t first, std::ptrdiff_t last) {
  detail::require_defined("slice", x);
  const Shape& shape = x.shape();
  const auto size = shape.rank() == 0 ? std::ptrdiff_t{0} : static_cast<std::ptrdiff_t>(shape[0]);
  const std::ptrdiff_t from = first < 0 ? first + size : first;
  const std::ptrdiff_t to = last < 0 ? last + size : last;
  if (shape.rank() == 0 || from < 0 || from > to || to > size)
    throw index_error("[slice] out of range: [" + std::to_string(first) + ", " + std::to_string(last) + "), input " +
                      to_string(shape) + "; 0 <= first <= last <= size of the leading axis");
  return narrow(x, 0, static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
}

/// Element `index` of the leading axis, which goes: [N, ...] -> [...]. A view, also spelled x[index]. Negative numbers
/// count from the end. Throws index_error.
template <class T, class P>
[[nodiscard]] Tensor<T, P> row(const Tensor<T, P>& x, std::ptrdiff_t index) {
  detail::require_defined("row", x);
  const Shape& shape = x.shape();
  const auto size = shape.rank() == 0 ? std::ptrdiff_t{0} : static_cast<std::ptrdiff_t>(shape[0]);
  const std::ptrdiff_t at = index < 0 ? index + size : index;
  if (at < 0 || at >= size)
    throw index_error("[row] index out of range: index " + std::to_string(index) + ", input " + to_string(shape) +
                      "; -size <= index < size of the leading axis");
  const auto start = static_cast<std::size_t>(at);
  return apply_view(narrow_op{0, start, 1}, x, shape.without(0), start * shape.inner(0));
}
template <class T, class P>
Tensor<T, P> Tensor<T, P>::operator[](std::ptrdiff_t index) const {
  return row(*this, index);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
