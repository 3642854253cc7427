// UTF-8: decode, encode, validate, repair. Every function is defined for every sequence of bytes.
//
// Well-formed is what Unicode's table 3-7 lists: no overlong forms, no surrogates, nothing above U+10FFFF. What is not
// well-formed is cut into "maximal subparts" (Unicode 3.9, also WHATWG's and Python's rule): the longest start of a
// character that could have gone on, or one byte; each becomes one U+FFFD where a replacement is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

inline constexpr char32_t replacement_character = 0xFFFD;

enum class utf8_status : std::uint8_t {
  valid,
  invalid,
  truncated,  // the bytes end inside a character that was well-formed so far
};

struct utf8_char {
  char32_t code;        // U+FFFD unless valid
  std::uint8_t length;  // bytes to step over: 1 to 4
  utf8_status status;
};

namespace utf8_detail {

// What a first byte allows: the character's length (0: no character starts so) and the range of the second byte.
struct lead_rule {
  std::uint8_t length, low, high;
};

constexpr lead_rule rule_of(unsigned byte) {
  if (byte < 0xC2 || byte > 0xF4) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {4, 0x80, 0xBF};
}

constexpr utf8_char decode_long(const char* p, const char* end) {
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

/// The character at `p`; `p` must be before `end`. Reads nothing at or beyond `end`.
[[nodiscard]] constexpr utf8_char decode_utf8(const char* p, const char* end) noexcept {
  const auto byte = static_cast<unsigned char>(*p);
  if (byte < 0x80) return {byte, 1, utf8_status::valid};
  return utf8_detail::decode_long(p, end);
}

/// Appends `code` as UTF-8. Surrogates and values above U+10FFFF are no characters: U+FFFD is written for them.
inline void append_utf8(std::string& out, char32_t code) {
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) code = replacement_character;
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

/// Offset of the first byte that is not part of a well-formed character, or npos. Eight ASCII bytes at a time.
[[nodiscard]] inline std::size_t find_invalid_utf8(std::string_view text) noexcept {
  const char *const begin = text.data(), *const end = begin + text.size();
  for (const char* p = begin; p < end;) {
    if (end - p >= 8) {
      std::uint64_t word;
      std::memcpy(&word, p, sizeof word);
      if ((word & 0x8080808080808080u) == 0) {
        p += 8;
        continue;
      }
    }
    const utf8_char c = decode_utf8(p, end);
    if (c.status != utf8_status::valid) return static_cast<std::size_t>(p - begin);
    p += c.length;
  }
  return std::string_view::npos;
}

[[nodiscard]] inline bool is_valid_utf8(std::string_view text) noexcept {
  return find_invalid_utf8(text) == std::string_view::npos;
}

/// How many bytes at the end of `text` begin a character that is not complete yet: 0 to 3.
[[nodiscard]] inline std::size_t incomplete_utf8_tail(std::string_view text) noexcept {
  const char* const end = text.data() + text.size();
  for (std::size_t tail = 1; tail <= 3 && tail <= text.size(); ++tail) {
    const char* const p = end - tail;
    if ((static_cast<unsigned char>(*p) & 0xC0) == 0x80) continue;  // a continuation byte: its character starts before
    const utf8_char c = decode_utf8(p, end);
    return c.status == utf8_status::truncated && c.length == tail ? tail : 0;
  }
  return 0;
}

/// `text` with U+FFFD for each maximal subpart that is not well-formed.
[[nodiscard]] inline std::string replace_invalid_utf8(std::string_view text) {
  if (is_valid_utf8(text)) return std::string(text);
  std::string out;
  out.reserve(text.size() + 16);
  for (const char *p = text.data(), *const end = p + text.size(); p < end;) {
    const utf8_char c = decode_utf8(p, end);
    if (c.status == utf8_status::valid) {
      out.append(p, c.length);
    } else {
      append_utf8(out, replacement_character);
    }
    p += c.length;
  }
  return out;
}

/// "U+0041" and longer: how error messages name a code point.
[[nodiscard]] inline std::string code_point_name(char32_t code) {
  std::string digits;
  for (; code != 0 || digits.size() < 4; code >>= 4) digits.insert(digits.begin(), "0123456789ABCDEF"[code & 15]);
  return "U+" + digits;
}

/// All code points of `text`; value_error with the byte offset when it is not well-formed. `op` names the caller.
[[nodiscard]] inline std::u32string code_points(std::string_view text, std::string_view op = "utf8") {
  std::u32string out;
  out.reserve(text.size());
  for (const char *p = text.data(), *const end = p + text.size(); p < end;) {
    const utf8_char c = decode_utf8(p, end);
    if (c.status != utf8_status::valid) {
      const char* const what = c.status == utf8_status::truncated ? "text ends inside a character" : "invalid UTF-8";
      throw value_error("[" + std::string(op) + "] " + what + " at byte " + std::to_string(p - text.data()) + " of " +
                        std::to_string(text.size()) + "; text must be well-formed UTF-8");
    }
    out.push_back(c.code);
    p += c.length;
  }
  return out;
}

}  // namespace tinygrad::inline TINYGRAD_ABI
