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
#include <tinygrad/autograd/no_grad.hpp>
#include <tinygrad/kernel/attention.hpp>
#include <tinygrad/models/kv_cache.hpp>
#include <tinygrad/models/language_model.hpp>
#include <tinygrad/nn/embedding.hpp>
#include <tinygrad/nn/linear.hpp>
#include <tinygrad/nn/module.hpp>
#include <tinygrad/nn/norm.hpp>
#include <tinygrad/ops/activation.hpp>
#include <tinygrad/ops/attention.hpp>
#include <tinygrad/ops/heads.hpp>
#include <tinygrad/ops/matmul.hpp>
#include <tinygrad/ops/operators.hpp>
#include <tinygrad/ops/shape_ops.hpp>
#include <tinygrad/ops/softmax.hpp>
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

  /// The same for new positions after those in the cache, which gets their keys and values. Records no graph.
  [[nodiscard]] tensor operator()(const tensor& x, KvCache<T>& cache, std::size_t layer) const {
    const std::size_t batch = x.shape()[0], fresh = x.shape()[1], width = x.shape()[2];
    const std::size_t before = cache.length();
    const tensor qkv = c_attn(x);
    const T* q = qkv.data().data();
    cache.write_keys(layer, before, fresh, q + width, fresh * 3 * width, 3 * width);
    cache.write_values(layer, before, fresh, q + 2 * width, fresh * 3 * width, 3 * width);
    const tensor y = tensor::empty(x.shape());
    attention_forward<P, T>({batch, fresh, before + fresh, heads, heads, width / heads},
                            detail::attention_scale<T>(width / heads), {q, fresh * 3 * width, 3 * width},
                            cache.keys(layer), cache.values(layer), {y.mutable_data().data(), fresh * width, width},
                            nullptr);
    return c_proj(y);
  }
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
    return c_proj(map(bias_gelu, c_fc.product(x), c_fc.bias));
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
  [[nodiscard]] tensor operator()(const tensor& x, KvCache<T>& cache, std::size_t layer) const {
    const tensor h = x + attn(ln_1(x), cache, layer);
    return h + mlp(ln_2(h));
  }
};

template <class T, class P = default_policy>
struct Gpt {
  using tensor = Tensor<T, P>;

  gpt_config config;
  Embedding<T, P> wte;  // [V, C]; also the head, unless the file has one of its own
  Embedding<T, P> wpe;  // [positions, C]
  std::vector<GptBlock<T, P>> h;
  LayerNorm<T, P> ln_f;
  QuantMatrix own_head;  // [V, C]: GGUF files may keep the head apart, in another format than the table

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
  /// The attention weights of one layer, [batch, heads, length, length]: how much each position looks at each earlier
  /// one. Composed from separate operations, since the fused one never has them in memory. Throws index_error.
  [[nodiscard]] tensor attention_weights(std::span<const int> ids, std::size_t batch, std::size_t length,
                                         std::size_t layer) const {
    if (layer >= h.size())
      throw index_error("[gpt] layer " + std::to_string(layer) + " of " + std::to_string(h.size()));
    const no_grad guard;
    const std::size_t c = config.channels;
    tensor x = wte(ids, Shape{batch, length}) + narrow(wpe.weight, 0, 0, length);
    for (std::size_t before = 0; before < layer; ++before) x = h[before](x);
    const tensor qkv = h[layer].attn.c_attn(h[layer].ln_1(x));
    const tensor q = split_heads(narrow(qkv, 2, 0, c), config.heads),
                 k = split_heads(narrow(qkv, 2, c, c), config.heads);
    return causal_softmax(scale(matmul_t(q, k), detail::attention_scale<T>(c / config.heads)));
  }
  /// Logits [batch, length, V] of the token that follows each position.
  [[nodiscard]] tensor operator()(std::span<const int> ids, std::size_t batch, std::size_t length) const {
    return head(features(ids, batch, length));
  }

  // --- generation: the concept language_model ----------------------------------------------------------------------

  using cache_type = KvCache<T>;
  [[nodiscard]] std::size_t vocabulary() const noexcept { return config.vocabulary; }
  [[nodiscard]] std::size_t positions() const noexcept { return config.positions; }
  /// An empty cache for `batch` sequences of up to `capacity` tokens. Throws index_error beyond the model's positions.
  [[nodiscard]] cache_type make_cache(std::size_t batch, std::size_t capacity) const {
    if (capacity > config.positions)
      throw index_error("[gpt] a cache of " + std::to_string(capacity) + " positions; the model has " +
                        std::to_string(config.positions));
    return cache_type(config.layers, batch, capacity, config.channels);
  }
  /// Appends ids [batch, length] to the cache and returns the logits, [batch, length, V] or of the last position
  /// [batch, 1, V]. `visit_hidden(layer, x)` sees the residual stream [batch, length, C] after the embedding (layer 0)
  /// and after every block. Records no graph. Throws index_error when the cache is full or an id is unknown.
  template <class Visit = no_visit>
  [[nodiscard]] tensor forward(std::span<const int> ids, std::size_t batch, std::size_t length, cache_type& cache,
                               logits_of which = logits_of::all, Visit&& visit_hidden = {}) const {
    const no_grad guard;
    cache.require_room(batch, length);
    tensor x = wte(ids, Shape{batch, length}) + narrow(wpe.weight, 0, cache.length(), length);
    visit_hidden(std::size_t{0}, x);
    for (std::size_t layer = 0; layer < h.size(); ++layer) {
      x = h[layer](x, cache, layer);
      visit_hidden(layer + 1, x);
    }
    cache.advance(length);
    if (which == logits_of::last && length > 1) x = narrow(x, 1, length - 1, 1);
    return head(ln_f(x));
  }

 private:
  [[nodiscard]] tensor head(const tensor& x) const {
    return own_head.defined() ? multiply_stored(x, own_head) : wte.head(x);
  }
};

}  // namespace tinygrad::inline TINYGRAD_ABI
