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

#include <array>
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

/// Rows shorter than a pack are taken many at a time, so that their exponentials fill the lanes.
struct short_rows {
  static constexpr std::size_t capacity = 256;  // values

  /// f(begin, end) over blocks of the rows [first, last), none with more than `capacity` values.
  template <class F>
  static void each_block(std::size_t first, std::size_t last, std::size_t classes, F&& f) {
    const std::size_t block = capacity / (classes + 1);
    for (std::size_t begin = first; begin < last; begin += block) f(begin, last - begin < block ? last : begin + block);
  }
  /// weights = exp(x - top), with one top a row.
  template <class V, class T>
  static void exponentials(const T* x, const double* top, std::size_t count, std::size_t classes, T* weights) noexcept {
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t j = 0; j < classes; ++j) weights[r * classes + j] = x[r * classes + j] - static_cast<T>(top[r]);
    for_lanes<V>(0, count * classes, [&](std::size_t i, auto lane_count) TINYGRAD_INLINE_LAMBDA {
      store_lanes(weights + i, V(exp(load_lanes<V>(weights + i, lane_count))), lane_count);
    });
  }
};

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
    P::for_range(rows, detail::rows_grain(classes),
                 [&](std::size_t first, std::size_t last) { row_losses<V>(first, last, logits.data, classes, loss); });
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
      rows_backward<V>(first, last, logits.data, dx, classes,
                       [&](std::size_t r) { return single ? shared : y.grad[r]; });
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

  /// The losses of rows [first, last), and what backward needs of them.
  template <class V, class T>
  void row_losses(std::size_t first, std::size_t last, const T* x, std::size_t classes, T* loss) noexcept {
    if (classes >= static_cast<std::size_t>(lanes<V>)) {
      for (std::size_t r = first; r < last; ++r) {
        if (ignored(r)) {
          loss[r] = T(0);
          continue;
        }
        top_[r] = static_cast<double>(rows::largest<V>(x + r * classes, classes));
        const T total = rows::exp_sum<V>(x + r * classes, classes, top<T>(r));
        inverse_[r] = static_cast<double>(T(1) / total);
        loss[r] = row_loss<V>(r, x, classes, log(total));
      }
      return;
    }
    rows::short_rows::each_block(first, last, classes, [&](std::size_t begin, std::size_t end) {
      std::array<T, rows::short_rows::capacity> weights, logs;
      for (std::size_t r = begin; r < end; ++r)
        top_[r] = static_cast<double>(rows::largest<T>(x + r * classes, classes));
      rows::short_rows::exponentials<V>(x + begin * classes, &top_[begin], end - begin, classes, weights.data());
      for (std::size_t r = begin; r < end; ++r) {
        T total(0);
        for (std::size_t j = 0; j < classes; ++j) total += weights[(r - begin) * classes + j];
        inverse_[r] = static_cast<double>(T(1) / total);
        logs[r - begin] = total;
      }
      for_lanes<V>(0, end - begin, [&](std::size_t i, auto count) TINYGRAD_INLINE_LAMBDA {
        store_lanes(&logs[i], V(log(load_lanes<V>(&logs[i], count))), count);
      });
      for (std::size_t r = begin; r < end; ++r)
        loss[r] = ignored(r) ? T(0) : row_loss<V>(r, x, classes, logs[r - begin]);
    });
  }
  /// -sum_j q_j log p_j, written so that no large number is added only to be taken away again.
  template <class V, class T>
  [[nodiscard]] T row_loss(std::size_t r, const T* logits, std::size_t classes, T log_total) const noexcept {
    const T* x = logits + r * classes;
    const T to_target = top<T>(r) - x[targets[r]];  // >= 0
    const T smoothing = static_cast<T>(options.label_smoothing);
    if (smoothing == T(0)) return log_total + to_target;
    const T to_mean = -rows::shifted_sum<V>(x, classes, top<T>(r)) / static_cast<T>(classes);
    return log_total + (T(1) - smoothing) * to_target + smoothing * to_mean;
  }
  template <class T>
  [[nodiscard]] T top(std::size_t r) const noexcept {
    return static_cast<T>(top_[r]);
  }

  /// dx (+)= scale_of(row) (p - q) for rows [first, last).
  template <class V, class T, class Scale>
  void rows_backward(std::size_t first, std::size_t last, const T* x, grad_target<T> dx, std::size_t classes,
                     Scale&& scale_of) const noexcept {
    const T smoothing = static_cast<T>(options.label_smoothing);
    const T floor = smoothing / static_cast<T>(classes);
    const auto finish = [&](std::size_t r) {
      T* row = dx.data + r * classes;
      if (!ignored(r))
        row[targets[r]] -= (T(1) - smoothing) * scale_of(r);
      else if (!dx.accumulate)
        for (std::size_t j = 0; j < classes; ++j) row[j] = T(0);
    };
    if (classes >= static_cast<std::size_t>(lanes<V>)) {
      for (std::size_t r = first; r < last; ++r) {
        if (!ignored(r))
          rows::cross_entropy_backward<V>(x + r * classes, dx.data + r * classes, classes, top<T>(r),
                                          static_cast<T>(inverse_[r]), scale_of(r), floor, dx.accumulate);
        finish(r);
      }
      return;
    }
    rows::short_rows::each_block(first, last, classes, [&](std::size_t begin, std::size_t end) {
      std::array<T, rows::short_rows::capacity> weights;
      rows::short_rows::exponentials<V>(x + begin * classes, &top_[begin], end - begin, classes, weights.data());
      for (std::size_t r = begin; r < end; ++r) {
        const T* weight = weights.data() + (r - begin) * classes;
        T* row = dx.data + r * classes;
        const T inverse = static_cast<T>(inverse_[r]);
        const T scale = scale_of(r);
        for (std::size_t j = 0; j < classes && !ignored(r); ++j)
          row[j] = (dx.accumulate ? row[j] : T(0)) + (weight[j] * inverse - floor) * scale;
        finish(r);
      }
    });
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
