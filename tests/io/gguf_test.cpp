// GGUF: what is read and how, and what is written.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/io/gguf.hpp>
#include <tinygrad/io/gguf_writer.hpp>
#include <tinygrad/quant/ggml_type.hpp>
#include <utility>
#include <vector>

#include "support/expect_error.hpp"
#include "support/file_bytes.hpp"
#include "support/gguf_bytes.hpp"
#include "support/shared_data.hpp"
#include "support/temp_folder.hpp"

using namespace tinygrad;
using namespace tinygrad_test;

namespace {

gguf_file open_bytes(std::string bytes) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return gguf_file(span_of(*owner), "memory.gguf", owner);
}

std::vector<std::uint64_t> sizes(std::initializer_list<std::uint64_t> list) { return list; }

// A file with one pair of every kind.
std::string every_kind() {
  const auto pair = [](const char* key, std::uint32_t kind, const std::string& value) {
    return gguf_string(key) + le(kind) + value;
  };
  return gguf_head(3, 0, 15) + pair("u8", 0, le(std::uint8_t{200})) + pair("i8", 1, le(std::int8_t{-100})) +
         pair("u16", 2, le(std::uint16_t{60000})) + pair("i16", 3, le(std::int16_t{-30000})) +
         pair("u32", 4, le(std::uint32_t{4000000000})) + pair("i32", 5, le(std::int32_t{-2000000000})) +
         pair("f32", 6, le(0.1f)) + pair("yes", 7, "\1") + pair("no", 7, std::string(1, '\0')) +
         pair("text", 8, gguf_string("h\xc3\xa9llo")) + pair("u64", 10, le(std::uint64_t{UINT64_MAX})) +
         pair("i64", 11, le(std::int64_t{INT64_MIN})) + pair("f64", 12, le(0.1)) +
         pair(
             "texts", 9,
             le(std::uint32_t{8}) + le(std::uint64_t{3}) + gguf_string("a") + gguf_string("") + gguf_string("\xff\n")) +
         pair("numbers", 9, le(std::uint32_t{3}) + le(std::uint64_t{2}) + le(std::int16_t{-1}) + le(std::int16_t{2}));
}

}  // namespace

TEST_CASE("every kind of metadata is read, at whatever address it lies") {
  const std::string bytes = every_kind();
  const gguf_file file = open_bytes(bytes);
  REQUIRE(file.pairs().size() == 15);
  CHECK(file["u8"].uint64() == 200);
  CHECK(file["i8"].int64() == -100);
  CHECK(file["u16"].uint64() == 60000);
  CHECK(file["i16"].number() == -30000.0);
  CHECK(file["u32"].int64() == 4000000000);
  CHECK(file["i32"].int64() == -2000000000);
  CHECK(file["f32"].number() == static_cast<double>(0.1f));
  CHECK(file["yes"].boolean());
  CHECK_FALSE(file["no"].boolean());
  CHECK(file["text"].text() == "h\xc3\xa9llo");
  CHECK(file["u64"].uint64() == UINT64_MAX);
  CHECK(file["i64"].int64() == INT64_MIN);
  CHECK(file["f64"].number() == 0.1);
  CHECK(file["texts"].texts() == std::vector<std::string_view>{"a", "", "\xff\n"});
  CHECK(file["numbers"].numbers<std::int16_t>() == std::vector<std::int16_t>{-1, 2});
  CHECK(file["numbers"].numbers<float>() == std::vector<float>{-1.0f, 2.0f});
  CHECK_FALSE(file.find("missing").has_value());
}

