// Character classes: \p{L}, \p{N}, White_Space, \p{M}, \p{P}, \p{S} and the two cases, one byte of bits a code point.
//
// unicode_data.hpp lists the classes as runs (range, bits). A lookup below U+0800 (Latin, Greek, Cyrillic, Hebrew,
// Arabic) is one load from a table; above, the page of 128 code points says between which runs to search: none to
// search in pages of one class (all of CJK and Hangul), a handful elsewhere. Both tables are made by the compiler. The
// version of Unicode is `unicode_version`. Unassigned code points have no bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tinygrad/core/config.hpp>
#include <tinygrad/text/unicode_data.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

// Values as in unicode_data.hpp. `upper` is Lu and Lt, `lower` is Ll; both come on top of `letter`.
enum char_class : std::uint8_t {
  class_letter = 1,
  class_number = 2,
  class_space = 4,
  class_mark = 8,
  class_punctuation = 16,
  class_symbol = 32,
  class_upper = 64,
  class_lower = 128,
};

namespace unicode_detail {

inline constexpr std::size_t run_count = sizeof(unicode_runs) / sizeof(unicode_runs[0]);
inline constexpr std::size_t page_bits = 7;
inline constexpr std::size_t page_count = 0x110000 >> page_bits;
inline constexpr std::size_t direct_count = 0x800;

struct lookup_tables {
  std::uint8_t direct[direct_count];       // bits of U+0000 to U+07FF
  std::uint16_t page_run[page_count + 1];  // the run that holds the first code point of each page; then the last run
};

constexpr lookup_tables make_tables() {
  lookup_tables t{};
  std::size_t page = 0, code = 0;
  for (std::size_t r = 0; r < run_count; ++r) {
    const std::size_t end = r + 1 < run_count ? unicode_runs[r + 1].first : std::size_t{0x110000};
    for (; code < end && code < direct_count; ++code) t.direct[code] = unicode_runs[r].bits;
    for (; page << page_bits < end; ++page) t.page_run[page] = static_cast<std::uint16_t>(r);
  }
  t.page_run[page_count] = run_count - 1;
  return t;
}

inline constexpr lookup_tables tables = make_tables();

// The run that holds `code`, at most U+10FFFF, by bisection inside its page.
constexpr std::size_t find_run(char32_t code) {
  std::size_t low = tables.page_run[code >> page_bits], high = tables.page_run[(code >> page_bits) + 1];
  while (low < high) {
    const std::size_t middle = (low + high + 1) / 2;
    if (unicode_runs[middle].first <= code) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace unicode_detail

/// The class bits of one code point; 0 when it is unassigned or beyond U+10FFFF.
[[nodiscard]] constexpr std::uint8_t classes_of(char32_t code) noexcept {
  if (code < unicode_detail::direct_count) return unicode_detail::tables.direct[code];
  if (code > 0x10FFFF) return 0;
  return unicode_runs[unicode_detail::find_run(code)].bits;
}

[[nodiscard]] constexpr bool is_letter(char32_t code) noexcept { return (classes_of(code) & class_letter) != 0; }
[[nodiscard]] constexpr bool is_number(char32_t code) noexcept { return (classes_of(code) & class_number) != 0; }
[[nodiscard]] constexpr bool is_white_space(char32_t code) noexcept { return (classes_of(code) & class_space) != 0; }

}  // namespace tinygrad::inline TINYGRAD_ABI
