// Activation functions, element by element: tanh sigmoid relu leaky_relu gelu gelu_erf silu.
#pragma once

#include <string_view>
#include <tinygrad/core/constant.hpp>
#include <tinygrad/ops/map.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

namespace fn {
struct tanh {
  static constexpr std::string_view name = "tanh";
  auto operator()(const auto& x) const {
    using tinygrad::tanh;
    return tanh(x);
  }
  struct by_output {
    template <class S>
    dual<S, 1> operator()(const dual<S, 1>& y) const {
      return {y.value, S(1_c - y.value * y.value)};
    }
  };
};
struct sigmoid {  // 1 / (1 + e^-x)
  static constexpr std::string_view name = "sigmoid";
  auto operator()(const auto& x) const {
    using tinygrad::sigmoid;
    return sigmoid(x);
  }
  struct by_output {
    template <class S>
    dual<S, 1> operator()(const dual<S, 1>& y) const {
      return {y.value, S(y.value * (1_c - y.value))};
    }
  };
};
struct relu {  // derivative 0 at 0
  static constexpr std::string_view name = "relu";
  template <class X>
  auto operator()(const X& x) const {
    return maximum(x, scalar_for<X>(0_c));
  }
};
struct leaky_relu {  // x for x > 0, else slope x
  static constexpr std::string_view name = "leaky_relu";
  constant slope{0.01};
  template <class X>
  auto operator()(const X& x) const {
    return select(x > 0_c, x, X(slope * x));
  }
};
struct gelu {  // x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): GPT-2's form; Hendrycks and Gimpel 2016
  static constexpr std::string_view name = "gelu";
  auto operator()(const auto& x) const {
    using tinygrad::tanh;
    const auto u = 0.7978845608028654_c * (x + 0.044715_c * (x * x * x));
    return 0.5_c * x * (1_c + tanh(u));
  }
};
struct gelu_erf {  // x/2 (1 + erf(x / sqrt 2)): the exact form
  static constexpr std::string_view name = "gelu_erf";
  auto operator()(const auto& x) const {
    using tinygrad::erf;
    return 0.5_c * x * (1_c + erf(0.7071067811865476_c * x));
  }
};
struct silu {  // x sigmoid(x), also called swish
  static constexpr std::string_view name = "silu";
  auto operator()(const auto& x) const {
    using tinygrad::sigmoid;
    return x * sigmoid(x);
  }
};
}  // namespace fn

template <class T, class P>
[[nodiscard]] Tensor<T, P> tanh(const Tensor<T, P>& x) {
  return map(fn::tanh{}, x);
}
template <class T, class P>
[[nodiscard]] Tensor<T, P> sigmoid(const Tensor<T, P>& x) {
  return map(fn::sigmoid{}, x);
}
/// max(x, 0); derivative 0 at 0.
template <class T, class P>
[[nodiscard]] Tensor<T, P> relu(const Tensor<T, P>& x) {
  return map(fn::relu{}, x);
}
/// x for positive x, slope * x otherwise.
template <class T, class P>
[[nodiscard]] Tensor<T, P> leaky_relu(const Tensor<T, P>& x, std::type_identity_t<T> slope = T(0.01)) {
  return map(fn::leaky_relu{{static_cast<double>(slope)}}, x);
}
/// The tanh form of GELU that GPT-2 uses. Differs from gelu_erf by at most 4.73e-4.
template <class T, class P>
[[nodiscard]] Tensor<T, P> gelu(const Tensor<T, P>& x) {
  return map(fn::gelu{}, x);
}
/// The exact form of GELU, with the error function.
template <class T, class P>
[[nodiscard]] Tensor<T, P> gelu_erf(const Tensor<T, P>& x) {
  return map(fn::gelu_erf{}, x);
}
/// x sigmoid(x).
template <class T, class P>
[[nodiscard]] Tensor<T, P> silu(const Tensor<T, P>& x) {
  return map(fn::silu{}, x);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
