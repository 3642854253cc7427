// GGUF files that must be refused: each with its bytes, the offset of the error and words of the message.
// Numbers in names: the collected cases of known broken files. The kinds of ggml's own tests are here too.
#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <tinygrad/io/gguf.hpp>

#include "support/expect_error.hpp"
#include "support/file_bytes.hpp"
#include "support/gguf_bytes.hpp"
#include "support/small_stack.hpp"

using namespace tinygrad;
using namespace tinygrad_test;

namespace {

constexpr std::uint64_t most = (std::numeric_limits<std::uint64_t>::max)();

// The file must be refused with all of `parts` in the message. Gives the byte offset of the error.
std::uint64_t refused(const std::string& bytes, std::initializer_list<std::string_view> parts) {
  CAPTURE(bytes.size());
  return expect_format_error([&] { const gguf_file file(span_of(bytes), "model.gguf"); }, parts);
}

// One pair "key" of this kind and value, no tensors.
std::string with_value(std::uint32_t kind, const std::string& value) {
  return gguf_head(3, 0, 1) + gguf_string("key") + le(kind) + value;
}
std::string array_of(std::uint32_t kind, std::uint64_t count, const std::string& elements) {
  return le(kind) + le(count) + elements;
}
// One tensor "t" described so, followed by padding and data.
std::string with_tensor(std::initializer_list<std::uint64_t> sizes, std::uint32_t type, std::uint64_t offset,
                        std::size_t data_bytes) {
  return padded(gguf_head(3, 1, 0) + gguf_description("t", sizes, type, offset), 32) + zeros(data_bytes);
}

}  // namespace

TEST_CASE("the files that the rejections vary are accepted") {
  const auto accepted = [](const std::string& bytes) { const gguf_file file(span_of(bytes), "f"); };
  CHECK_NOTHROW(accepted(gguf_head(3, 0, 0)));
  CHECK_NOTHROW(accepted(with_value(4, le(std::uint32_t{1}))));
  CHECK_NOTHROW(accepted(with_tensor({2, 3}, 0, 0, 24)));
}

TEST_CASE("no GGUF file") {
  CHECK(refused("", {"model.gguf", "must start with GGUF"}) == 0);
  CHECK(refused("GGU", {"must start with GGUF"}) == 0);
  CHECK(refused("GGML" + gguf_head(3, 0, 0).substr(4), {"must start with GGUF"}) == 0);
}

TEST_CASE("F16: other versions and big-endian files are named") {
  CHECK(refused(gguf_head(1, 0, 0), {"version 1 is no longer in use"}) == 4);
  CHECK(refused(gguf_head(0, 0, 0), {"version 0 is unknown"}) == 4);
  CHECK(refused(gguf_head(4, 0, 0), {"version 4 is unknown"}) == 4);
  CHECK(refused(gguf_head(0x03000000, 0, 0), {"big-endian", "version 3"}) == 4);
  CHECK(refused(gguf_head(0x02000000, 0, 0), {"big-endian", "version 2"}) == 4);
  CHECK(refused(gguf_head(0xffffffff, 0, 0), {"version 4294967295 is unknown"}) == 4);
}

TEST_CASE("F01: a tensor with a zero dimension whose data would start beyond the file: no division, no crash") {
  const std::string bytes = gguf_head(3, 1, 0) + gguf_description("t", {1, 0}, 0, 0);
  REQUIRE(bytes.size() == 65);
  CHECK(refused(bytes, {"tensor \"t\"", "outside the file of 65 bytes"}) == 24);
}

TEST_CASE("F02: an alignment that is 0, no power of two, of another type, or beyond any reason") {
  const auto with_alignment = [](std::uint32_t kind, const std::string& value) {
    return gguf_head(3, 0, 1) + gguf_string("general.alignment") + le(kind) + value;
  };
  CHECK(refused(with_alignment(4, le(std::uint32_t{0})), {"\"general.alignment\"", "power of two"}) == 24);
  refused(with_alignment(4, le(std::uint32_t{3})), {"power of two"});
  refused(with_alignment(4, le(std::uint32_t{33})), {"power of two"});
  refused(with_alignment(4, le(std::uint32_t{0x80000000})), {"is 2147483648", "limit is 1048576"});
  refused(with_alignment(5, le(std::int32_t{32})), {"must be a U32"});
  refused(with_alignment(10, le(std::uint64_t{32})), {"must be a U32"});
  refused(with_alignment(8, gguf_string("32")), {"must be a U32"});
  refused(with_alignment(9, array_of(4, 1, le(std::uint32_t{32}))), {"must be a U32"});
}

TEST_CASE("F02: an alignment that the data does not follow") {
  // Written for 32, declared as 64: the second tensor is not where it must be.
  const std::string head = gguf_head(3, 2, 1) + gguf_string("general.alignment") + le(std::uint32_t{4}) +
                           le(std::uint32_t{64}) + gguf_description("a", {8}, 0, 0) + gguf_description("b", {8}, 0, 32);
  refused(padded(head, 64) + zeros(128), {"tensor \"b\"", "at offset 32", "the next one is 64"});
}

