// A tokenizer of either kind, for programs that learn from a file which one it is.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/text/bpe.hpp>
#include <tinygrad/text/detokenizer.hpp>
#include <tinygrad/text/sentencepiece.hpp>
#include <tinygrad/text/token.hpp>
#include <utility>
#include <variant>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

class Tokenizer {
 public:
  Tokenizer(BpeTokenizer bpe) : kind_(std::move(bpe)) {}
  Tokenizer(SentencePieceTokenizer sentencepiece) : kind_(std::move(sentencepiece)) {}

  [[nodiscard]] std::size_t vocab_size() const {
    return std::visit([](const auto& t) { return t.vocab_size(); }, kind_);
  }
  [[nodiscard]] const special_ids& special() const {
    return std::visit([](const auto& t) -> const special_ids& { return t.special(); }, kind_);
  }
  [[nodiscard]] std::vector<token_id> encode(std::string_view text, const encode_options& options = {}) const {
    return std::visit([&](const auto& t) { return t.encode(text, options); }, kind_);
  }
  [[nodiscard]] std::string decode_bytes(std::span<const token_id> ids, bool hide_control = false) const {
    return std::visit([&](const auto& t) { return t.decode_bytes(ids, hide_control); }, kind_);
  }
  [[nodiscard]] std::string decode(std::span<const token_id> ids, bool hide_control = false) const {
    return std::visit([&](const auto& t) { return t.decode(ids, hide_control); }, kind_);
  }
  [[nodiscard]] std::string_view token_bytes(token_id id) const {
    return std::visit([&](const auto& t) { return t.token_bytes(id); }, kind_);
  }
  [[nodiscard]] token_id find_token(std::string_view bytes) const {
    return std::visit([&](const auto& t) { return t.find_token(bytes); }, kind_);
  }
  [[nodiscard]] bool is_control(token_id id) const {
    return std::visit([&](const auto& t) { return t.is_control(id); }, kind_);
  }
  [[nodiscard]] bool strips_leading_space() const {
    return std::visit([](const auto& t) { return t.strips_leading_space(); }, kind_);
  }

  /// The byte-level tokenizer inside, or nullptr; and the other one.
  [[nodiscard]] const BpeTokenizer* bpe() const noexcept { return std::get_if<BpeTokenizer>(&kind_); }
  [[nodiscard]] const SentencePieceTokenizer* sentencepiece() const noexcept {
    return std::get_if<SentencePieceTokenizer>(&kind_);
  }

 private:
  std::variant<BpeTokenizer, SentencePieceTokenizer> kind_;
};

static_assert(tokenizer<Tokenizer>);

}  // namespace tinygrad::inline TINYGRAD_ABI
