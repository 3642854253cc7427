// The tokenizer inside a GGUF file, read and (byte-level BPE) written: metadata keys "tokenizer.ggml.*".
//
//   model       "gpt2" byte-level BPE, "llama" SentencePiece's merges by score, "t5" SentencePiece's unigram model
//   pre         which pre-tokenizer, for gpt2: without it the tokens would be wrong in silence, so it must be there
//   tokens, scores, token_type (1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte), merges
//   bos_token_id, eos_token_id, ..., add_bos_token, add_eos_token, add_space_prefix
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/io/gguf.hpp>
#include <tinygrad/io/gguf_writer.hpp>
#include <tinygrad/text/load_tokenizer.hpp>
#include <tinygrad/text/pretokenizer.hpp>
#include <tinygrad/text/tokenizer.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

namespace gguf_tokenizer {

inline constexpr std::string_view prefix = "tokenizer.ggml.";

inline std::string key(std::string_view name) { return std::string(prefix) + std::string(name); }

inline bool flag(const gguf_file& file, std::string_view name, bool otherwise) {
  const auto value = file.find(key(name));
  return value ? value->boolean() : otherwise;
}

inline std::vector<std::string> strings(const gguf_ref& array) {
  const std::vector<std::string_view> views = array.texts();
  return {views.begin(), views.end()};
}

/// The type of every token; all normal where the file does not say.
inline std::vector<piece_type> types_of(const gguf_file& file, std::size_t tokens) {
  const auto array = file.find(key("token_type"));
  if (!array) return std::vector<piece_type>(tokens, piece_type::normal);
  const std::vector<std::int32_t> numbers = array->numbers<std::int32_t>();
  if (numbers.size() != tokens) {
    array->fail(std::to_string(numbers.size()) + " entries for " + std::to_string(tokens) + " tokens");
  }
  std::vector<piece_type> types;
  for (const std::int32_t number : numbers) {
    if (number < 0 || number > 6) array->fail("token type " + std::to_string(number) + " does not exist");
    types.push_back(number == 0 ? piece_type::normal : static_cast<piece_type>(number));  // 0: undefined
  }
  return types;
}

/// A token id; absent, or written as "none" (2^32 - 1), it is no_token. One outside the vocabulary is an error: the
/// tokens and the model do not belong together.
inline token_id id_of(const gguf_file& file, std::string_view name, std::size_t tokens) {
  const auto value = file.find(key(name));
  if (!value) return no_token;
  const std::uint64_t id = value->uint64();
  if (id == 0xFFFFFFFF) return no_token;
  if (id >= tokens) value->fail("token " + std::to_string(id) + " of a vocabulary of " + std::to_string(tokens));
  return static_cast<token_id>(id);
}

inline special_ids special_of(const gguf_file& file, std::size_t tokens, bool add_bos) {
  special_ids special;
  special.bos = id_of(file, "bos_token_id", tokens);
  special.eos = id_of(file, "eos_token_id", tokens);
  special.eot = id_of(file, "eot_token_id", tokens);
  special.unk = id_of(file, "unknown_token_id", tokens);
  special.pad = id_of(file, "padding_token_id", tokens);
  special.add_bos = flag(file, "add_bos_token", add_bos);
  special.add_eos = flag(file, "add_eos_token", false);
  return special;
}

inline pre_tokenizer pre_of(const gguf_file& file, std::string_view assumed) {
  const auto name = file.find(key("pre"));
  if (!name && assumed.empty()) {
    throw format_error(file.path(), 0,
                       "the key \"tokenizer.ggml.pre\" is missing; name the pre-tokenizer if you know which one it is");
  }
  if (!name) return pre_tokenizer_by_name(assumed);
  try {
    return pre_tokenizer_by_name(name->text());
  } catch (const value_error& e) {
    name->fail(e.what());
  }
}

inline bpe_vocabulary byte_level(const gguf_file& file, std::string_view assumed_pre) {
  bpe_vocabulary v;
  v.tokens = strings(file[key("tokens")]);
  v.merges = strings(file[key("merges")]);
  v.pre = pre_of(file, assumed_pre);
  const bool llama3 = v.pre == pre_tokenizer::llama3;
  v.ignore_merges = llama3 || v.pre == pre_tokenizer::tekken;
  v.special = special_of(file, v.tokens.size(), llama3 || v.pre == pre_tokenizer::tekken);
  const std::vector<piece_type> types = types_of(file, v.tokens.size());
  for (std::size_t k = 0; k < types.size(); ++k) {
    if (types[k] == piece_type::normal || types[k] == piece_type::byte) continue;
    v.added.push_back({.id = static_cast<token_id>(k),
                       .text = v.tokens[k],
                       .control = types[k] != piece_type::user_defined,
                       .searched = types[k] != piece_type::unused});
  }
  return v;
}

inline sentencepiece_vocabulary scored(const gguf_file& file, bool unigram) {
  sentencepiece_vocabulary v;
  v.pieces = strings(file[key("tokens")]);
  v.scores = file[key("scores")].numbers<float>();
  if (v.scores.size() != v.pieces.size()) {
    file[key("scores")].fail(std::to_string(v.scores.size()) + " entries for " + std::to_string(v.pieces.size()) +
                             " tokens");
  }
  v.types = types_of(file, v.pieces.size());
  v.unigram = unigram;
  v.normalizer.add_dummy_prefix = flag(file, "add_space_prefix", true);
  v.normalizer.remove_extra_whitespaces = flag(file, "remove_extra_whitespaces", false);
  if (const auto map = file.find(key("precompiled_charsmap"))) {
    try {
      v.normalizer.map = CharMap(as_text(map->pair().bytes));
    } catch (const value_error& e) {
      map->fail(e.what());
    }
  }
  v.special = special_of(file, v.pieces.size(), !unigram);
  if (unigram) v.special.add_eos = flag(file, "add_eos_token", true);
  return v;
}

}  // namespace gguf_tokenizer

