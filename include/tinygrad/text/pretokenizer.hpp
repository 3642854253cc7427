// Pre-tokenizers: cut text into the pieces inside which byte pairs are merged. Each published regular expression is a
// scanner written by hand: next(p, end) gives the end of the piece that starts at p. No recursion, no backtracking; a
// scanner looks at no byte more than a few times, so a megabyte of blanks or of one letter costs what other text costs.
//
// Bytes that are no UTF-8 count as symbols: neither letter, number nor space. \s is the property White_Space.
// Where several expressions are applied one after the other (each splits the pieces of those before it), `then` chains
// their scanners. Sources: the models' tokenizer.json, and llama.cpp's names for them ("tokenizer.ggml.pre").
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/text/unicode.hpp>
#include <tinygrad/text/utf8.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

namespace scan {

struct glyph {
  char32_t code;
  std::uint8_t bits;    // char_class
  std::uint8_t length;  // bytes
};

// Two-byte characters (Latin with accents, Greek, Cyrillic, Hebrew, Arabic) are worth a path of their own.
inline glyph look(const char* p, const char* end) noexcept {
  const unsigned first = static_cast<unsigned char>(*p);
  if (first < 0x80) return {first, unicode_detail::tables.direct[first], 1};
  if (first >= 0xC2 && first < 0xE0 && p + 1 < end) {
    const unsigned second = static_cast<unsigned char>(p[1]);
    const char32_t code = (first & 0x1F) << 6 | (second & 0x3F);
    if ((second & 0xC0) == 0x80) return {code, unicode_detail::tables.direct[code], 2};
  }
  const utf8_char c = decode_utf8(p, end);
  return {c.code, c.status == utf8_status::valid ? classes_of(c.code) : std::uint8_t{class_symbol}, c.length};
}

// The first place at or after p where (bits & mask) == wanted no longer holds.
inline const char* skip(const char* p, const char* end, unsigned mask, unsigned wanted) noexcept {
  while (p < end) {
    const glyph g = look(p, end);
    if ((g.bits & mask) != wanted) break;
    p += g.length;
  }
  return p;
}

// The end of a run of letters. ASCII ones are counted eight bytes at a time, without a branch a letter: a byte with its
// case bit set is a letter when adding 0x1F reaches the top bit ('a' and above) and adding 0x05 does not (up to 'z').
inline const char* skip_letters(const char* p, const char* end) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101u, top = 0x80 * ones;
  while (std::endian::native == std::endian::little && end - p >= 8) {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    const std::uint64_t low = (word & ~top) | 0x20 * ones;
    const std::uint64_t others = ~((low + 0x1F * ones) & ~(low + 0x05 * ones) & ~word) & top;
    if (others != 0) {
      p += std::countr_zero(others) / 8;
      if (static_cast<unsigned char>(*p) < 0x80) return p;
      break;
    }
    p += 8;
  }
  return skip(p, end, class_letter, class_letter);
}

inline constexpr unsigned letter = class_letter, number = class_number, space = class_space, mark = class_mark;
inline constexpr unsigned not_other = letter | number | space;  // [^\s\p{L}\p{N}] is what has none of these

inline bool is_newline(char c) noexcept { return c == '\n' || c == '\r'; }

// \s+(?!\S)|\s+ : a run of white space, without its last character when something follows it.
inline const char* white_space(const char* p, const char* end) noexcept {
  const char *last = p, *q = p;
  while (q < end) {
    const glyph g = look(q, end);
    if ((g.bits & space) == 0) return last > p ? last : q;
    last = q;
    q += g.length;
  }
  return q;
}

// 's|'t|'re|'ve|'m|'ll|'d at p, where an apostrophe stands: its length, or 0.
inline std::size_t contraction(const char* p, const char* end) noexcept {
  if (end - p < 2) return 0;
  const char a = p[1];
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  if (end - p < 3) return 0;
  const char b = p[2];
  return (a == 'l' && b == 'l') || ((a == 'r' || a == 'v') && b == 'e') ? 3 : 0;
}

