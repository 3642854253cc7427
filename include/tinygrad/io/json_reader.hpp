// JSON, read piece by piece: a strict RFC 8259 tokenizer whose caller asks for what it expects next.
//
//   json_reader in(text, path);
//   in.begin_object();
//   while (in.next_key(key)) { if (key == "n_layer") layers = in.read_uint64("n_layer"); else in.skip(); }
//   in.finish();
//
// Nothing is built that the caller does not keep, every error knows its byte, and there is no recursion: time and
// memory are linear in the text, whatever the text is. For a tree of values see json.hpp.
// Strict means: UTF-8 checked, no comments, trailing commas, leading zeros, NaN, byte order mark, lone surrogates or
// raw control characters in strings. A number that no double can hold (1e999) is an error; 1e-999 is zero.
// Source: RFC 8259.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tinygrad/core/error.hpp>
#include <tinygrad/core/utf8.hpp>
#include <tinygrad/io/byte_reader.hpp>
#include <type_traits>
#include <utility>
#include <version>

#ifndef __cpp_lib_to_chars  // libc++ before 20 has no from_chars for double
#include <locale.h>
#include <stdlib.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif
#endif

namespace tinygrad::inline TINYGRAD_ABI {

enum class json_kind : std::uint8_t { null, boolean, number, string, array, object };

[[nodiscard]] constexpr std::string_view name_of(json_kind kind) noexcept {
  constexpr std::string_view names[] = {"null", "a boolean", "a number", "a string", "an array", "an object"};
  return names[static_cast<std::size_t>(kind)];
}

/// A number as written: whole numbers keep all 64 bits, everything else is the nearest double.
struct json_number {
  enum class form : std::uint8_t { negative, natural, real };  // int64 below zero, uint64, double
  form kind = form::natural;
  union {
    std::int64_t negative;
    std::uint64_t natural = 0;
    double real;
  };

  json_number() = default;
  template <class N>
  requires std::is_arithmetic_v<N>
  explicit json_number(N value) noexcept {
    if constexpr (std::is_floating_point_v<N>) {
      kind = form::real;
      real = static_cast<double>(value);
    } else if (std::cmp_less(value, 0)) {
      kind = form::negative;
      negative = static_cast<std::int64_t>(value);
    } else {
      natural = static_cast<std::uint64_t>(value);
    }
  }

  [[nodiscard]] double as_double() const noexcept {
    if (kind == form::negative) return static_cast<double>(negative);
    return kind == form::natural ? static_cast<double>(natural) : real;
  }
};

/// What a text may ask of the reader before it is refused.
struct json_limits {
  std::uint64_t bytes = std::uint64_t{256} << 20;
  std::uint32_t depth = 128;                      // arrays and objects inside each other; at most json_deepest
  std::uint64_t values = std::uint64_t{1} << 23;  // only counted where a tree is built: 40 bytes each
};
inline constexpr std::uint32_t json_deepest = 256;  // trees are freed and written by recursion

namespace detail {

/// The double nearest to the decimal [first, last), which is well formed; `magnitude` is the decimal exponent of its
/// leading digit. False when it is too large for a double.
[[nodiscard]] inline bool decimal_to_double(const char* first, const char* last, std::int64_t magnitude, double& out) {
  if (magnitude > 310) return false;
  if (magnitude < -330) return out = 0, true;
#ifdef __cpp_lib_to_chars
  const auto result = std::from_chars(first, last, out);
  if (result.ec == std::errc{}) return true;
  out = 0;  // out of range: too small is zero, too large an error
  return magnitude < 0;
#else
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", locale_t{});
  const std::string text(first, last);
  out = strtod_l(text.c_str(), nullptr, c_locale);
  return out <= (std::numeric_limits<double>::max)();
#endif
}

/// mantissa * 10^exponent where both factors are exact doubles, so that one operation rounds once (Clinger, 1990).
[[nodiscard]] inline bool exact_decimal(std::uint64_t mantissa, std::int64_t exponent, double& out) noexcept {
  constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                               1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (mantissa > (std::uint64_t{1} << 53) || exponent < -22 || exponent > 22) return false;
  const auto value = static_cast<double>(mantissa);
  out = exponent < 0 ? value / powers[-exponent] : value * powers[exponent];
  return true;
}

}  // namespace detail

class json_reader {
 public:
  /// Reads `text`, which must outlive the reader. `path` and `base` (where the text starts in its file) are for errors.
  explicit json_reader(std::string_view text, std::string path = "json", json_limits limits = {},
                       std::uint64_t base = 0)
      : begin_(text.data()),
        p_(begin_),
        end_(begin_ + text.size()),
        path_(std::move(path)),
        limits_(limits),
        base_(base) {
    if (limits_.depth > json_deepest) limits_.depth = json_deepest;
    if (text.size() > limits_.bytes)
      fail("the text has " + std::to_string(text.size()) + " bytes; the limit is " + std::to_string(limits_.bytes));
    if (text.starts_with("\xef\xbb\xbf")) fail("a byte order mark; JSON is UTF-8 without one");
  }

