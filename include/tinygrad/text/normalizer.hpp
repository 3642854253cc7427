// SentencePiece's normaliser: what a text becomes before it is cut into pieces. A blank is kept as a blank here; the
// model's own sign for it, U+2581 "▁", is read as one.
//
// The character map ("precompiled_charsmap": NFKC and the like) is a file inside the file: u32 size of a trie, the trie
// as a double array of u32 units (the layout of darts-clone), then the replacements, each ended by a zero byte.
// The longest entry that starts at a place is replaced. Source: google/sentencepiece, src/normalizer.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/core/utf8.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

inline constexpr std::string_view sentencepiece_blank = "\xE2\x96\x81";  // U+2581

/// The trie and the replacements of a character map. Every step is checked against the sizes: the bytes come from a
/// file.
class CharMap {
 public:
  struct match {
    std::size_t length;  // bytes of the text it stands for; 0: no entry starts here
    std::string_view replacement;
  };

  CharMap() = default;

  /// value_error when the sizes do not fit.
  explicit CharMap(std::string_view bytes) {
    if (bytes.empty()) return;
    if (bytes.size() < 4) throw value_error("[charsmap] shorter than its own length field");
    const std::size_t trie_size = unit_at(bytes, 0);
    if (trie_size > bytes.size() - 4 || trie_size % 4 != 0 || trie_size == 0) {
      throw value_error("[charsmap] a trie of " + std::to_string(trie_size) + " bytes in a map of " +
                        std::to_string(bytes.size()));
    }
    for (std::size_t at = 0; at < trie_size; at += 4) units_.push_back(unit_at(bytes, 4 + at));
    replacements_ = bytes.substr(4 + trie_size);
    if (replacements_.empty() || replacements_.back() != '\0') {
      throw value_error("[charsmap] the replacements do not end with a zero byte");
    }
  }

  [[nodiscard]] bool empty() const noexcept { return units_.empty(); }

  [[nodiscard]] match longest(std::string_view text) const noexcept {
    match best{0, {}};
    if (units_.empty()) return best;
    std::uint32_t node = offset_of(units_[0]);
    for (std::size_t k = 0; k < text.size(); ++k) {
      const auto byte = static_cast<unsigned char>(text[k]);
      node ^= byte;
      if (node >= units_.size() || label_of(units_[node]) != byte) break;
      const std::uint32_t unit = units_[node];
      node ^= offset_of(unit);
      if ((unit >> 8 & 1) == 0) continue;  // no entry ends here
      if (node >= units_.size()) break;
      const std::size_t start = units_[node] & 0x7FFFFFFFu;
      if (start < replacements_.size()) best = {k + 1, replacements_.c_str() + start};
    }
    return best;
  }

 private:
  static std::uint32_t unit_at(std::string_view bytes, std::size_t at) noexcept {
    std::uint32_t unit = 0;
    for (std::size_t k = 4; k-- > 0;) unit = unit << 8 | static_cast<unsigned char>(bytes[at + k]);
    return unit;
  }
  static std::uint32_t label_of(std::uint32_t unit) noexcept { return unit & 0x800000FFu; }
  static std::uint32_t offset_of(std::uint32_t unit) noexcept { return unit >> 10 << (unit >> 6 & 8); }

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

/// The rules of a model, and their application.
struct sentencepiece_normalizer {
  CharMap map;
  bool add_dummy_prefix = true;           ///< a blank goes before the text
  bool remove_extra_whitespaces = false;  ///< none at the ends, one where several are
  bool keep_bytes = false;                ///< what is no UTF-8 stays; else it becomes U+FFFD, a byte each

  /// `blank_first`: for this text, whether the blank is added.
  [[nodiscard]] std::string operator()(std::string_view text, bool blank_first) const {
    std::string out;
    out.reserve(text.size() + text.size() / 8 + 1);
    if (blank_first && !text.empty()) out.push_back(' ');
    const std::size_t prefix = out.size();
    bool after_blank = true;  // where a further blank is one too many
    for (std::size_t at = 0; at < text.size();) {
      const auto [length, replacement] = next(text.substr(at));
      append(out, replacement, after_blank);
      at += length;
    }
    if (remove_extra_whitespaces) {
      while (out.size() > prefix && out.back() == ' ') out.pop_back();
      if (out.size() == prefix) out.clear();  // nothing but blanks
    }
    return out;
  }

 private:
  // The first character or entry of `text`: its length and what it becomes.
  CharMap::match next(std::string_view text) const {
    if (const CharMap::match m = map.longest(text); m.length > 0) return m;
    const utf8_char c = decode_utf8(text.data(), text.data() + text.size());
    if (c.status == utf8_status::valid) return {c.length, text.substr(0, c.length)};
    return {1, keep_bytes ? text.substr(0, 1) : std::string_view("\xEF\xBF\xBD")};
  }

  void append(std::string& out, std::string_view part, bool& after_blank) const {
    while (!part.empty()) {
      const bool sign = part.starts_with(sentencepiece_blank), blank = part.front() == ' ';
      if (!blank || !after_blank || !remove_extra_whitespaces) out.push_back(sign ? ' ' : part.front());
      part.remove_prefix(sign ? sentencepiece_blank.size() : 1);
      after_blank = blank;
    }
  }
};

}  // namespace tinygrad::inline TINYGRAD_ABI
