// cross_entropy: softmax and negative log-likelihood of the right class, fused.
//
//   loss_i = -sum_j q_ij log p_ij,   p_i = softmax(logits_i),   q_i = (1 - s) onehot(target_i) + s / V
//   dlogits_i = (p_i - q_i) dloss_i
//
// with s the label smoothing, usually 0. The probabilities are never stored: forward keeps two numbers a row (the
// largest logit and the inverse of the sum of exponentials, not their combination log-sum-exp, which rounds the sum
// away when logits are large) and backward computes p again in one pass. Smoothing: Szegedy et al., arXiv
// 1512.00567, 7.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/buffer.hpp>
#include <tinygrad/kernel/rows.hpp>
#include <tinygrad/ops/op.hpp>
#include <tinygrad/ops/reduce.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

struct cross_entropy_options {
  reduction reduce = reduction::mean;
  /// Rows with this target do not count: no loss, no gradient. It need not lie outside the classes.
  int ignore_index = -100;
  /// Share of the target distribution that is spread evenly over all classes, in [0, 1].
  double label_smoothing = 0;
};

namespace rows {

/// dx (+)= scale (exp(x - top) inverse - floor): one row of the gradient, but for its target.
template <class V, class T>
void cross_entropy_backward(const T* x, T* dx, std::size_t n, T top, T inverse, T scale, T floor,
                            bool accumulate) noexcept {
  for_lanes<V>(0, n, [&](std::size_t j, auto count) TINYGRAD_INLINE_LAMBDA {
    const V weight = exp(load_lanes<V>(x + j, count) - V(top));
    detail::deposit(dx + j, V((weight * V(inverse) - V(floor)) * V(scale)), accumulate, count);
  });
}

}  // namespace rows

struct cross_entropy_op {
  static constexpr std::string_view name = "cross_entropy";

  cross_entropy_op(std::span<const int> row_targets, const cross_entropy_options& row_options)
      : targets(row_targets.begin(), row_targets.end()), options(row_options) {}

  std::vector<int, pool_allocator<int>> targets;  // one a row
  cross_entropy_options options;

  [[nodiscard]] Shape shape_of(const Shape& logits) const {
    if (logits.rank() == 0) throw_shape(name, "no axis of classes", logits, "logits are (..., classes)");
    if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
      throw value_error("[cross_entropy] label_smoothing " + std::to_string(options.label_smoothing) +
                        " is not between 0 and 1");
    if (targets.size() != logits.rows())
      throw_shape(name, std::to_string(targets.size()) + " targets for " + std::to_string(logits.rows()) + " rows",
                  logits, "one target for every row of logits");
    check_targets(logits);
    return options.reduce == reduction::none ? logits.slice(0, logits.rank() - 1) : Shape{};
  }

  template <class P, class T>
  void forward(view<T> y, view<const T> logits) {
    using V = typename P::template lanes_t<T>;
    const std::size_t rows = logits.shape.rows();
    const std::size_t classes = logits.shape.columns();
    top_.resize(rows);
    inverse_.resize(rows);
    const bool single = options.reduce != reduction::none;
    const scratch<T> losses(single ? rows : 0);
    T* loss = single ? losses.data() : y.data;
    P::for_range(rows, detail::rows_grain(classes), [&](std::size_t first, std::size_t last) {
      for (std::size_t r = first; r < last; ++r)
        loss[r] = ignored(r) ? T(0) : row_loss<V>(r, logits.data + r * classes, classes);
    });
    if (!single) return;
    detail::fold_all<P>(fold_add{}, losses.data(), rows, y.data);
    y.data[0] /= divisor<T>();
  }

  template <class P, class T>
  void backward(const result<T>& y, view<const T> logits, grad_slot<T> slot) const {
    using V = typename P::template lanes_t<T>;
    if (!slot) return;
    const std::size_t classes = logits.shape.columns();
    const grad_target<T> dx = slot.open();
    const bool single = options.reduce != reduction::none;
    const T shared = single ? y.grad[0] / divisor<T>() : T(0);
    P::for_range(targets.size(), detail::rows_grain(classes), [&](std::size_t first, std::size_t last) {
      for (std::size_t r = first; r < last; ++r)
        row_backward<V>(r, logits.data + r * classes, {dx.data + r * classes, dx.accumulate}, classes,
                        single ? shared : y.grad[r]);
    });
  }

