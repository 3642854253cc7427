// safetensors files that must be refused: each with its bytes, the offset of the error and words of the message.
// Numbers in names: the collected cases of known broken files; the reference's own tests carry the same ones.
#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <tinygrad/io/safetensors.hpp>

#include "support/expect_error.hpp"
#include "support/file_bytes.hpp"

using namespace tinygrad;
using tinygrad_test::expect_format_error;
using tinygrad_test::le;
using tinygrad_test::safetensors_bytes;
using tinygrad_test::zeros;

namespace {

// The file must be refused with all of `parts` in the message. Gives the byte offset of the error.
std::uint64_t refused(const std::string& bytes, std::initializer_list<std::string_view> parts) {
  CAPTURE(bytes.substr(0, 200));
  return expect_format_error([&] { const safetensors_file file(tinygrad_test::span_of(bytes), "model.safetensors"); },
                             parts);
}
std::uint64_t refused(std::string_view header, std::size_t data_bytes, std::initializer_list<std::string_view> parts) {
  return refused(safetensors_bytes(header, zeros(data_bytes)), parts);
}

constexpr std::string_view good = R"({"test":{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]}})";

}  // namespace

TEST_CASE("the file that the rejections vary is accepted") {
  const std::string bytes = safetensors_bytes(good, zeros(16));
  CHECK(safetensors_file(tinygrad_test::span_of(bytes), "f").tensors().size() == 1);
}

TEST_CASE("E01: a header length beyond 100,000,000 is refused before anything is allocated") {
  std::string bytes = safetensors_bytes(good, zeros(16));
  bytes.replace(0, 8, std::string("\x3c\0\0\0\0\xff\xff\xff", 8));
  CHECK(refused(bytes, {"model.safetensors", "header length", "limit is 100000000"}) == 0);
  CHECK(refused(le(std::uint64_t{100'000'001}), {"limit is 100000000"}) == 0);
  CHECK(refused(le((std::numeric_limits<std::uint64_t>::max)()), {"limit is 100000000"}) == 0);
  CHECK(refused(le(std::uint64_t{100'000'000}), {"only 0 bytes follow"}) == 0);
}

TEST_CASE("E02: an empty file, and a length with nothing behind it") {
  refused("", {"too small"});
  refused(std::string("\x3c\0\0\0\0\0\0", 7), {"too small"});
  CHECK(refused(std::string("\x3c\0\0\0\0\0\0\0", 8), {"header length is 60", "only 0 bytes follow"}) == 0);
}

TEST_CASE("E03: a header that is not UTF-8") {
  CHECK(refused("\xff", 0, {"invalid UTF-8"}) == 8);
  CHECK(refused("{\"\xc3\":{}}", 0, {"invalid UTF-8"}) == 10);
}

TEST_CASE("E04: a header that is not JSON, or not an object") {
  CHECK(refused("{", 0, {"the text ends"}) == 9);
  CHECK(refused("", 0, {"the text ends"}) == 8);
  CHECK(refused("[]", 0, {"must be an object"}) == 8);
  CHECK(refused("null", 0, {"must be an object"}) == 8);
  CHECK(refused("{}\x01", 0, {"unexpected byte 0x01"}) == 10);
  CHECK(refused("\xef\xbb\xbf{}", 0, {"byte order mark"}) == 8);
  refused(std::string(200, '['), 0, {"must be an object"});
  refused("{\"a\":{\"x\":" + std::string(200, '[') + std::string(200, ']') + "}}", 0, {"nested deeper than 128"});
}

TEST_CASE("E05: ten tensors that all claim the same bytes") {
  std::string header = "{";
  for (int i = 0; i < 10; ++i) {
    if (i > 0) header += ',';
    header += "\"weight_" + std::to_string(i) + R"(":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]})";
  }
  refused(header + "}", 16, {"tensor \"weight_1\"", "[0, 16] overlap", "ends at 16"});
}