  /// The kind of the next value, by its first character.
  [[nodiscard]] json_kind peek() {
    skip_blanks();
    if (p_ == end_) fail("the text ends where a value should stand");
    switch (*p_) {
      case '{':
        return json_kind::object;
      case '[':
        return json_kind::array;
      case '"':
        return json_kind::string;
      case 't':
      case 'f':
        return json_kind::boolean;
      case 'n':
        return json_kind::null;
      default:
        break;
    }
    if (*p_ == '-' || is_digit(*p_)) return json_kind::number;
    fail_character("where a value should stand");
  }

  void begin_object() { open('{', json_kind::object); }
  void begin_array() { open('[', json_kind::array); }

  /// The next member's key, valid until the next read; false at the end of the object, which is then closed.
  [[nodiscard]] bool next_key(std::string_view& key) {
    if (!advance('}')) return false;
    if (p_ == end_ || *p_ != '"') fail_character("where a member's key should stand");
    key_offset_ = offset();
    key = scan_string();
    skip_blanks();
    if (p_ == end_ || *p_ != ':') fail_character("where ':' should stand");
    ++p_;
    fresh_ = false;
    return true;
  }
  /// True when another element follows; false at the end of the array, which is then closed.
  [[nodiscard]] bool next_element() {
    if (!advance(']')) return false;
    fresh_ = false;
    return true;
  }

  /// The string, valid until the next read: a view of the text, or of a buffer when it had escapes.
  [[nodiscard]] std::string_view read_string(std::string_view what = "value") {
    expect(json_kind::string, what);
    return scan_string();
  }
  [[nodiscard]] json_number read_number(std::string_view what = "value") {
    expect(json_kind::number, what);
    return scan_number();
  }
  /// A whole number from 0 to 2^64 - 1, written without fraction, exponent or sign.
  [[nodiscard]] std::uint64_t read_uint64(std::string_view what = "value") {
    const json_number number = read_number(what);
    if (number.kind != json_number::form::natural)
      fail_at(value_offset_, std::string(what) + " must be a whole number from 0 to 2^64 - 1");
    return number.natural;
  }
  [[nodiscard]] bool read_boolean(std::string_view what = "value") {
    expect(json_kind::boolean, what);
    if (*p_ == 't') return word("true"), true;
    return word("false"), false;
  }
  void read_null(std::string_view what = "value") {
    expect(json_kind::null, what);
    word("null");
  }

  /// Passes over the next value, whatever it is, checking it like any other.
  void skip() {
    const std::size_t depth = open_.size();
    do {
      if (open_.size() > depth && !next_in_container()) continue;
      skip_one();
    } while (open_.size() > depth);
  }

  /// The value must have been the last: only blanks may follow.
  void finish() {
    skip_blanks();
    if (p_ != end_) fail_character("after the end of the value");
  }

