// safetensors: what is read and how, and what is written.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <tinygrad/io/safetensors.hpp>
#include <utility>
#include <vector>

#include "support/expect_error.hpp"
#include "support/file_bytes.hpp"
#include "support/shared_data.hpp"
#include "support/temp_folder.hpp"

using namespace tinygrad;
using tinygrad_test::expect_format_error;
using tinygrad_test::le;
using tinygrad_test::safetensors_bytes;
using tinygrad_test::shared_data;
using tinygrad_test::span_of;
using tinygrad_test::temp_folder;
using tinygrad_test::zeros;

namespace {

safetensors_file open_bytes(std::string bytes) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return safetensors_file(span_of(*owner), "memory.safetensors", owner);
}
std::vector<std::uint64_t> sizes(std::initializer_list<std::uint64_t> list) { return list; }

}  // namespace

TEST_CASE("a small file: names, dtypes, shapes, values, metadata") {
  const std::string bytes = safetensors_bytes(
      R"({"__metadata__":{"format":"pt","note":"\u00e9"},)"
      R"("w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"n":{"dtype":"I64","shape":[],"data_offsets":[8,16]}})",
      le(1.5f) + le(-2.0f) + le(std::int64_t{-7}));
  const safetensors_file file = open_bytes(bytes);
  REQUIRE(file.tensors().size() == 2);
  CHECK(file.metadata() == text_pairs{{"format", "pt"}, {"note", "\u00e9"}});
  const tensor_info& w = file.at("w");
  CHECK(w.type == dtype::f32);
  CHECK(w.sizes == sizes({2, 1}));
  CHECK(w.count() == 2);
  CHECK(file.shape(w) == Shape{2, 1});
  CHECK(file.read<float>(w) == std::vector<float>{1.5f, -2.0f});
  CHECK(file.read<double>(w) == std::vector<double>{1.5, -2.0});
  CHECK(file.read<std::int64_t>(file.at("n")) == std::vector<std::int64_t>{-7});
  CHECK(file.read<float>(file.at("n")) == std::vector<float>{-7.0f});
  CHECK(file.find("x") == nullptr);
  expect_format_error([&] { static_cast<void>(file.at("x")); }, {"memory.safetensors", "no tensor \"x\""});
}

TEST_CASE("tensors are listed in the order of their data, whatever the order of the header") {
  const safetensors_file file = open_bytes(safetensors_bytes(
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[3,5]},"b":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})",
      "bbbaa"));
  CHECK(file.tensors()[0].name == "b");
  CHECK(file.tensors()[1].name == "a");
  CHECK(file.read<std::uint8_t>(file.at("a")) == std::vector<std::uint8_t>{'a', 'a'});
}

TEST_CASE("E11: zero-size tensors are accepted wherever they fit between others") {
  const safetensors_file alone =
      open_bytes(safetensors_bytes(R"({"t":{"dtype":"I32","shape":[2,0],"data_offsets":[0,0]}})", ""));
  CHECK(alone.tensors()[0].count() == 0);
  CHECK(alone.read<float>(alone.at("t")).empty());
  CHECK(alone.shape(alone.at("t")) == Shape{2, 0});
  // Sharing its offset with the start or the end of a real tensor, as the reference accepts.
  for (const char* offset : {"[0,0]", "[16,16]"}) {
    const safetensors_file file =
        open_bytes(safetensors_bytes(R"({"b":{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]},)"
                                     R"("z":{"dtype":"F64","shape":[0,3],"data_offsets":)" +
                                         std::string(offset) + "}}",
                                     zeros(16)));
    CHECK(file.at("z").bytes == 0);
    CHECK(file.at("b").bytes == 16);
  }
  // Sizes after a zero do not overflow, as in the reference; such a shape has no tensor here.
  const safetensors_file huge = open_bytes(safetensors_bytes(
      R"({"b":{"dtype":"I32","shape":[2,0,18446744073709551615,18446744073709551615],"data_offsets":[0,0]}})", ""));
  CHECK(huge.at("b").count() == 0);
  expect_format_error([&] { static_cast<void>(huge.shape(huge.at("b"))); }, {"tensor \"b\""});
}

TEST_CASE("E12: a scalar has rank 0 and one element") {
  const safetensors_file file =
      open_bytes(safetensors_bytes(R"({"t":{"dtype":"I32","shape":[],"data_offsets":[0,4]}})", le(std::int32_t{42})));
  CHECK(file.at("t").sizes.empty());
  CHECK(file.at("t").count() == 1);
  CHECK(file.shape(file.at("t")).rank() == 0);
  CHECK(file.read<std::int32_t>(file.at("t")).front() == 42);
}

