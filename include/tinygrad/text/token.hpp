// What all tokenizers share: the type of an id, options of encode, and the concept that generation is written on.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

/// Signed, as embedding indices and targets are: losses use negative ids for "ignore".
using token_id = std::int32_t;
inline constexpr token_id no_token = -1;

/// Both are off for text that comes from a user: "<|endoftext|>" typed into a prompt stays five ordinary tokens.
struct encode_options {
  bool parse_special = false;  ///< control tokens written in the text become their ids
  bool add_special = false;    ///< the model's BOS and EOS are added as its configuration says, never twice
};

/// The ids a model gives a meaning to; no_token where it has none.
struct special_ids {
  token_id bos = no_token, eos = no_token, unk = no_token, pad = no_token;
  token_id eot = no_token;  // ends a turn of a conversation
  bool add_bos = false, add_eos = false;
};

template <class Tok>
concept tokenizer = requires(const Tok& t, std::string_view text, token_id id) {
  { t.vocab_size() } -> std::convertible_to<std::size_t>;
  { t.encode(text) } -> std::same_as<std::vector<token_id>>;
  { t.token_bytes(id) } -> std::convertible_to<std::string_view>;  // index_error for an id that is none
  { t.is_control(id) } -> std::same_as<bool>;
  { t.strips_leading_space() } -> std::same_as<bool>;  // encode put a space before the text; decoding takes it away
};

[[nodiscard]] inline bool valid_token(token_id id, std::size_t vocab_size) noexcept {
  return id >= 0 && static_cast<std::size_t>(id) < vocab_size;
}

inline void check_token(token_id id, std::size_t vocab_size, const char* op) {
  if (valid_token(id, vocab_size)) return;
  throw index_error("[" + std::string(op) + "] token id " + std::to_string(id) + " does not exist; ids go from 0 to " +
                    std::to_string(vocab_size) + " (exclusive)");
}

/// BOS in front and EOS behind, where `special` wants them and they are not there already.
inline void add_special_ids(std::vector<token_id>& ids, const special_ids& special) {
  if (special.add_bos && special.bos != no_token && (ids.empty() || ids.front() != special.bos)) {
    ids.insert(ids.begin(), special.bos);
  }
  if (special.add_eos && special.eos != no_token && (ids.empty() || ids.back() != special.eos)) {
    ids.push_back(special.eos);
  }
}

}  // namespace tinygrad::inline TINYGRAD_ABI
