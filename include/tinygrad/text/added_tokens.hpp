// Tokens that are looked for in the text itself, before anything is split or merged: control tokens such as
// <|endoftext|>, only where the caller asks for them, and tokens a vocabulary declares as user-defined, always.
// The leftmost match wins, and of those that start there the longest (a trie over bytes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/text/flat_map.hpp>
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
};

class AddedTokens {
 public:
  struct match {
    std::size_t begin, end;  // bytes of the text
    token_id id;             // no_token: nothing found
  };

  void add(added_token token) {
    if (token.text.empty()) return;
    std::uint32_t node = 0;
    for (const char c : token.text) node = child_or_new(node, static_cast<unsigned char>(c));
    if (terminal_[node] != none) return;  // the same text again: the first one stays
    terminal_[node] = static_cast<std::uint32_t>(tokens_.size());
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

  [[nodiscard]] const std::vector<added_token>& tokens() const noexcept { return tokens_; }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  std::uint32_t child_or_new(std::uint32_t node, unsigned char byte) {
    const std::uint64_t key = std::uint64_t{node} << 8 | byte;
    if (const std::uint32_t* const child = children_.find(key)) return *child;
    const auto child = static_cast<std::uint32_t>(terminal_.size());
    children_.insert(key, child);
    terminal_.push_back(none);
    return child;
  }

  std::uint32_t longest(std::string_view text, std::size_t at, bool with_control) const {
    std::uint32_t node = 0, best = none;
    for (std::size_t k = at; k < text.size(); ++k) {
      const std::uint32_t* const child = children_.find(std::uint64_t{node} << 8 | static_cast<unsigned char>(text[k]));
      if (!child) break;
      node = *child;
      if (terminal_[node] == none) continue;
      const added_token& token = tokens_[terminal_[node]];
      if (token.control && !with_control) continue;
      if (token.single_word && (word_before(text, at) || word_at(text, k + 1))) continue;
      best = terminal_[node];
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
  flat_map<std::uint32_t> children_;           // (node << 8 | byte) -> node; the root is 0
  std::vector<std::uint32_t> terminal_{none};  // per node: which token ends here
  std::uint8_t starts_[256] = {};              // per byte: 1 a control token starts so, 2 a user-defined one
  bool has_control_ = false, has_user_defined_ = false;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
