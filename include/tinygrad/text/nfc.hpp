// NFC, the composed form of text that some tokenizers want (Qwen 2): Unicode Standard Annex 15.
//
// Decompose canonically, sort marks by combining class, compose again. Bytes that are no UTF-8 stay where they are and
// nothing composes across them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/utf8.hpp>
#include <tinygrad/text/flat_map.hpp>
#include <tinygrad/text/nfc_data.hpp>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {

namespace nfc_detail {

// Hangul syllables are leading + vowel + trailing: S = 0xAC00 + (L * 21 + V) * 28 + T.
inline constexpr char32_t syllables = 0xAC00, leads = 0x1100, vowels = 0x1161, trails = 0x11A7;
inline constexpr char32_t lead_count = 19, vowel_count = 21, trail_count = 28;
inline constexpr char32_t syllable_count = lead_count * vowel_count * trail_count;

inline constexpr std::size_t run_count = sizeof(nfc_runs) / sizeof(nfc_runs[0]);
inline constexpr std::size_t decomposition_count = sizeof(nfc_decompositions) / sizeof(nfc_decompositions[0]);

// The last of `count` sorted entries whose key is not above `code`; the first one's must not be.
template <class Entry, class Key>
const Entry& last_not_above(const Entry* entries, std::size_t count, char32_t code, Key&& key) noexcept {
  std::size_t low = 0;
  for (std::size_t high = count; high - low > 1;) {
    const std::size_t middle = (low + high) / 2;
    (key(entries[middle]) <= code ? low : high) = middle;
  }
  return entries[low];
}

inline nfc_run run_of(char32_t code) noexcept {
  return last_not_above(nfc_runs, run_count, code, [](const nfc_run& r) { return char32_t{r.first}; });
}
inline std::uint32_t combining_class(char32_t code) noexcept { return code < 0x300 ? 0 : run_of(code).combining; }

inline void decompose(char32_t code, std::u32string& out) {
  if (code - syllables < syllable_count) {
    const char32_t s = code - syllables;
    out.push_back(leads + s / (vowel_count * trail_count));
    out.push_back(vowels + s / trail_count % vowel_count);
    if (s % trail_count != 0) out.push_back(trails + s % trail_count);
    return;
  }
  if (code >= nfc_decompositions[0].code) {
    const nfc_decomposition& d = last_not_above(nfc_decompositions, decomposition_count, code,
                                                [](const nfc_decomposition& e) { return char32_t{e.code}; });
    if (d.code == code) {
      decompose(d.first, out);  // at most four deep
      if (d.second != 0) decompose(d.second, out);
      return;
    }
  }
  out.push_back(code);
}

// The marks of [start, end) by class, equal ones in the order they came: a counting sort, linear whatever the text.
inline void sort_marks(std::u32string& text, std::size_t start, std::size_t end) {
  std::size_t place[257] = {};  // where the next mark of a class goes
  std::string classes;
  for (std::size_t k = start; k < end; ++k) {
    const std::uint32_t c = combining_class(text[k]);
    classes.push_back(static_cast<char>(static_cast<unsigned char>(c)));
    ++place[c + 1];
  }
  for (std::size_t c = 1; c < 257; ++c) place[c] += place[c - 1];
  const std::u32string marks = text.substr(start, end - start);
  for (std::size_t k = 0; k < marks.size(); ++k)
    text[start + place[static_cast<unsigned char>(classes[k])]++] = marks[k];
}

// Between starters, marks stand by class.
inline void order_marks(std::u32string& text) {
  std::size_t start = 0;  // of the marks behind the last starter
  std::uint32_t last_class = 0;
  bool sorted = true;
  for (std::size_t k = 0; k <= text.size(); ++k) {
    const std::uint32_t own = k < text.size() ? combining_class(text[k]) : 0;
    if (own != 0) {
      sorted = sorted && last_class <= own;
    } else {
      if (!sorted) sort_marks(text, start, k);
      start = k + 1;
      sorted = true;
    }
    last_class = own;
  }
}

// What two characters make, or 0.
inline char32_t compose_pair(char32_t first, char32_t second) {
  if (first - leads < lead_count && second - vowels < vowel_count) {
    return syllables + ((first - leads) * vowel_count + (second - vowels)) * trail_count;
  }
  if (first - syllables < syllable_count && (first - syllables) % trail_count == 0 && second > trails &&
      second - trails < trail_count) {
    return first + (second - trails);
  }
  static const flat_map<char32_t> pairs = [] {
    flat_map<char32_t> map(decomposition_count);
    for (const nfc_decomposition& d : nfc_decompositions) {
      if (!d.excluded) map.insert(std::uint64_t{d.first} << 32 | d.second, d.code);
    }
    return map;
  }();
  const char32_t* const found = pairs.find(std::uint64_t{first} << 32 | second);
  return found ? *found : 0;
}

// Each starter takes the marks and starters behind it that nothing stands in the way of.
inline void compose(std::u32string& text) {
  std::size_t kept = 0, starter = text.size();
  std::uint32_t last_class = 0;  // of what was kept behind the starter
  for (const char32_t code : std::u32string(text)) {
    const std::uint32_t own = combining_class(code);
    const bool adjacent = starter + 1 == kept;
    if (starter < kept && (adjacent || (last_class != 0 && last_class < own))) {
      if (const char32_t joined = compose_pair(text[starter], code)) {
        text[starter] = joined;
        continue;
      }
    }
    if (own == 0) starter = kept;
    last_class = own;
    text[kept++] = code;
  }
  text.resize(kept);
}

inline void append_composed(std::string& out, std::u32string& text) {
  std::u32string parts;
  for (const char32_t code : text) decompose(code, parts);
  order_marks(parts);
  compose(parts);
  for (const char32_t code : parts) append_code_point(out, code);
  text.clear();
}

// Nothing in it that NFC could change: the quick check of the annex.
inline bool is_settled(std::string_view text) noexcept {
  std::uint32_t last_class = 0;
  for (const char *p = text.data(), *const end = p + text.size(); p < end;) {
    const utf8_char c = decode_utf8(p, end);
    p += c.length;
    const nfc_run run = c.code < 0x300 || c.status != utf8_status::valid ? nfc_run{} : run_of(c.code);
    if (run.unsettled || (run.combining != 0 && run.combining < last_class)) return false;
    last_class = run.combining;
  }
  return true;
}

}  // namespace nfc_detail

/// `text` in NFC.
[[nodiscard]] inline std::string to_nfc(std::string_view text) {
  if (nfc_detail::is_settled(text)) return std::string(text);
  std::string out;
  std::u32string run;
  for (const char *p = text.data(), *const end = p + text.size(); p < end;) {
    const utf8_char c = decode_utf8(p, end);
    if (c.status == utf8_status::valid) {
      run.push_back(c.code);
    } else {
      nfc_detail::append_composed(out, run);
      out.append(p, c.length);
    }
    p += c.length;
  }
  nfc_detail::append_composed(out, run);
  return out;
}

}  // namespace tinygrad::inline TINYGRAD_ABI
