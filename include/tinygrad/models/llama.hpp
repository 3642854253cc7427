// Llama and its relatives (Mistral, Qwen2, Qwen3, SmolLM): pre-norm blocks with RMSNorm, rotary positions,
// grouped-query attention and SwiGLU.
//
//   x = embed_tokens[ids]
//   for each block: x += o_proj(attention(q_proj(n), k_proj(n), v_proj(n))),  n = input_layernorm(x)
//                   x += down_proj(silu(gate_proj(m)) * up_proj(m)),          m = post_attention_layernorm(x)
//   logits = norm(x) lm_head^T                                                 (or embed_tokens^T when tied)
// Queries and keys are turned by their positions (see ops/rope.hpp) before they meet, and keys go into the cache
// turned. Members carry the names of Hugging Face checkpoints ("model.layers.0.self_attn.q_proj.weight", matrices [out,
// in]). Source: Touvron et al. 2023, arXiv:2302.13971; Jiang et al. 2023, arXiv:2310.06825 (window); Yang et al. 2025,
// arXiv:2505.09388 (query and key norms).
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <tinygrad/autograd/no_grad.hpp>
#include <tinygrad/kernel/attention.hpp>
#include <tinygrad/models/kv_cache.hpp>
#include <tinygrad/models/language_model.hpp>
#include <tinygrad/nn/embedding.hpp>
#include <tinygrad/nn/init.hpp>
#include <tinygrad/nn/module.hpp>
#include <tinygrad/nn/norm.hpp>
#include <tinygrad/nn/stored.hpp>
#include <tinygrad/ops/activation.hpp>
#include <tinygrad/ops/attention.hpp>
#include <tinygrad/ops/matmul.hpp>
#include <tinygrad/ops/operators.hpp>
#include <tinygrad/ops/rope.hpp>
#include <tinygrad/ops/shape_ops.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

struct llama_config {
  std::size_t vocabulary = 32000;
  std::size_t positions = 2048;
  std::size_t channels = 4096;
  std::size_t layers = 32;
  std::size_t heads = 32;
  std::size_t groups = 32;     // key/value heads
  std::size_t depth = 0;       // channels of a head; 0: channels / heads
  std::size_t hidden = 11008;  // of the feed-forward layers
  double norm_epsilon = 1e-5;
  double theta = 10000;
  rope_pairs pairs = rope_pairs::halves;
  std::optional<rope_scaling> scaling{};
  std::vector<double> frequency_divisors{};  // one per pair, as GGUF's rope_freqs.weight gives them; empty: none
  std::size_t window = 0;                    // sliding attention window; 0: none
  bool tied = false;                         // the head is the embedding table
  bool attention_bias = false;               // Qwen2: biases of q, k and v
  bool head_norms = false;                   // Qwen3: RMSNorm of every query and key head

  [[nodiscard]] std::size_t head_depth() const noexcept { return depth != 0 ? depth : channels / heads; }
  /// Throws value_error for sizes of zero, heads that groups do not divide, and heads that cannot be paired.
  void validate() const {
    if (vocabulary == 0 || positions == 0 || channels == 0 || layers == 0 || hidden == 0)
      throw value_error("[llama] vocabulary, positions, channels, layers and hidden must all be at least 1");
    if (depth == 0) detail::require_heads("llama", heads, channels);
    detail::require_heads("llama", groups, heads);
    if (!frequency_divisors.empty() && frequency_divisors.size() != head_depth() / 2)
      throw value_error("[llama] " + std::to_string(frequency_divisors.size()) + " frequency divisors for " +
                        std::to_string(head_depth() / 2) + " pairs");
  }
  /// Angular frequencies of the pairs, scaled as the configuration says. Throws value_error for an odd depth.
  [[nodiscard]] std::vector<double> frequencies() const {
    std::vector<double> result = rope_frequencies(head_depth(), theta);
    if (scaling) scale_frequencies(result, *scaling);
    for (std::size_t i = 0; i < frequency_divisors.size(); ++i) result[i] /= frequency_divisors[i];
    return result;
  }
};

/// y = x W^T + b with W stored [out, in], as Hugging Face stores all but GPT-2.
template <class T, class P = default_policy>
struct Projection {
  using tensor = Tensor<T, P>;

  tensor weight;       // [out, in]
  tensor bias;         // [out], or undefined
  QuantMatrix stored;  // [out, in] in a file's format, in place of weight

  Projection() = default;
  template <class Generator>
  Projection(std::size_t in, std::size_t out, Generator& random, double stddev, bool with_bias = false)
      : weight(normal_parameter<T, P>({out, in}, random, stddev)) {
    if (with_bias) bias = tensor::zeros({out}).requires_grad();
  }
  template <class Visit>
  void visit(Visit&& visit) {
    visit("weight", weight);
    visit("bias", bias);
  }
  /// x [..., in] -> [..., out].
  [[nodiscard]] tensor operator()(const tensor& x) const {
    const tensor y = stored.defined() ? multiply_stored(x, stored) : matmul_t(x, weight);
    return bias.defined() ? y + bias : y;
  }
};