TEST_CASE("F15: a value of another kind is an error that names key, kinds and byte") {
  const std::string bytes = every_kind();
  const gguf_file file = open_bytes(bytes);
  const auto wrong = [&](const char* key, auto read, std::initializer_list<std::string_view> parts) {
    const std::uint64_t at = expect_format_error([&] { read(file[key]); }, parts);
    CHECK(at == file[key].pair().position);
  };
  const auto texts = [](const gguf_ref& value) { static_cast<void>(value.texts()); };
  const auto text = [](const gguf_ref& value) { static_cast<void>(value.text()); };
  const auto uint64 = [](const gguf_ref& value) { static_cast<void>(value.uint64()); };
  const auto int64 = [](const gguf_ref& value) { static_cast<void>(value.int64()); };
  const auto number = [](const gguf_ref& value) { static_cast<void>(value.number()); };
  const auto boolean = [](const gguf_ref& value) { static_cast<void>(value.boolean()); };
  const auto floats = [](const gguf_ref& value) { static_cast<void>(value.numbers<float>()); };
  const auto int32s = [](const gguf_ref& value) { static_cast<void>(value.numbers<std::int32_t>()); };
  wrong("numbers", texts, {"memory.gguf", "key \"numbers\"", "an array of STRING is needed", "an array of 2 I16"});
  wrong("text", texts, {"key \"text\"", "an array of STRING is needed", "a STRING"});
  wrong("texts", text, {"a STRING is needed", "an array of 3 STRING"});
  wrong("text", uint64, {"a whole number from 0 up is needed", "a STRING"});
  wrong("i8", uint64, {"a whole number from 0 up", "an I8"});
  wrong("u64", int64, {"a whole number of 64 bits", "a U64"});
  wrong("f32", uint64, {"a whole number", "a F32"});
  wrong("yes", uint64, {"a whole number", "a BOOL"});
  wrong("yes", number, {"a number", "a BOOL"});
  wrong("numbers", number, {"a number", "an array of 2 I16"});
  wrong("u8", boolean, {"a truth value", "a U8"});
  wrong("texts", floats, {"an array of numbers is needed", "an array of 3 STRING"});
  wrong("f32", floats, {"an array of numbers", "a F32"});
  wrong("numbers", int32s, {"an array of I32 is needed", "an array of 2 I16"});
  expect_format_error([&] { static_cast<void>(file["tokenizer.ggml.merges"]); },
                      {"memory.gguf", "the key \"tokenizer.ggml.merges\" is missing"});
}

TEST_CASE("versions 2 and 3 are the same for little-endian files") {
  for (const std::uint32_t version : {2U, 3U}) {
    const std::string bytes =
        padded(gguf_head(version, 1, 0) + gguf_description("t", {2}, 0, 0), 32) + le(1.5f) + le(-2.0f);
    const gguf_file file = open_bytes(bytes);
    CHECK(file.version() == version);
    CHECK(file.read<float>(file.tensor("t")) == std::vector<float>{1.5f, -2.0f});
  }
}

TEST_CASE("sizes are given outermost first, the reverse of the file") {
  const std::string bytes = padded(gguf_head(3, 1, 0) + gguf_description("t", {3, 2}, 0, 0), 32) + zeros(24);
  const gguf_file file = open_bytes(bytes);
  CHECK(file.tensor("t").sizes == sizes({2, 3}));
  CHECK(file.shape(file.tensor("t")) == Shape{2, 3});
  CHECK(file.find_tensor("u") == nullptr);
  expect_format_error([&] { static_cast<void>(file.tensor("u")); }, {"there is no tensor \"u\""});
}

