// JSON texts that must be refused: each with the byte where the error is and a word of the message.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <tinygrad/io/json.hpp>

#include "support/expect_error.hpp"
#include "support/small_stack.hpp"

using namespace tinygrad;
using namespace std::string_literals;
using tinygrad_test::expect_format_error;

namespace {

struct rejected {
  std::string text;
  std::uint64_t offset;
  std::string_view reason;
};

// Refused both as a tree and when skipped over, at the same byte.
void check(const rejected& each) {
  CAPTURE(each.text);
  const auto tree = [&] { static_cast<void>(parse_json(each.text)); };
  const auto skipped = [&] {
    json_reader in(each.text);
    in.skip();
    in.finish();
  };
  CHECK(expect_format_error(tree, {each.reason}) == each.offset);
  CHECK(expect_format_error(skipped, {each.reason}) == each.offset);
}

}  // namespace

TEST_CASE("texts that end too early") {
  for (const rejected& each : {rejected{"", 0, "the text ends"},
                               {" \n", 2, "the text ends"},
                               {"[", 1, "the text ends"},
                               {"[1", 2, "the text ends"},
                               {"[1,", 3, "the text ends"},
                               {"{", 1, "the text ends"},
                               {"{\"a\"", 4, "the text ends"},
                               {"{\"a\":", 5, "the text ends"},
                               {"{\"a\":1", 6, "the text ends"},
                               {"\"abc", 4, "ends inside a string"},
                               {"\"abc\\", 0, "a string without end"},
                               {"-", 1, "digit is missing"},
                               {"1.", 2, "digit is missing"},
                               {"1e", 2, "digit is missing"},
                               {"1e+", 3, "digit is missing"},
                               {"tru", 0, "not true, false or null"},
                               {"\"\\u12", 5, "four hexadecimal digits"}})
    check(each);
}

TEST_CASE("text after the value") {
  for (const rejected& each : {rejected{"1 2", 2, "after the end"},
                               {"{}\0"s, 2, "unexpected byte 0x00"},
                               {"[]]", 2, "after the end"},
                               {"nullx", 4, "after the end"},
                               {"\"a\"b", 3, "after the end"}})
    check(each);
}

TEST_CASE("commas and colons in wrong places") {
  for (const rejected& each : {rejected{"[1,]", 3, "where a value should stand"},
                               {"[,1]", 1, "where a value should stand"},
                               {"[1 2]", 3, "where ',' or ']'"},
                               {"{\"a\":1,}", 7, "member's key"},
                               {"{\"a\" 1}", 5, "where ':'"},
                               {"{\"a\":1 \"b\":2}", 7, "where ',' or '}'"},
                               {"{1:2}", 1, "member's key"},
                               {"{,}", 1, "member's key"},
                               {"[1}", 2, "where ',' or ']'"},
                               {"{\"a\":1]", 6, "where ',' or '}'"},
                               {"]", 0, "where a value should stand"}})
    check(each);
}

TEST_CASE("what other notations allow and JSON does not") {
  for (const rejected& each : {rejected{"'a'", 0, "unexpected character"},
                               {"// c\n1", 0, "unexpected character '/'"},
                               {"NaN", 0, "unexpected character 'N'"},
                               {"Infinity", 0, "unexpected character 'I'"},
                               {"-Infinity", 1, "digit is missing"},
                               {"+1", 0, "unexpected character '+'"},
                               {".5", 0, "unexpected character '.'"},
                               {"01", 0, "leading zero"},
                               {"-01", 0, "leading zero"},
                               {"00.5", 0, "leading zero"},
                               {"0x10", 1, "after the end"},
                               {"1.e5", 2, "digit is missing"},
                               {"True", 0, "unexpected character 'T'"},
                               {"{a:1}", 1, "member's key"},
                               {"\v1", 0, "unexpected byte 0x0b"},
                               {"\"\\x41\"", 2, "unknown escape"},
                               {"\"\\'\"", 2, "unknown escape"},
                               {"\"\\u12g4\"", 5, "four hexadecimal digits"}})
    check(each);
}