template <class T, class P = default_policy>
struct LlamaAttention {
  using tensor = Tensor<T, P>;

  Projection<T, P> q_proj, k_proj, v_proj, o_proj;
  RmsNorm<T, P> q_norm, k_norm;  // over the channels of a head; undefined weights: none
  std::size_t heads = 1, groups = 1, window = 0;
  rope_pairs pairs = rope_pairs::halves;

  template <class Visit>
  void visit(Visit&& visit) {
    visit("q_proj", q_proj);
    visit("k_proj", k_proj);
    visit("v_proj", v_proj);
    visit("o_proj", o_proj);
    visit("q_norm", q_norm);
    visit("k_norm", k_norm);
  }

  /// x [B, T, C] at the positions of `angles` -> [B, T, C].
  [[nodiscard]] tensor operator()(const tensor& x, const rope_angles<T, P>& angles) const {
    return o_proj(causal_attention(turned(q_proj(x), q_norm, angles, heads), turned(k_proj(x), k_norm, angles, groups),
                                   v_proj(x), heads, groups, window));
  }
  /// The same for new positions after those in the cache, which gets their keys and values. Records no graph.
  [[nodiscard]] tensor operator()(const tensor& x, const rope_angles<T, P>& angles, KvCache<T>& cache,
                                  std::size_t layer) const {
    const tensor q = turned(q_proj(x), q_norm, angles, heads), k = turned(k_proj(x), k_norm, angles, groups);
    const tensor v = v_proj(x);
    const std::size_t batch = x.shape()[0], fresh = x.shape()[1], before = cache.length();
    const std::size_t wide = q.shape()[2], narrow = k.shape()[2];
    cache.write_keys(layer, before, fresh, k.data().data(), fresh * narrow, narrow);
    cache.write_values(layer, before, fresh, v.data().data(), fresh * narrow, narrow);
    const tensor y = tensor::empty(q.shape());
    attention_forward<P, T>({batch, fresh, before + fresh, heads, groups, wide / heads, window},
                            detail::attention_scale<T>(wide / heads), {q.data().data(), fresh * wide, wide},
                            cache.keys(layer), cache.values(layer), {y.mutable_data().data(), fresh * wide, wide},
                            nullptr);
    return o_proj(y);
  }

 private:
  [[nodiscard]] tensor turned(const tensor& x, const RmsNorm<T, P>& norm, const rope_angles<T, P>& angles,
                              std::size_t count) const {
    if (!norm.weight.defined()) return rope(x, angles, count, pairs);
    const Shape& s = x.shape();
    return rope(reshape(norm(reshape(x, Shape{s[0], s[1], count, s[2] / count})), s), angles, count, pairs);
  }
};

/// SwiGLU. Source: Shazeer 2020, arXiv:2002.05202.
template <class T, class P = default_policy>
struct LlamaMlp {
  using tensor = Tensor<T, P>;

  Projection<T, P> gate_proj, up_proj, down_proj;

  template <class Visit>
  void visit(Visit&& visit) {
    visit("gate_proj", gate_proj);
    visit("up_proj", up_proj);
    visit("down_proj", down_proj);
  }
  /// x [..., C] -> [..., C].
  [[nodiscard]] tensor operator()(const tensor& x) const {
    const auto gated = [](const auto& gate, const auto& up) { return fn::silu{}(gate)*up; };
    return down_proj(map(gated, gate_proj(x), up_proj(x)));
  }
};

template <class T, class P = default_policy>
struct LlamaBlock {
  using tensor = Tensor<T, P>;

  RmsNorm<T, P> input_layernorm;
  LlamaAttention<T, P> self_attn;
  RmsNorm<T, P> post_attention_layernorm;
  LlamaMlp<T, P> mlp;

  template <class Visit>
  void visit(Visit&& visit) {
    visit("input_layernorm", input_layernorm);
    visit("self_attn", self_attn);
    visit("post_attention_layernorm", post_attention_layernorm);
    visit("mlp", mlp);
  }
  /// x [B, T, C] -> [B, T, C]; `where` is what attention needs beside x: angles, and for generation cache and layer.
  template <class... Where>
  [[nodiscard]] tensor operator()(const tensor& x, Where&&... where) const {
    const tensor h = x + self_attn(input_layernorm(x), where...);
    return h + mlp(post_attention_layernorm(h));
  }
};

/// The part of the model below the head; Hugging Face calls it "model".
template <class T, class P = default_policy>
struct LlamaTrunk {
  using tensor = Tensor<T, P>;

  Embedding<T, P> embed_tokens;
  std::vector<LlamaBlock<T, P>> layers;
  RmsNorm<T, P> norm;

  template <class Visit>
  void visit(Visit&& visit) {
    visit("embed_tokens", embed_tokens);
    visit("layers", layers);
    visit("norm", norm);
  }
};

template <class T, class P = default_policy>
struct Llama {
  using tensor = Tensor<T, P>;
  using cache_type = KvCache<T>;

