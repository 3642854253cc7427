// .npy files that must be refused: each with its bytes and words of the message.
#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tinygrad/io/npy.hpp>

#include "support/expect_error.hpp"
#include "support/file_bytes.hpp"

using namespace tinygrad;
using tinygrad_test::expect_format_error;
using tinygrad_test::le;
using tinygrad_test::zeros;

namespace {

std::uint64_t refused(const std::string& bytes, std::initializer_list<std::string_view> parts) {
  CAPTURE(bytes.substr(0, 200));
  return expect_format_error([&] { const npy_file file(tinygrad_test::span_of(bytes), "array.npy"); }, parts);
}
std::string with_header(std::string_view header, std::size_t data_bytes) {
  return std::string("\x93NUMPY\1\0", 8) + le(static_cast<std::uint16_t>(header.size())) + std::string(header) +
         zeros(data_bytes);
}
std::uint64_t refused_header(std::string_view header, std::initializer_list<std::string_view> parts) {
  return refused(with_header(header, 12), parts);
}
std::uint64_t refused_shape(std::string_view shape, std::initializer_list<std::string_view> parts) {
  return refused_header("{'descr': '<f4', 'fortran_order': False, 'shape': " + std::string(shape) + ", }", parts);
}
std::uint64_t refused_descr(std::string_view descr, std::initializer_list<std::string_view> parts) {
  return refused_header("{'descr': " + std::string(descr) + ", 'fortran_order': False, 'shape': (3,), }", parts);
}

constexpr std::string_view good = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";

}  // namespace

TEST_CASE("the file that the rejections vary is accepted") {
  CHECK(npy_file(tinygrad_test::span_of(with_header(good, 12)), "f").count() == 3);
}

TEST_CASE("no magic, an unknown version") {
  CHECK(refused("", {"array.npy", "no .npy file"}) == 0);
  CHECK(refused("\x93NUMP", {"no .npy file"}) == 0);
  CHECK(refused(std::string("\x93NUMPX\1\0\0\0", 10), {"no .npy file"}) == 0);
  CHECK(refused(std::string("PK\3\4\0\0\0\0\0\0", 10), {"no .npy file"}) == 0);
  for (const char* version : {"\0\0", "\4\0", "\1\1", "\xff\0"})
    CHECK(refused(std::string("\x93NUMPY") + std::string(version, 2) + std::string("\2\0{}", 4), {"version"}) == 6);
}

TEST_CASE("every prefix of a good file is refused") {
  const std::string bytes = with_header(good, 12);
  for (std::size_t length = 0; length < bytes.size(); ++length) refused(bytes.substr(0, length), {"array.npy"});
}

TEST_CASE("I03: a header length beyond the file, in two bytes and in four") {
  CHECK(refused(std::string("\x93NUMPY\1\0\xff\xff{}", 12), {"header length claims 65535 bytes", "2 are left"}) == 8);
  CHECK(refused(std::string("\x93NUMPY\2\0\xff\xff\xff\xff{}", 14), {"claims 4294967295 bytes", "2 are left"}) == 8);
}

TEST_CASE("data too short or too long for the shape") {
  CHECK(refused(with_header(good, 11), {"cut off", "needs 12 bytes", "11 are there"}) == 10 + good.size());
  CHECK(refused(with_header(good, 13), {"1 stray bytes"}) == 22 + good.size());
}

TEST_CASE("shapes that overflow or are no shapes") {
  refused_shape("(18446744073709551615, 2)", {"overflows"});
  refused_shape("(18446744073709551616,)", {"does not fit 64 bits"});
  refused_shape("(4611686018427387905,)", {"cut off"});  // times four bytes wraps to 4
  refused_shape("(99999999999999999999999999999999,)", {"does not fit"});
  refused_shape("(-3,)", {"a size expected"});
  refused_shape("(3)", {"with a comma"});
  refused_shape("3", {"'(' expected"});
  refused_shape("[3]", {"'(' expected"});
  refused_shape("(3.0,)", {"',' or ')' expected"});
  refused_shape("(3,,)", {"a size expected"});
  refused_shape("(,)", {"a size expected"});
  refused_shape("(3 3)", {"',' or ')' expected"});
  refused_shape("(0x3,)", {"',' or ')' expected"});
  refused_shape("(3", {"expected"});
  refused_shape("(None,)", {"a size expected"});
}

TEST_CASE("I04: fortran_order that is neither True nor False") {
  for (const char* order : {"1", "true", "'True'", "Truest", "None", ""})
    refused_header("{'descr': '<f4', 'fortran_order': " + std::string(order) + ", 'shape': (3,), }",
                   {"must be True or False"});
}

TEST_CASE("arrays of other things than numbers") {
  for (const char* descr : {"'|O'", "'<U4'", "'|S4'", "'|V4'", "'<M8[ns]'", "'<f3'", "'<f16'", "'<c16'", "''", "'f4'",
                            "'|f4'", "'=f4'", "'<'", "'<f4 '", "'<i1 '", "'!f4'"})
    refused_descr(descr, {"is not supported"});
  refused_descr("[('x', '<f4')]", {"structured"});
  refused_descr("<f4", {"a string expected"});
  refused_descr("'<f\\x34'", {"unusual string"});
  refused_descr("('<f4', (2,))", {"a string expected"});
}

TEST_CASE("headers that are no dictionary, or the wrong one") {
  refused_header("", {"'{' expected"});
  refused_header("()", {"'{' expected"});
  refused_header("{", {"a string expected"});
  refused_header("{}", {"must have"});
  refused_header("{'descr': '<f4', 'fortran_order': False}", {"must have"});
  refused_header("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}", {"unknown key"});
  refused_header("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", {"appears twice"});
  refused_header("{'descr' '<f4'}", {"':' expected"});
  refused_header("{'descr': '<f4' 'fortran_order': False}", {"',' expected"});
  refused_header("{'descr", {"string without end"});
  refused_header("{descr: '<f4'}", {"a string expected"});
  refused_header(std::string(good) + "import os", {"after the header's dictionary"});
  refused_header(std::string(good) + std::string(1, '\0'), {"after the header's dictionary"});
}
