// A GPT of two blocks with weights that are far from their initial ones, and its GGUF file.
#pragma once

#include <cstddef>
#include <string>
#include <tinygrad/models/export_gguf.hpp>
#include <tinygrad/models/gpt.hpp>

#include "support/temp_folder.hpp"

namespace tinygrad_test {

/// 29 tokens, 20 positions, 4 heads.
template <class P>
tinygrad::Gpt<float, P> small_gpt(std::size_t channels) {
  tinygrad::gpt_config config;
  config.vocabulary = 29;
  config.positions = 20;
  config.channels = channels;
  config.layers = 2;
  config.heads = 4;
  config.norm_epsilon = 1e-6;
  tinygrad::Random random(4);
  tinygrad::Gpt<float, P> model(config, random);
  for_each_parameter(model, [&](const std::string&, const auto& p) {
    for (float& value : p.mutable_data()) value += 0.1F * static_cast<float>(random.normal());
  });
  return model;
}

/// The path of a file in `folder` with its matrices as `type`, without a tokenizer.
template <class P>
std::string write_small_gpt(const temp_folder& folder, tinygrad::Gpt<float, P>& model, tinygrad::ggml_type type) {
  const std::string path = folder / "model.gguf";
  write_gpt_gguf(path, model, type, [](tinygrad::gguf_writer& out) { out.set("tokenizer.ggml.model", "none"); });
  return path;
}

}  // namespace tinygrad_test
