// UTF-8: is it well formed, and code points written as bytes.
//
// Well formed means Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

/// Length in bytes (1 to 4) of the well-formed character at the front of [p, end), or 0 when there is none.
[[nodiscard]] constexpr std::size_t utf8_length(const char* p, const char* end) noexcept {
  const auto byte = [p](int i) { return static_cast<unsigned char>(p[i]); };
  const auto follows = [&](int i) { return (byte(i) & 0xc0) == 0x80; };
  const std::ptrdiff_t room = end - p;
  if (room < 1) return 0;
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;  // continuation, overlong C0 and C1, beyond U+10FFFF
  if (lead < 0xe0) return room >= 2 && follows(1) ? 2 : 0;
  if (lead < 0xf0) {
    const unsigned lowest = lead == 0xe0 ? 0xa0 : 0x80;   // below: overlong
    const unsigned highest = lead == 0xed ? 0x9f : 0xbf;  // above: a surrogate
    return room >= 3 && byte(1) >= lowest && byte(1) <= highest && follows(2) ? 3 : 0;
  }
  const unsigned lowest = lead == 0xf0 ? 0x90 : 0x80;   // below: overlong
  const unsigned highest = lead == 0xf4 ? 0x8f : 0xbf;  // above: beyond U+10FFFF
  return room >= 4 && byte(1) >= lowest && byte(1) <= highest && follows(2) && follows(3) ? 4 : 0;
}

/// Bytes at the front of `text` that are well formed; text.size() when all of it is.
[[nodiscard]] constexpr std::size_t utf8_valid_prefix(std::string_view text) noexcept {
  const char* const end = text.data() + text.size();
  const char* p = text.data();
  while (const std::size_t length = utf8_length(p, end)) p += length;
  return static_cast<std::size_t>(p - text.data());
}

/// Appends `code` (a code point that is no surrogate and at most U+10FFFF) as one to four bytes.
inline void append_code_point(std::string& out, char32_t code) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    tail(12), tail(6), tail(0);
  }
}

}  // namespace tinygrad::inline TINYGRAD_ABI
