// Policy check: is a policy as accurate as the textbook loops it replaces?
//
//   auto check = policy_check<my_policy, float>([](const auto& x) { return matmul(x[0], x[1]); }, {{8, 300}, {300,
//   5}}); CHECK(check.ok());
//
// The same function runs three times on the same numbers: naive in double (the reference), naive in float, and the
// policy in float; forward and backward. Summing in another order changes rounding, so results need not be equal, but
// the policy's error must stay within a few roundings of what naive float itself commits, or within `operands`, the
// error bound that the norms of the operands give: unit roundoff times the largest value the computation sees, times
// the square root of the number of terms in a sum.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <tinygrad/core/random.hpp>
#include <tinygrad/kernel/policy.hpp>
#include <tinygrad/ops/op.hpp>
#include <tinygrad/testing/close.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

struct policy_check_result {
  double error = 0;    // largest |policy - reference| over output and gradients
  double allowed = 0;  // the bound it must keep, where it came closest to breaking it
  bool same_shape = true;

  [[nodiscard]] bool ok() const noexcept { return same_shape && error <= allowed; }
};

namespace detail {

/// Output and input gradients of f, on inputs drawn the same way for every element type and policy.
template <class T, class P, class F>
[[nodiscard]] std::vector<Tensor<T, P>> run_both_ways(F&& f, const std::vector<Shape>& shapes, value_range range) {
  Random random(7);
  std::vector<Tensor<T, P>> inputs;
  for (const Shape& shape : shapes) {
    Tensor<T, P> x = Tensor<T, P>::empty(shape);
    for (T& value : x.mutable_data())  // rounded to float first: every type starts from the same numbers
      value = static_cast<T>(static_cast<float>(random.uniform(range.low, range.high)));
    inputs.push_back(x.requires_grad());
  }
  const Tensor<T, P> y = f(inputs);
  Tensor<T, P> weights = Tensor<T, P>::empty(y.shape());
  for (T& value : weights.mutable_data()) value = static_cast<T>(static_cast<float>(random.uniform(-1.0, 1.0)));
  if (y.needs_grad()) y.backward(weights);
  std::vector<Tensor<T, P>> results{y.detach()};
  for (const auto& x : inputs)
    if (x.has_grad()) results.push_back(x.grad());
  return results;
}

}  // namespace detail

/// Compares P with naive on f, for element type T and inputs of the given shapes drawn from `range`.
template <class P, class T, class F>
[[nodiscard]] policy_check_result policy_check(F&& f, const std::vector<Shape>& shapes, value_range range = {}) {
  const auto reference = detail::run_both_ways<double, naive>(f, shapes, range);
  const auto textbook = detail::run_both_ways<T, naive>(f, shapes, range);
  const auto checked = detail::run_both_ways<T, P>(f, shapes, range);
  policy_check_result worst;
  worst.same_shape = reference.size() == checked.size();
  std::size_t largest_input = 1;
  for (const Shape& shape : shapes) largest_input = (std::max)(largest_input, shape.count());
  for (std::size_t i = 0; worst.same_shape && i < checked.size(); ++i) {
    if (checked[i].shape() != reference[i].shape()) {
      worst.same_shape = false;
      break;
    }
    const double scale = max_abs(reference[i]) + std::fmax(std::fabs(range.low), std::fabs(range.high));
    const double operands =
        static_cast<double>(std::numeric_limits<T>::epsilon()) * scale * std::sqrt(static_cast<double>(largest_input));
    const double allowed = 2 * max_abs_difference(textbook[i], reference[i]) + 2 * operands;
    const double error = max_abs_difference(checked[i], reference[i]);
    if (error * (worst.allowed + 1e-300) >= worst.error * allowed) {
      worst.error = error;
      worst.allowed = allowed;
    }
  }
  return worst;
}

}  // namespace tinygrad::inline TINYGRAD_ABI