// The same in either case, (?i:...). U+017F, the long s, folds to s.
inline std::size_t contraction_any_case(const char* p, const char* end) noexcept {
  if (end - p < 2) return 0;
  const auto fold = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const char a = fold(p[1]);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  if (end - p < 3) return 0;
  if (p[1] == '\xC5' && p[2] == '\xBF') return 3;
  const char b = fold(p[2]);
  return (a == 'l' && b == 'l') || ((a == 'r' || a == 'v') && b == 'e') ? 3 : 0;
}

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
struct gpt2 {
  static const char* next(const char* p, const char* end) noexcept {
    if (*p == '\'') {
      if (const std::size_t n = contraction(p, end)) return p + n;
    }
    const char* const q = *p == ' ' && p + 1 < end ? p + 1 : p;
    const glyph g = look(q, end);
    if (g.bits & letter) return skip_letters(q + g.length, end);
    if (g.bits & number) return skip(q + g.length, end, number, number);
    if (g.bits & space) return white_space(p, end);
    return skip(q + g.length, end, not_other, 0);
  }
};

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,Digits}|
// ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+ With Marks, \p{M} joins letters: [\p{L}\p{M}]+ and
// [^\s\p{L}\p{M}\p{N}]+.
template <int Digits, bool Marks = false>
struct llama3 {
  static const char* next(const char* p, const char* end) noexcept {
    if (*p == '\'') {
      if (const std::size_t n = contraction_any_case(p, end)) return p + n;
    }
    const glyph g = look(p, end);
    if (g.bits & word) return skip_word(p + g.length, end);
    if (g.bits & number) return digits(p, end);
    const char* const q = p + g.length;
    if (!is_newline(*p) && q < end && (look(q, end).bits & word)) return skip_word(q, end);
    return other_or_space(p, end, g);
  }

 private:
  static constexpr unsigned word = Marks ? letter | mark : letter;

  static const char* skip_word(const char* p, const char* end) noexcept {
    if constexpr (!Marks) return skip_letters(p, end);
    for (; p < end;) {
      const glyph g = look(p, end);
      if ((g.bits & word) == 0) break;
      p += g.length;
    }
    return p;
  }

  static const char* digits(const char* p, const char* end) noexcept {
    for (int k = 0; k < Digits && p < end; ++k) {
      const glyph g = look(p, end);
      if ((g.bits & number) == 0) break;
      p += g.length;
    }
    return p;
  }

  // The last four alternatives; g is the glyph at p, neither letter nor number.
  static const char* other_or_space(const char* p, const char* end, glyph g) noexcept {
    const char* q = *p == ' ' && p + 1 < end ? p + 1 : p;
    if (q != p) g = look(q, end);
    if ((g.bits & (not_other | word)) == 0) {
      q = skip(q + g.length, end, not_other | word, 0);
      while (q < end && is_newline(*q)) ++q;
      return q;
    }
    return newlines_or_space(p, end);
  }

  // \s*[\r\n]+ ends after the last line break of the run of white space, if there is one.
  static const char* newlines_or_space(const char* p, const char* end) noexcept {
    const char* const run = skip(p, end, space, space);
    for (const char* q = run; q > p; --q) {
      if (is_newline(q[-1])) return q;
    }
    return white_space(p, end);
  }
};

// The expression of o200k and tekken: words change from upper to lower case once. U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}],
// W = [\p{Ll}\p{Lm}\p{Lo}\p{M}], C = (?i:'s|'t|'re|'ve|'m|'ll|'d)? where Contractions, else nothing:
// [^\r\n\p{L}\p{N}]?U*W+C|[^\r\n\p{L}\p{N}]?U+W*C|\p{N}{1,Digits}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
template <int Digits, bool Contractions>
struct cased_words {
  static const char* next(const char* p, const char* end) noexcept {
    if (const char* const q = word(p, end)) return q;
    const glyph g = look(p, end);
    if (g.bits & number) return llama3<Digits>::next(p, end);
    const char* q = *p == ' ' && p + 1 < end ? p + 1 : p;
    const glyph first = look(q, end);
    if ((first.bits & not_other) != 0) return llama3<Digits>::next(p, end);  // white space
    q = skip(q + first.length, end, not_other, 0);
    while (q < end && (is_newline(*q) || *q == '/')) ++q;
    return q;
  }

 private:
  static bool in_upper(unsigned bits) noexcept { return (bits & (letter | mark)) && !(bits & class_lower); }
  static bool in_lower(unsigned bits) noexcept { return (bits & (letter | mark)) && !(bits & class_upper); }

