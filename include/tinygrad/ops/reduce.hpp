// Reductions: sum, mean and max over any axes.
//
//   sum(x)              over all axes: a rank 0 tensor        sum(x, 1)           over one axis
//   sum(x, {0, -1})     over several                          sum(x, {1}, true)   keeps the axis, with size 1
//
// A reduction folds one run of neighbouring axes at a time, innermost first. Reducing nothing: the sum of no
// elements is 0, their mean is NaN (0 / 0), and their maximum does not exist (shape_error).
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/buffer.hpp>
#include <tinygrad/ops/arithmetic.hpp>
#include <tinygrad/ops/op.hpp>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {

/// How a loss per row or per element becomes the loss: their mean, their sum, or all of them.
enum class reduction : unsigned char { mean, sum, none };

/// Which axes to reduce: one, several (negative ones count from the end), or none given, which means all.
class axis_list {
 public:
  axis_list() noexcept = default;
  axis_list(int axis) : axis_list({axis}) {}  // NOLINT: implicit, sum(x, 1) reads as it should
  axis_list(std::initializer_list<int> axes) : axis_list(std::span<const int>(axes.begin(), axes.size())) {}
  /// Throws shape_error for more axes than a tensor can have.
  axis_list(std::span<const int> axes) {  // NOLINT: implicit
    if (axes.size() > axes_.size())
      throw shape_error("[axis_list] " + std::to_string(axes.size()) + " axes; a tensor has at most " +
                        std::to_string(max_rank));
    for (const int axis : axes) axes_[count_++] = axis;
  }

  [[nodiscard]] const int* begin() const noexcept { return axes_.data(); }
  [[nodiscard]] const int* end() const noexcept { return axes_.data() + count_; }

 private:
  std::array<int, static_cast<std::size_t>(max_rank)> axes_{};
  std::size_t count_ = 0;
};

namespace detail {

/// The axes of one shape that are reduced, resolved and checked.
class reduced_axes {
 public:
  /// Throws index_error for an axis out of range and shape_error for one that is given twice.
  reduced_axes(std::string_view op, const Shape& shape, const axis_list& axes) {
    for (const int axis : axes) {
      bool& chosen = chosen_[static_cast<std::size_t>(axis_of(op, shape, axis))];
      if (chosen) throw_shape(op, "axis " + std::to_string(axis) + " is given twice", shape, "every axis at most once");
      chosen = true;
    }
    if (axes.begin() == axes.end()) chosen_.fill(true);
  }
  [[nodiscard]] bool operator[](int axis) const noexcept { return chosen_[static_cast<std::size_t>(axis)]; }

  /// Elements that go into one element of the result.
  [[nodiscard]] std::size_t length(const Shape& shape) const noexcept {
    std::size_t product = 1;
    for (int axis = 0; axis < shape.rank(); ++axis)
      if ((*this)[axis]) product *= shape[axis];
    return product;
  }
  /// `shape` with size 1 along the reduced axes: what broadcasts back.
  [[nodiscard]] Shape kept(Shape shape) const {
    for (int axis = 0; axis < shape.rank(); ++axis)
      if ((*this)[axis]) shape = shape.with(axis, 1);
    return shape;
  }
  /// `shape` without the reduced axes.
  [[nodiscard]] Shape dropped(const Shape& shape) const {
    Shape result;
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (!(*this)[axis]) result.append(shape[axis]);
    return result;
  }

