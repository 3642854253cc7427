// LayerNorm and RmsNorm over the innermost axis, with learned gain (and offset).
#pragma once

#include <cstddef>
#include <tinygrad/nn/module.hpp>
#include <tinygrad/ops/norm.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

template <class T, class P = default_policy>
struct LayerNorm {
  using tensor = Tensor<T, P>;

  tensor weight;  // [channels]
  tensor bias;    // [channels]
  T epsilon = T(1e-5);

  LayerNorm() = default;
  explicit LayerNorm(std::size_t channels, double eps = 1e-5)
      : weight(tensor::ones({channels}).requires_grad()),
        bias(tensor::zeros({channels}).requires_grad()),
        epsilon(static_cast<T>(eps)) {}

  template <class Visit>
  void visit(Visit&& visit) {
    visit("weight", weight);
    visit("bias", bias);
  }

  /// x [..., channels] -> the same shape.
  [[nodiscard]] tensor operator()(const tensor& x) const { return layer_norm(x, weight, bias, epsilon); }
};

template <class T, class P = default_policy>
struct RmsNorm {
  using tensor = Tensor<T, P>;

  tensor weight;  // [channels]
  T epsilon = T(1e-5);

  RmsNorm() = default;
  explicit RmsNorm(std::size_t channels, double eps = 1e-5)
      : weight(tensor::ones({channels}).requires_grad()), epsilon(static_cast<T>(eps)) {}

  template <class Visit>
  void visit(Visit&& visit) {
    visit("weight", weight);
  }

  /// x [..., channels] -> the same shape.
  [[nodiscard]] tensor operator()(const tensor& x) const { return rms_norm(x, weight, epsilon); }
};

}  // namespace tinygrad::inline TINYGRAD_ABI