TEST_CASE("numbers no double can hold") {
  check({"1e999", 0, "too large"});
  check({"[1, -1e309]", 4, "too large"});
  check({"1e99999999999999999999999", 0, "too large"});
  const std::string digits(400, '9');
  check({digits, 0, "too large"});
}

TEST_CASE("strings that are not UTF-8, or hold raw control characters") {
  for (const rejected& each : {rejected{"\"\xff\"", 1, "invalid UTF-8"},
                               {"\"abcdefgh\xc3\"", 9, "invalid UTF-8"},      // a cut-off character
                               {"\"\xc0\xaf\"", 1, "invalid UTF-8"},          // overlong
                               {"\"\xe0\x80\xaf\"", 1, "invalid UTF-8"},      // overlong
                               {"\"\xed\xa0\x80\"", 1, "invalid UTF-8"},      // a surrogate
                               {"\"\xf4\x90\x80\x80\"", 1, "invalid UTF-8"},  // beyond U+10FFFF
                               {"\"\xf0\x9f\x98\"", 1, "invalid UTF-8"},      // a cut-off emoji
                               {"\"\x80\"", 1, "invalid UTF-8"},              // a stray continuation
                               {"\xff", 0, "invalid UTF-8"},
                               {"\"a\nb\"", 2, "control character"},
                               {"\"a\0b\""s, 2, "control character"},
                               {"\"12345678\tb\"", 9, "control character"}})
    check(each);
}

TEST_CASE("every control character is refused raw, wherever it stands among others") {
  for (int code = 0; code < 0x20; ++code)
    for (std::size_t place = 0; place < 20; ++place) {
      std::string text(20, 'x');
      text[place] = static_cast<char>(code);
      check({"\"" + text + "\"", 1 + place, "control character"});
    }
}

TEST_CASE("halves of surrogate pairs") {
  for (const rejected& each : {rejected{"\"\\ud800\"", 3, "surrogate"},
                               {"\"\\ud800x\"", 3, "surrogate"},
                               {"\"\\udc00\"", 3, "surrogate"},
                               {"\"\\ud800\\n\"", 3, "surrogate"},
                               {"\"\\ud800\\u0041\"", 3, "surrogate"},
                               {"\"\\ud800\\ud800\"", 3, "surrogate"}})
    check(each);
}

TEST_CASE("a byte order mark") { check({"\xef\xbb\xbf{}", 0, "byte order mark"}); }

TEST_CASE("nesting beyond the limit, on a small stack") {
  test_support::on_small_stack([] {
    const std::string arrays(1'000'000, '[');
    check({arrays, 128, "nested deeper than 128"});
    std::string objects;
    for (int i = 0; i < 100'000; ++i) objects += "{\"\":";
    check({objects, 4 * 128, "nested deeper than 128"});
    CHECK(parse_json(std::string(128, '[') + std::string(128, ']')).as_array()->size() == 1);
    json_limits deeper;
    deeper.depth = 1'000'000;  // held at json_deepest, because freeing a tree recurses
    const std::string closed = std::string(256, '[') + std::string(256, ']');
    CHECK(parse_json(closed, "json", duplicate_keys::reject, deeper).as_array()->size() == 1);
    CHECK(expect_format_error([&] { static_cast<void>(parse_json(arrays, "json", duplicate_keys::reject, deeper)); },
                              {"nested deeper than 256"}) == 256);
  });
}

TEST_CASE("more text or more values than the caller allows") {
  json_limits limits;
  limits.bytes = 10;
  expect_format_error([&] { static_cast<void>(parse_json("[1,2,3,4,5,6]", "json", duplicate_keys::reject, limits)); },
                      {"13 bytes", "limit is 10"});
  limits.bytes = 100;
  limits.values = 5;
  CHECK(parse_json("[1,2,3,4]", "json", duplicate_keys::reject, limits).as_array()->size() == 4);
  expect_format_error([&] { static_cast<void>(parse_json("[1,2,3,4,5]", "json", duplicate_keys::reject, limits)); },
                      {"more than 5 values"});
}