 private:
  std::array<bool, static_cast<std::size_t>(max_rank)> chosen_{};
};

/// out = fold of all n elements of `in`, in blocks of a fixed length: threads share the blocks, and rounding errors
/// grow with the length of a block instead of n.
template <class P, class Fold, class T>
void fold_all(Fold op, const T* in, std::size_t n, T* out) {
  constexpr std::size_t block = 8192;
  if (n <= block) return P::fold(op, fold_args<T>{1, n, 1, in, out});
  const std::size_t blocks = n / block;
  const std::size_t rest = n % block;
  const scratch<T> partial(blocks + 1);
  P::fold(op, fold_args<T>{blocks, block, 1, in, partial.data()});
  P::fold(op, fold_args<T>{1, rest, 1, in + blocks * block, partial.data() + blocks});
  P::fold(op, fold_args<T>{1, blocks + 1, 1, partial.data(), out});
}

/// out = fold of in[shape] along `axes`; out has the elements of axes.kept(shape).
template <class P, class Fold, class T>
void fold_axes(Fold op, Shape shape, const reduced_axes& axes, const T* in, T* out) {
  if (axes.kept(shape).count() == 1) return fold_all<P>(op, in, shape.count(), out);
  scratch<T> between(0);  // holds `in` from the second round on
  for (int last = shape.rank() - 1; last >= 0; --last) {
    if (!axes[last]) continue;
    int first = last;
    while (first > 0 && axes[first - 1]) --first;
    bool more = false;  // axes further out that wait for their turn
    for (int axis = 0; axis < first; ++axis) more |= axes[axis];

    fold_args<T> args{shape.outer(first), shape.slice(first, last + 1).count(), shape.inner(last), in, out};
    scratch<T> target(more ? args.outer * args.inner : 0);
    if (more) args.out = target.data();
    P::fold(op, args);
    if (!more) return;
    between = std::move(target);
    in = between.data();
    for (int axis = first; axis <= last; ++axis) shape = shape.with(axis, 1);
    last = first;
  }
}

struct identity {
  template <class V>
  V operator()(const V& x) const {
    return x;
  }
};
/// `share` where x holds the maximum y of its group, or is the NaN that made y NaN; else 0.
struct winner_takes {
  template <class V>
  V operator()(const V& x, const V& y, const V& share) const {
    return select(x == y || x != x, share, V(scalar_of<V>(0)));
  }
};

/// dx (+)= f(in...), inputs broadcast to dx's shape.
template <class P, class F, class T, std::size_t K>
void spread(const F& f, const Shape& shape, const std::array<const T*, K>& in, const std::array<Shape, K>& shapes,
            const grad_slot<T>& slot) {
  const grad_target<T> dx = slot.open();
  const broadcast_plan<K> plan = plan_broadcast<K>(shape, shapes);
  if (!dx.accumulate) return P::map(f, map_args<T, K>{plan, in, dx.data});
  const scratch<T> share(shape.count());
  P::map(f, map_args<T, K>{plan, in, share.data()});
  P::map_backward(identity{}, map_backward_args<T, 1>{
                                  plan_broadcast<1>(shape, {shape}), {share.data()}, share.data(), {dx.data}, {true}});
}

/// What the three reductions share: parameters, shapes, and what to try them on.
template <class Op>
struct reduction_base {
  axis_list axes;
  bool keepdim = false;

  [[nodiscard]] reduced_axes chosen(const Shape& x) const { return reduced_axes(Op::name, x, axes); }
  [[nodiscard]] Shape shape_of(const Shape& x) const {
    const reduced_axes which = chosen(x);
    const Shape shape = keepdim ? which.kept(x) : which.dropped(x);
    if constexpr (Op::needs_elements)
      if (shape.count() != 0 && which.length(x) == 0)
        throw_shape(Op::name, "nothing to reduce", x, "a reduced axis needs at least one element");
    return shape;
  }

  template <class Try>
  static void examples(Try&& attempt) {
    const auto over = [&](const Shape& shape, const axis_list& which, bool keep = false) {
      attempt({shape}, [which, keep](const auto& x) { return apply(Op{{which, keep}}, x[0]); });
    };
    over({2, 3}, {});
    over({}, {});
    over({37}, 0);
    over({3, 70}, -1);
    over({5, 35}, 0, true);
    over({3, 4, 2}, {1, 2});
    over({3, 4, 5}, {0, -1}, true);
    over({2, 3, 2, 3, 2}, {0, 2, 4});
    over({0, 3}, 1);
    over({1, 1}, 1);
  }
  template <class Try>
  static void typical(Try&& attempt) {
    attempt({{1024, 1024}}, [](const auto& x) { return apply(Op{{-1}}, x[0]); });
  }
};

}  // namespace detail

struct sum_op : detail::reduction_base<sum_op> {
  static constexpr std::string_view name = "sum";
  static constexpr saved_values saves = saved_values::none;
  static constexpr bool needs_elements = false;