  llama_config config;
  LlamaTrunk<T, P> model;
  Projection<T, P> lm_head;  // undefined when the head is tied
  std::vector<double> frequencies;

  Llama() = default;
  /// A model with normal weights of deviation 0.02 and gains of one. Throws value_error for a config that makes no
  /// sense.
  template <class Generator>
  Llama(const llama_config& wanted, Generator& random) : config(wanted) {
    config.validate();
    frequencies = config.frequencies();
    const std::size_t c = config.channels, depth = config.head_depth();
    const std::size_t wide = config.heads * depth, narrow = config.groups * depth;
    model.embed_tokens = Embedding<T, P>(config.vocabulary, c, random);
    for (std::size_t i = 0; i < config.layers; ++i) {
      LlamaBlock<T, P> block;
      block.input_layernorm = RmsNorm<T, P>(c, config.norm_epsilon);
      block.post_attention_layernorm = RmsNorm<T, P>(c, config.norm_epsilon);
      LlamaAttention<T, P>& attention = block.self_attn;
      attention.q_proj = Projection<T, P>(c, wide, random, 0.02, config.attention_bias);
      attention.k_proj = Projection<T, P>(c, narrow, random, 0.02, config.attention_bias);
      attention.v_proj = Projection<T, P>(c, narrow, random, 0.02, config.attention_bias);
      attention.o_proj = Projection<T, P>(wide, c, random, 0.02);
      if (config.head_norms) {
        attention.q_norm = RmsNorm<T, P>(depth, config.norm_epsilon);
        attention.k_norm = RmsNorm<T, P>(depth, config.norm_epsilon);
      }
      attention.heads = config.heads;
      attention.groups = config.groups;
      attention.window = config.window;
      attention.pairs = config.pairs;
      block.mlp.gate_proj = Projection<T, P>(c, config.hidden, random, 0.02);
      block.mlp.up_proj = Projection<T, P>(c, config.hidden, random, 0.02);
      block.mlp.down_proj = Projection<T, P>(config.hidden, c, random, 0.02);
      model.layers.push_back(std::move(block));
    }
    model.norm = RmsNorm<T, P>(c, config.norm_epsilon);
    if (!config.tied) lm_head = Projection<T, P>(c, config.vocabulary, random, 0.02);
    name_parameters(*this);
  }

  template <class Visit>
  void visit(Visit&& visit) {
    visit("model", model);
    visit("lm_head", lm_head);
  }

  /// Logits [batch, length, V] of the token that follows each position; records the graph.
  /// Throws shape_error for a sequence longer than the positions, index_error for an unknown id.
  [[nodiscard]] tensor operator()(std::span<const int> ids, std::size_t batch, std::size_t length) const {
    if (length > config.positions)
      throw shape_error("[llama] sequence of " + std::to_string(length) + " tokens; the model has " +
                        std::to_string(config.positions) + " positions");
    const rope_angles<T, P> angles(frequencies, 0, length);
    tensor x = model.embed_tokens(ids, Shape{batch, length});
    for (const LlamaBlock<T, P>& block : model.layers) x = block(x, angles);
    return head(x);
  }

  // --- generation: the concept language_model ----------------------------------------------------------------------

  [[nodiscard]] std::size_t vocabulary() const noexcept { return config.vocabulary; }
  [[nodiscard]] std::size_t positions() const noexcept { return config.positions; }
  /// An empty cache for `batch` sequences of up to `capacity` tokens. Throws index_error beyond the model's positions.
  [[nodiscard]] cache_type make_cache(std::size_t batch, std::size_t capacity) const {
    if (capacity > config.positions)
      throw index_error("[llama] a cache of " + std::to_string(capacity) + " positions; the model has " +
                        std::to_string(config.positions));
    return cache_type(config.layers, batch, capacity, config.groups * config.head_depth());
  }
  /// Appends ids [batch, length] to the cache and returns the logits, [batch, length, V] or of the last position
  /// [batch, 1, V]. `visit_hidden(layer, x)` sees the residual stream after the embedding (layer 0) and every block.
  /// Records no graph. Throws index_error when the cache is full or an id is unknown.
  template <class Visit = no_visit>
  [[nodiscard]] tensor forward(std::span<const int> ids, std::size_t batch, std::size_t length, cache_type& cache,
                               logits_of which = logits_of::all, Visit&& visit_hidden = {}) const {
    const no_grad guard;
    cache.require_room(batch, length);
    const rope_angles<T, P> angles(frequencies, cache.length(), length);
    tensor x = model.embed_tokens(ids, Shape{batch, length});
    visit_hidden(std::size_t{0}, x);
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
      x = model.layers[layer](x, angles, cache, layer);
      visit_hidden(layer + 1, x);
    }
    cache.advance(length);
    if (which == logits_of::last && length > 1) x = narrow(x, 1, length - 1, 1);
    return head(x);
  }

 private:
  [[nodiscard]] tensor head(const tensor& x) const {
    const tensor normed = model.norm(x);
    return config.tied ? model.embed_tokens.head(normed) : lm_head(normed);
  }
};

}  // namespace tinygrad::inline TINYGRAD_ABI
