// UTF-8: decode, encode, validate. Every function is defined for every sequence of bytes.
//
// Well-formed is what Unicode's table 3-7 lists: no overlong forms, no surrogates, nothing above U+10FFFF. What is not
// well-formed is cut into "maximal subparts" (Unicode 3.9, also WHATWG's and Python's rule): the longest start of a
// character that could have gone on, or one byte. Repairing text is in text/utf8.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

inline constexpr char32_t replacement_character = 0xFFFD;

enum class utf8_status : std::uint8_t {
  valid,
  invalid,
  truncated,  ///< the bytes end inside a character that was well-formed so far
};

struct utf8_char {
  char32_t code;        ///< U+FFFD unless valid
  std::uint8_t length;  ///< bytes to step over: 1 to 4
  utf8_status status;
};

namespace utf8_detail {

// What a first byte allows: the character's length (0: no character starts so) and the range of the second byte.
struct lead_rule {
  std::uint8_t length, low, high;
};

constexpr lead_rule rule_of(unsigned byte) noexcept {
  if (byte < 0xC2 || byte > 0xF4) return {0, 0, 0};  // continuation, overlong C0 and C1, beyond U+10FFFF
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};  // below: overlong
  if (byte == 0xED) return {3, 0x80, 0x9F};  // above: a surrogate
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};  // below: overlong
  if (byte == 0xF4) return {4, 0x80, 0x8F};  // above: beyond U+10FFFF
  return {4, 0x80, 0xBF};
}

constexpr utf8_char decode_long(const char* p, const char* end) noexcept {
  const unsigned first = static_cast<unsigned char>(*p);
  const lead_rule rule = rule_of(first);
  if (rule.length == 0) return {replacement_character, 1, utf8_status::invalid};
  char32_t code = first & (0x7Fu >> rule.length);
  unsigned low = rule.low, high = rule.high;
  for (std::uint8_t k = 1; k < rule.length; ++k) {
    if (p + k == end) return {replacement_character, k, utf8_status::truncated};
    const unsigned byte = static_cast<unsigned char>(p[k]);
    if (byte < low || byte > high) return {replacement_character, k, utf8_status::invalid};
    code = code << 6 | (byte & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {code, rule.length, utf8_status::valid};
}

}  // namespace utf8_detail

/// The character at `p`, which must be before `end`. Reads nothing at or beyond `end`.
[[nodiscard]] constexpr utf8_char decode_utf8(const char* p, const char* end) noexcept {
  const auto byte = static_cast<unsigned char>(*p);
  if (byte < 0x80) return {byte, 1, utf8_status::valid};
  return utf8_detail::decode_long(p, end);
}

/// Length in bytes (1 to 4) of the well-formed character at the front of [p, end), or 0 when there is none.
[[nodiscard]] constexpr std::size_t utf8_length(const char* p, const char* end) noexcept {
  if (p == end) return 0;
  const utf8_char c = decode_utf8(p, end);
  return c.status == utf8_status::valid ? c.length : 0;
}

/// Bytes at the front of `text` that are well-formed; text.size() when all of it is. Eight ASCII bytes at a time.
[[nodiscard]] inline std::size_t utf8_valid_prefix(std::string_view text) noexcept {
  const char *const begin = text.data(), *const end = begin + text.size();
  const char* p = begin;
  while (p < end) {
    if (end - p >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, p, sizeof word);
      if ((word & 0x8080808080808080u) == 0) {
        p += 8;
        continue;
      }
    }
    const std::size_t length = utf8_length(p, end);
    if (length == 0) break;
    p += length;
  }
  return static_cast<std::size_t>(p - begin);
}

[[nodiscard]] inline bool is_valid_utf8(std::string_view text) noexcept {
  return utf8_valid_prefix(text) == text.size();
}

/// Appends `code` as one to four bytes. Surrogates and values above U+10FFFF are no characters: U+FFFD stands for them.
inline void append_code_point(std::string& out, char32_t code) {
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) code = replacement_character;
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    tail(12), tail(6), tail(0);
  }
}

}  // namespace tinygrad::inline TINYGRAD_ABI
