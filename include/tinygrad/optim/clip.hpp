// Gradient clipping by the norm over all parameters: g <- g * min(1, max_norm / |g|).
// Source: Pascanu, Mikolov and Bengio 2013.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <tinygrad/core/buffer.hpp>
#include <tinygrad/kernel/lanes.hpp>
#include <tinygrad/tensor/tensor.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {

/// Sum of squares in double. Blocks of a fixed size are summed on their own and then in order, so that the result does
/// not depend on the number of threads.
template <class P, class T>
[[nodiscard]] double sum_of_squares(std::span<const T> x) {
  constexpr std::size_t block = 16384;
  const std::size_t blocks = (x.size() + block - 1) / block;
  const scratch<double> partial(blocks);
  P::for_range(blocks, 1, [&](std::size_t first, std::size_t last) {
    using V = typename P::template lanes_t<T>;
    for (std::size_t b = first; b < last; ++b) {
      const std::size_t end = (b + 1) * block < x.size() ? (b + 1) * block : x.size();
      V sum(T(0));
      for_lanes<V>(b * block, end, [&](std::size_t i, auto count) {
        const V v = load_lanes<V>(x.data() + i, count);
        sum = sum + v * v;
      });
      partial[b] = static_cast<double>(reduce_add(sum));
    }
  });
  double total = 0;
  for (std::size_t b = 0; b < blocks; ++b) total += partial[b];
  return total;
}

}  // namespace detail

/// The 2-norm of all gradients together; parameters without one count as zero.
template <class T, class P>
[[nodiscard]] double grad_norm(const std::vector<Tensor<T, P>>& parameters) {
  double total = 0;
  for (const Tensor<T, P>& p : parameters)
    if (p.has_grad()) total += detail::sum_of_squares<P>(p.grad().data());
  return std::sqrt(total);
}

/// Scales all gradients so that their norm is at most max_norm (0 makes them zero) and returns the norm from before.
/// A norm that is not finite is returned and the gradients are left as they are, for the caller to skip the step; with
/// `error_if_nonfinite` it is a value_error. Throws value_error for a negative or NaN max_norm.
template <class T, class P>
double clip_grad_norm(const std::vector<Tensor<T, P>>& parameters, double max_norm, bool error_if_nonfinite = false) {
  if (!(max_norm >= 0))
    throw value_error("[clip_grad_norm] max_norm must not be negative, got " + std::to_string(max_norm));
  const double norm = grad_norm(parameters);
  if (!std::isfinite(norm)) {
    if (error_if_nonfinite) throw value_error("[clip_grad_norm] the norm of the gradients is " + std::to_string(norm));
    return norm;
  }
  if (norm <= max_norm) return norm;
  const T factor = static_cast<T>(max_norm / norm);
  for (const Tensor<T, P>& p : parameters) {
    if (!p.has_grad()) continue;
    const std::span<T> g = p.grad().mutable_data();
    P::for_range(g.size(), 16384, [&](std::size_t first, std::size_t last) {
      using V = typename P::template lanes_t<T>;
      for_lanes<V>(first, last, [&](std::size_t i, auto count) {
        store_lanes(g.data() + i, V(load_lanes<V>(g.data() + i, count) * V(factor)), count);
      });
    });
  }
  return norm;
}

}  // namespace tinygrad::inline TINYGRAD_ABI