/// What the file describes. `assumed_pre` names the pre-tokenizer of a file that does not: old files lack the key.
[[nodiscard]] inline any_vocabulary vocabulary_of(const gguf_file& file, std::string_view assumed_pre = {}) {
  const gguf_ref model = file[gguf_tokenizer::key("model")];
  if (model.text() == "gpt2") return gguf_tokenizer::byte_level(file, assumed_pre);
  if (model.text() == "llama") return gguf_tokenizer::scored(file, false);
  if (model.text() == "t5") return gguf_tokenizer::scored(file, true);
  model.fail("tokenizer model \"" + std::string(model.text()) + "\" is not supported; gpt2, llama and t5 are");
}

[[nodiscard]] inline Tokenizer read_tokenizer(const gguf_file& file, std::string_view assumed_pre = {}) {
  return load_detail::make_tokenizer(vocabulary_of(file, assumed_pre), file.path());
}

/// Writes the keys of a byte-level vocabulary for a model of `count` tokens; those beyond the vocabulary, and gaps in
/// it, become unused ones. What GGUF has no key for (blanks that added tokens take with them, NFC) is left out.
/// Throws value_error when the vocabulary has more tokens than that, index_error for an added one outside it.
inline void write_vocabulary(gguf_writer& out, const bpe_vocabulary& v, std::size_t count) {
  if (v.tokens.size() > count)
    throw value_error("[gguf] a vocabulary of " + std::to_string(v.tokens.size()) + " tokens for a model of " +
                      std::to_string(count));
  std::vector<std::string> tokens = v.tokens;
  tokens.resize(count);
  std::vector<std::int32_t> types(count, static_cast<std::int32_t>(piece_type::normal));
  for (const added_token& added : v.added) {
    check_token(added.id, v.tokens.size(), "gguf");
    const auto id = static_cast<std::size_t>(added.id);
    tokens[id] = added.text;
    types[id] = static_cast<std::int32_t>(!added.searched ? piece_type::unused
                                          : added.control ? piece_type::control
                                                          : piece_type::user_defined);
  }
  for (std::size_t id = 0; id < count; ++id) {
    if (!tokens[id].empty()) continue;
    tokens[id] = "[PAD" + std::to_string(id) + "]";
    types[id] = static_cast<std::int32_t>(piece_type::unused);
  }
  const auto set = [&](std::string_view name, auto value) { out.set(gguf_tokenizer::key(name), value); };
  const auto set_id = [&](std::string_view name, token_id id) {
    if (id != no_token) set(name, static_cast<std::uint32_t>(id));
  };
  set("model", "gpt2");
  set("pre", pre_tokenizer_name(v.pre));
  out.set_texts(gguf_tokenizer::key("tokens"), tokens);
  out.set_array<std::int32_t>(gguf_tokenizer::key("token_type"), types);
  out.set_texts(gguf_tokenizer::key("merges"), v.merges);
  set_id("bos_token_id", v.special.bos);
  set_id("eos_token_id", v.special.eos);
  set_id("eot_token_id", v.special.eot);
  set_id("unknown_token_id", v.special.unk);
  set_id("padding_token_id", v.special.pad);
  set("add_bos_token", v.special.add_bos);
  set("add_eos_token", v.special.add_eos);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
