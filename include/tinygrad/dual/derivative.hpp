// Derivatives of plain functions, by running them on dual numbers: exact, and nothing to prepare but a generic f.
//
//   derivative([](auto x) { return sin(x * x); }, 2.0)                      // 4 cos(4)
//   gradient([](auto x, auto y) { return x * y + exp(x); }, 1.0, 2.0)       // {y + e^x, x}
//   jacobian([](const auto& x) { return std::array{x[0] * x[1], x[0] / x[1]}; }, std::array{1.0, 2.0})
//   hessian([](const auto& x) { return x[0] * x[0] * x[1]; }, std::array{1.0, 2.0})
//
// f calls the functions without namespace (`sin(x)`), so that those of dual.hpp are found. It may use plain numbers,
// constants (0.5_c), branches and loops; the derivative is that of the branch taken.
//
// A std::array of N inputs takes one evaluation of f with N directions. A std::vector is walked in blocks of eight
// directions. Cost: gradient and jacobian about N/3 evaluations' worth of arithmetic, hessian N/3 times that. For one
// output and very many inputs reverse mode (scalar/value.hpp) costs only one more evaluation.
//
// The scalar may be a dual again, so that derivatives nest: the second derivative of f at x is
//   derivative([&](auto t) { return derivative(f, t); }, x)
#pragma once

#include <array>
#include <cstddef>
#include <tinygrad/core/config.hpp>
#include <tinygrad/dual/dual.hpp>
#include <tuple>
#include <type_traits>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

namespace dual_detail {

/// Whole numbers are taken as doubles: derivative(f, 2) means derivative(f, 2.0).
template <class X>
using real = std::conditional_t<std::is_integral_v<X>, double, X>;

template <class S, std::size_t N>
using gradient_dual = dual<S, static_cast<int>(N)>;

/// x[k] with derivative one along direction k.
template <class S, std::size_t N>
std::array<gradient_dual<S, N>, N> variables(const std::array<S, N>& x) {
  std::array<gradient_dual<S, N>, N> seeded;
  for (std::size_t k = 0; k < N; ++k) seeded[k] = gradient_dual<S, N>::variable(x[k], static_cast<int>(k));
  return seeded;
}

/// Inputs whose derivatives are computed in one evaluation when their number is known only at run time.
inline constexpr std::size_t block = 8;

/// x with derivative one along direction k for x[first + k], as far as there are such.
template <class S>
std::vector<dual<S, int{block}>> variables(const std::vector<S>& x, std::size_t first) {
  std::vector<dual<S, int{block}>> seeded(x.begin(), x.end());
  for (std::size_t k = 0; k < block && first + k < x.size(); ++k) seeded[first + k].d[k] = lift<S>(1);
  return seeded;
}

}  // namespace dual_detail

/// f'(x) for a function of one number.
template <class F, class X>
auto derivative(const F& f, const X& x) {
  using S = dual_detail::real<X>;
  const dual<S, 1> y = f(dual<S, 1>::variable(S(x)));
  return y.d[0];
}

/// The N partial derivatives of f(std::array of N numbers).
template <class F, class S, std::size_t N>
std::array<S, N> gradient(const F& f, const std::array<S, N>& x) {
  const dual_detail::gradient_dual<S, N> y = f(dual_detail::variables(x));
  return std::to_array(y.d);
}

/// The partial derivatives of f(x, y, ...), a function of several numbers, in the order of its arguments.
template <class F, class... X>
requires(sizeof...(X) > 0 && (has_scalar<dual_detail::real<X>> && ...)) auto gradient(const F& f, const X&... x) {
  using S = std::common_type_t<dual_detail::real<X>...>;
  return gradient([&f](const auto& all) { return std::apply(f, all); }, std::array<S, sizeof...(X)>{S(x)...});
}

/// The partial derivatives of f(std::vector).
template <class F, class S>
std::vector<S> gradient(const F& f, const std::vector<S>& x) {
  std::vector<S> result(x.size());
  for (std::size_t first = 0; first < x.size(); first += dual_detail::block) {
    const dual<S, int{dual_detail::block}> y = f(dual_detail::variables(x, first));
    for (std::size_t k = 0; k < dual_detail::block && first + k < x.size(); ++k) result[first + k] = y.d[k];
  }
  return result;
}

/// result[i][k] = d f_i / d x_k for f from an array of N numbers to an array of M.
template <class F, class S, std::size_t N>
auto jacobian(const F& f, const std::array<S, N>& x) {
  const auto y = f(dual_detail::variables(x));
  std::array<std::array<S, N>, std::tuple_size_v<std::remove_const_t<decltype(y)>>> result;
  for (std::size_t i = 0; i < y.size(); ++i) result[i] = std::to_array(y[i].d);
  return result;
}

/// The same for f from a vector to a vector (or to anything with size() and []).
template <class F, class S>
std::vector<std::vector<S>> jacobian(const F& f, const std::vector<S>& x) {
  std::vector<std::vector<S>> result;
  for (std::size_t first = 0; first < x.size(); first += dual_detail::block) {
    const auto y = f(dual_detail::variables(x, first));
    result.resize(y.size(), std::vector<S>(x.size()));
    for (std::size_t i = 0; i < y.size(); ++i)
      for (std::size_t k = 0; k < dual_detail::block && first + k < x.size(); ++k) result[i][first + k] = y[i].d[k];
  }
  return result;
}

/// result[i][k] = d2 f / (d x_i d x_k) for f from an array or a vector of numbers to one number: the jacobian of the
/// gradient, that is, duals of duals.
template <class F, class X>
auto hessian(const F& f, const X& x) {
  return jacobian([&f](const auto& t) { return gradient(f, t); }, x);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
