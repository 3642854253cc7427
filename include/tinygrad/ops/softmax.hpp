// softmax, log_softmax, causal_softmax: values to probabilities along one axis.
//
//   softmax      y_j = exp(x_j - m) / sum_k exp(x_k - m), m = max x       dx = y (dy - sum_k y_k dy_k)
//   log_softmax  y_j = (x_j - m) - log sum_k exp(x_k - m)                 dx = dy - exp(y) sum_k dy_k
//
// Stable: no exponential overflows, and no logarithm of a probability that underflowed is taken. Backward reads the
// output only. Values of -inf are masked, they get probability 0. Where every value is -inf there is nothing to choose
// from: softmax gives zeros (attention that may look nowhere adds nothing, instead of NaN), log_softmax gives -inf, and
// the gradient is zero. NaN or +inf make their row NaN.
#pragma once

#include <cstddef>
#include <string_view>
#include <tinygrad/kernel/rows.hpp>
#include <tinygrad/ops/op.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {

/// A shape around one axis; a rank 0 tensor counts as one value along its axis 0.
struct axis_extent {
  std::size_t outer, length, inner;

  axis_extent(std::string_view op, const Shape& shape, int axis) {
    const Shape at_least_one = shape.rank() == 0 ? Shape{1} : shape;
    if (shape.rank() == 0 && axis != 0 && axis != -1) (void)axis_of(op, shape, axis);  // throws
    const int resolved = axis_of(op, at_least_one, axis);
    outer = at_least_one.outer(resolved);
    length = at_least_one[resolved];
    inner = at_least_one.inner(resolved);
  }
};

/// f(offset, where) for every row when the axis is the innermost one, `where` then being its length; else for blocks of
/// neighbouring columns of the matrix [length, inner] at `offset`, `where` saying which.
template <class P, class F>
void along_axis(const axis_extent& x, F&& f) {
  if (x.inner == 1)
    return P::for_range(x.outer, rows_grain(x.length), [&](std::size_t first, std::size_t last) {
      for (std::size_t r = first; r < last; ++r) f(r * x.length, x.length);
    });
  const std::size_t width = 64;  // columns of a block: whole cache lines, whole packs
  const std::size_t blocks = (x.inner + width - 1) / width;
  P::for_range(x.outer * blocks, rows_grain(x.length * width), [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t begin = i % blocks * width;
      const std::size_t end = x.inner - begin < width ? x.inner : begin + width;
      f(i / blocks * x.length * x.inner, rows::columns{x.length, x.inner, begin, end});
    }
  });
}

template <class Op, class Try>
void softmax_examples(Try&& attempt) {
  const auto along = [&](int axis, const Shape& shape) {
    attempt(
        {shape}, [axis](const auto& x) { return apply(Op{axis}, x[0]); }, value_range{-3, 3});
  };
  for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{4, 1}, Shape{3, 0}, Shape{0, 3}, Shape{3, 83}})
    along(-1, shape);
  along(0, {5, 3});
  along(1, {2, 3, 71});
  along(1, {2, 0, 3});
}

}  // namespace detail

struct softmax_op {
  static constexpr std::string_view name = "softmax";
  static constexpr saved_values saves = saved_values::output;
  int axis = -1;

  [[nodiscard]] Shape shape_of(const Shape& x) const {
    (void)detail::axis_extent(name, x, axis);
    return x;
  }
  template <class P, class T>
  void forward(view<T> y, view<const T> x) const {
    using V = typename P::template lanes_t<T>;
    detail::along_axis<P>(detail::axis_extent(name, x.shape, axis), [&](std::size_t at, const auto& where) {
      rows::softmax<V>(x.data + at, y.data + at, where);
    });
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T> x, grad_slot<T> slot) const {
    using V = typename P::template lanes_t<T>;
    if (!slot) return;
    const grad_target<T> dx = slot.open();
    detail::along_axis<P>(detail::axis_extent(name, x.shape, axis), [&](std::size_t at, const auto& where) {
      rows::softmax_backward<V>(y.data + at, y.grad + at, dx.data + at, where, dx.accumulate);
    });
  }

  template <class Try>
  static void examples(Try&& attempt) {
    detail::softmax_examples<softmax_op>(attempt);
  }
  template <class Try>
  static void typical(Try&& attempt) {
    attempt({{32, 50257}}, [](const auto& x) { return apply(softmax_op{}, x[0]); });
  }
};

struct log_softmax_op {
  static constexpr std::string_view name = "log_softmax";
  static constexpr saved_values saves = saved_values::output;
  int axis = -1;

