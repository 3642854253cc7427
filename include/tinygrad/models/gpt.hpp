// GPT-2: token and position embeddings, pre-norm transformer blocks, a head tied to the token table.
//
//   x = wte[ids] + wpe[0..T)
//   for each block: x += attn(ln_1(x)); x += mlp(ln_2(x))          mlp = c_proj(gelu(c_fc(.))), four times as wide
//   logits = ln_f(x) wte^T
//
// Members carry the names of the published checkpoint ("h.0.attn.c_attn.weight", matrices stored [in, out]), so that
// OpenAI's weights load into this very class. Source: Radford et al. 2019, "Language Models are Unsupervised Multitask
// Learners".
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <tinygrad/nn/embedding.hpp>
#include <tinygrad/nn/linear.hpp>
#include <tinygrad/nn/module.hpp>
#include <tinygrad/nn/norm.hpp>
#include <tinygrad/ops/activation.hpp>
#include <tinygrad/ops/attention.hpp>
#include <tinygrad/ops/matmul.hpp>
#include <tinygrad/ops/operators.hpp>
#include <tinygrad/ops/shape_ops.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

struct gpt_config {
  std::size_t vocabulary = 50257;
  std::size_t positions = 1024;  // longest sequence
  std::size_t channels = 768;
  std::size_t layers = 12;
  std::size_t heads = 12;
  double norm_epsilon = 1e-5;

  friend bool operator==(const gpt_config&, const gpt_config&) = default;

  /// Throws value_error for sizes of zero and for heads that do not divide the channels.
  void validate() const {
    if (vocabulary == 0 || positions == 0 || channels == 0 || layers == 0)
      throw value_error("[gpt] vocabulary, positions, channels and layers must all be at least 1");
    detail::require_heads("gpt", heads, channels);
  }
};

/// Causal self-attention with its projections.
template <class T, class P = default_policy>
struct GptAttention {
  using tensor = Tensor<T, P>;

  Linear<T, P> c_attn;  // [C, 3C]: queries, keys, values
  Linear<T, P> c_proj;  // [C, C]
  std::size_t heads = 1;

  template <class Visit>
  void visit(Visit&& visit) {
    visit("c_attn", c_attn);
    visit("c_proj", c_proj);
  }
  /// x [B, T, C] -> [B, T, C].
  [[nodiscard]] tensor operator()(const tensor& x) const { return c_proj(causal_attention(c_attn(x), heads)); }
};

/// Two linear layers with GELU between, four times as wide inside.
template <class T, class P = default_policy>
struct GptMlp {
  using tensor = Tensor<T, P>;

  Linear<T, P> c_fc;    // [C, 4C]
  Linear<T, P> c_proj;  // [4C, C]

  template <class Visit>
  void visit(Visit&& visit) {
    visit("c_fc", c_fc);
    visit("c_proj", c_proj);
  }
  /// x [..., C] -> [..., C]. Bias and GELU run as one fused pass.
  [[nodiscard]] tensor operator()(const tensor& x) const {
    const auto bias_gelu = [](const auto& u, const auto& b) { return fn::gelu{}(u + b); };
    return c_proj(map(bias_gelu, matmul(x, c_fc.weight), c_fc.bias));
  }
};

template <class T, class P = default_policy>
struct GptBlock {
  using tensor = Tensor<T, P>;

  LayerNorm<T, P> ln_1;
  GptAttention<T, P> attn;
  LayerNorm<T, P> ln_2;
  GptMlp<T, P> mlp;

  template <class Visit>
  void visit(Visit&& visit) {
    visit("ln_1", ln_1);
    visit("attn", attn);
    visit("ln_2", ln_2);
    visit("mlp", mlp);
  }
  /// x [B, T, C] -> [B, T, C].
  [[nodiscard]] tensor operator()(const tensor& x) const {
    const tensor h = x + attn(ln_1(x));
    return h + mlp(ln_2(h));
  }
};

template <class T, class P = default_policy>
struct Gpt {
  using tensor = Tensor<T, P>;

  gpt_config config;
  Embedding<T, P> wte;  // [V, C]; also the head
  Embedding<T, P> wpe;  // [positions, C]
  std::vector<GptBlock<T, P>> h;
  LayerNorm<T, P> ln_f;

  Gpt() = default;
  /// A model with GPT-2's initialisation: normal with deviation 0.02, projections into the residual stream scaled down
  /// by sqrt(2 layers), biases zero, gains one. Throws value_error for a config that makes no sense.
  template <class Generator>
  Gpt(const gpt_config& wanted, Generator& random) : config(wanted) {
    config.validate();
    const std::size_t c = config.channels;
    const double narrow = 0.02 / std::sqrt(2.0 * static_cast<double>(config.layers));
    wte = Embedding<T, P>(config.vocabulary, c, random);
    wpe = Embedding<T, P>(config.positions, c, random);
    for (std::size_t layer = 0; layer < config.layers; ++layer)
      h.push_back({LayerNorm<T, P>(c, config.norm_epsilon),
                   {Linear<T, P>(c, 3 * c, random, 0.02), Linear<T, P>(c, c, random, narrow), config.heads},
                   LayerNorm<T, P>(c, config.norm_epsilon),
                   {Linear<T, P>(c, 4 * c, random, 0.02), Linear<T, P>(4 * c, c, random, narrow)}});
    ln_f = LayerNorm<T, P>(c, config.norm_epsilon);
    name_parameters(*this);
  }

  template <class Visit>
  void visit(Visit&& visit) {
    visit("wte", wte);
    visit("wpe", wpe);
    visit("h", h);
    visit("ln_f", ln_f);
  }

  /// The residual stream after the final norm: ids [batch, length] row-major -> [batch, length, C].
  /// Throws shape_error when the ids do not fill the shape or exceed the positions, index_error for an unknown id.
  [[nodiscard]] tensor features(std::span<const int> ids, std::size_t batch, std::size_t length) const {
    if (length > config.positions)
      throw shape_error("[gpt] sequence of " + std::to_string(length) + " tokens; the model has " +
                        std::to_string(config.positions) + " positions");
    tensor x = wte(ids, Shape{batch, length}) + narrow(wpe.weight, 0, 0, length);
    for (const GptBlock<T, P>& block : h) x = block(x);
    return ln_f(x);
  }
  /// Logits [batch, length, V] of the token that follows each position.
  [[nodiscard]] tensor operator()(std::span<const int> ids, std::size_t batch, std::size_t length) const {
    return matmul_t(features(ids, batch, length), wte.weight);
  }
};

}  // namespace tinygrad::inline TINYGRAD_ABI
