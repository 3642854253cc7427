// Distances between tensors, for tests and examples.
#pragma once

#include <cmath>
#include <cstddef>
#include <tinygrad/tensor/tensor.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

/// Largest |a - b| over all elements; infinity when either is NaN where the other is not.
/// Throws shape_error when the shapes differ.
template <class T, class P, class U, class Q>
[[nodiscard]] double max_abs_difference(const Tensor<T, P>& a, const Tensor<U, Q>& b) {
  if (a.shape() != b.shape())
    throw_shape("max_abs_difference", "shapes differ", a.shape(), b.shape(), "both must be equal");
  double largest = 0;
  for (std::size_t i = 0; i < a.count(); ++i) {
    const double x = static_cast<double>(a.data()[i]);
    const double y = static_cast<double>(b.data()[i]);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double distance = std::fabs(x - y);
    if (!(distance <= largest)) largest = std::isnan(distance) ? HUGE_VAL : distance;
  }
  return largest;
}

/// Largest |x|.
template <class T, class P>
[[nodiscard]] double max_abs(const Tensor<T, P>& x) {
  double largest = 0;
  for (const T value : x.data())
    if (const double size = std::fabs(static_cast<double>(value)); size > largest) largest = size;
  return largest;
}

}  // namespace tinygrad::inline TINYGRAD_ABI