TEST_CASE("E06: stray bytes after the data, and data that is cut off") {
  const std::string stray = "extra_bogus_data_for_polyglot_file";
  CHECK(refused(safetensors_bytes(good, zeros(16) + stray), {"34 stray bytes", "\"test\""}) == 84);
  CHECK(refused(safetensors_bytes(good, zeros(20)), {"4 stray bytes"}) == 84);
  CHECK(refused(safetensors_bytes(good, zeros(14)), {"cut off", "need 16 bytes", "14 are there", "\"test\""}) == 82);
  CHECK(refused(safetensors_bytes("{}", "x"), {"1 stray bytes"}) == 10);
}

TEST_CASE("E07: offsets that do not fit dtype and shape") {
  refused(R"({"test":{"dtype":"I32","shape":[2,2],"data_offsets":[0, 4]}})", 4,
          {"tensor \"test\"", "hold 4 bytes", "need 16"});
  refused(R"({"test":{"dtype":"F64","shape":[],"data_offsets":[0,4]}})", 4, {"need 8"});
}

TEST_CASE("E08: shapes whose product overflows") {
  for (const std::string_view shape :
       {"[2,18446744073709551614]", "[2,9223372036854775807]", "[4194305,4194305,211106198978564]",
        "[18446744073709551615,18446744073709551615,0]", "[2305843009213693952,1]"}) {
    const std::string header =
        R"({"test":{"dtype":"F32","shape":)" + std::string(shape) + R"(,"data_offsets":[0,16]}})";
    refused(header, 16, {"tensor \"test\"", "overflows 64 bits"});
  }
  // The element count fits in 64 bits, the byte count does not.
  refused(R"({"t":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}})", 4, {"overflows"});
  refused(R"({"t":{"dtype":"I32","shape":[18446744073709551616],"data_offsets":[0,4]}})", 4, {"whole number"});
}

TEST_CASE("E09: a hole between tensors, and before the first") {
  refused(
      R"({"a":{"dtype":"I32","shape":[],"data_offsets":[0,4]},"b":{"dtype":"I32","shape":[],"data_offsets":[8,12]}})",
      12, {"tensor \"b\"", "leave a hole", "ends at 4"});
  refused(R"({"a":{"dtype":"I32","shape":[],"data_offsets":[4,8]}})", 8, {"tensor \"a\"", "leave a hole"});
}

TEST_CASE("E10: duplicate keys say that they are duplicates") {
  const std::string entry = R"({"dtype":"I32","shape":[],"data_offsets":[0,4]})";
  const std::string next = R"({"dtype":"I32","shape":[],"data_offsets":[4,8]})";
  CHECK(refused("{\"a\":" + entry + ",\"a\":" + next + "}", 8, {"duplicate tensor name \"a\""}) == 61);
  refused(R"({"a":)" + entry + R"(,"\u0061":)" + next + "}", 8, {"duplicate tensor name \"a\""});
  refused("{\"a\":" + entry + ",\"a\":" + entry + "}", 4, {"duplicate tensor name \"a\""});  // they overlap as well
  refused(R"({"__metadata__":{"k":"1","k":"2"}})", 0, {"duplicate metadata key \"k\""});
  refused(R"({"__metadata__":{},"__metadata__":{}})", 0, {"duplicate key \"__metadata__\""});
  refused(R"({"a":{"dtype":"I32","dtype":"I32","shape":[],"data_offsets":[0,4]}})", 4, {"two members \"dtype\""});
  refused(R"({"a":{"dtype":"I32","shape":[],"shape":[],"data_offsets":[0,4]}})", 4, {"two members \"shape\""});
  refused(R"({"a":{"dtype":"I32","shape":[],"data_offsets":[0,4],"data_offsets":[0,4]}})", 4, {"two members"});
}

TEST_CASE("E11: a zero-size tensor in the middle of another one's bytes") {
  refused(
      R"({"a":{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]},"z":{"dtype":"I32","shape":[0],"data_offsets":[8,8]}})",
      16, {"tensor \"z\"", "overlap"});
}