TEST_CASE("plain types are read and viewed, blocks are given as bytes") {
  const std::string head = gguf_head(3, 4, 0) + gguf_description("h", {2}, 1, 0) + gguf_description("b", {2}, 30, 32) +
                           gguf_description("q", {32}, 8, 64) + gguf_description("i", {}, 26, 128);
  const std::string bytes = padded(head, 32) + padded(le(std::uint16_t{0x3e00}) + le(std::uint16_t{0xc000}), 32) +
                            padded(le(std::uint16_t{0x3fc0}) + le(std::uint16_t{0xc000}), 32) +
                            padded(std::string(34, 'q'), 32) + le(std::int32_t{-5});
  const gguf_file file = open_bytes(bytes);
  CHECK(file.read<float>(file.tensor("h")) == std::vector<float>{1.5f, -2.0f});
  CHECK(file.read<float>(file.tensor("b")) == std::vector<float>{1.5f, -2.0f});
  CHECK(file.read<std::int32_t>(file.tensor("i")) == std::vector<std::int32_t>{-5});
  CHECK(file.tensor("i").count() == 1);
  CHECK(as_text(file.bytes(file.tensor("q"))) == std::string(34, 'q'));
  CHECK(file.tensor("q").count() == 32);
  CHECK_FALSE(file.view<float>(file.tensor("q")).has_value());
  CHECK_FALSE(file.view<float>(file.tensor("h")).has_value());
  expect_format_error([&] { static_cast<void>(file.read<float>(file.tensor("q"))); },
                      {"tensor \"q\"", "Q8_0 cannot be read as F32"});
  expect_format_error([&] { static_cast<void>(file.read<std::int32_t>(file.tensor("h"))); },
                      {"F16 cannot be read as I32"});
}

TEST_CASE("F01: a tensor without elements is accepted, and costs nothing") {
  const std::string bytes =
      padded(gguf_head(3, 2, 0) + gguf_description("e", {1, 0}, 0, 0) + gguf_description("q", {0, 5}, 8, 0), 32);
  const gguf_file file = open_bytes(bytes);
  CHECK(file.tensor("e").count() == 0);
  CHECK(file.read<float>(file.tensor("e")).empty());
  CHECK(file.bytes(file.tensor("q")).empty());
}

TEST_CASE("F02: another alignment moves the data") {
  const std::string head = gguf_head(3, 2, 1) + gguf_string("general.alignment") + le(std::uint32_t{4}) +
                           le(std::uint32_t{128}) + gguf_description("a", {1}, 0, 0) +
                           gguf_description("b", {1}, 0, 128);
  const std::string bytes = padded(padded(head, 128) + le(1.0f), 128) + le(2.0f);
  const gguf_file file = open_bytes(bytes);
  CHECK(file.alignment() == 128);
  CHECK(file.tensor("a").offset % 128 == 0);
  CHECK(file.read<float>(file.tensor("b")) == std::vector<float>{2.0f});
}

TEST_CASE("bytes after the last tensor are padding") {
  const std::string bytes = padded(gguf_head(3, 1, 0) + gguf_description("t", {1}, 0, 0), 32) + le(1.0f) + zeros(28);
  CHECK(open_bytes(bytes).tensors().size() == 1);
}

TEST_CASE("the table of types: sizes of blocks, and the plain ones are those of the dtypes") {
  int plain = 0;
  for (const ggml_type_info& each : ggml_types) {
    CHECK(find_ggml_type(static_cast<std::uint32_t>(each.type)) == &each);
    const auto type = detail::plain_dtype(each.type);
    CHECK(type.has_value() == (each.elements == 1));
    if (type) CHECK(info_of(*type).bits == 8 * each.bytes);
    plain += type.has_value();
  }
  CHECK(plain == 8);
  CHECK(info_of(ggml_type::q4_0).bytes == 2 + 16);
  CHECK(info_of(ggml_type::q6_k).bytes == 256 / 2 + 256 / 4 + 256 / 16 + 2);
  CHECK(find_ggml_type(4) == nullptr);
}

