// layer_norm and rms_norm: every row of the innermost axis brought to mean 0 and variance 1, or to mean square 1.
//
//   layer_norm  y = w (x - mean(x)) / sqrt(var(x) + eps) + b       var divides by C, not by C - 1
//   rms_norm    y = w x / sqrt(mean(x^2) + eps)
//
// Weight and bias have shape (C). Kernels, backward formulas and sources: kernel/norm.hpp. Saved for backward: mean
// and 1 / sqrt(var + eps) of every row. Weight and bias are summed over rows in blocks of a fixed number of rows,
// which threads share, and the blocks in order: the result does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <tinygrad/core/buffer.hpp>
#include <tinygrad/kernel/norm.hpp>
#include <tinygrad/ops/op.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {

/// What both norms share; `Op` says which it is by its `centered`.
template <class Op>
class norm_base {
 public:
  explicit norm_base(double eps) : eps_(eps) {}

  template <class... Parameters>
  [[nodiscard]] Shape shape_of(const Shape& x, const Parameters&... parameters) const {
    if (!(eps_ >= 0)) throw value_error("[" + std::string(Op::name) + "] eps " + std::to_string(eps_) + " is negative");
    (check_parameter(x, parameters), ...);
    return x;
  }

  template <class P, class T>
  void forward(view<T> y, view<const T> x) {
    run_forward<P, T>(y, x, nullptr, nullptr);
  }
  template <class P, class T>
  void forward(view<T> y, view<const T> x, view<const T> w) {
    run_forward<P, T>(y, x, w.data, nullptr);
  }
  template <class P, class T>
  void forward(view<T> y, view<const T> x, view<const T> w, view<const T> b) {
    run_forward<P, T>(y, x, w.data, b.data);
  }

  template <class P, class T>
  void backward(const result<T>& y, view<const T> x, grad_slot<T> dx) const {
    run_backward<P, T>(y, x, nullptr, dx, grad_slot<T>(nullptr), grad_slot<T>(nullptr));
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T> x, view<const T> w, grad_slot<T> dx, grad_slot<T> dw) const {
    run_backward<P, T>(y, x, w.data, dx, dw, grad_slot<T>(nullptr));
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T> x, view<const T> w, view<const T>, grad_slot<T> dx, grad_slot<T> dw,
                grad_slot<T> db) const {
    run_backward<P, T>(y, x, w.data, dx, dw, db);
  }

 private:
  static void check_parameter(const Shape& x, const Shape& parameter) {
    if (parameter != Shape{x.columns()})
      throw_shape(Op::name, "weight or bias does not fit", x, parameter, "it must have shape (lhs[-1])");
  }

  template <class P, class T>
  void run_forward(view<T> y, view<const T> x, const T* w, const T* b) {
    using V = typename P::template lanes_t<T>;
    const std::size_t n = x.shape.columns();
    moments_.resize(x.shape.rows());
    P::for_range(x.shape.rows(), rows_grain(n), [&](std::size_t first, std::size_t last) {
      for (std::size_t r = first; r < last; ++r) {
        const auto m = rows::moments_of<V, Op::centered>(x.data + r * n, n, static_cast<T>(eps_));
        rows::normalize<V>(x.data + r * n, w, b, y.data + r * n, n, m);
        moments_[r] = {static_cast<double>(m.mean), static_cast<double>(m.rstd)};
      }
    });
  }

  /// One pass over the rows: dx of each, and per block of rows the sums of dw and db, [blocks, 2, n].
  template <class P, class T>
  void run_backward(const result<T>& y, view<const T> x, const T* w, grad_slot<T> dx_slot, grad_slot<T> dw_slot,
                    grad_slot<T> db_slot) const {
    using V = typename P::template lanes_t<T>;
    const std::size_t n = x.shape.columns();
    const std::size_t rows = x.shape.rows();
    const std::size_t rows_per_block = 32;
    const std::size_t blocks = (rows + rows_per_block - 1) / rows_per_block;
    const grad_target<T> dx = dx_slot ? dx_slot.open() : grad_target<T>{nullptr, false};
    const bool sums = dw_slot || db_slot;
    const scratch<T> partial(sums ? blocks * 2 * n : 0);
    P::for_range(blocks, rows_grain(n * rows_per_block), [&](std::size_t first, std::size_t last) {
      for (std::size_t block = first; block < last; ++block) {
        T* const dw = dw_slot ? partial.data() + block * 2 * n : nullptr;
        T* const db = db_slot ? partial.data() + (block * 2 + 1) * n : nullptr;
        if (sums) std::fill_n(partial.data() + block * 2 * n, 2 * n, T(0));
        for (std::size_t r = block * rows_per_block; r < rows && r < (block + 1) * rows_per_block; ++r) {
          const rows::moments<T> m{static_cast<T>(moments_[r].mean), static_cast<T>(moments_[r].rstd)};
          T* const dx_row = dx.data == nullptr ? nullptr : dx.data + r * n;
          rows::normalize_backward<V, Op::centered>(x.data + r * n, w, y.grad + r * n, n, m,
                                                    {dx_row, dx.accumulate, dw, db});
        }
      }
    });
    if (!sums) return;
    const scratch<T> total(2 * n);
    P::fold(fold_add{}, fold_args<T>{1, blocks, 2 * n, partial.data(), total.data()});
    add_to(dw_slot, total.data(), n);
    add_to(db_slot, total.data() + n, n);
  }
  template <class T>
  static void add_to(const grad_slot<T>& slot, const T* sum, std::size_t n) {
    if (!slot) return;
    const grad_target<T> target = slot.open();
    for (std::size_t j = 0; j < n; ++j) deposit(target.data + j, sum[j], target.accumulate, whole<T>{});
  }