  template <class Try>
  static void examples(Try&& attempt) {
    const auto with = [&](const Shape& shape, std::initializer_list<int> classes, cross_entropy_options how = {}) {
      attempt({shape}, [op = cross_entropy_op(classes, how)](const auto& x) { return apply(op, x[0]); });
    };
    with({3, 5}, {0, 4, 2});
    with({3, 5}, {0, 4, 2}, {reduction::none, -100, 0.1});
    with({3, 5}, {1, -1, 2}, {reduction::mean, -1, 0.2});
    with({2, 2, 37}, {0, 36, 16, 5}, {reduction::sum, -100, 0});
    with({2, 2, 3}, {0, 1, 2, 1}, {reduction::none, 2, 0});
    with({2, 3}, {-100, -100});
    with({4}, {3});
    with({2, 1}, {0, 0});
    with({0, 3}, {});
  }
  template <class Try>
  static void typical(Try&& attempt) {
    const std::vector<int> classes(32, 777);
    attempt({{32, 50257}}, [op = cross_entropy_op(classes, {})](const auto& x) { return apply(op, x[0]); });
  }

 private:
  [[nodiscard]] bool ignored(std::size_t row) const noexcept { return targets[row] == options.ignore_index; }

  void check_targets(const Shape& logits) const {
    for (std::size_t r = 0; r < targets.size(); ++r)
      if (!ignored(r) && (targets[r] < 0 || static_cast<std::size_t>(targets[r]) >= logits[-1]))
        throw index_error("[cross_entropy] target out of range: target " + std::to_string(targets[r]) +
                          " at position " + std::to_string(r) + ", logits " + to_string(logits) + "; 0 <= target < " +
                          std::to_string(logits[-1]) + ", or ignore_index " + std::to_string(options.ignore_index));
  }
  /// What the sum of losses is divided by; 1 when all rows are ignored, so that their mean is 0.
  template <class T>
  [[nodiscard]] T divisor() const noexcept {
    if (options.reduce != reduction::mean) return T(1);
    std::size_t counted = 0;
    for (std::size_t r = 0; r < targets.size(); ++r) counted += ignored(r) ? 0 : 1;
    return counted == 0 ? T(1) : static_cast<T>(counted);
  }

  /// -sum_j q_j log p_j, written so that no large number is added only to be taken away again.
  template <class V, class T>
  [[nodiscard]] T row_loss(std::size_t r, const T* x, std::size_t classes) noexcept {
    const T top = rows::largest<V>(x, classes);
    const T total = rows::exp_sum<V>(x, classes, top);
    top_[r] = static_cast<double>(top);
    inverse_[r] = static_cast<double>(T(1) / total);
    const T to_target = top - x[targets[r]];  // >= 0
    const T smoothing = static_cast<T>(options.label_smoothing);
    if (smoothing == T(0)) return log(total) + to_target;
    const T to_mean = -rows::shifted_sum<V>(x, classes, top) / static_cast<T>(classes);
    return log(total) + (T(1) - smoothing) * to_target + smoothing * to_mean;
  }
  /// dx (+)= scale (p - q).
  template <class V, class T>
  void row_backward(std::size_t r, const T* x, grad_target<T> dx, std::size_t classes, T scale) const noexcept {
    if (ignored(r)) {
      for (std::size_t j = 0; j < classes && !dx.accumulate; ++j) dx.data[j] = T(0);
      return;
    }
    const T smoothing = static_cast<T>(options.label_smoothing);
    rows::cross_entropy_backward<V>(x, dx.data, classes, static_cast<T>(top_[r]), static_cast<T>(inverse_[r]), scale,
                                    smoothing / static_cast<T>(classes), dx.accumulate);
    dx.data[targets[r]] -= (T(1) - smoothing) * scale;
  }

  // Of every row that counts: the largest logit, and 1 / sum of exp(logit - largest). Exact for float and double.
  std::vector<double, pool_allocator<double>> top_, inverse_;
};

/// Cross-entropy of logits (..., V) with one class a row. The loss is a rank 0 tensor, the mean over the rows that are
/// not ignored (or their sum), or with reduction::none one number a row, shape (...). The mean over no rows at all is 0
/// with a zero gradient (PyTorch: NaN): a batch of nothing but padding must not spoil the parameters.
/// Throws shape_error unless there is one target a row, index_error for a target outside [0, V) that is not
/// ignore_index, value_error for a label_smoothing outside [0, 1].
template <class T, class P>
[[nodiscard]] Tensor<T, P> cross_entropy(const Tensor<T, P>& logits, std::span<const int> targets,
                                         cross_entropy_options options = {}) {
  return apply(cross_entropy_op(targets, options), logits);
}
template <class T, class P>
[[nodiscard]] Tensor<T, P> cross_entropy(const Tensor<T, P>& logits, std::initializer_list<int> targets,
                                         cross_entropy_options options = {}) {
  return cross_entropy(logits, std::span<const int>(targets.begin(), targets.size()), options);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
