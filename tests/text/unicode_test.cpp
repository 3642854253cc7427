// The class table against itself and against counts taken from the Unicode Character Database by other means.
#include <doctest/doctest.h>

#include <bit>
#include <cstddef>
#include <tinygrad/text/unicode.hpp>

using namespace tinygrad;

static_assert(is_letter(U'a') && is_letter(U'\u0645') && is_letter(U'\u4E2D') && is_letter(U'\u00AA'));
static_assert(is_number(U'7') && is_number(U'\u0662') && is_number(U'\u00BD') && is_number(U'\u2167'));
static_assert(is_white_space(U'\u3000') && !is_white_space(U'\u200B') && !is_white_space(U'\u001C'));
static_assert(classes_of(U'\u064E') == class_mark && classes_of(0x110000) == 0 && classes_of(0xFFFFFFFF) == 0);

TEST_CASE("the runs are ascending, start at zero and change class at every border") {
  const std::size_t count = sizeof(unicode_runs) / sizeof(unicode_runs[0]);
  CHECK(unicode_runs[0].first == 0);
  std::size_t wrong = 0;
  for (std::size_t r = 1; r < count; ++r) {
    if (unicode_runs[r].first <= unicode_runs[r - 1].first || unicode_runs[r].bits == unicode_runs[r - 1].bits) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(unicode_runs[count - 1].first < 0x110000);
}

TEST_CASE("a lookup gives the run's class for every code point") {
  const std::size_t count = sizeof(unicode_runs) / sizeof(unicode_runs[0]);
  std::size_t wrong = 0, run = 0;
  for (char32_t code = 0; code < 0x110000; ++code) {
    if (run + 1 < count && unicode_runs[run + 1].first == code) ++run;
    if (classes_of(code) != unicode_runs[run].bits) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("as many letters, numbers and blanks as Unicode 15.0 has") {
  CHECK(unicode_version == "15.0.0");
  std::size_t letters = 0, numbers = 0, spaces = 0, marks = 0, mixed = 0;
  for (char32_t code = 0; code < 0x110000; ++code) {
    const unsigned bits = classes_of(code);
    letters += (bits & class_letter) != 0;
    numbers += (bits & class_number) != 0;
    spaces += (bits & class_space) != 0;
    marks += (bits & class_mark) != 0;
    mixed += std::popcount(bits & (class_letter | class_number | class_space | class_mark)) > 1;
  }
  // Derived from extracted/DerivedGeneralCategory.txt and PropList.txt, whose comments state these totals.
  CHECK(letters == 136104);
  CHECK(numbers == 1831);
  CHECK(spaces == 25);
  CHECK(marks == 2450);
  CHECK(mixed == 0);
}