  double eps_;
  std::vector<rows::moments<double>, pool_allocator<rows::moments<double>>> moments_;  // of every row
};

template <class Op, class Try>
void norm_examples(Try&& attempt) {
  for (const Shape& shape : {Shape{3, 5}, Shape{2, 3, 37}, Shape{7}, Shape{4, 1}, Shape{0, 3}, Shape{3, 0}}) {
    attempt({shape}, [](const auto& x) { return apply(Op(), x[0]); });
    attempt({shape, Shape{shape[-1]}}, [](const auto& x) { return apply(Op(), x[0], x[1]); });
  }
  attempt({{}}, [](const auto& x) { return apply(Op(), x[0]); });
}

}  // namespace detail

struct layer_norm_op : detail::norm_base<layer_norm_op> {
  static constexpr std::string_view name = "layer_norm";
  static constexpr bool centered = true;
  explicit layer_norm_op(double eps = 1e-5) : norm_base(eps) {}

  template <class Try>
  static void examples(Try&& attempt) {
    detail::norm_examples<layer_norm_op>(attempt);
    const auto call = [](const auto& x) { return apply(layer_norm_op(), x[0], x[1], x[2]); };
    for (const Shape& shape :
         {Shape{3, 5}, Shape{2, 3, 37}, Shape{7}, Shape{4, 1}, Shape{0, 3}, Shape{3, 0}, Shape{70, 4}})
      attempt({shape, Shape{shape[-1]}, Shape{shape[-1]}}, call);
  }
  template <class Try>
  static void typical(Try&& attempt) {
    attempt({{256, 768}, {768}, {768}}, [](const auto& x) { return apply(layer_norm_op(), x[0], x[1], x[2]); });
  }
};

struct rms_norm_op : detail::norm_base<rms_norm_op> {
  static constexpr std::string_view name = "rms_norm";
  static constexpr bool centered = false;
  explicit rms_norm_op(double eps = 1e-5) : norm_base(eps) {}

  template <class Try>
  static void examples(Try&& attempt) {
    detail::norm_examples<rms_norm_op>(attempt);
  }
  template <class Try>
  static void typical(Try&& attempt) {
    attempt({{256, 768}, {768}}, [](const auto& x) { return apply(rms_norm_op(), x[0], x[1]); });
  }
};

/// Rows of the innermost axis with mean 0 and variance 1, times weight (C), plus bias (C). eps is added to the
/// variance: a constant row gives the bias. Throws shape_error when weight or bias is not (C), value_error for a
/// negative eps.
template <class T, class P>
[[nodiscard]] Tensor<T, P> layer_norm(const Tensor<T, P>& x, const Tensor<T, P>& weight, const Tensor<T, P>& bias,
                                      double eps = 1e-5) {
  return apply(layer_norm_op(eps), x, weight, bias);
}
template <class T, class P>
[[nodiscard]] Tensor<T, P> layer_norm(const Tensor<T, P>& x, const Tensor<T, P>& weight, double eps = 1e-5) {
  return apply(layer_norm_op(eps), x, weight);
}
template <class T, class P>
[[nodiscard]] Tensor<T, P> layer_norm(const Tensor<T, P>& x, double eps = 1e-5) {
  return apply(layer_norm_op(eps), x);
}
/// Rows of the innermost axis divided by sqrt(mean of squares + eps), times weight (C). Throws as layer_norm.
template <class T, class P>
[[nodiscard]] Tensor<T, P> rms_norm(const Tensor<T, P>& x, const Tensor<T, P>& weight, double eps = 1e-5) {
  return apply(rms_norm_op(eps), x, weight);
}
template <class T, class P>
[[nodiscard]] Tensor<T, P> rms_norm(const Tensor<T, P>& x, double eps = 1e-5) {
  return apply(rms_norm_op(eps), x);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