  template <class P, class T>
  void forward(view<T> y, view<const T> x) const {
    detail::fold_axes<P>(fold_add{}, x.shape, chosen(x.shape), x.data, y.data);
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T> x, grad_slot<T> dx) const {
    if (dx) detail::spread<P, detail::identity, T, 1>({}, x.shape, {y.grad}, {chosen(x.shape).kept(x.shape)}, dx);
  }
};

struct mean_op : detail::reduction_base<mean_op> {
  static constexpr std::string_view name = "mean";
  static constexpr saved_values saves = saved_values::none;
  static constexpr bool needs_elements = false;

  template <class P, class T>
  void forward(view<T> y, view<const T> x) const {
    const scratch<T> total(y.shape.count());
    detail::fold_axes<P>(fold_add{}, x.shape, chosen(x.shape), x.data, total.data());
    divide<P, T>(total.data(), x.shape, y.data, y.shape);
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T> x, grad_slot<T> dx) const {
    if (!dx) return;
    const scratch<T> share(y.shape.count());
    divide<P, T>(y.grad, x.shape, share.data(), y.shape);
    detail::spread<P, detail::identity, T, 1>({}, x.shape, {share.data()}, {chosen(x.shape).kept(x.shape)}, dx);
  }

 private:
  /// out = in / number of elements that were averaged.
  template <class P, class T>
  void divide(const T* in, const Shape& x, T* out, const Shape& y) const {
    const fn::divide_by by_length{{static_cast<double>(chosen(x).length(x))}};
    P::map(by_length, map_args<T, 1>{plan_broadcast<1>(y, {y}), {in}, out});
  }
};

/// Elements that tie for the maximum share its gradient equally, so that a group's gradients add up to dy.
struct max_op : detail::reduction_base<max_op> {
  static constexpr std::string_view name = "max";
  static constexpr saved_values saves = saved_values::both;
  static constexpr bool needs_elements = true;

  template <class P, class T>
  void forward(view<T> y, view<const T> x) const {
    detail::fold_axes<P>(fold_max{}, x.shape, chosen(x.shape), x.data, y.data);
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T> x, grad_slot<T> dx) const {
    if (!dx) return;
    const detail::reduced_axes which = chosen(x.shape);
    const Shape kept = which.kept(x.shape);
    const T one(1);
    const std::size_t groups = y.shape.count();
    const scratch<T> won(x.shape.count()), ties(groups), share(groups);
    P::map(detail::winner_takes{},
           map_args<T, 3>{plan_broadcast<3>(x.shape, {x.shape, kept, Shape{}}), {x.data, y.data, &one}, won.data()});
    detail::fold_axes<P>(fold_add{}, x.shape, which, won.data(), ties.data());
    P::map(fn::div{}, map_args<T, 2>{plan_broadcast<2>(kept, {kept, kept}), {y.grad, ties.data()}, share.data()});
    detail::spread<P, detail::winner_takes, T, 3>({}, x.shape, {x.data, y.data, share.data()}, {x.shape, kept, kept},
                                                  dx);
  }
};

/// Sum over `axes` (all when none are given); 0 for no elements. `keepdim` keeps the axes with size 1.
/// Throws index_error for an axis out of range, shape_error for one given twice.
template <class T, class P>
[[nodiscard]] Tensor<T, P> sum(const Tensor<T, P>& x, axis_list axes = {}, bool keepdim = false) {
  return apply(sum_op{{axes, keepdim}}, x);
}
/// Mean over `axes` (all when none are given); NaN for no elements. Errors as sum.
template <class T, class P>
[[nodiscard]] Tensor<T, P> mean(const Tensor<T, P>& x, axis_list axes = {}, bool keepdim = false) {
  return apply(mean_op{{axes, keepdim}}, x);
}
/// Largest value over `axes` (all when none are given); NaN where there is one. Errors as sum, and shape_error when a
/// maximum of no elements would be needed. For the larger of two tensors see maximum.
template <class T, class P>
[[nodiscard]] Tensor<T, P>(max)(const Tensor<T, P>& x, axis_list axes = {}, bool keepdim = false) {
  return apply(max_op{{axes, keepdim}}, x);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
