// A small random model in the same files as GPT-2: what the example runs on when the real weights are not there.
#include <filesystem>
#include <string>
#include <tinygrad/io/json.hpp>
#include <tinygrad/io/mapped_file.hpp>
#include <tinygrad/io/safetensors.hpp>
#include <vector>

#include "part4.hpp"

namespace part4 {

namespace {

/// Merges of a few common pairs; every other text is spelled byte by byte.
constexpr const char* merges[] = {"t h", "th e", "Ġ the", "Ġ a", "i n", "e r", "o n", "a n", "Ġ o", "Ġo f", "Ø §"};

/// UTF-8 of the character that stands for a byte in GPT-2's vocabulary.
std::string byte_character(int byte) {
  const auto printable = [](int b) { return (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE; };
  int code = byte;
  if (!printable(byte)) {
    code = 256;
    for (int b = 0; b < byte; ++b) code += !printable(b);
  }
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

std::vector<std::string> vocabulary() {
  std::vector<std::string> tokens;
  const auto add_bytes = [&](bool printable) {
    for (int b = 0; b < 256; ++b) {
      const std::string c = byte_character(b);
      const bool own = c.size() == 1 || (b >= 0xA1 && b != 0xAD);
      if (own == printable) tokens.push_back(c);
    }
  };
  add_bytes(true);
  add_bytes(false);
  for (const std::string merge : merges) {
    const std::size_t blank = merge.find(' ');
    tokens.push_back(merge.substr(0, blank) + merge.substr(blank + 1));
  }
  tokens.push_back("<|endoftext|>");
  return tokens;
}

}  // namespace

void make_stand_in(const std::string& folder) {
  std::filesystem::create_directories(folder);
  const std::vector<std::string> tokens = vocabulary();
  json_object ids;
  for (std::size_t i = 0; i < tokens.size(); ++i) ids.push_back({tokens[i], json_value(std::uint64_t{i})});
  write_file(folder + "/vocab.json", write_json(json_value(std::move(ids))));
  std::string lines = "#version: 0.2\n";
  for (const char* merge : merges) (lines += merge) += '\n';
  write_file(folder + "/merges.txt", lines);

  gpt_config config;
  config.vocabulary = tokens.size();
  config.positions = 128;
  config.channels = 64;
  config.layers = 4;
  config.heads = 4;
  write_file(folder + "/config.json", write_gpt_config(config));
  Random random(1);
  model_type model(config, random);
  std::vector<tensor_source> tensors;
  for_each_parameter(
      model, [&](const std::string& name, const auto& p) { tensors.push_back(source_of(name, p.shape(), p.data())); });
  // The published file also carries each layer's causal mask, which nobody needs; so does this one.
  const std::vector<float> mask(config.positions * config.positions, 1.0F);
  for (std::size_t layer = 0; layer < config.layers; ++layer)
    tensors.push_back(source_of<float>("h." + std::to_string(layer) + ".attn.bias",
                                       Shape{1, 1, config.positions, config.positions}, mask));
  write_safetensors(folder + "/model.safetensors", tensors, {{"format", "pt"}});
}

}  // namespace part4
