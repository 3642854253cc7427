// Configurations of Llama and its relatives from Hugging Face's config.json.
//
// The weights are loaded by load_weights (models/load.hpp): the members of Llama carry the checkpoint's names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tinygrad/io/json.hpp>
#include <tinygrad/models/llama.hpp>
#include <tinygrad/models/load.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {

[[nodiscard]] inline std::size_t size_in(const json_ref& root, const char* key) {
  return static_cast<std::size_t>(root[key].uint64());
}
/// The member when it is there and not null.
[[nodiscard]] inline std::optional<json_ref> present(const json_ref& object, const char* key) {
  auto found = object.find(key);
  if (found && found->value().is_null()) found.reset();
  return found;
}

/// rope_scaling of older files, rope_parameters of newer ones (which also hold theta). Kinds other than llama3 are
/// refused: to ignore them gives a model that is wrong at long distances only.
inline void read_rope(const json_ref& root, llama_config& config) {
  if (const auto theta = present(root, "rope_theta")) config.theta = theta->number();
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const auto rope = present(root, key);
    if (!rope) continue;
    if (const auto theta = present(*rope, "rope_theta")) config.theta = theta->number();
    auto kind = present(*rope, "rope_type");
    if (!kind) kind = present(*rope, "type");
    if (!kind || kind->string() == "default") continue;
    if (kind->string() != "llama3") kind->fail("rope scaling \"" + kind->string() + "\" is not supported");
    config.scaling =
        rope_scaling{(*rope)["factor"].number(), (*rope)["low_freq_factor"].number(),
                     (*rope)["high_freq_factor"].number(), (*rope)["original_max_position_embeddings"].number()};
  }
}

}  // namespace detail

/// The configuration in a config.json of model_type llama (SmolLM too), mistral, qwen2 or qwen3.
/// Throws format_error for what is missing, another model_type, and features that are not supported.
[[nodiscard]] inline llama_config read_llama_config(const json_document& document) {
  const json_ref root = document.root();
  const std::string& type = root["model_type"].string();
  if (type != "llama" && type != "mistral" && type != "qwen2" && type != "qwen3")
    root["model_type"].fail("model_type \"" + type + "\" is none of llama, mistral, qwen2, qwen3");
  if (const auto act = detail::present(root, "hidden_act"); act && act->string() != "silu")
    act->fail("activation \"" + act->string() + "\" is not silu");
  llama_config config;
  config.vocabulary = detail::size_in(root, "vocab_size");
  config.positions = detail::size_in(root, "max_position_embeddings");
  config.channels = detail::size_in(root, "hidden_size");
  config.layers = detail::size_in(root, "num_hidden_layers");
  config.heads = detail::size_in(root, "num_attention_heads");
  config.hidden = detail::size_in(root, "intermediate_size");
  config.norm_epsilon = root["rms_norm_eps"].number();
  const auto groups = detail::present(root, "num_key_value_heads");
  config.groups = groups ? static_cast<std::size_t>(groups->uint64()) : config.heads;
  if (const auto depth = detail::present(root, "head_dim")) config.depth = static_cast<std::size_t>(depth->uint64());
  if (const auto tied = detail::present(root, "tie_word_embeddings")) config.tied = tied->boolean();
  config.attention_bias = type == "qwen2";
  if (const auto bias = detail::present(root, "attention_bias"); bias && bias->boolean())
    bias->fail("attention biases on the output projection are not supported");
  config.head_norms = type == "qwen3";
  const auto window = detail::present(root, "sliding_window");
  const auto used = detail::present(root, "use_sliding_window");
  if (window && type == "mistral") config.window = static_cast<std::size_t>(window->uint64());
  if (window && used && used->boolean()) used->fail("sliding windows in some layers only are not supported");
  detail::read_rope(root, config);
  config.validate();
  return config;
}

}  // namespace tinygrad::inline TINYGRAD_ABI