TEST_CASE("E13: blanks around the header, and a header without tensors") {
  CHECK(open_bytes(safetensors_bytes("{}\r \t\n", "")).tensors().empty());
  CHECK(open_bytes(safetensors_bytes("\t\n{}\r ", "")).tensors().empty());
  CHECK(open_bytes(safetensors_bytes("{}", "")).tensors().empty());
  CHECK(open_bytes(safetensors_bytes(R"({"__metadata__":null})", "")).metadata().empty());
}

TEST_CASE("E15: data at odd addresses is read right, and not viewed") {
  // Headers of 54 and 55 bytes: the data starts at bytes 62 and 63 of a 16-byte aligned buffer.
  for (const std::size_t length : {54U, 55U, 56U}) {
    std::string header = R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
    header.resize(length, ' ');
    const std::string content = safetensors_bytes(header, le(0.1f) + le(-3.0e38f));
    std::vector<std::uint64_t> aligned(content.size() / 8 + 1);
    std::memcpy(aligned.data(), content.data(), content.size());
    const safetensors_file file(std::as_bytes(std::span(aligned)).first(content.size()), "f");
    CHECK(file.read<float>(file.at("t")) == std::vector<float>{0.1f, -3.0e38f});
    const auto view = file.view<float>(file.at("t"));
    CHECK(view.has_value() == (length == 56));
    if (view) CHECK((*view)[1] == -3.0e38f);
  }
}

TEST_CASE("E16: offsets count from the end of the header, and BF16 is no F16") {
  const std::string bytes = safetensors_bytes(
      R"({"b":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]},"h":{"dtype":"F16","shape":[3],"data_offsets":[6,12]}})",
      le(std::uint16_t{0x3fc0}) + le(std::uint16_t{0xc000}) + le(std::uint16_t{0x0001}) + le(std::uint16_t{0x3e00}) +
          le(std::uint16_t{0xc000}) + le(std::uint16_t{0x0001}));
  const safetensors_file file = open_bytes(bytes);
  CHECK(file.read<float>(file.at("b")) == std::vector<float>{1.5f, -2.0f, 0x1p-133f});
  CHECK(file.read<float>(file.at("h")) == std::vector<float>{1.5f, -2.0f, 0x1p-24f});
  CHECK(file.at("h").offset == bytes.size() - 6);
  CHECK(file.read<bf16>(file.at("b"))[0].bits == 0x3fc0);
}

TEST_CASE("E17: the one table of dtypes agrees with the C++ types, and every width is read right") {
  int numbers = 0;
  for (const dtype_info& each : dtypes) {
    CHECK(dtype_by_name(each.name) == each.type);
    numbers += detail::visit_dtype(each.type, [&](auto tag) {
      using stored = typename decltype(tag)::type;
      CHECK(sizeof(stored) * 8 == each.bits);
      CHECK(dtype_of<stored> == each.type);
      // One element whose value tells width and signedness: all bits set, then 1.
      const std::string header = "{\"t\":{\"dtype\":\"" + std::string(each.name) +
                                 "\",\"shape\":[2],\"data_offsets\":[0," + std::to_string(2 * sizeof(stored)) + "]}}";
      const auto file_bytes =
          safetensors_bytes(header, std::string(sizeof(stored), '\xff') + '\1' + zeros(sizeof(stored) - 1));
      const safetensors_file file = open_bytes(file_bytes);
      const std::vector<double> values = file.read<double>(file.at("t"));
      if constexpr (std::is_integral_v<stored>) {
        const auto all_ones = std::is_same_v<stored, bool> ? 1.0
                              : std::is_signed_v<stored>   ? -1.0
                                                           : static_cast<double>((std::numeric_limits<stored>::max)());
        CHECK(values == std::vector<double>{all_ones, 1.0});
      } else {
        CHECK(std::isnan(values[0]));
        CHECK(values[1] > 0.0);
        CHECK(values[1] < 1e-6);
      }
    });
  }
  CHECK(numbers == 13);
}

TEST_CASE("dtypes that are no C++ numbers are listed and copied, and refused as numbers") {
  const safetensors_file file = open_bytes(safetensors_bytes(
      R"({"a":{"dtype":"F4","shape":[2,2],"data_offsets":[0,2]},"b":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[2,5]}})",
      "abcde"));
  CHECK(as_text(file.bytes(file.at("b"))) == "cde");
  expect_format_error([&] { static_cast<void>(file.read<float>(file.at("a"))); },
                      {"tensor \"a\"", "F4 cannot be read as F32"});
}