  // The first two alternatives, or nullptr.
  static const char* word(const char* p, const char* end) noexcept {
    const glyph g = look(p, end);
    const bool prefix = (g.bits & (letter | number)) == 0 && !is_newline(*p);
    const char* q = prefix ? lower_ended(p + g.length, end) : nullptr;
    if (!q) q = lower_ended(p, end);
    if (!q && prefix) q = upper_run(p + g.length, end);
    if (!q) q = upper_run(p, end);
    if (!q || !Contractions || q == end || *q != '\'') return q;
    return q + contraction_any_case(q, end);
  }

  // U*W+ : after the capitals the lower ones; where none follow, up to the last of U* that is in W as well.
  static const char* lower_ended(const char* p, const char* end) noexcept {
    const char* both = nullptr;
    while (p < end) {
      const glyph g = look(p, end);
      if (!in_upper(g.bits)) break;
      p += g.length;
      if (in_lower(g.bits)) both = p;
    }
    const char* q = p;
    while (q < end) {
      const glyph g = look(q, end);
      if (!in_lower(g.bits)) break;
      q += g.length;
    }
    return q > p ? q : both;
  }

  // U+W* where U*W+ has failed: no member of W follows.
  static const char* upper_run(const char* p, const char* end) noexcept {
    const char* q = p;
    while (q < end) {
      const glyph g = look(q, end);
      if (!in_upper(g.bits)) break;
      q += g.length;
    }
    return q > p ? q : nullptr;
  }
};

// First splits with Outer, then each of its pieces with Inner, which sees no further than the piece.
template <class Outer, class Inner>
struct then {
  const char* next(const char* p, const char* end) noexcept {
    if (p >= limit) limit = outer.next(p, end);
    return inner.next(p, limit);
  }

  Outer outer{};
  Inner inner{};
  const char* limit = nullptr;  // end of the outer piece that p is in
};

// Pieces are the matches of Match, and what lies between them. Match::match(p, end) is the end of the match that starts
// at p, or p where none does.
template <class Match>
struct isolate {
  static const char* next(const char* p, const char* end) noexcept {
    if (const char* const q = Match::match(p, end); q != p) return q;
    do {
      p += look(p, end).length;
    } while (p < end && Match::match(p, end) == p);
    return p;
  }
};

struct one_number {  // \p{N}
  static const char* match(const char* p, const char* end) noexcept {
    const glyph g = look(p, end);
    return (g.bits & number) ? p + g.length : p;
  }
};

struct three_digits {  // [0-9][0-9][0-9]
  static const char* match(const char* p, const char* end) noexcept {
    if (end - p < 3) return p;
    for (int k = 0; k < 3; ++k) {
      if (p[k] < '0' || p[k] > '9') return p;
    }
    return p + 3;
  }
};

struct falcon_punctuation {  // [\p{P}\$\+<=>\^~\|`]+
  static const char* match(const char* p, const char* end) noexcept {
    while (p < end) {
      const glyph g = look(p, end);
      const bool listed = g.code < 0x80 && std::string_view("$+<=>^~|`").find(*p) != std::string_view::npos;
      if (!listed && !(g.bits & class_punctuation)) break;
      p += g.length;
    }
    return p;
  }
};

struct one_newline {  // [\r\n]
  static const char* match(const char* p, const char*) noexcept { return is_newline(*p) ? p + 1 : p; }
};

template <unsigned Class>
struct space_and_run {  // \s?\p{Class}+
  static const char* match(const char* p, const char* end) noexcept {
    const glyph g = look(p, end);
    const char* const q = (g.bits & space) ? p + g.length : p;
    const char* const r = skip(q, end, Class, Class);
    return r > q ? r : p;
  }
};

struct cjk_run {  // [一-龥ࠀ-一가-퟿]+ : U+0800 to U+9FA5 and U+AC00 to U+D7FF
  static const char* match(const char* p, const char* end) noexcept {
    while (p < end) {
      const glyph g = look(p, end);
      const bool inside = (g.code >= 0x800 && g.code <= 0x9FA5) || (g.code >= 0xAC00 && g.code <= 0xD7FF);
      if (!inside) break;
      p += g.length;
    }
    return p;
  }
};

using starcoder = then<isolate<one_number>, gpt2>;
using falcon = then<then<isolate<falcon_punctuation>, gpt2>, isolate<three_digits>>;
using deepseek_coder = then<then<then<then<isolate<one_newline>, isolate<space_and_run<class_letter>>>,
                                      isolate<space_and_run<class_punctuation>>>,
                                 isolate<cjk_run>>,
                            isolate<one_number>>;