TEST_CASE("F03: an empty key") {
  CHECK(refused(gguf_head(3, 0, 1) + gguf_string("") + le(std::uint32_t{4}) + zeros(8), {"empty key"}) == 24);
}

TEST_CASE("a key beyond the specification's limit") {
  refused(gguf_head(3, 0, 1) + gguf_string(std::string(65536, 'k')) + le(std::uint32_t{4}) + zeros(4),
          {"a key of 65536 bytes"});
}

TEST_CASE("F04: more than four axes") {
  refused(with_tensor({1, 1, 1, 1, 1}, 0, 0, 4), {"tensor \"t\"", "5 axes"});
  refused(with_tensor({1, 1, 1, 1, 1, 1, 1, 1, 1}, 0, 0, 4), {"tensor \"t\"", "9 axes"});
  refused(gguf_head(3, 1, 0) + gguf_string("t") + le(std::uint32_t{0xffffffff}) + zeros(64), {"4294967295 axes"});
}

TEST_CASE("F05: counts of tensors and pairs that the file cannot hold (CVE-2024-23605, CVE-2024-21836)") {
  for (const std::uint64_t count : {most, std::uint64_t{1} << 61, std::uint64_t{1} << 63, std::uint64_t{100}}) {
    CHECK(refused(gguf_head(3, count, 0) + zeros(64), {"number of tensors is " + std::to_string(count)}) == 8);
    CHECK(refused(gguf_head(3, 0, count) + zeros(64), {"number of metadata pairs is " + std::to_string(count)}) == 16);
  }
  // A count that the bytes left allow, but the file does not hold.
  refused(gguf_head(3, 0, 2) + gguf_string("k") + le(std::uint32_t{0}) + std::string(1, '\0') + zeros(20),
          {"empty key"});
}

TEST_CASE("F06: string lengths of 2^64 - 1 and of a gigabyte in a small file (CVE-2024-23496)") {
  for (const std::uint64_t length : {most, std::uint64_t{1} << 30, std::uint64_t{57}}) {
    const std::string claims = "claims " + std::to_string(length) + " bytes; 56 are left";
    CHECK(refused(gguf_head(3, 0, 1) + le(length) + zeros(56), {"length of a key", claims}) == 24);
    CHECK(refused(gguf_head(3, 1, 0) + le(length) + zeros(56), {"length of a tensor name", claims}) == 24);
    CHECK(refused(with_value(8, le(length) + zeros(56)), {"value of key \"key\"", claims}) == 39);
    CHECK(refused(with_value(9, array_of(8, 1, le(length) + zeros(56))), {"value of key \"key\"", claims}) == 51);
  }
}

TEST_CASE("F07: arrays with counts that the file cannot hold (CVE-2024-21825)") {
  for (const std::uint64_t count : {most, std::uint64_t{1} << 61, std::uint64_t{9}}) {
    const std::string number = "number of elements is " + std::to_string(count);
    refused(with_value(9, array_of(8, count, zeros(64))), {"key \"key\"", number, "at least 8"});
    refused(with_value(9, array_of(12, count, zeros(64))), {"key \"key\"", number, "at least 8"});
  }
  refused(with_value(9, array_of(0, 65, zeros(64))), {"number of elements is 65"});
  refused(with_value(9, array_of(3, std::uint64_t{1} << 63, zeros(64))), {"number of elements"});  // times 2 wraps to 0
}

TEST_CASE("F07: arrays of arrays, ten deep or a million, on a small stack") {
  test_support::on_small_stack([] {
    for (const int depth : {1, 10, 1'000'000}) {
      std::string nested;
      for (int i = 0; i < depth; ++i) nested += le(std::uint32_t{9}) + le(std::uint64_t{1});
      refused(with_value(9, nested + array_of(0, 1, "x")), {"key \"key\"", "arrays of arrays"});
    }
  });
}

TEST_CASE("F08: dimensions whose product or sum overflows (CVE-2024-21802, CVE-2025-53630, CVE-2026-27940)") {
  refused(with_tensor({most}, 0, 0, 32), {"tensor \"t\"", "negative or beyond"});
  refused(with_tensor({std::uint64_t{1} << 63}, 0, 0, 32), {"negative or beyond"});
  refused(with_tensor({(std::uint64_t{1} << 63) - 1, 2}, 0, 0, 32), {"number of elements overflows"});
  refused(with_tensor({(std::uint64_t{1} << 63) - 1}, 0, 0, 32), {"number of bytes overflows"});
  refused(with_tensor({std::uint64_t{1} << 62}, 0, 0, 32), {"number of bytes overflows"});  // times 4 wraps to 0
  refused(with_tensor({1152, 4398046511105}, 0, 0, 32), {"tensor \"t\"", "outside the file"});
  refused(with_tensor({std::uint64_t{1} << 32, std::uint64_t{1} << 32}, 0, 0, 32), {"number of elements overflows"});
  refused(with_tensor({std::uint64_t{1} << 31, std::uint64_t{1} << 31, 4}, 24, 0, 32),
          {"number of elements overflows"});
  // Two tensors, each representable, whose sum wraps around to a small number.
  const std::uint64_t half = (std::uint64_t{1} << 63) - 32;
  const std::string two =
      gguf_head(3, 2, 0) + gguf_description("a", {half}, 24, 0) + gguf_description("b", {half}, 24, half);
  refused(padded(two, 32) + zeros(64), {"tensor \"a\"", "outside the file"});
}

