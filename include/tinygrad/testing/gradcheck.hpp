// Gradient check: the backward pass against the slope measured by moving every number a little, both ways.
//
//   auto check = gradcheck([](const auto& x) { return softmax(x[0]); }, inputs);
//   CHECK(check.max_relative < 1e-3);       // float: the measure of the article series
//   CHECK(check.max_elementwise < 1e-6);    // double: every single derivative
//
// Two measures, because float and double deserve different ones. In float, single derivatives near zero drown in
// rounding noise, so vectors are compared: |analytic - numeric| / (|analytic| + |numeric|), per input. In double the
// noise is small enough to compare number by number, relative to max(1, |derivative|).
//
// A result of more than one element is weighted with fixed random numbers and summed, so that every element counts
// differently and an error in one cannot hide. Works inside any test framework: it only returns numbers.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <tinygrad/core/random.hpp>
#include <tinygrad/tensor/tensor.hpp>
#include <type_traits>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

struct gradcheck_result {
  double max_absolute = 0;     // largest |analytic - numeric|
  double max_relative = 0;     // largest vector-relative difference over the inputs
  double max_elementwise = 0;  // largest |analytic - numeric| / max(1, |analytic|, |numeric|)
};

namespace detail {

/// Adds the comparison of one input's gradients to `result`. A NaN anywhere makes the measures infinite.
template <class T>
void compare_gradients(std::span<const T> analytic, std::span<const T> numeric, gradcheck_result& result) {
  double difference = 0, length_a = 0, length_n = 0;
  const auto raise = [](double& largest, double value) {
    if (!(value <= largest)) largest = std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
  };
  for (std::size_t i = 0; i < analytic.size(); ++i) {
    const double a = static_cast<double>(analytic[i]);
    const double n = static_cast<double>(numeric[i]);
    const double d = std::fabs(a - n);
    raise(result.max_absolute, d);
    raise(result.max_elementwise, d / std::fmax(1.0, std::fmax(std::fabs(a), std::fabs(n))));
    difference += d * d;
    length_a += a * a;
    length_n += n * n;
  }
  const double lengths = std::sqrt(length_a) + std::sqrt(length_n);
  if (lengths != 0) raise(result.max_relative, std::sqrt(difference) / lengths);
}

}  // namespace detail

/// Checks f, which takes the inputs (anything indexable: x[0], x[1], ...) and returns a tensor of any shape; one result
/// per input. Every input is differentiated; its values are moved by h and restored, and its gradient is replaced.
/// The default h suits the element type: 1e-2 for float (smaller steps drown in rounding), 1e-5 for double.
template <class F, class T, class P>
[[nodiscard]] std::vector<gradcheck_result> gradcheck_each(F&& f, std::span<const Tensor<T, P>> inputs,
                                                           T h = std::is_same_v<T, float> ? T(1e-2) : T(1e-5)) {
  for (const Tensor<T, P>& x : inputs) {
    x.requires_grad();
    x.zero_grad();
  }
  const Tensor<T, P> y = f(inputs);
  Random random(20240229);
  const Tensor<T, P> weights =
      y.count() == 1 ? Tensor<T, P>::ones(y.shape()) : Tensor<T, P>::uniform(y.shape(), random, T(-1), T(1));
  if (y.needs_grad()) y.backward(weights);

  const auto loss = [&] {
    const no_grad guard;
    const Tensor<T, P> moved = f(inputs);
    double total = 0;
    for (std::size_t i = 0; i < moved.count(); ++i)
      total += static_cast<double>(moved.data()[i]) * static_cast<double>(weights.data()[i]);
    return total;
  };
  std::vector<gradcheck_result> results;
  for (const Tensor<T, P>& x : inputs) {
    std::vector<T> analytic(x.count(), T(0));
    if (x.has_grad()) analytic.assign(x.grad().data().begin(), x.grad().data().end());
    std::vector<T> numeric(x.count());
    T* values = x.mutable_data().data();
    for (std::size_t i = 0; i < x.count(); ++i) {
      const T before = values[i];
      values[i] = before + h;
      const double plus = loss();
      values[i] = before - h;
      const double minus = loss();
      values[i] = before;
      numeric[i] = static_cast<T>((plus - minus) / (2 * static_cast<double>(h)));
    }
    detail::compare_gradients<T>(analytic, numeric, results.emplace_back());
  }
  return results;
}

/// The worst of gradcheck_each over all inputs.
template <class F, class T, class P>
[[nodiscard]] gradcheck_result gradcheck(F&& f, std::span<const Tensor<T, P>> inputs,
                                         T h = std::is_same_v<T, float> ? T(1e-2) : T(1e-5)) {
  gradcheck_result worst;
  for (const gradcheck_result& one : gradcheck_each(f, inputs, h)) {
    worst.max_absolute = std::fmax(worst.max_absolute, one.max_absolute);
    worst.max_relative = std::fmax(worst.max_relative, one.max_relative);
    worst.max_elementwise = std::fmax(worst.max_elementwise, one.max_elementwise);
  }
  return worst;
}

/// The same for one, two, ... inputs given as an array.
template <class F, class T, class P, std::size_t K>
[[nodiscard]] gradcheck_result gradcheck(F&& f, const std::array<Tensor<T, P>, K>& inputs,
                                         T h = std::is_same_v<T, float> ? T(1e-2) : T(1e-5)) {
  return gradcheck(f, std::span<const Tensor<T, P>>(inputs), h);
}
template <class F, class T, class P>
[[nodiscard]] gradcheck_result gradcheck(F&& f, const std::vector<Tensor<T, P>>& inputs,
                                         T h = std::is_same_v<T, float> ? T(1e-2) : T(1e-5)) {
  return gradcheck(f, std::span<const Tensor<T, P>>(inputs), h);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