struct whole {  // no split at all
  static const char* next(const char*, const char* end) noexcept { return end; }
};

}  // namespace scan

enum class pre_tokenizer : std::uint8_t {
  none,
  gpt2,
  llama3,
  qwen2,
  qwen35,
  starcoder,
  falcon,
  deepseek_coder,
  tekken,
  gpt4o,
};

/// Calls f with a fresh scanner of that kind.
template <class F>
decltype(auto) with_scanner(pre_tokenizer kind, F&& f) {
  switch (kind) {
    case pre_tokenizer::gpt2:
      return f(scan::gpt2{});
    case pre_tokenizer::llama3:
      return f(scan::llama3<3>{});
    case pre_tokenizer::qwen2:
      return f(scan::llama3<1>{});
    case pre_tokenizer::qwen35:
      return f(scan::llama3<1, true>{});
    case pre_tokenizer::starcoder:
      return f(scan::starcoder{});
    case pre_tokenizer::falcon:
      return f(scan::falcon{});
    case pre_tokenizer::deepseek_coder:
      return f(scan::deepseek_coder{});
    case pre_tokenizer::tekken:
      return f(scan::cased_words<1, false>{});
    case pre_tokenizer::gpt4o:
      return f(scan::cased_words<3, true>{});
    case pre_tokenizer::none:
      break;
  }
  return f(scan::whole{});
}

namespace pretokenizer_detail {

struct named_kind {
  std::string_view name;
  pre_tokenizer kind;
};

// As GGUF files spell them (tokenizer.ggml.pre).
inline constexpr named_kind names[] = {
    {"gpt-2", pre_tokenizer::gpt2},          {"gpt2", pre_tokenizer::gpt2},
    {"phi-2", pre_tokenizer::gpt2},          {"mpt", pre_tokenizer::gpt2},
    {"olmo", pre_tokenizer::gpt2},           {"jais", pre_tokenizer::gpt2},
    {"llama-bpe", pre_tokenizer::llama3},    {"llama3", pre_tokenizer::llama3},
    {"llama-v3", pre_tokenizer::llama3},     {"llama-3", pre_tokenizer::llama3},
    {"dbrx", pre_tokenizer::llama3},         {"smaug-bpe", pre_tokenizer::llama3},
    {"qwen2", pre_tokenizer::qwen2},         {"deepseek-r1-qwen", pre_tokenizer::qwen2},
    {"stablelm2", pre_tokenizer::qwen2},     {"qwen35", pre_tokenizer::qwen35},
    {"starcoder", pre_tokenizer::starcoder}, {"refact", pre_tokenizer::starcoder},
    {"smollm", pre_tokenizer::starcoder},    {"command-r", pre_tokenizer::starcoder},
    {"codeshell", pre_tokenizer::starcoder}, {"exaone", pre_tokenizer::starcoder},
    {"falcon", pre_tokenizer::falcon},       {"deepseek-coder", pre_tokenizer::deepseek_coder},
    {"tekken", pre_tokenizer::tekken},       {"gpt-4o", pre_tokenizer::gpt4o},
    {"o200k_base", pre_tokenizer::gpt4o},
};

}  // namespace pretokenizer_detail

/// The name by which GGUF files call it; the first of those that mean the same.
[[nodiscard]] inline std::string_view pre_tokenizer_name(pre_tokenizer kind) noexcept {
  for (const pretokenizer_detail::named_kind& each : pretokenizer_detail::names)
    if (each.kind == kind) return each.name;
  return {};
}

/// value_error for a name that is none: a guess would give other tokens without a word.
[[nodiscard]] inline pre_tokenizer pre_tokenizer_by_name(std::string_view name) {
  std::string known;
  for (const auto& entry : pretokenizer_detail::names) {
    if (entry.name == name) return entry.kind;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw value_error("[pre_tokenizer] unknown name '" + std::string(name) + "'; known are " + known);
}

/// Calls f(first, last) for each piece of `text`, in order; pieces cover the text.
template <class F>
void for_each_piece(pre_tokenizer kind, std::string_view text, F&& f) {
  with_scanner(kind, [&](auto scanner) {
    for (const char *p = text.data(), *const end = p + text.size(); p < end;) {
      const char* const q = scanner.next(p, end);
      f(p, q);
      p = q;
    }
  });
}

}  // namespace tinygrad::inline TINYGRAD_ABI
