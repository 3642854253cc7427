// llama2.c checkpoints written out in tests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tinygrad/models/llama.hpp>

#include "support/file_bytes.hpp"

namespace tinygrad_test {

/// dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size (negative: a head of its own), seq_len.
inline std::string llama2c_head(const std::array<std::int32_t, 7>& sizes) {
  std::string bytes;
  for (const std::int32_t size : sizes) bytes += le(size);
  return bytes;
}

/// The checkpoint of a model whose rotary pairs are interleaved.
template <class P>
std::string llama2c_bytes(const tinygrad::Llama<float, P>& model) {
  const auto number = [](std::size_t value) { return static_cast<std::int32_t>(value); };
  const tinygrad::llama_config& c = model.config;
  std::string bytes = llama2c_head({number(c.channels), number(c.hidden), number(c.layers), number(c.heads),
                                    number(c.groups), number(c.vocabulary) * (c.tied ? 1 : -1), number(c.positions)});
  const auto add = [&](const tinygrad::Tensor<float, P>& tensor) {
    for (const float value : tensor.data()) bytes += le(value);
  };
  const auto each_block = [&](auto part) {
    for (const auto& block : model.model.layers) add(part(block));
  };
  add(model.model.embed_tokens.weight);
  each_block([](const auto& b) { return b.input_layernorm.weight; });
  each_block([](const auto& b) { return b.self_attn.q_proj.weight; });
  each_block([](const auto& b) { return b.self_attn.k_proj.weight; });
  each_block([](const auto& b) { return b.self_attn.v_proj.weight; });
  each_block([](const auto& b) { return b.self_attn.o_proj.weight; });
  each_block([](const auto& b) { return b.post_attention_layernorm.weight; });
  each_block([](const auto& b) { return b.mlp.gate_proj.weight; });
  each_block([](const auto& b) { return b.mlp.down_proj.weight; });
  each_block([](const auto& b) { return b.mlp.up_proj.weight; });
  add(model.model.norm.weight);
  bytes += zeros(c.positions * c.head_depth() * sizeof(float));
  if (!c.tied) add(model.lm_head.weight);
  return bytes;
}

/// A small model, its gains as random as its matrices.
template <class P>
tinygrad::Llama<float, P> small_llama2c(bool tied) {
  tinygrad::llama_config config;
  config.vocabulary = 11;
  config.positions = 9;
  config.channels = 8;
  config.layers = 2;
  config.heads = 4;
  config.groups = 2;
  config.hidden = 6;
  config.pairs = tinygrad::rope_pairs::interleaved;
  config.tied = tied;
  tinygrad::Random random(3);
  tinygrad::Llama<float, P> model(config, random);
  tinygrad::for_each_parameter(model, [&](const std::string&, const auto& p) {
    for (float& value : p.mutable_data()) value += 0.3F * static_cast<float>(random.normal());
  });
  return model;
}

}  // namespace tinygrad_test