TEST_CASE("E14: offsets inverted, negative, too few, too many, no numbers") {
  const auto with = [](std::string_view offsets) {
    return R"({"t":{"dtype":"I32","shape":[2,2],"data_offsets":)" + std::string(offsets) + "}}";
  };
  refused(with("[16,0]"), 16, {"tensor \"t\"", "end before they begin"});
  refused(
      R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"t":{"dtype":"I32","shape":[],"data_offsets":[4,0]}})", 4,
      {"tensor \"t\"", "end before they begin"});
  refused(with("[-4,0]"), 16, {"tensor \"t\"", "whole number"});
  refused(with("[0]"), 16, {"tensor \"t\"", "has 1 numbers"});
  refused(with("[]"), 16, {"has 0 numbers"});
  refused(with("[0,4,8]"), 16, {"has 3 numbers"});
  refused(with("[0,16.0]"), 16, {"whole number"});
  refused(with("[-0,16]"), 16, {"whole number"});
  refused(with("[0,1.6e1]"), 16, {"whole number"});
  refused(with("[0,\"16\"]"), 16, {"must be a number, not a string"});
  refused(with("\"0,16\""), 16, {"must be an array"});
  refused(with("null"), 16, {"must be an array"});
}

TEST_CASE("E17: an unknown dtype is an error, whatever it resembles") {
  for (const std::string_view name : {"f32", "F128", "I4", "INT32", "", "F32 ", "float32", "BF32", "C128"})
    refused(R"({"t":{"dtype":")" + std::string(name) + R"(","shape":[4],"data_offsets":[0,16]}})", 16,
            {"tensor \"t\"", "unknown dtype"});
  refused(R"({"t":{"dtype":5,"shape":[4],"data_offsets":[0,16]}})", 16, {"must be a string, not a number"});
}

TEST_CASE("an entry with members missing or of another kind") {
  refused(R"({"t":{"shape":[4],"data_offsets":[0,16]}})", 16, {"tensor \"t\" has no dtype"});
  refused(R"({"t":{"dtype":"F32","data_offsets":[0,16]}})", 16, {"tensor \"t\" has no shape"});
  refused(R"({"t":{"dtype":"F32","shape":[4]}})", 16, {"tensor \"t\" has no data_offsets"});
  refused(R"({"t":{"dtype":"F32","shape":4,"data_offsets":[0,16]}})", 16, {"must be an array"});
  refused(R"({"t":{"dtype":"F32","shape":[null],"data_offsets":[0,16]}})", 16, {"tensor \"t\"", "a number"});
  refused(R"({"t":["F32",[4],[0,16]]})", 16, {"tensor \"t\"", "by an object"});
  refused(R"({"t":"F32"})", 0, {"tensor \"t\"", "by an object, not a string"});
}

TEST_CASE("elements that do not fill whole bytes") {
  refused(R"({"t":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1, {"tensor \"t\"", "whole bytes"});
}

TEST_CASE("metadata that is not a map of texts") {
  refused(R"({"__metadata__":{"a":1}})", 0, {"metadata \"a\"", "must be a string"});
  refused(R"({"__metadata__":[]})", 0, {"must be an object"});
  refused(R"({"__metadata__":{"a":{"b":"c"}}})", 0, {"must be a string"});
}

TEST_CASE("names in messages are escaped and cut") {
  refused(R"({"a\u0000\n":{"shape":[4],"data_offsets":[0,16]}})", 16, {R"(tensor "a\u0000\n" has no dtype)"});
  const std::string longest(10'000, 'x');
  refused("{\"" + longest + R"(":{"shape":[4],"data_offsets":[0,16]}})", 16,
          {"tensor \"" + longest.substr(0, 120) + "\"... has no dtype"});
}

TEST_CASE("every prefix of a good file is refused") {
  const std::string bytes = safetensors_bytes(good, zeros(16));
  for (std::size_t length = 0; length < bytes.size(); ++length) refused(bytes.substr(0, length), {"model.safetensors"});
}
