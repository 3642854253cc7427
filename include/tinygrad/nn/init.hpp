// First values of weights: drawn from a normal distribution, or left open for a file to fill in.
#pragma once

#include <tinygrad/core/shape.hpp>
#include <tinygrad/tensor/tensor.hpp>
#include <type_traits>

namespace tinygrad::inline TINYGRAD_ABI {

/// Given in place of a generator: weights are allocated but not set, because they are about to be loaded.
struct leave_uninitialized {};

/// A parameter of the given shape, its values normal with mean 0 and the given deviation.
template <class T, class P, class Generator>
[[nodiscard]] Tensor<T, P> normal_parameter(const Shape& shape, Generator& random, double stddev) {
  if constexpr (std::is_same_v<std::remove_const_t<Generator>, leave_uninitialized>)
    return Tensor<T, P>::empty(shape).requires_grad();
  else
    return Tensor<T, P>::randn(shape, random, static_cast<T>(stddev)).requires_grad();
}

}  // namespace tinygrad::inline TINYGRAD_ABI
