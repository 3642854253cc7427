// Text in quotes, as JSON spells it: for JSON itself, and for names from files in messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tinygrad/core/error.hpp>
#include <tinygrad/core/utf8.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

/// Appends `text` as a JSON string, quotes included. Throws value_error when it is not UTF-8.
inline void append_json_string(std::string& out, std::string_view text) {
  if (utf8_valid_prefix(text) != text.size()) throw value_error("[json] a string that is not UTF-8 cannot be written");
  constexpr std::string_view hex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += hex[static_cast<std::size_t>(c) >> 4];
          out += hex[static_cast<std::size_t>(c) & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

namespace detail {

/// A name as it may appear in a message: escaped, and cut when somebody made it very long.
[[nodiscard]] inline std::string in_quotes(std::string_view name) {
  constexpr std::size_t longest = 120;
  const bool cut = name.size() > longest;
  if (cut) name = name.substr(0, longest);
  std::string text;
  append_json_string(text, name.substr(0, utf8_valid_prefix(name)));
  return cut ? text + "..." : text;
}

}  // namespace detail
}  // namespace tinygrad::inline TINYGRAD_ABI
