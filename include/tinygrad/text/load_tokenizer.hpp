// Tokenizers from files: vocab.json with merges.txt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/io/json.hpp>
#include <tinygrad/io/mapped_file.hpp>
#include <tinygrad/text/bpe.hpp>
#include <tinygrad/text/token.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

namespace load_detail {

/// Puts `text` at place `id`. Ids may leave holes, but not so many that a small file makes a large vector.
inline void place_token(std::vector<std::string>& tokens, const std::string& text, const json_ref& id,
                        std::size_t entries) {
  const std::uint64_t place = id.uint64();
  if (place >= entries * 4 + 65536) {
    id.fail("token '" + text + "' has id " + std::to_string(place) + ", far above the " + std::to_string(entries) +
            " entries");
  }
  if (place >= tokens.size()) tokens.resize(static_cast<std::size_t>(place) + 1);
  std::string& slot = tokens[static_cast<std::size_t>(place)];
  if (!slot.empty()) id.fail("tokens '" + slot + "' and '" + text + "' both have id " + std::to_string(place));
  slot = text;
}

inline std::vector<std::string> tokens_of(const json_ref& vocab, const std::string& path) {
  const json_object& entries = vocab.object();
  std::vector<std::string> tokens;
  tokens.reserve(entries.size());
  for (const json_member& entry : entries) place_token(tokens, entry.key, {entry.value, path}, entries.size());
  return tokens;
}

/// The lines of merges.txt; the first may state a version.
inline std::vector<std::string> merges_of(std::string_view text) {
  std::vector<std::string> merges;
  for (bool first = true; !text.empty(); first = false) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (first && line.starts_with("#version"))) continue;
    merges.emplace_back(line);
  }
  return merges;
}

/// Makes the tokenizer; what does not fit together in it is a fault of that file.
inline BpeTokenizer make_bpe(bpe_vocabulary vocabulary, const std::string& path) {
  try {
    return BpeTokenizer(std::move(vocabulary));
  } catch (const value_error& e) {
    throw format_error(path, 0, e.what());
  }
}

}  // namespace load_detail

/// GPT-2's two files, vocab.json (or encoder.json) and merges.txt (or vocab.bpe). `end_of_text`, where the vocabulary
/// has it, is the control token that begins and ends texts; it is never added by itself.
[[nodiscard]] inline BpeTokenizer read_gpt2_tokenizer(const std::string& vocab_path, const std::string& merges_path,
                                                      std::string_view end_of_text = "<|endoftext|>") {
  bpe_vocabulary vocabulary;
  const json_document vocab = read_json_file(vocab_path);
  vocabulary.tokens = load_detail::tokens_of(vocab.root(), vocab.path);
  vocabulary.merges = load_detail::merges_of(mapped_file(merges_path).text());
  for (std::size_t k = 0; k < vocabulary.tokens.size(); ++k) {
    if (vocabulary.tokens[k] != end_of_text) continue;
    const auto id = static_cast<token_id>(k);
    vocabulary.added.push_back({.id = id, .text = std::string(end_of_text), .control = true});
    vocabulary.special = {.bos = id, .eos = id, .unk = id};
  }
  return load_detail::make_bpe(std::move(vocabulary), merges_path);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
