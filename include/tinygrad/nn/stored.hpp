// Weights that stay in the format of their file: products with them, in place of a Tensor's, for inference.
//
// A module that can hold them has a member `stored`; when that is defined, its Tensor `weight` is not. The matrix is
// [out, in], as files keep it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <tinygrad/quant/matrix.hpp>
#include <tinygrad/tensor/tensor.hpp>
#include <type_traits>

namespace tinygrad::inline TINYGRAD_ABI {

/// A module whose weight may be a stored matrix instead.
template <class M>
concept stores_weights = requires(M& m) {
  requires std::is_same_v<std::remove_cvref_t<decltype(m.stored)>, QuantMatrix>;
};

namespace detail {
/// Stored weights are multiplied with floats only.
template <class T>
constexpr void require_float_model() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  if constexpr (!std::is_same_v<T, float>)
    throw value_error("[stored] weights in a file's format serve models of float only; load them widened");
}
}  // namespace detail

/// x [..., in] times w^T, w [out, in] in its file's format -> [..., out]. Records no graph.
/// Throws shape_error when the inner sizes differ.
template <class T, class P>
[[nodiscard]] Tensor<T, P> multiply_stored(const Tensor<T, P>& x, const QuantMatrix& w) {
  detail::require_float_model<T>();
  if (x.rank() == 0 || x.shape()[-1] != w.columns())
    throw_shape("stored", "inner sizes differ", x.shape(), Shape{w.rows(), w.columns()}, "lhs[-1] must equal rhs[-1]");
  const Tensor<T, P> y = Tensor<T, P>::empty(x.shape().with(-1, w.rows()));
  if constexpr (std::is_same_v<T, float>) w.template multiply<P>(x.data(), y.mutable_data());
  return y;
}

/// The rows of w that ids name -> [ids..., columns]. Throws index_error for an id outside, shape_error when the ids do
/// not fill `shape`.
template <class T, class P>
[[nodiscard]] Tensor<T, P> stored_rows(const QuantMatrix& w, std::span<const int> ids, const Shape& shape) {
  detail::require_float_model<T>();
  if (ids.size() != shape.count())
    throw shape_error("[embedding] " + std::to_string(ids.size()) + " ids for shape " + to_string(shape));
  const Tensor<T, P> y = Tensor<T, P>::empty(Shape(shape).append(w.columns()));
  if constexpr (std::is_same_v<T, float>) {
    const std::span<T> to = y.mutable_data();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || static_cast<std::size_t>(ids[i]) >= w.rows())
        throw index_error("[embedding] id " + std::to_string(ids[i]) + " at position " + std::to_string(i) +
                          " outside a table of " + std::to_string(w.rows()) + " rows");
      w.dequantise_row(static_cast<std::size_t>(ids[i]), to.subspan(i * w.columns(), w.columns()));
    }
  }
  return y;
}

}  // namespace tinygrad::inline TINYGRAD_ABI
