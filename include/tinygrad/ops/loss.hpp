// mse_loss: the mean (or sum) of (prediction - target)^2. For classes see cross_entropy.hpp.
#pragma once

#include <cstddef>
#include <string_view>
#include <tinygrad/core/buffer.hpp>
#include <tinygrad/core/constant.hpp>
#include <tinygrad/ops/op.hpp>
#include <tinygrad/ops/reduce.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {
struct squared_difference {
  auto operator()(const auto& a, const auto& b) const { return (a - b) * (a - b); }
};
}  // namespace detail

struct mse_loss_op {
  static constexpr std::string_view name = "mse_loss";
  reduction reduce = reduction::mean;

  [[nodiscard]] Shape shape_of(const Shape& prediction, const Shape& target) const {
    if (prediction != target)
      throw_shape(name, "shapes differ", prediction, target, "both must be equal, nothing is broadcast in a loss");
    return reduce == reduction::none ? prediction : Shape{};
  }
  template <class P, class T>
  void forward(view<T> y, view<const T> prediction, view<const T> target) const {
    const Shape& shape = prediction.shape;
    const bool single = reduce != reduction::none;
    const scratch<T> squares(single ? shape.count() : 0);
    P::map(detail::squared_difference{}, map_args<T, 2>{plan_broadcast<2>(shape, {shape, shape}),
                                                        {prediction.data, target.data},
                                                        single ? squares.data() : y.data});
    if (!single) return;
    detail::fold_all<P>(fold_add{}, squares.data(), shape.count(), y.data);
    if (reduce == reduction::mean) y.data[0] /= static_cast<T>(shape.count());
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T> prediction, view<const T> target, grad_slot<T> da,
                grad_slot<T> db) const {
    const Shape& shape = prediction.shape;
    const bool single = reduce != reduction::none;
    const scratch<T> shared(single ? shape.count() : 0);  // every element's share of the one dy
    if (single) {
      const T share = reduce == reduction::mean ? *y.grad / static_cast<T>(shape.count()) : *y.grad;
      P::map(detail::identity{}, map_args<T, 1>{plan_broadcast<1>(shape, {Shape{}}), {&share}, shared.data()});
    }
    const grad_target<T> to_prediction = da ? da.open() : grad_target<T>{nullptr, false};
    const grad_target<T> to_target = db ? db.open() : grad_target<T>{nullptr, false};
    P::map_backward(detail::squared_difference{},
                    map_backward_args<T, 2>{plan_broadcast<2>(shape, {shape, shape}),
                                            {prediction.data, target.data},
                                            single ? shared.data() : y.grad,
                                            {to_prediction.data, to_target.data},
                                            {to_prediction.accumulate, to_target.accumulate}});
  }

  template <class Try>
  static void examples(Try&& attempt) {
    const auto with = [&](const Shape& shape, reduction how) {
      attempt({shape, shape}, [how](const auto& x) { return apply(mse_loss_op{how}, x[0], x[1]); });
    };
    for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{1}, Shape{37}}) with(shape, reduction::mean);
    for (const Shape& shape : {Shape{4, 5}, Shape{0, 3}}) with(shape, reduction::sum), with(shape, reduction::none);
  }
  template <class Try>
  static void typical(Try&& attempt) {
    attempt({{1024, 1024}, {1024, 1024}}, [](const auto& x) { return apply(mse_loss_op{}, x[0], x[1]); });
  }
};

/// Mean over all elements of (prediction - target)^2, a rank 0 tensor; their sum, or with reduction::none all of them.
/// The mean of no elements is NaN, as that of mean(). Throws shape_error unless the shapes are equal: (N) against (N,
/// 1) would broadcast to (N, N), compare everything with everything, and still look like a loss.
template <class T, class P>
[[nodiscard]] Tensor<T, P> mse_loss(const Tensor<T, P>& prediction, const Tensor<T, P>& target,
                                    reduction reduce = reduction::mean) {
  return apply(mse_loss_op{reduce}, prediction, target);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
