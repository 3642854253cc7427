// One token a character: the vocabulary is the sorted set of Unicode code points of a text.
//
// Nothing is normalised: "é" and "e" + U+0301 are different. A tokenizer is saved by its vocabulary_text(): building
// one from that text gives the same ids.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/text/token.hpp>
#include <tinygrad/text/utf8.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

class CharTokenizer {
 public:
  /// The vocabulary is every code point in `text` (UTF-8). value_error when it is empty or not well-formed.
  explicit CharTokenizer(std::string_view text) {
    if (text.empty()) throw value_error("[char_tokenizer] the text is empty; a vocabulary needs a character");
    std::vector<bool> seen(0x110000);
    for (const char32_t code : code_points(text, "char_tokenizer")) seen[code] = true;
    for (char32_t code = 0; code < 0x110000; ++code) {
      if (seen[code]) add(code);
    }
  }

  [[nodiscard]] std::size_t vocab_size() const noexcept { return vocabulary_.size(); }
  /// Code points by id, ascending.
  [[nodiscard]] const std::u32string& vocabulary() const noexcept { return vocabulary_; }
  [[nodiscard]] const std::string& vocabulary_text() const noexcept { return bytes_; }

  /// value_error that names every character outside the vocabulary, or the offset of what is not UTF-8.
  [[nodiscard]] std::vector<token_id> encode(std::string_view text) const {
    std::vector<token_id> ids;
    ids.reserve(text.size());
    for (const char *p = text.data(), *const end = p + text.size(); p < end;) {
      const utf8_char c = decode_utf8(p, end);
      const token_id id = c.status == utf8_status::valid ? find(c.code) : no_token;
      if (id == no_token) refuse(text);
      ids.push_back(id);
      p += c.length;
    }
    return ids;
  }

  [[nodiscard]] std::string decode(std::span<const token_id> ids) const {
    std::string text;
    text.reserve(ids.size() * 2);
    for (const token_id id : ids) text += token_bytes(id);
    return text;
  }

  /// The id of a code point, or no_token.
  [[nodiscard]] token_id find(char32_t code) const noexcept {
    if (code < direct_.size()) return direct_[code];
    std::size_t low = 0, high = vocabulary_.size();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (vocabulary_[middle] < code) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < vocabulary_.size() && vocabulary_[low] == code ? static_cast<token_id>(low) : no_token;
  }

  [[nodiscard]] std::string_view token_bytes(token_id id) const {
    check_token(id, vocab_size(), "char_tokenizer");
    const auto k = static_cast<std::size_t>(id);
    return std::string_view(bytes_).substr(starts_[k], starts_[k + 1] - starts_[k]);
  }
  [[nodiscard]] bool is_control(token_id) const noexcept { return false; }
  [[nodiscard]] bool strips_leading_space() const noexcept { return false; }

 private:
  void add(char32_t code) {
    if (code < direct_.size()) direct_[code] = static_cast<token_id>(vocabulary_.size());
    vocabulary_.push_back(code);
    append_code_point(bytes_, code);
    starts_.push_back(bytes_.size());
  }

  // Walks the text again, slowly, to say all that is wrong with it.
  [[noreturn]] TINYGRAD_COLD void refuse(std::string_view text) const {
    constexpr std::size_t most_named = 8;
    const std::u32string codes = code_points(text, "char_tokenizer");  // throws where the text is not UTF-8
    std::u32string unknown;
    std::string list;
    for (std::size_t k = 0; k < codes.size(); ++k) {
      if (find(codes[k]) != no_token || unknown.find(codes[k]) != std::u32string::npos) continue;
      unknown.push_back(codes[k]);
      if (unknown.size() > most_named) break;
      list += list.empty() ? "'" : ", '";
      append_code_point(list, codes[k]);
      list += "' (" + code_point_name(codes[k]) + ") at character " + std::to_string(k);
    }
    if (unknown.size() > most_named) list += " and others";
    throw value_error("[char_tokenizer] not in the vocabulary: " + list + "; the vocabulary has " +
                      std::to_string(vocab_size()) + " characters");
  }

  std::u32string vocabulary_;
  std::vector<token_id> direct_ = std::vector<token_id>(0x800, no_token);  // ids of U+0000 to U+07FF
  std::string bytes_;                                                      // all characters one after the other
  std::vector<std::size_t> starts_{0};                                     // where each begins in bytes_, and the end
};

}  // namespace tinygrad::inline TINYGRAD_ABI