TEST_CASE("integers are not made from floats, nor from other integers") {
  const safetensors_file file =
      open_bytes(safetensors_bytes(R"({"t":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", le(1.0f)));
  expect_format_error([&] { static_cast<void>(file.read<std::int32_t>(file.at("t"))); }, {"F32 cannot be read as I32"});
  std::vector<float> two(2);
  CHECK_THROWS_AS(file.read<float>(file.at("t"), two), shape_error);
}

TEST_CASE("a tensor with more axes than a Shape can have is listed, and its shape refused") {
  const safetensors_file file =
      open_bytes(safetensors_bytes(R"({"t":{"dtype":"U8","shape":[1,1,1,1,1,1,1],"data_offsets":[0,1]}})", "x"));
  CHECK(file.at("t").sizes.size() == 7);
  expect_format_error([&] { static_cast<void>(file.shape(file.at("t"))); }, {"tensor \"t\"", "axes"});
}

TEST_CASE("unknown members of an entry are ignored, as in the reference") {
  const safetensors_file file = open_bytes(
      safetensors_bytes(R"({"t":{"x":{"y":[1,2]},"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":null}})", "x"));
  CHECK(file.tensors().size() == 1);
}

TEST_CASE("every case of the reference's unit tests is judged as the reference judges it") {
  const auto folder = shared_data("safetensors/hf-unit-vectors");
  if (!folder) return;
  std::ifstream manifest(*folder / "MANIFEST.tsv");
  std::string line;
  std::getline(manifest, line);
  int judged = 0;
  while (std::getline(manifest, line)) {
    std::istringstream fields(line);
    std::string name, bytes, expected;
    std::getline(fields, name, '\t');
    std::getline(fields, bytes, '\t');
    std::getline(fields, expected);
    CAPTURE(name);
    const std::string path = (*folder / name).string();
    const auto open = [&] { const safetensors_file file(path); };
    if (expected == "ok") {
      CHECK_NOTHROW(open());
    } else {
      const std::string_view reason = expected == "MetadataIncompleteBuffer"       ? "last tensor"
                                      : expected == "HeaderTooLarge"               ? "limit is 100000000"
                                      : expected == "HeaderTooSmall"               ? "too small"
                                      : expected == "InvalidHeaderLength"          ? "bytes follow"
                                      : expected == "InvalidHeader"                ? "invalid UTF-8"
                                      : expected == "InvalidHeaderDeserialization" ? "the text ends"
                                      : expected == "TensorInvalidInfo"            ? "dtype and shape need"
                                      : expected == "ValidationOverflow"           ? "overflows"
                                                                         : "an expectation unknown to this test";
      expect_format_error(open, {name, reason});
    }
    ++judged;
  }
  CHECK(judged == 16);
}

TEST_CASE("real files of other projects are read, mapped or not") {
  struct real {
    std::string name;
    std::size_t tensors;
  };
  for (const real& each : {real{"safetensors/burn-multi_layer", 9},
                           {"safetensors/candle-csm-voices", 2},
                           {"safetensors/candle-jfk-codes", 1},
                           {"safetensors/checkpoint-studio-tiny", 7},
                           {"safetensors/nutllm-tiny", 21},
                           {"models/tiny-random-gpt2/model", 64}}) {
    const auto path = shared_data(each.name + ".safetensors");
    if (!path) return;
    CAPTURE(each.name);
    const safetensors_file mapped(path->string());
    const safetensors_file copied(path->string(), file_access::read);
    CHECK(mapped.tensors().size() == each.tensors);
    for (const tensor_info& tensor : mapped.tensors()) {
      const std::vector<float> values = mapped.read<float>(tensor);
      CHECK(values == copied.read<float>(*copied.find(tensor.name)));
      bool all_finite = true;
      for (const float value : values) all_finite = all_finite && std::isfinite(value);
      CHECK(all_finite);
    }
  }
}

TEST_CASE("E06: a real file with stray bytes is refused, as by the reference, and told how many") {
  const auto path = shared_data("safetensors/weight-inspect-tiny.safetensors");
  if (!path) return;
  expect_format_error([&] { const safetensors_file file(path->string()); }, {"5 stray bytes after the data"});
}

