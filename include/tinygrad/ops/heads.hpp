// split_heads and merge_heads: the two copies around attention.
//
//   split_heads(x [B, T, C], H) -> [B, H, T, D] with D = C / H      y[b, h, t, d] = x[b, t, h*D + d]
//   merge_heads(x [B, H, T, D]) -> [B, T, H*D]                      the inverse
//
// Each is the other's gradient.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tinygrad/kernel/copy.hpp>
#include <tinygrad/ops/op.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {

/// [B, H, T, D] (as `split` says) from or to [B, T, H*D].
template <class P, class T>
void copy_heads(const Shape& split, bool merging, const T* in, T* out, bool accumulate) noexcept {
  const std::size_t heads = split[1], time = split[2], size = split[3];
  const std::size_t split_steps[] = {heads * time * size, time * size, size, 1};
  const std::size_t merged_steps[] = {time * heads * size, size, heads * size, 1};
  copy_plan plan;
  for (const int axis : {0, 1, 2, 3})
    if (merging)
      plan.add(split[axis], split_steps[axis], merged_steps[axis]);
    else
      plan.add(split[axis], merged_steps[axis], split_steps[axis]);
  copy_box<P>(plan, in, out, accumulate);
}

}  // namespace detail

struct split_heads_op {
  static constexpr std::string_view name = "split_heads";
  static constexpr saved_values saves = saved_values::none;

  std::size_t heads = 1;

  [[nodiscard]] Shape shape_of(const Shape& x) const {
    if (x.rank() != 3) throw_shape(name, "wrong number of axes", x, "it must be (B, T, C)");
    if (heads == 0 || x[2] % heads != 0)
      throw_shape(name, std::to_string(x[2]) + " channels do not divide into " + std::to_string(heads) + " heads", x,
                  "C must be a multiple of the number of heads");
    return Shape{x[0], heads, x[1], x[2] / heads};
  }
  template <class P, class T>
  void forward(view<T> y, view<const T> x) const {
    detail::copy_heads<P>(y.shape, false, x.data, y.data, false);
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T>, grad_slot<T> dx) const {
    const grad_target<T> target = dx.open();
    detail::copy_heads<P>(y.shape, true, y.grad, target.data, target.accumulate);
  }

  template <class Try>
  static void examples(Try&& attempt) {
    attempt({{2, 3, 4}}, [](const auto& x) { return split_heads(x[0], 2); });
    attempt({{1, 1, 1}}, [](const auto& x) { return split_heads(x[0], 1); });
    attempt({{2, 5, 37}}, [](const auto& x) { return split_heads(x[0], 1); });
    attempt({{1, 3, 35}}, [](const auto& x) { return split_heads(x[0], 35); });
    attempt({{2, 0, 6}}, [](const auto& x) { return split_heads(x[0], 3); });
  }
  template <class Try>
  static void typical(Try&& attempt) {
    attempt({{8, 256, 768}}, [](const auto& x) { return split_heads(x[0], 12); });
  }
};

struct merge_heads_op {
  static constexpr std::string_view name = "merge_heads";
  static constexpr saved_values saves = saved_values::none;

  [[nodiscard]] Shape shape_of(const Shape& x) const {
    if (x.rank() != 4) throw_shape(name, "wrong number of axes", x, "it must be (B, H, T, D)");
    return Shape{x[0], x[2], x[1] * x[3]};
  }
  template <class P, class T>
  void forward(view<T> y, view<const T> x) const {
    detail::copy_heads<P>(x.shape, true, x.data, y.data, false);
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T> x, grad_slot<T> dx) const {
    const grad_target<T> target = dx.open();
    detail::copy_heads<P>(x.shape, false, y.grad, target.data, target.accumulate);
  }

  template <class Try>
  static void examples(Try&& attempt) {
    const auto call = [](const auto& x) { return merge_heads(x[0]); };
    for (const Shape& shape :
         {Shape{2, 2, 3, 4}, Shape{1, 1, 1, 1}, Shape{2, 3, 5, 37}, Shape{1, 4, 3, 1}, Shape{2, 0, 3, 2}})
      attempt({shape}, call);
  }
  template <class Try>
  static void typical(Try&& attempt) {
    attempt({{8, 12, 256, 64}}, [](const auto& x) { return merge_heads(x[0]); });
  }
};

/// x [B, T, C] -> [B, heads, T, C / heads]. Throws shape_error for another rank or when heads do not divide C.
template <class T, class P>
[[nodiscard]] Tensor<T, P> split_heads(const Tensor<T, P>& x, std::size_t heads) {
  return apply(split_heads_op{heads}, x);
}

/// x [B, H, T, D] -> [B, T, H*D]. Throws shape_error for another rank.
template <class T, class P>
[[nodiscard]] Tensor<T, P> merge_heads(const Tensor<T, P>& x) {
  return apply(merge_heads_op{}, x);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
