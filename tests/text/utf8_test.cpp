// UTF-8 against the definition, over all code points and all short byte strings.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <tinygrad/text/utf8.hpp>

using namespace tinygrad;

namespace {

std::string encode(char32_t code) {
  std::string out;
  append_code_point(out, code);
  return out;
}

utf8_char decode(const std::string& bytes) { return decode_utf8(bytes.data(), bytes.data() + bytes.size()); }

}  // namespace

TEST_CASE("every code point survives encoding and decoding; surrogates and what is above U+10FFFF become U+FFFD") {
  std::size_t wrong = 0;
  for (char32_t code = 0; code < 0x110100; ++code) {
    const bool scalar = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    const std::string bytes = encode(code);
    const utf8_char c = decode(bytes);
    if (c.status != utf8_status::valid || c.length != bytes.size()) ++wrong;
    if (c.code != (scalar ? code : replacement_character)) ++wrong;
    const std::size_t length = !scalar ? 3 : code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (bytes.size() != length) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a sequence of up to three bytes is valid exactly when some code point encodes to it") {
  // 1, 2 and 3 bytes in full; what is called valid must encode back to the same bytes, so overlong forms cannot pass.
  std::size_t valid = 0, wrong = 0;
  for (unsigned word = 0; word < 0x1000000; ++word) {
    const std::array<char, 3> bytes{static_cast<char>(word >> 16), static_cast<char>(word >> 8),
                                    static_cast<char>(word)};
    const utf8_char c = decode_utf8(bytes.data(), bytes.data() + 3);
    if (c.length < 1 || c.length > 3) ++wrong;
    if (c.status != utf8_status::valid) continue;
    if (c.length == 3) ++valid;
    if (c.length == 3 && encode(c.code) != std::string(bytes.data(), 3)) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(valid == 0x10000 - 0x800 - 0x800);  // all of the BMP from U+0800 up, without surrogates
}

TEST_CASE("malformed bytes are cut into maximal subparts, one U+FFFD each (the example of Unicode 3.9)") {
  const std::string fffd = "\xEF\xBF\xBD";
  CHECK(replace_invalid_utf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64") ==
        "a" + fffd + fffd + fffd + "b" + fffd + "c" + fffd + fffd + "d");
  CHECK(replace_invalid_utf8("\xED\xA0\x80") == fffd + fffd + fffd);  // a surrogate: its first byte cannot go on so
  CHECK(replace_invalid_utf8("\xC0\xAF") == fffd + fffd);             // overlong
  CHECK(replace_invalid_utf8("\xF4\x90\x80\x80") == fffd + fffd + fffd + fffd);  // above U+10FFFF
  CHECK(replace_invalid_utf8("\xF0\x9F\x98") == fffd);                           // cut off
  CHECK(replace_invalid_utf8("héllo") == "héllo");
}

TEST_CASE("the offset of the first malformed byte is found at every place of a long text") {
  for (std::size_t at = 0; at < 40; ++at) {
    std::string text(40, 'a');
    text[at] = '\xFF';
    CHECK(utf8_valid_prefix(text) == at);
  }
  CHECK(is_valid_utf8(std::string(100, 'x') + "مرحبا"));
  CHECK(utf8_valid_prefix("abc\xE2\x82") == 3);
  CHECK_THROWS_WITH_AS(static_cast<void>(code_points("abc\xE2\x82")),
                       "[utf8] text ends inside a character at byte 3 of 5; text must be well-formed UTF-8",
                       value_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(code_points("\xC3(")),
                       "[utf8] invalid UTF-8 at byte 0 of 2; text must be well-formed UTF-8", value_error);
}

TEST_CASE("the tail that may still become a character is told from one that cannot") {
  CHECK(incomplete_utf8_tail("") == 0);
  CHECK(incomplete_utf8_tail("abc") == 0);
  CHECK(incomplete_utf8_tail("a\xF0\x9F\x98") == 3);
  CHECK(incomplete_utf8_tail("a\xF0\x9F") == 2);
  CHECK(incomplete_utf8_tail("a\xF0") == 1);
  CHECK(incomplete_utf8_tail("\xF0\x9F\x98\x80") == 0);
  CHECK(incomplete_utf8_tail("\xE0\x80") == 0);  // 80 cannot follow E0
  CHECK(incomplete_utf8_tail("\xFF") == 0);
  CHECK(incomplete_utf8_tail("\x80\x80\x80\x80") == 0);
}