TEST_CASE("the bytes of a written file are those of the reference") {
  const temp_folder folder;
  const std::vector<float> values{0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f};
  const std::span<const float> view(values);
  std::string data;
  for (const float value : values) data += le(value);
  // The expected headers are those of the reference's own tests: serialization, forced alignment, empty.
  const tensor_source plain[] = {source_of("attn.0", Shape{1, 2, 3}, view)};
  write_safetensors(folder / "plain", plain);
  CHECK(folder.get("plain") ==
        safetensors_bytes(R"({"attn.0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}})", data));
  const tensor_source padded[] = {source_of("attn0", Shape{1, 1, 2, 3}, view)};
  write_safetensors(folder / "padded", padded);
  CHECK(folder.get("padded") ==
        safetensors_bytes(R"({"attn0":{"dtype":"F32","shape":[1,1,2,3],"data_offsets":[0,24]}}       )", data));
  write_safetensors(folder / "empty", {});
  CHECK(folder.get("empty") == safetensors_bytes("{}      ", ""));
  write_safetensors(folder / "metadata", {}, {{"framework", "pt"}});
  CHECK(folder.get("metadata") == safetensors_bytes(R"({"__metadata__":{"framework":"pt"}}     )", ""));
}

TEST_CASE("E15: written tensors are sorted by alignment, then name, so that each one can be viewed") {
  const temp_folder folder;
  const std::vector<std::uint8_t> bytes{1, 2, 3};
  const std::vector<double> doubles{0.5};
  const std::vector<float> floats{1.0f, 2.0f, 3.0f};
  const std::vector<bf16> halves{bf16(1.0f)};
  const tensor_source tensors[] = {
      source_of("c", Shape{3}, std::span(bytes)), source_of("z", Shape{3}, std::span(floats)),
      source_of("y", Shape{3}, std::span(floats)), source_of("h", Shape{1}, std::span(halves)),
      source_of("d", Shape{}, std::span(doubles))};
  write_safetensors(folder / "f", tensors, {{"b", "2"}, {"a", "1"}});
  const safetensors_file file(folder / "f");
  std::string order;
  for (const tensor_info& tensor : file.tensors()) order += tensor.name;
  CHECK(order == "dyzhc");
  CHECK(file.metadata() == text_pairs{{"b", "2"}, {"a", "1"}});
  CHECK(file.view<double>(file.at("d")).value()[0] == 0.5);
  CHECK(file.view<float>(file.at("z")).value()[2] == 3.0f);
  CHECK(file.view<bf16>(file.at("h")).value()[0].bits == 0x3f80);
  CHECK_FALSE(file.view<double>(file.at("z")).has_value());
}

TEST_CASE("E18: a model is saved over the file it is mapped from") {
  const temp_folder folder;
  const std::string path = folder / "model.safetensors";
  const std::vector<float> values(10'000, 1.25f);
  const tensor_source first[] = {source_of("w", Shape{100, 100}, std::span<const float>(values))};
  write_safetensors(path, first);
  const safetensors_file mapped(path);
  const auto view = mapped.view<float>(mapped.at("w")).value();
  const tensor_source again[] = {source_of("w", Shape{100, 100}, view), source_of("v", Shape{100}, view.first(100))};
  write_safetensors(path, again);
  CHECK(view[9999] == 1.25f);
  CHECK(safetensors_file(path).tensors().size() == 2);
  CHECK(folder.file_count() == 1);
}

TEST_CASE("what no reader would accept is not written, and leaves nothing behind") {
  const temp_folder folder;
  const std::vector<float> values(4);
  const std::span<const float> view(values);
  const std::string path = folder / "f";
  const tensor_source twice[] = {source_of("a", Shape{4}, view), source_of("a", Shape{4}, view)};
  CHECK_THROWS_AS(write_safetensors(path, twice), value_error);
  const tensor_source reserved[] = {source_of("__metadata__", Shape{4}, view)};
  CHECK_THROWS_AS(write_safetensors(path, reserved), value_error);
  const tensor_source mismatched[] = {source_of("a", Shape{5}, view)};
  CHECK_THROWS_AS(write_safetensors(path, mismatched), shape_error);
  const tensor_source not_text[] = {source_of("\xff", Shape{4}, view)};
  CHECK_THROWS_AS(write_safetensors(path, not_text), value_error);
  CHECK_THROWS_AS(write_safetensors(path, {}, {{"k", "1"}, {"k", "2"}}), value_error);
  CHECK(folder.file_count() == 0);
}

TEST_CASE("a view stays valid while its owner is held, after the file object is gone") {
  const temp_folder folder;
  const std::vector<float> values{7.0f};
  const tensor_source tensors[] = {source_of("w", Shape{1}, std::span<const float>(values))};
  write_safetensors(folder / "f", tensors);
  std::shared_ptr<const void> owner;
  std::span<const float> view;
  {
    const safetensors_file file(folder / "f");
    view = file.view<float>(file.at("w")).value();
    owner = file.owner();
  }
  CHECK(view[0] == 7.0f);
}
