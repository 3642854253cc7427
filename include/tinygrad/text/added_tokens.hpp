// Tokens that are looked for in the text itself, before anything is split or merged: control tokens such as
// <|endoftext|>, only where the caller asks for them, and tokens a vocabulary declares as user-defined, always.
// The leftmost match wins, and of those that start there the longest (a trie over bytes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/text/byte_trie.hpp>
#include <tinygrad/text/token.hpp>
#include <tinygrad/text/unicode.hpp>
#include <tinygrad/text/utf8.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

struct added_token {
  token_id id = no_token;
  std::string text;
  bool control = true;       ///< matched only with encode_options::parse_special
  bool lstrip = false;       ///< takes the white space before it
  bool rstrip = false;       ///< takes the white space after it
  bool single_word = false;  ///< only where no letter, digit or underscore touches it
  bool searched = true;      ///< false: an id with a name, never found in a text
};

class AddedTokens {
 public:
  struct match {
    std::size_t begin, end;  // bytes of the text
    token_id id;             // no_token: nothing found
  };

  void add(added_token token) {
    if (token.text.empty() || !token.searched) return;
    if (!trie_.insert(token.text, static_cast<std::uint32_t>(tokens_.size()))) return;  // known: the first one stays
    const auto first = static_cast<unsigned char>(token.text[0]);
    starts_[first] = static_cast<std::uint8_t>(starts_[first] | (token.control ? 1 : 2));
    (token.control ? has_control_ : has_user_defined_) = true;
    tokens_.push_back(std::move(token));
  }

  /// False when a search could find nothing: no need to look at the text.
  [[nodiscard]] bool any(bool with_control) const noexcept {
    return has_user_defined_ || (with_control && has_control_);
  }

  /// The first match in `text` at or after `from`.
  [[nodiscard]] match find(std::string_view text, std::size_t from, bool with_control) const {
    const unsigned wanted = with_control ? 3 : 2;
    for (std::size_t at = from; at < text.size(); ++at) {
      if ((starts_[static_cast<unsigned char>(text[at])] & wanted) == 0) continue;
      const std::uint32_t found = longest(text, at, with_control);
      if (found != none) return stripped(text, from, at, tokens_[found]);
    }
    return {text.size(), text.size(), no_token};
  }

  /// Cuts `text` at its matches: on_text(part) for what lies between them, never empty, on_token(id) for each match.
  template <class OnText, class OnToken>
  void split(std::string_view text, bool with_control, OnText&& on_text, OnToken&& on_token) const {
    std::size_t at = 0;
    while (any(with_control) && at < text.size()) {
      const match m = find(text, at, with_control);
      if (m.begin > at) on_text(text.substr(at, m.begin - at));
      if (m.id != no_token) on_token(m.id);
      at = m.end;
    }
    if (at < text.size()) on_text(text.substr(at));
  }

  [[nodiscard]] const std::vector<added_token>& tokens() const noexcept { return tokens_; }

 private:
  static constexpr std::uint32_t none = byte_trie::none;

  std::uint32_t longest(std::string_view text, std::size_t at, bool with_control) const {
    std::uint32_t node = byte_trie::root, best = none;
    for (std::size_t k = at; k < text.size(); ++k) {
      node = trie_.step(node, text[k]);
      if (node == none) break;
      const std::uint32_t index = trie_.value(node);
      if (index == none) continue;
      const added_token& token = tokens_[index];
      if (token.control && !with_control) continue;
      if (token.single_word && (word_before(text, at) || word_at(text, k + 1))) continue;
      best = index;
    }
    return best;
  }

  static std::size_t glyph_start(std::string_view text, std::size_t end) {
    std::size_t at = end - 1;
    while (at > 0 && end - at < 4 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    return at;
  }
  static char32_t code_at(std::string_view text, std::size_t at) {
    return decode_utf8(text.data() + at, text.data() + text.size()).code;
  }
  static bool is_word(char32_t code) { return code == U'_' || is_letter(code) || is_number(code); }
  static bool word_before(std::string_view text, std::size_t at) {
    return at > 0 && is_word(code_at(text, glyph_start(text, at)));
  }
  static bool word_at(std::string_view text, std::size_t at) { return at < text.size() && is_word(code_at(text, at)); }

  static match stripped(std::string_view text, std::size_t from, std::size_t at, const added_token& token) {
    match m{at, at + token.text.size(), token.id};
    while (token.lstrip && m.begin > from && is_white_space(code_at(text, glyph_start(text, m.begin)))) {
      m.begin = glyph_start(text, m.begin);
    }
    while (token.rstrip && m.end < text.size() && is_white_space(code_at(text, m.end))) {
      m.end += decode_utf8(text.data() + m.end, text.data() + text.size()).length;
    }
    return m;
  }

  std::vector<added_token> tokens_;
  byte_trie trie_;                 // to places in tokens_
  std::uint8_t starts_[256] = {};  // per byte: 1 a control token starts so, 2 a user-defined one
  bool has_control_ = false, has_user_defined_ = false;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