  /// Where the reader stands, counted from the start of the file.
  [[nodiscard]] std::uint64_t offset() const noexcept { return base_ + static_cast<std::uint64_t>(p_ - begin_); }
  /// Where the last key, and the last value or opening bracket, started.
  [[nodiscard]] std::uint64_t key_offset() const noexcept { return key_offset_; }
  [[nodiscard]] std::uint64_t value_offset() const noexcept { return value_offset_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::size_t depth() const noexcept { return open_.size(); }
  [[nodiscard]] const json_limits& limits() const noexcept { return limits_; }

  /// Throws format_error; the text names line and column too when there is more than one line.
  [[noreturn]] TINYGRAD_COLD void fail_at(std::uint64_t at, const std::string& what) const {
    std::size_t line = 1;
    const char* line_start = begin_;
    const char* const stop = begin_ + (at - base_);
    for (const char* p = begin_; p != stop; ++p)
      if (*p == '\n') ++line, line_start = p + 1;
    std::string where;
    if (line > 1) where = "line " + std::to_string(line) + ", column " + std::to_string(stop - line_start + 1) + ": ";
    throw format_error(path_, at, where + what);
  }
  [[noreturn]] void fail(const std::string& what) const { fail_at(offset(), what); }

 private:
  [[nodiscard]] static constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

  void skip_blanks() noexcept {
    while (p_ != end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\t' || *p_ == '\r')) ++p_;
  }

  void expect(json_kind kind, std::string_view what) {
    const json_kind found = peek();
    value_offset_ = offset();
    if (found != kind)
      fail(std::string(what) + " must be " + std::string(name_of(kind)) + ", not " + std::string(name_of(found)));
  }

  void open(char bracket, json_kind kind) {
    expect(kind, "value");
    if (open_.size() >= limits_.depth) fail("arrays and objects nested deeper than " + std::to_string(limits_.depth));
    open_ += bracket;
    fresh_ = true;
    ++p_;
  }

  // Moves to the next member or element past a comma; false when `closer` ends the container instead.
  [[nodiscard]] bool advance(char closer) {
    skip_blanks();
    if (p_ != end_ && *p_ == closer) {
      ++p_;
      open_.pop_back();
      fresh_ = false;  // the container was itself a value of its parent
      return false;
    }
    if (fresh_) return true;
    if (p_ == end_ || *p_ != ',')
      fail_character(closer == '}' ? "where ',' or '}' should stand" : "where ',' or ']' should stand");
    ++p_;
    skip_blanks();
    return true;
  }

  [[nodiscard]] bool next_in_container() {
    std::string_view key;
    return open_.back() == '{' ? next_key(key) : next_element();
  }

  void skip_one() {
    switch (peek()) {
      case json_kind::object:
        begin_object();
        break;
      case json_kind::array:
        begin_array();
        break;
      case json_kind::string:
        static_cast<void>(read_string());
        break;
      case json_kind::number:
        static_cast<void>(read_number());
        break;
      case json_kind::boolean:
        static_cast<void>(read_boolean());
        break;
      case json_kind::null:
        read_null();
        break;
    }
  }

  void word(std::string_view expected) {
    if (!std::string_view(p_, static_cast<std::size_t>(end_ - p_)).starts_with(expected))
      fail("a word that is not true, false or null");
    p_ += expected.size();
  }

  // --- strings -------------------------------------------------------------------------------------------------

  // First of the bytes that end a run of plain ASCII: a quote, a backslash, a control character, or any byte of a
  // longer character. Eight bytes at a time; the tests set the top bit of each byte they hit (and perhaps of later
  // ones, by the borrow, but never of an earlier one).
  [[nodiscard]] static const char* end_of_plain(const char* p, const char* end) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t tops = 0x8080808080808080;
    const auto zero_bytes = [](std::uint64_t x) { return (x - ones) & ~x; };
    for (; end - p >= 8; p += 8) {
      const auto word = load_bytes<std::uint64_t>(reinterpret_cast<const std::byte*>(p));
      const std::uint64_t controls = (word - ones * 0x20) & ~word;
      const std::uint64_t hits =
          (zero_bytes(word ^ (ones * '"')) | zero_bytes(word ^ (ones * '\\')) | controls | word) & tops;
      if (hits != 0) return p + std::countr_zero(hits) / 8;
    }
    const auto is_plain = [](char c) {
      return c != '"' && c != '\\' && c >= 0x20 && static_cast<unsigned char>(c) < 0x80;
    };
    while (p != end && is_plain(*p)) ++p;
    return p;
  }

  // Passes over characters that stand for themselves, up to a quote or a backslash.
  void pass_literal() {
    while (true) {
      p_ = end_of_plain(p_, end_);
      if (p_ == end_) fail("the text ends inside a string");
      if (*p_ == '"' || *p_ == '\\') return;
      if (static_cast<unsigned char>(*p_) < 0x20) fail("a raw control character in a string; it must be escaped");
      while (p_ != end_ && static_cast<unsigned char>(*p_) >= 0x80) {
        const std::size_t length = utf8_length(p_, end_);
        if (length == 0) fail("invalid UTF-8 in a string");
        p_ += length;
      }
    }
  }

  [[nodiscard]] std::string_view scan_string() {
    const std::uint64_t opened = offset();
    const char* start = ++p_;
    pass_literal();
    if (*p_ == '"') return {start, static_cast<std::size_t>(p_++ - start)};
    scratch_.clear();
    while (*p_ == '\\') {
      scratch_.append(start, p_);
      ++p_;
      scan_escape(opened);
      start = p_;
      pass_literal();
    }
    scratch_.append(start, p_++);
    return scratch_;
  }

  // One escape, after its backslash.
  void scan_escape(std::uint64_t opened) {
    if (p_ == end_) fail_at(opened, "a string without end");
    switch (*p_++) {
      case '"':
        scratch_ += '"';
        break;
      case '\\':
        scratch_ += '\\';
        break;
      case '/':
        scratch_ += '/';
        break;
      case 'b':
        scratch_ += '\b';
        break;
      case 'f':
        scratch_ += '\f';
        break;
      case 'n':
        scratch_ += '\n';
        break;
      case 'r':
        scratch_ += '\r';
        break;
      case 't':
        scratch_ += '\t';
        break;
      case 'u':
        append_code_point(scratch_, scan_code_point());
        break;
      default:
        --p_;
        fail("an unknown escape in a string");
    }
  }

  // The four digits after \u, and the second half of a surrogate pair (RFC 8259, 7).
  [[nodiscard]] char32_t scan_code_point() {
    const char* const start = p_;
    const char32_t first = scan_hex4();
    if (first < 0xd800 || first > 0xdfff) return first;
    const bool pair_follows = first < 0xdc00 && end_ - p_ >= 2 && p_[0] == '\\' && p_[1] == 'u';
    if (pair_follows) {
      p_ += 2;
      const char32_t second = scan_hex4();
      if (second >= 0xdc00 && second <= 0xdfff) return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    }
    p_ = start;
    fail("half of a surrogate pair");
  }

  [[nodiscard]] char32_t scan_hex4() {
    char32_t code = 0;
    for (int i = 0; i < 4; ++i, ++p_) {
      const char c = p_ == end_ ? '?' : *p_;
      const char lower = static_cast<char>(c | 0x20);
      if (is_digit(c)) {
        code = code * 16 + static_cast<char32_t>(c - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        code = code * 16 + static_cast<char32_t>(lower - 'a' + 10);
      } else {
        fail("\\u needs four hexadecimal digits");
      }
    }
    return code;
  }

  // --- numbers -------------------------------------------------------------------------------------------------

  // The digits of a number as an integer, as far as they fit, and where the point stands in it.
  struct digits {
    std::uint64_t mantissa = 0;
    std::int64_t used = 0;      // digits since the first that is not zero
    std::int64_t dropped = 0;   // of those, how many no longer fitted
    std::int64_t fraction = 0;  // digits after the point

    void add(char c) noexcept {
      const auto digit = static_cast<std::uint64_t>(c - '0');
      if (used > 0 || digit != 0) ++used;
      constexpr std::uint64_t limit = (std::numeric_limits<std::uint64_t>::max)();
      if (dropped > 0 || mantissa > limit / 10 || mantissa * 10 > limit - digit) {
        ++dropped;
      } else {
        mantissa = mantissa * 10 + digit;
      }
    }
  };

  [[nodiscard]] json_number scan_number() {
    const char* const start = p_;
    const bool minus = *p_ == '-';
    if (minus) ++p_;
    digits number;
    const bool leading_zero = p_ != end_ && *p_ == '0';
    scan_digits(number);
    if (leading_zero && p_ - start > (minus ? 2 : 1)) fail_at(value_offset_, "a number with a leading zero");
    const bool has_point = p_ != end_ && *p_ == '.';
    if (has_point) {
      ++p_;
      const char* const point = p_;
      scan_digits(number);
      number.fraction = p_ - point;
    }
    const bool has_exponent = p_ != end_ && (*p_ == 'e' || *p_ == 'E');
    const std::int64_t exponent = has_exponent ? scan_exponent() : 0;
    const bool whole = !has_point && !has_exponent && number.dropped == 0;
    if (whole && !minus) return json_number(number.mantissa);
    constexpr std::uint64_t lowest = std::uint64_t{1} << 63;
    if (whole && number.mantissa > 0 && number.mantissa <= lowest)
      return json_number(static_cast<std::int64_t>(0 - number.mantissa));
    return real(start, minus, number, exponent);  // -0 too: only a double has it
  }

  void scan_digits(digits& number) {
    if (p_ == end_ || !is_digit(*p_)) fail("a digit is missing in a number");
    for (; p_ != end_ && is_digit(*p_); ++p_) number.add(*p_);
  }

  // The exponent after its 'e', held at a bound far outside what a double can hold.
  [[nodiscard]] std::int64_t scan_exponent() {
    ++p_;
    const bool minus = p_ != end_ && *p_ == '-';
    if (p_ != end_ && (*p_ == '-' || *p_ == '+')) ++p_;
    if (p_ == end_ || !is_digit(*p_)) fail("a digit is missing in an exponent");
    constexpr std::int64_t bound = std::int64_t{1} << 40;
    std::int64_t value = 0;
    for (; p_ != end_ && is_digit(*p_); ++p_)
      if (value < bound) value = value * 10 + (*p_ - '0');
    return minus ? -value : value;
  }

  [[nodiscard]] json_number real(const char* start, bool minus, const digits& number, std::int64_t exponent) const {
    double value = 0;
    const std::int64_t scale = exponent - number.fraction;
    const std::int64_t magnitude = number.used - 1 + scale;
    const bool exact = number.dropped == 0 && detail::exact_decimal(number.mantissa, scale, value);
    if (!exact && number.used > 0 && !detail::decimal_to_double(minus ? start + 1 : start, p_, magnitude, value))
      fail_at(value_offset_, "a number too large for a double");
    return json_number(minus ? -value : value);
  }

  [[noreturn]] TINYGRAD_COLD void fail_character(const std::string& where) const {
    if (p_ == end_) fail("the text ends " + where);
    const auto byte = static_cast<unsigned char>(*p_);
    if (byte > 0x20 && byte < 0x7f) fail("unexpected character '" + std::string(1, *p_) + "' " + where);
    constexpr std::string_view hex = "0123456789abcdef";
    const std::string code = std::string("0x") + hex[byte >> 4] + hex[byte & 15];
    if (byte >= 0x80 && utf8_length(p_, end_) == 0) fail("invalid UTF-8: byte " + code + " " + where);
    fail("unexpected byte " + code + " " + where);
  }

  const char* begin_;
  const char* p_;
  const char* end_;
  std::string path_;
  json_limits limits_;
  std::uint64_t base_;
  std::uint64_t key_offset_ = 0;
  std::uint64_t value_offset_ = 0;
  std::string open_;     // the brackets that are open, outermost first
  std::string scratch_;  // the last string that had escapes
  bool fresh_ = false;   // just after an opening bracket: no comma is due
};

}  // namespace tinygrad::inline TINYGRAD_ABI
