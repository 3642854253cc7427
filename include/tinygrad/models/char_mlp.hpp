// A language model that looks at the last `context` tokens (eight in the series): embeddings side by side, one hidden
// layer with tanh, logits. Source: Bengio et al. 2003, "A Neural Probabilistic Language Model".
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <tinygrad/nn/embedding.hpp>
#include <tinygrad/nn/linear.hpp>
#include <tinygrad/nn/module.hpp>
#include <tinygrad/ops/activation.hpp>
#include <tinygrad/ops/matmul.hpp>
#include <tinygrad/ops/shape_ops.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

struct char_mlp_config {
  std::size_t vocabulary = 0;
  std::size_t context = 8;
  std::size_t channels = 24;  // of one embedding
  std::size_t hidden = 192;

  friend bool operator==(const char_mlp_config&, const char_mlp_config&) = default;

  /// Throws value_error.
  void validate() const {
    if (vocabulary == 0 || context == 0 || channels == 0 || hidden == 0)
      throw value_error("[char_mlp] vocabulary, context, channels and hidden must all be at least 1");
  }
};

template <class T, class P = default_policy>
struct CharMlp {
  using tensor = Tensor<T, P>;

  char_mlp_config config;
  Embedding<T, P> embed;  // [V + 1, channels]; the last row stands for "before the start"
  Linear<T, P> fc;        // [context * channels, hidden]
  Linear<T, P> head;      // [hidden, V]

  CharMlp() = default;
  /// Throws value_error for a config that makes no sense.
  template <class Generator>
  CharMlp(const char_mlp_config& wanted, Generator& random) : config(wanted) {
    config.validate();
    embed = Embedding<T, P>(config.vocabulary + 1, config.channels, random, 1.0);
    fc = Linear<T, P>(config.context * config.channels, config.hidden, random);
    head = Linear<T, P>(config.hidden, config.vocabulary, random);
    name_parameters(*this);
  }
  template <class Visit>
  void visit(Visit&& visit) {
    visit("embed", embed);
    visit("fc", fc);
    visit("head", head);
  }

  /// ids [batch, length] -> logits [batch, length, V] of the token that follows each position. A position sees the
  /// last `context` tokens of its own sequence, itself included.
  [[nodiscard]] tensor operator()(std::span<const int> ids, std::size_t batch, std::size_t length) const {
    if (ids.size() != batch * length)
      throw shape_error("[char_mlp] " + std::to_string(ids.size()) + " ids for a batch of " + std::to_string(batch) +
                        " sequences of " + std::to_string(length));
    const std::size_t rows = batch * length;
    const tensor x = embed(windows(ids, length), Shape{rows, config.context});
    const tensor joined = reshape(x, Shape{rows, config.context * config.channels});
    const auto bias_tanh = [](const auto& u, const auto& b) { return fn::tanh{}(u + b); };
    const tensor hidden = map(bias_tanh, matmul(joined, fc.weight), fc.bias);
    return reshape(head(hidden), Shape{batch, length, config.vocabulary});
  }

 private:
  /// For every position the ids of its last `context` tokens, oldest first.
  [[nodiscard]] std::vector<int, pool_allocator<int>> windows(std::span<const int> ids, std::size_t length) const {
    std::vector<int, pool_allocator<int>> result;
    result.reserve(ids.size() * config.context);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::size_t seen = i % length + 1;  // tokens of this sequence up to here
      for (std::size_t back = config.context; back > 0; --back)
        result.push_back(back > seen ? static_cast<int>(config.vocabulary) : ids[i + 1 - back]);
    }
    return result;
  }
};

}  // namespace tinygrad::inline TINYGRAD_ABI
