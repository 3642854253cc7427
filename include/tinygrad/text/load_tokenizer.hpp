// Tokenizers from files: tokenizer.json, vocab.json with merges.txt, tokenizer.model, or a folder that has one of
// these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/io/json.hpp>
#include <tinygrad/io/mapped_file.hpp>
#include <tinygrad/text/bpe.hpp>
#include <tinygrad/text/sentencepiece_files.hpp>
#include <tinygrad/text/token.hpp>
#include <tinygrad/text/tokenizer.hpp>
#include <tinygrad/text/tokenizer_json.hpp>
#include <utility>
#include <variant>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

namespace load_detail {

/// The lines of merges.txt; the first may state a version.
inline std::vector<std::string> merge_lines(std::string_view text) {
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

inline bpe_vocabulary gpt2_vocabulary(const json_document& vocab, const std::string& merges_path,
                                      std::string_view end_of_text) {
  bpe_vocabulary v;
  v.tokens = json_tokenizer::tokens_of(vocab.root(), vocab.path);
  v.merges = merge_lines(mapped_file(merges_path).text());
  for (std::size_t k = 0; k < v.tokens.size(); ++k) {
    if (v.tokens[k] != end_of_text) continue;
    const auto id = static_cast<token_id>(k);
    v.added.push_back({.id = id, .text = std::string(end_of_text), .control = true});
    v.special = {.bos = id, .eos = id, .unk = id};
  }
  return v;
}

/// Makes the tokenizer; what does not fit together in it is a fault of that file.
inline Tokenizer make_tokenizer(any_vocabulary vocabulary, const std::string& path) {
  try {
    if (auto* const bpe = std::get_if<bpe_vocabulary>(&vocabulary)) return BpeTokenizer(std::move(*bpe));
    return SentencePieceTokenizer(std::move(std::get<sentencepiece_vocabulary>(vocabulary)));
  } catch (const value_error& e) {
    throw format_error(path, 0, e.what());
  }
}

/// The id of a token as it is written in configuration files, or no_token.
inline token_id id_of(const any_vocabulary& vocabulary, const std::string& text) {
  const auto* const bpe = std::get_if<bpe_vocabulary>(&vocabulary);
  const std::vector<std::string>& tokens = bpe ? bpe->tokens : std::get<sentencepiece_vocabulary>(vocabulary).pieces;
  for (std::size_t k = 0; k < tokens.size(); ++k) {
    if (tokens[k] == text) return static_cast<token_id>(k);
  }
  return no_token;
}

/// tokenizer_config.json: which tokens are BOS, EOS, UNK and PAD ("<s>" or {"content": "<s>"}), and which are added.
inline void read_config(const json_document& config, any_vocabulary& vocabulary) {
  special_ids& special = std::visit([](auto& v) -> special_ids& { return v.special; }, vocabulary);
  const json_ref root = config.root();
  const auto read = [&](std::string_view name, token_id& id) {
    const auto member = json_tokenizer::part(root, name);
    if (!member) return;
    const json_ref text = member->kind() == json_kind::object ? (*member)["content"] : *member;
    if (const token_id found = id_of(vocabulary, text.string()); found != no_token) id = found;
  };
  read("bos_token", special.bos);
  read("eos_token", special.eos);
  read("unk_token", special.unk);
  read("pad_token", special.pad);
  special.add_bos = json_tokenizer::flag(root, "add_bos_token", special.add_bos);
  special.add_eos = json_tokenizer::flag(root, "add_eos_token", special.add_eos);
}

/// The file when there is one; io_error counts as none.
inline std::optional<json_document> optional_json(const std::string& path) {
  try {
    return read_json_file(path);
  } catch (const io_error&) {
    return std::nullopt;
  }
}

}  // namespace load_detail

/// GPT-2's two files, vocab.json (or encoder.json) and merges.txt (or vocab.bpe). `end_of_text`, where the vocabulary
/// has it, is the control token that begins and ends texts; it is never added by itself.
[[nodiscard]] inline BpeTokenizer read_gpt2_tokenizer(const std::string& vocab_path, const std::string& merges_path,
                                                      std::string_view end_of_text = "<|endoftext|>") {
  try {
    return BpeTokenizer(load_detail::gpt2_vocabulary(read_json_file(vocab_path), merges_path, end_of_text));
  } catch (const value_error& e) {
    throw format_error(merges_path, 0, e.what());
  }
}

/// tokenizer.json.
[[nodiscard]] inline Tokenizer read_tokenizer_json(const std::string& path) {
  return load_detail::make_tokenizer(vocabulary_of(read_json_file(path)), path);
}

namespace load_detail {

/// What load_tokenizer makes a tokenizer of; `source` becomes the file it is from.
inline any_vocabulary read_folder(const std::string& folder, std::string& source) {
  const std::string json_path = folder + "/tokenizer.json", vocab_path = folder + "/vocab.json";
  const std::string model_path = folder + "/tokenizer.model", merges_path = folder + "/merges.txt";
  const auto document = optional_json(json_path);
  any_vocabulary vocabulary;
  source = json_path;
  if (document) {
    vocabulary = vocabulary_of(*document);
  } else if (const auto vocab = optional_json(vocab_path)) {
    source = vocab_path;
    vocabulary = gpt2_vocabulary(*vocab, merges_path, "<|endoftext|>");
  } else {
    try {
      source = model_path;
      vocabulary = parse_sentencepiece_model(mapped_file(model_path).text(), model_path);
    } catch (const io_error&) {
      throw io_error("[load_tokenizer] " + folder + " has no tokenizer.json, vocab.json or tokenizer.model");
    }
  }
  if (const auto config = optional_json(folder + "/tokenizer_config.json")) read_config(*config, vocabulary);
  return vocabulary;
}

}  // namespace load_detail

/// The tokenizer in a model's folder: tokenizer.json, else vocab.json and merges.txt, else tokenizer.model; with
/// tokenizer_config.json where it is there. io_error when none of them is.
[[nodiscard]] inline Tokenizer load_tokenizer(const std::string& folder) {
  std::string source;
  any_vocabulary vocabulary = load_detail::read_folder(folder, source);
  return load_detail::make_tokenizer(std::move(vocabulary), source);
}
/// The same as the parts that a tokenizer is made from, for writing it in another format.
[[nodiscard]] inline any_vocabulary load_vocabulary(const std::string& folder) {
  std::string source;
  return load_detail::read_folder(folder, source);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
