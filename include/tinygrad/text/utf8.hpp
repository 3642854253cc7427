// UTF-8 for text that people made: repair, code points, the end of a stream. Decoding itself is in core/utf8.hpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/core/utf8.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

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
      append_code_point(out, replacement_character);
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
