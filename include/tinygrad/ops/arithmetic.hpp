// Arithmetic, element by element with broadcasting: add sub mul div neg scale shift and their mixes with numbers.
//
// Each operation is its forward formula; derivatives come from dual numbers (see map.hpp).
#pragma once

#include <array>
#include <string_view>
#include <tinygrad/core/constant.hpp>
#include <tinygrad/ops/map.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

namespace fn {
struct add {
  static constexpr std::string_view name = "add";
  static constexpr bool linear = true;
  static constexpr std::array passes{true, true};
  auto operator()(const auto& a, const auto& b) const { return a + b; }
};
struct sub {
  static constexpr std::string_view name = "sub";
  static constexpr bool linear = true;
  static constexpr std::array passes{true, false};
  auto operator()(const auto& a, const auto& b) const { return a - b; }
};
struct mul {
  static constexpr std::string_view name = "mul";
  auto operator()(const auto& a, const auto& b) const { return a * b; }
};
struct div {
  static constexpr std::string_view name = "div";
  static constexpr value_range domain{0.4, 2};
  auto operator()(const auto& a, const auto& b) const { return a / b; }
};
struct neg {
  static constexpr std::string_view name = "neg";
  static constexpr bool linear = true;
  auto operator()(const auto& x) const { return -x; }
};
struct scale {  // factor x
  static constexpr std::string_view name = "scale";
  static constexpr bool linear = true;
  constant factor{1.7};
  auto operator()(const auto& x) const { return factor * x; }
};
struct divide_by {  // x / divisor; rounded as a division, not as a product with the inverse
  static constexpr std::string_view name = "divide_by";
  static constexpr bool linear = true;
  constant divisor{1.3};
  auto operator()(const auto& x) const { return x / divisor; }
};
struct shift {  // x + offset
  static constexpr std::string_view name = "shift";
  static constexpr bool linear = true;
  static constexpr std::array passes{true};
  constant offset{0.3};
  auto operator()(const auto& x) const { return x + offset; }
};
struct subtract_from {  // minuend - x
  static constexpr std::string_view name = "subtract_from";
  static constexpr bool linear = true;
  constant minuend{0.7};
  auto operator()(const auto& x) const { return minuend - x; }
};
struct divide_into {  // numerator / x
  static constexpr std::string_view name = "divide_into";
  static constexpr value_range domain{0.4, 2};
  constant numerator{0.9};
  auto operator()(const auto& x) const { return numerator / x; }
};
}  // namespace fn

/// a + b, broadcast. Throws shape_error when the shapes do not broadcast.
template <class T, class P, class B>
[[nodiscard]] Tensor<T, P> add(const Tensor<T, P>& a, const B& b) {
  return map(fn::add{}, a, b);
}
/// a - b, broadcast.
template <class T, class P, class B>
[[nodiscard]] Tensor<T, P> sub(const Tensor<T, P>& a, const B& b) {
  return map(fn::sub{}, a, b);
}
/// a * b element by element, broadcast. For matrix products see matmul.
template <class T, class P, class B>
[[nodiscard]] Tensor<T, P> mul(const Tensor<T, P>& a, const B& b) {
  return map(fn::mul{}, a, b);
}
/// a / b element by element, broadcast.
template <class T, class P, class B>
[[nodiscard]] Tensor<T, P> div(const Tensor<T, P>& a, const B& b) {
  return map(fn::div{}, a, b);
}
/// -x.
template <class T, class P>
[[nodiscard]] Tensor<T, P> neg(const Tensor<T, P>& x) {
  return map(fn::neg{}, x);
}
/// factor * x for a plain number.
template <class T, class P>
[[nodiscard]] Tensor<T, P> scale(const Tensor<T, P>& x, std::type_identity_t<T> factor) {
  return map(fn::scale{{static_cast<double>(factor)}}, x);
}
/// x + offset for a plain number.
template <class T, class P>
[[nodiscard]] Tensor<T, P> shift(const Tensor<T, P>& x, std::type_identity_t<T> offset) {
  return map(fn::shift{{static_cast<double>(offset)}}, x);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