TEST_CASE("F09: tensor data outside the file, compared without wrapping (CVE-2026-7482)") {
  refused(with_tensor({8}, 0, 0, 31), {"tensor \"t\"", "32 bytes of data", "outside the file of 95 bytes"});
  refused(with_tensor({8}, 0, 0, 0), {"outside the file"});
  for (const std::uint64_t offset : {most, most - 31, std::uint64_t{1} << 63, std::uint64_t{32}, std::uint64_t{1}})
    refused(with_tensor({8}, 0, offset, 64), {"tensor \"t\"", "at offset " + std::to_string(offset), "next one is 0"});
}

TEST_CASE("F09: tensors that overlap or leave holes") {
  const auto second_at = [](std::uint64_t offset) {
    return padded(gguf_head(3, 2, 0) + gguf_description("a", {16}, 0, 0) + gguf_description("b", {8}, 0, offset), 32) +
           zeros(256);
  };
  CHECK_NOTHROW(gguf_file(span_of(second_at(64)), "f"));
  refused(second_at(0), {"tensor \"b\"", "next one is 64"});
  refused(second_at(32), {"tensor \"b\"", "next one is 64"});
  refused(second_at(96), {"tensor \"b\"", "next one is 64"});
}

TEST_CASE("F10: duplicate keys and duplicate tensor names") {
  const std::string pair = gguf_string("key") + le(std::uint32_t{0}) + "x";
  CHECK(refused(gguf_head(3, 0, 2) + pair + pair, {"key \"key\"", "duplicate"}) == 40);
  const std::string two = gguf_head(3, 2, 0) + gguf_description("t", {8}, 0, 0) + gguf_description("t", {8}, 0, 32);
  CHECK(refused(padded(two, 32) + zeros(64), {"tensor \"t\"", "duplicate"}) == 57);
}

TEST_CASE("F11: tensor types that were removed or never existed") {
  for (const std::uint32_t type : {4U, 5U, 31U, 32U, 33U, 36U, 37U, 38U, 42U, 200U, 0xffffffffU})
    refused(with_tensor({32}, type, 0, 256), {"tensor \"t\"", "type " + std::to_string(type) + " does not exist"});
}

TEST_CASE("F12: rows that are no whole number of blocks") {
  refused(with_tensor({33}, 8, 0, 256), {"tensor \"t\"", "rows of 33 elements", "Q8_0", "32"});
  refused(with_tensor({16, 2}, 8, 0, 256), {"rows of 16 elements"});  // 32 elements in all
  refused(with_tensor({128}, 14, 0, 256), {"rows of 128 elements", "Q6_K", "256"});
  refused(gguf_head(3, 1, 0) + gguf_description("t", {}, 8, 0) + zeros(64), {"rows of 1 elements"});
}

TEST_CASE("values of kinds that do not exist, and truth values that are neither") {
  for (const std::uint32_t kind : {13U, 100U, 0xffffffffU}) {
    refused(with_value(kind, zeros(16)), {"key \"key\"", "kind " + std::to_string(kind) + " does not exist"});
    refused(with_value(9, array_of(kind, 1, zeros(16))), {"key \"key\"", "kind"});
  }
  CHECK(refused(with_value(7, "\2"), {"key \"key\"", "truth value"}) == 39);
  refused(with_value(9, array_of(7, 3, std::string("\0\1\xff", 3))), {"truth value"});
}

TEST_CASE("tensor names of 64 bytes and more") {
  const auto named = [](std::size_t length) {
    return padded(gguf_head(3, 1, 0) + gguf_description(std::string(length, 'n'), {8}, 0, 0), 32) + zeros(32);
  };
  CHECK_NOTHROW(gguf_file(span_of(named(63)), "f"));
  refused(named(64), {"has 64 bytes", "limit is 63"});
  refused(named(5000), {"has 5000 bytes"});
}

TEST_CASE("every prefix of a good file is refused") {
  const std::string bytes = padded(gguf_head(3, 1, 2) + gguf_string("a") + le(std::uint32_t{9}) +
                                       array_of(8, 2, gguf_string("x") + gguf_string("yz")) + gguf_string("b") +
                                       le(std::uint32_t{12}) + le(0.5) + gguf_description("t", {8}, 0, 0),
                                   32) +
                            zeros(32);
  CHECK_NOTHROW(gguf_file(span_of(bytes), "f"));
  for (std::size_t length = 0; length < bytes.size(); ++length) refused(bytes.substr(0, length), {"model.gguf"});
}
