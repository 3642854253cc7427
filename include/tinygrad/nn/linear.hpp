// Linear: y = x W + b, with W stored [in, out] as GPT-2's Conv1D does, so that its checkpoints load as they are.
#pragma once

#include <cmath>
#include <cstddef>
#include <tinygrad/nn/init.hpp>
#include <tinygrad/nn/module.hpp>
#include <tinygrad/nn/stored.hpp>
#include <tinygrad/ops/matmul.hpp>
#include <tinygrad/ops/operators.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

template <class T, class P = default_policy>
struct Linear {
  using tensor = Tensor<T, P>;

  tensor weight;       // [in, out]
  tensor bias;         // [out], or undefined for none
  QuantMatrix stored;  // [out, in] in a file's format, in place of weight

  Linear() = default;
  /// Weights drawn from the normal distribution with the given deviation; a bias of zeros.
  template <class Generator>
  Linear(std::size_t in, std::size_t out, Generator& random, double stddev, bool with_bias = true)
      : weight(normal_parameter<T, P>({in, out}, random, stddev)) {
    if (with_bias) bias = tensor::zeros({out}).requires_grad();
  }
  /// The same with deviation 1 / sqrt(in), which keeps the variance of the activations.
  template <class Generator>
  Linear(std::size_t in, std::size_t out, Generator& random)
      : Linear(in, out, random, 1 / std::sqrt(static_cast<double>(in == 0 ? 1 : in))) {}

  template <class Visit>
  void visit(Visit&& visit) {
    visit("weight", weight);
    visit("bias", bias);
  }

  /// x W without the bias: x [..., in] -> [..., out].
  [[nodiscard]] tensor product(const tensor& x) const {
    return stored.defined() ? multiply_stored(x, stored) : matmul(x, weight);
  }
  /// x [..., in] -> [..., out].
  [[nodiscard]] tensor operator()(const tensor& x) const {
    const tensor y = product(x);
    return bias.defined() ? y + bias : y;
  }
};

}  // namespace tinygrad::inline TINYGRAD_ABI