  [[nodiscard]] Shape shape_of(const Shape& x) const {
    (void)detail::axis_extent(name, x, axis);
    return x;
  }
  template <class P, class T>
  void forward(view<T> y, view<const T> x) const {
    using V = typename P::template lanes_t<T>;
    detail::along_axis<P>(detail::axis_extent(name, x.shape, axis), [&](std::size_t at, const auto& where) {
      rows::log_softmax<V>(x.data + at, y.data + at, where);
    });
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T> x, grad_slot<T> slot) const {
    using V = typename P::template lanes_t<T>;
    if (!slot) return;
    const grad_target<T> dx = slot.open();
    detail::along_axis<P>(detail::axis_extent(name, x.shape, axis), [&](std::size_t at, const auto& where) {
      rows::log_softmax_backward<V>(y.data + at, y.grad + at, dx.data + at, where, dx.accumulate);
    });
  }

  template <class Try>
  static void examples(Try&& attempt) {
    detail::softmax_examples<log_softmax_op>(attempt);
  }
  template <class Try>
  static void typical(Try&& attempt) {
    attempt({{32, 50257}}, [](const auto& x) { return apply(log_softmax_op{}, x[0]); });
  }
};

/// Softmax of each row of a score matrix over the columns that row may see; the others get 0 whatever they hold.
struct causal_softmax_op {
  static constexpr std::string_view name = "causal_softmax";
  static constexpr saved_values saves = saved_values::output;

  [[nodiscard]] Shape shape_of(const Shape& x) const {
    if (x.rank() < 2) throw_shape(name, "not a matrix of scores", x, "it needs at least the axes [query, key]");
    if (x[-1] < x[-2]) throw_shape(name, "fewer keys than queries", x, "input[-1] must be at least input[-2]");
    return x;
  }
  template <class P, class T>
  void forward(view<T> y, view<const T> x) const {
    using V = typename P::template lanes_t<T>;
    each_row<P>(x.shape, [&](std::size_t at, std::size_t visible, std::size_t keys) {
      rows::softmax<V>(x.data + at, y.data + at, visible);
      for (std::size_t j = visible; j < keys; ++j) y.data[at + j] = T(0);
    });
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T> x, grad_slot<T> slot) const {
    using V = typename P::template lanes_t<T>;
    if (!slot) return;
    const grad_target<T> dx = slot.open();
    each_row<P>(x.shape, [&](std::size_t at, std::size_t visible, std::size_t keys) {
      rows::softmax_backward<V>(y.data + at, y.grad + at, dx.data + at, visible, dx.accumulate);
      for (std::size_t j = visible; j < keys && !dx.accumulate; ++j) dx.data[at + j] = T(0);
    });
  }

  template <class Try>
  static void examples(Try&& attempt) {
    const auto call = [](const auto& x) { return apply(causal_softmax_op{}, x[0]); };
    for (const Shape& shape : {Shape{3, 3}, Shape{1, 1}, Shape{2, 5}, Shape{0, 0}, Shape{0, 4}, Shape{2, 0, 3},
                               Shape{2, 2, 4, 4}, Shape{37, 41}})
      attempt({shape}, call);
  }
  template <class Try>
  static void typical(Try&& attempt) {
    attempt({{4, 12, 256, 256}}, [](const auto& x) { return apply(causal_softmax_op{}, x[0]); });
  }

 private:
  /// f(offset, number of visible columns, number of columns) for every row.
  template <class P, class F>
  static void each_row(const Shape& x, F&& f) {
    const std::size_t queries = x[-2];
    const std::size_t keys = x[-1];
    P::for_range(x.rows(), detail::rows_grain(keys), [&](std::size_t first, std::size_t last) {
      for (std::size_t r = first; r < last; ++r) f(r * keys, r % queries + 1 + (keys - queries), keys);
    });
  }
};

/// Probabilities along `axis`: exp(x_j) / sum_k exp(x_k). Rows of nothing but -inf give zeros.
/// Throws index_error for an axis out of range.
template <class T, class P>
[[nodiscard]] Tensor<T, P> softmax(const Tensor<T, P>& x, int axis = -1) {
  return apply(softmax_op{axis}, x);
}
/// log(softmax(x)), accurate also where the probability is too small to be a number. Throws as softmax.
template <class T, class P>
[[nodiscard]] Tensor<T, P> log_softmax(const Tensor<T, P>& x, int axis = -1) {
  return apply(log_softmax_op{axis}, x);
}
/// Softmax of the rows of scores (..., Tq, Tk) where query i sees the keys 0 to i + Tk - Tq: the last query sees all.
/// The others get exactly 0, and so do rows whose visible scores are all -inf. Throws shape_error unless Tk >= Tq.
template <class T, class P>
[[nodiscard]] Tensor<T, P> causal_softmax(const Tensor<T, P>& scores) {
  return apply(causal_softmax_op{}, scores);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