TEST_CASE("what is written reads back: every kind of metadata, plain and block tensors") {
  const temp_folder folder;
  const std::string path = folder / "m.gguf";
  const std::vector<float> scores{0.5f, -1.0f};
  const std::vector<std::int32_t> kinds{1, 2, 3};
  const std::vector<std::string> tokens{"<s>", "", "\xc4\xa0the", std::string("\0x", 2)};
  const std::vector<float> weights{1, 2, 3, 4, 5, 6};
  const std::string blocks(2 * 34, 'b');
  gguf_writer out;
  out.set("general.architecture", "llama");
  out.set("text", std::string("a\xff"));
  out.set("u8", std::uint8_t{255});
  out.set("i8", std::int8_t{-1});
  out.set("u16", std::uint16_t{65535});
  out.set("i16", std::int16_t{-1});
  out.set("u32", std::uint32_t{7});
  out.set("i32", std::int32_t{-7});
  out.set("u64", std::uint64_t{UINT64_MAX});
  out.set("i64", std::int64_t{INT64_MIN});
  out.set("f32", 0.1f);
  out.set("f64", 0.1);
  out.set("yes", true);
  out.set_array<float>("scores", scores);
  out.set_array<std::int32_t>("kinds", kinds);
  out.set_texts("tokens", tokens);
  out.set_texts("none", std::vector<std::string_view>());
  out.add_tensor("w", ggml_type::f32, {2, 3}, std::as_bytes(std::span(weights)));
  out.add_tensor("q", ggml_type::q8_0, {2, 32}, span_of(blocks));
  out.add_tensor("s", ggml_type::f32, {}, std::as_bytes(std::span(weights)).first(4));
  out.write(path);

  const gguf_file file(path);
  CHECK(file.version() == 3);
  CHECK(file.pairs().size() == 17);
  CHECK(file["general.architecture"].text() == "llama");
  CHECK(file["text"].text() == "a\xff");
  CHECK(file["u8"].uint64() == 255);
  CHECK(file["i8"].int64() == -1);
  CHECK(file["u16"].uint64() == 65535);
  CHECK(file["i16"].int64() == -1);
  CHECK(file["u32"].uint64() == 7);
  CHECK(file["i32"].int64() == -7);
  CHECK(file["u64"].uint64() == UINT64_MAX);
  CHECK(file["i64"].int64() == INT64_MIN);
  CHECK(file["f32"].number() == static_cast<double>(0.1f));
  CHECK(file["f64"].number() == 0.1);
  CHECK(file["yes"].boolean());
  CHECK(file["scores"].numbers<float>() == scores);
  CHECK(file["kinds"].numbers<std::int32_t>() == kinds);
  const std::vector<std::string_view> back = file["tokens"].texts();
  CHECK(std::equal(back.begin(), back.end(), tokens.begin(), tokens.end()));
  CHECK(file["none"].texts().empty());
  CHECK(file.tensor("w").sizes == sizes({2, 3}));
  CHECK(file.read<float>(file.tensor("w")) == weights);
  CHECK(file.view<float>(file.tensor("w")).has_value());
  CHECK(as_text(file.bytes(file.tensor("q"))) == blocks);
  CHECK(file.tensor("s").sizes.empty());
  for (const gguf_tensor& tensor : file.tensors()) CHECK(tensor.offset % 32 == 0);
  CHECK(file.tensor("s").offset + 32 == folder.get("m.gguf").size());  // padded after the last one too
}

TEST_CASE("a writer with another alignment says so in the file") {
  const temp_folder folder;
  const std::vector<float> weights(3);
  gguf_writer out(64);
  out.add_tensor("a", ggml_type::f32, {3}, std::as_bytes(std::span(weights)));
  out.add_tensor("b", ggml_type::f32, {3}, std::as_bytes(std::span(weights)));
  out.write(folder / "m.gguf");
  const gguf_file file(folder / "m.gguf");
  CHECK(file.alignment() == 64);
  CHECK(file.tensor("b").offset - file.tensor("a").offset == 64);
  CHECK(folder.get("m.gguf").size() % 64 == 0);
}

