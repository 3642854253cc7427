// concat: tensors side by side along an axis that exists. stack: along a new one.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/kernel/copy.hpp>
#include <tinygrad/ops/op.hpp>
#include <tinygrad/ops/shape_ops.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

struct concat_op {
  static constexpr std::string_view name = "concat";
  static constexpr saved_values saves = saved_values::none;

  int axis = 0;

  [[nodiscard]] Shape shape_of(std::span<const Shape> inputs) const {
    const Shape& first = inputs.front();
    const int at = axis_of(name, first, axis);
    std::size_t total = first[at];
    for (std::size_t k = 1; k < inputs.size(); ++k) {
      if (inputs[k].rank() != first.rank() || inputs[k].with(at, first[at]) != first)
        throw shape_error("[concat] input " + std::to_string(k) + " does not fit: input 0 " + to_string(first) +
                          ", input " + std::to_string(k) + " " + to_string(inputs[k]) +
                          "; all sizes but that of axis " + std::to_string(axis) + " must be equal");
      total += inputs[k][at];
    }
    return first.with(at, total);
  }
  template <class P, class T>
  void forward(view<T> y, std::span<const view<const T>> inputs) const {
    std::size_t offset = 0;
    for (const view<const T>& x : inputs) {
      const layout part(y.shape, x.shape, axis);
      copy_box<P>(copy_plan{}.add(part.outer, part.length, part.total).add(part.length, 1, 1), x.data, y.data + offset,
                  false);
      offset += part.length;
    }
  }
  template <class P, class T>
  void backward(const result<T>& y, std::span<const view<const T>> inputs, std::span<const grad_slot<T>> slots) const {
    std::size_t offset = 0;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const layout part(y.shape, inputs[k].shape, axis);
      if (slots[k]) {
        const grad_target<T> target = slots[k].open();
        copy_box<P>(copy_plan{}.add(part.outer, part.total, part.length).add(part.length, 1, 1), y.grad + offset,
                    target.data, target.accumulate);
      }
      offset += part.length;
    }
  }

  template <class Try>
  static void examples(Try&& attempt);
  template <class Try>
  static void typical(Try&& attempt);

 private:
  /// An input inside the output: `outer` runs of `length` elements, `total` elements apart.
  struct layout {
    std::size_t outer, length, total;
    layout(const Shape& y, const Shape& x, int axis) : outer(1), length(1), total(1) {
      const int at = axis < 0 ? axis + y.rank() : axis;
      outer = y.outer(at);
      length = x[at] * x.inner(at);
      total = y[at] * y.inner(at);
    }
  };
};

/// The inputs side by side along `axis`; negative axes count from the end. A copy.
/// Throws shape_error when there are no inputs or another size differs, index_error for an axis that does not exist.
template <class T, class P>
[[nodiscard]] Tensor<T, P> concat(std::span<const Tensor<T, P>> inputs, int axis = 0) {
  return apply(concat_op{axis}, inputs);
}
template <class T, class P>
[[nodiscard]] Tensor<T, P> concat(std::initializer_list<Tensor<T, P>> inputs, int axis = 0) {
  return concat(std::span<const Tensor<T, P>>(inputs.begin(), inputs.size()), axis);
}
template <class T, class P, class Allocator>
[[nodiscard]] Tensor<T, P> concat(const std::vector<Tensor<T, P>, Allocator>& inputs, int axis = 0) {
  return concat(std::span<const Tensor<T, P>>(inputs), axis);
}

/// Inputs of one shape along a new axis, which becomes axis `axis` of the result. A copy. Throws like concat.
template <class T, class P>
[[nodiscard]] Tensor<T, P> stack(std::span<const Tensor<T, P>> inputs, int axis = 0) {
  std::vector<Tensor<T, P>, pool_allocator<Tensor<T, P>>> wider;
  for (const Tensor<T, P>& input : inputs) {
    detail::require_defined("stack", input);
    if (input.shape() != inputs[0].shape())
      throw_shape("stack", "shapes differ", inputs[0].shape(), input.shape(), "all inputs must have one shape");
    wider.push_back(unsqueeze(input, axis));
  }
  return concat(wider, axis);
}
template <class T, class P>
[[nodiscard]] Tensor<T, P> stack(std::initializer_list<Tensor<T, P>> inputs, int axis = 0) {
  return stack(std::span<const Tensor<T, P>>(inputs.begin(), inputs.size()), axis);
}
template <class T, class P, class Allocator>
[[nodiscard]] Tensor<T, P> stack(const std::vector<Tensor<T, P>, Allocator>& inputs, int axis = 0) {
  return stack(std::span<const Tensor<T, P>>(inputs), axis);
}

template <class Try>
void concat_op::examples(Try&& attempt) {
  attempt({{2, 3}, {2, 2}}, [](const auto& x) { return concat({x[0], x[1]}, 1); });
  attempt({{2, 3}, {4, 3}, {1, 3}}, [](const auto& x) { return concat({x[0], x[1], x[2]}, 0); });
  attempt({{1}}, [](const auto& x) { return concat({x[0]}); });
  attempt({{3}, {0}, {2}}, [](const auto& x) { return concat({x[0], x[1], x[2]}, -1); });
  attempt({{2, 37, 3}, {2, 1, 3}}, [](const auto& x) { return concat({x[0], x[1], x[0]}, 1); });
  attempt({{0, 2}, {0, 3}}, [](const auto& x) { return concat({x[0], x[1]}, 1); });
  attempt({{}, {}}, [](const auto& x) { return stack({x[0], x[1], x[0]}); });
  attempt({{2, 3}, {2, 3}}, [](const auto& x) { return stack({x[0], x[1]}, -1); });
}
template <class Try>
void concat_op::typical(Try&& attempt) {
  attempt({{1024, 512}, {1024, 512}}, [](const auto& x) { return concat({x[0], x[1]}, 1); });
}

}  // namespace tinygrad::inline TINYGRAD_ABI
