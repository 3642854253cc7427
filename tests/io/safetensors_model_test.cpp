// Models in one safetensors file or several.
#include <doctest/doctest.h>

#include <span>
#include <string>
#include <tinygrad/io/safetensors.hpp>
#include <tinygrad/io/safetensors_model.hpp>
#include <utility>
#include <vector>

#include "support/expect_error.hpp"
#include "support/temp_folder.hpp"

using namespace tinygrad;
using tinygrad_test::expect_format_error;
using tinygrad_test::temp_folder;

namespace {

// A model in two shards with an index that maps a to the first, b and c to the second.
void write_shards(const temp_folder& folder, const std::string& map) {
  const std::vector<float> values{1.0f, 2.0f, 3.0f};
  const std::span<const float> view(values);
  const tensor_source one[] = {source_of("a", Shape{1}, view.first(1))};
  const tensor_source two[] = {source_of("b", Shape{1}, view.subspan(1, 1)), source_of("c", Shape{1}, view.last(1))};
  write_safetensors(folder / "model-00001-of-00002.safetensors", one);
  write_safetensors(folder / "model-00002-of-00002.safetensors", two);
  folder.put("model.safetensors.index.json", R"({"metadata":{"total_size":12},"weight_map":)" + map + "}");
}
constexpr const char* good_map =
    R"({"c":"model-00002-of-00002.safetensors","a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"})";

}  // namespace

TEST_CASE("a sharded model is one list of tensors, opened by folder or by index") {
  const temp_folder folder;
  write_shards(folder, good_map);
  for (const std::string& path : {folder.path().string(), folder / "model.safetensors.index.json"}) {
    safetensors_model opened(path);
    const safetensors_model model(std::move(opened));
    REQUIRE(model.tensors().size() == 3);
    CHECK(model.files().size() == 2);
    const float expected[] = {1.0f, 2.0f, 3.0f};
    for (std::size_t i = 0; i < 3; ++i) {
      const auto [file, info] = model.find(std::string(1, static_cast<char>('a' + i))).value();
      CHECK(model.tensors()[i].info == info);
      CHECK(file->read<float>(*info)[0] == expected[i]);
    }
    CHECK_FALSE(model.find("d").has_value());
  }
}

TEST_CASE("a single file is a model too, and goes before an index in the same folder") {
  const temp_folder folder;
  write_shards(folder, good_map);
  const std::vector<float> values{9.0f};
  const tensor_source tensors[] = {source_of("only", Shape{1}, std::span<const float>(values))};
  write_safetensors(folder / "model.safetensors", tensors);
  for (const std::string& path : {folder.path().string(), folder / "model.safetensors"}) {
    const safetensors_model model(path);
    CHECK(model.tensors().size() == 1);
    CHECK(model.find("only").has_value());
  }
}

TEST_CASE("tensors of a shard that the index does not name are not part of the model") {
  const temp_folder folder;
  write_shards(folder, R"({"b":"model-00002-of-00002.safetensors"})");
  const safetensors_model model(folder.path().string());
  CHECK(model.tensors().size() == 1);
  CHECK_FALSE(model.find("c").has_value());
}

TEST_CASE("an index that lies is refused") {
  const temp_folder folder;
  const auto open = [&] { const safetensors_model model(folder.path().string()); };
  write_shards(folder, R"({"a":"model-00002-of-00002.safetensors"})");
  expect_format_error(open, {"index.json", "tensor \"a\" is not in", "model-00002-of-00002"});
  write_shards(folder, R"({"a":"model-00003-of-00002.safetensors"})");
  CHECK_THROWS_AS(open(), io_error);
  for (const char* name : {"../model.safetensors", "/etc/passwd", "..", "", "a\\\\b", "C:x", "a\\u0000b"}) {
    write_shards(folder, "{\"a\":\"" + std::string(name) + "\"}");
    expect_format_error(open, {"index.json", "a shard must be a plain file name"});
  }
  write_shards(folder, R"({"a":1})");
  expect_format_error(open, {"a string is needed"});
  write_shards(folder, "[]");
  expect_format_error(open, {"an object is needed"});
  folder.put("model.safetensors.index.json", "{}");
  expect_format_error(open, {"\"weight_map\" is missing"});
  const temp_folder empty;
  CHECK_THROWS_AS(safetensors_model(empty.path().string()), io_error);
}