TEST_CASE("what no reader would accept is refused when it is added") {
  const std::vector<float> weights(64);
  const auto data = std::as_bytes(std::span(weights));
  gguf_writer out;
  out.set("k", 1);
  out.add_tensor("t", ggml_type::f32, {64}, data);
  CHECK_THROWS_AS(out.set("", 1), value_error);
  CHECK_THROWS_AS(out.set("k", 2), value_error);
  CHECK_THROWS_AS(out.set(std::string(65536, 'k'), 2), value_error);
  CHECK_THROWS_AS(out.set("general.alignment", std::uint32_t{64}), value_error);
  CHECK_THROWS_AS(out.add_tensor("t", ggml_type::f32, {64}, data), value_error);
  CHECK_THROWS_AS(out.add_tensor(std::string(64, 'n'), ggml_type::f32, {64}, data), value_error);
  CHECK_THROWS_AS(out.add_tensor("u", ggml_type::f32, {63}, data), shape_error);
  CHECK_THROWS_AS(out.add_tensor("u", ggml_type::f32, {1, 1, 1, 1, 64}, data), shape_error);
  CHECK_THROWS_AS(out.add_tensor("u", ggml_type::q8_0, {33}, data), shape_error);
  CHECK_THROWS_AS(out.add_tensor("u", ggml_type::f32, {1ULL << 62, 1ULL << 62}, data), shape_error);
  CHECK_THROWS_AS(gguf_writer(0), value_error);
  CHECK_THROWS_AS(gguf_writer(48), value_error);
  CHECK_THROWS_AS(gguf_writer(1U << 21), value_error);
}

TEST_CASE("real files: models and vocabularies are read, and one without its data is refused") {
  struct real {
    std::string name;
    std::size_t pairs, tensors;
  };
  for (const real& each : {real{"models/stories260K/stories260K.f32", 19, 48},
                           {"models/stories260K/stories260K.f16", 21, 48},
                           {"models/stories260K/stories260K.q8_0-mixed", 20, 48},
                           {"models/tiny-random-gpt2/tiny-random-gpt2.q4_0", 17, 65},
                           {"tokenizer/ggml-vocab/ggml-vocab-llama-spm", 22, 0},
                           {"gguf/weight-inspect-empty", 1, 0}}) {
    const auto path = shared_data(each.name + ".gguf");
    if (!path) return;
    CAPTURE(each.name);
    const gguf_file file(path->string());
    CHECK(file.pairs().size() == each.pairs);
    CHECK(file.tensors().size() == each.tensors);
    CHECK_FALSE(file["general.architecture"].text().empty());
  }
  const auto broken = shared_data("gguf/malformed-weight-inspect-tiny-missing-data.gguf");
  if (!broken) return;
  expect_format_error([&] { const gguf_file file(broken->string()); },
                      {"tensor \"test.weight.0\"", "32768 bytes", "outside the file of 122 bytes"});
}

TEST_CASE("a real model: what its listing says, and f16 weights are the rounded f32 ones") {
  const auto full_path = shared_data("models/stories260K/stories260K.f32.gguf");
  const auto half_path = shared_data("models/stories260K/stories260K.f16.gguf");
  if (!full_path || !half_path) return;
  const gguf_file full(full_path->string());
  const gguf_file half(half_path->string());
  CHECK(full["llama.embedding_length"].uint64() == 64);
  CHECK(full["llama.attention.layer_norm_rms_epsilon"].number() == static_cast<double>(1e-5f));
  CHECK(full["tokenizer.ggml.seperator_token_id"].uint64() == 4294967295);
  CHECK(full["tokenizer.ggml.tokens"].texts().size() == 512);
  CHECK(full["tokenizer.ggml.scores"].numbers<float>().size() == 512);
  CHECK(full.tensor("token_embd.weight").sizes == sizes({512, 64}));
  CHECK(full.tensor("blk.0.attn_k.weight").sizes == sizes({32, 64}));
  std::size_t compared = 0, different = 0;
  for (const gguf_tensor& tensor : half.tensors()) {
    if (tensor.type != ggml_type::f16) continue;
    const std::vector<float> rounded = half.read<float>(tensor);
    const std::vector<float> exact = full.read<float>(full.tensor(tensor.name));
    for (std::size_t i = 0; i < exact.size(); ++i) different += static_cast<float>(f16(exact[i])) != rounded[i];
    compared += exact.size();
  }
  CHECK(compared > 200'000);
  CHECK(different == 0);
}
