// Elementary functions, element by element: abs pow sqrt exp log sin cos, and the choices max min clamp where.
#pragma once

#include <string_view>
#include <tinygrad/core/constant.hpp>
#include <tinygrad/ops/map.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

namespace fn {
struct abs {  // derivative 0 at 0
  static constexpr std::string_view name = "abs";
  auto operator()(const auto& x) const {
    using tinygrad::abs;
    return abs(x);
  }
};
struct sqrt {
  static constexpr std::string_view name = "sqrt";
  static constexpr value_range domain{0.2, 3};
  auto operator()(const auto& x) const {
    using tinygrad::sqrt;
    return sqrt(x);
  }
};
struct exp {
  static constexpr std::string_view name = "exp";
  auto operator()(const auto& x) const {
    using tinygrad::exp;
    return exp(x);
  }
  struct by_output {
    template <class S>
    dual<S, 1> operator()(const dual<S, 1>& y) const {
      return {y.value, y.value};
    }
  };
};
struct log {
  static constexpr std::string_view name = "log";
  static constexpr value_range domain{0.2, 3};
  auto operator()(const auto& x) const {
    using tinygrad::log;
    return log(x);
  }
};
struct sin {
  static constexpr std::string_view name = "sin";
  auto operator()(const auto& x) const {
    using tinygrad::sin;
    return sin(x);
  }
};
struct cos {
  static constexpr std::string_view name = "cos";
  auto operator()(const auto& x) const {
    using tinygrad::cos;
    return cos(x);
  }
};
struct pow {  // x^y; no derivative by y is formed where y has none, so a negative base is fine for a constant y
  static constexpr std::string_view name = "pow";
  static constexpr value_range domain{0.3, 2};
  auto operator()(const auto& x, const auto& y) const {
    using tinygrad::pow;
    return pow(x, y);
  }
};
struct power {  // x^exponent for a plain number
  static constexpr std::string_view name = "power";
  static constexpr value_range domain{0.3, 2};
  constant exponent{2};
  template <class X>
  auto operator()(const X& x) const {
    using tinygrad::pow;
    return pow(x, scalar_for<X>(exponent));
  }
};
struct max {  // a tie gives each operand half of the gradient
  static constexpr std::string_view name = "maximum";
  auto operator()(const auto& a, const auto& b) const { return maximum(a, b); }
};
struct min {
  static constexpr std::string_view name = "minimum";
  auto operator()(const auto& a, const auto& b) const { return minimum(a, b); }
};
struct clamp {  // min(max(x, low), high); derivative 0 at and beyond the limits
  static constexpr std::string_view name = "clamp";
  constant low{0}, high{1};
  template <class X>
  auto operator()(const X& x) const {
    return minimum(maximum(x, scalar_for<X>(low)), scalar_for<X>(high));
  }
};
struct where {  // a where the condition is not zero, else b; the condition has no gradient
  static constexpr std::string_view name = "where";
  template <class X>
  auto operator()(const X& condition, const X& a, const X& b) const {
    return select(condition != 0_c, a, b);
  }
};
}  // namespace fn

template <class T, class P>
[[nodiscard]] Tensor<T, P>(abs)(const Tensor<T, P>& x) {
  return map(fn::abs{}, x);
}
template <class T, class P>
[[nodiscard]] Tensor<T, P> sqrt(const Tensor<T, P>& x) {
  return map(fn::sqrt{}, x);
}
template <class T, class P>
[[nodiscard]] Tensor<T, P> exp(const Tensor<T, P>& x) {
  return map(fn::exp{}, x);
}
/// Natural logarithm.
template <class T, class P>
[[nodiscard]] Tensor<T, P> log(const Tensor<T, P>& x) {
  return map(fn::log{}, x);
}
template <class T, class P>
[[nodiscard]] Tensor<T, P> sin(const Tensor<T, P>& x) {
  return map(fn::sin{}, x);
}
template <class T, class P>
[[nodiscard]] Tensor<T, P> cos(const Tensor<T, P>& x) {
  return map(fn::cos{}, x);
}
/// x^y element by element, broadcast.
template <class T, class P>
[[nodiscard]] Tensor<T, P> pow(const Tensor<T, P>& x, const Tensor<T, P>& y) {
  return map(fn::pow{}, x, y);
}
/// x^exponent.
template <class T, class P>
[[nodiscard]] Tensor<T, P> pow(const Tensor<T, P>& x, std::type_identity_t<T> exponent) {
  return map(fn::power{{static_cast<double>(exponent)}}, x);
}
/// The larger of a and b, element by element, broadcast.
template <class T, class P>
[[nodiscard]] Tensor<T, P> maximum(const Tensor<T, P>& a, const Tensor<T, P>& b) {
  return map(fn::max{}, a, b);
}
/// The smaller of a and b, element by element, broadcast.
template <class T, class P>
[[nodiscard]] Tensor<T, P> minimum(const Tensor<T, P>& a, const Tensor<T, P>& b) {
  return map(fn::min{}, a, b);
}
/// x limited to [low, high]. Throws value_error unless low <= high.
template <class T, class P>
[[nodiscard]] Tensor<T, P> clamp(const Tensor<T, P>& x, std::type_identity_t<T> low, std::type_identity_t<T> high) {
  if (!(low <= high))
    throw value_error("[clamp] low " + std::to_string(low) + " is not at most high " + std::to_string(high));
  return map(fn::clamp{{static_cast<double>(low)}, {static_cast<double>(high)}}, x);
}
/// a where condition is not zero, b elsewhere; all three broadcast.
template <class T, class P>
[[nodiscard]] Tensor<T, P> where(const Tensor<T, P>& condition, const Tensor<T, P>& a, const Tensor<T, P>& b) {
  return map(fn::where{}, condition, a, b);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
