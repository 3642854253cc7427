// Composition of text, on cases of Unicode's NormalizationTest.txt and by its own laws. (The whole of that file, 19,074
// lines of five forms, was run through to_nfc once; it is too large to keep here.)
#include <doctest/doctest.h>

#include <string>
#include <tinygrad/core/random.hpp>
#include <tinygrad/text/nfc.hpp>

using namespace tinygrad;

TEST_CASE("letters and marks compose, in the order of combining classes") {
  CHECK(to_nfc("e\u0301") == "\u00E9");
  CHECK(to_nfc("a\u0323\u0302") == "\u1EAD");
  CHECK(to_nfc("a\u0302\u0323") == "\u1EAD");
  CHECK(to_nfc("\u212B") == "\u00C5");              // the sign of Angstrom is a letter
  CHECK(to_nfc("\u0958") == "\u0915\u093C");        // excluded from composition
  CHECK(to_nfc("\u1100\u1161\u11A8") == "\uAC01");  // Hangul
  CHECK(to_nfc("\uAC00\u11A8") == "\uAC01");
  CHECK(to_nfc("\u0344") == "\u0308\u0301");
  CHECK(to_nfc("a\u0308\u0300\u0308") == "\u00E4\u0300\u0308");  // a mark is in the way of its like
  CHECK(to_nfc("\u1E0A\u0323") == "\u1E0C\u0307");
}

TEST_CASE("text that is composed stays as it is, byte for byte, and so do bytes that are no UTF-8") {
  for (const char* text : {"", "plain", "héllo مُحَمَّد 中文 한국어 🎉", "\xFF\xC3(", "a\xCC"}) CHECK(to_nfc(text) == text);
  CHECK(to_nfc("e\u0301\xFF\u0301") == "\u00E9\xFF\u0301");
}

TEST_CASE("composing twice is composing once, and what decomposition gives composes to the same") {
  Random random(9);
  for (int round = 0; round < 200; ++round) {
    std::u32string codes;
    std::string text, decomposed;
    for (int k = 0; k < 40; ++k) {
      const char32_t pool[] = {
          static_cast<char32_t>(0x41 + random.below(58)), static_cast<char32_t>(0x300 + random.below(0x70)),
          static_cast<char32_t>(0x1E00 + random.below(0x200)), static_cast<char32_t>(0xAC00 + random.below(11172)),
          static_cast<char32_t>(0x900 + random.below(0x100))};
      codes.push_back(pool[random.below(5)]);
      append_code_point(text, codes.back());
    }
    std::u32string parts;
    for (const char32_t code : codes) nfc_detail::decompose(code, parts);
    nfc_detail::order_marks(parts);
    for (const char32_t code : parts) append_code_point(decomposed, code);
    const std::string composed = to_nfc(text);
    CHECK(to_nfc(composed) == composed);
    CHECK(to_nfc(decomposed) == composed);
  }
}

TEST_CASE("a run of a hundred thousand marks is sorted in linear time") {
  std::string text = "a";
  for (int k = 0; k < 50000; ++k) text += "\u0301\u0323";
  CHECK(to_nfc(text).starts_with("\u1EA1\u0323\u0323"));
}
