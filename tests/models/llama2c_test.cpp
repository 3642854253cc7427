// llama2.c's checkpoints: read back as the model they were written from, against run.c's own logits and story, and
// files that lie.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <tinygrad/generate/generate.hpp>
#include <tinygrad/models/load_llama2c.hpp>
#include <tinygrad/testing/close.hpp>
#include <tinygrad/text/sentencepiece_files.hpp>
#include <vector>

#include "support/expect_error.hpp"
#include "support/llama2c_bytes.hpp"
#include "support/shared_data.hpp"
#include "support/temp_folder.hpp"

using namespace tinygrad;
using tinygrad_test::llama2c_bytes;
using tinygrad_test::llama2c_head;
using tinygrad_test::span_of;
using tinygrad_test::zeros;

namespace {

const std::vector<int> ids{3, 0, 10, 7, 7, 1};

std::uint64_t refused(const std::string& bytes, std::initializer_list<std::string_view> parts) {
  return tinygrad_test::expect_format_error(
      [&] { static_cast<void>(load_llama2c<packed>(span_of(bytes), "model.bin")); }, parts);
}

}  // namespace

TEST_CASE("a checkpoint gives the logits of the model it was written from, with a tied head and with its own") {
  for (const bool tied : {true, false}) {
    CAPTURE(tied);
    const auto model = tinygrad_test::small_llama2c<packed>(tied);
    const std::string bytes = llama2c_bytes(model);
    const auto read = load_llama2c<packed>(span_of(bytes), "model.bin");
    CHECK(read.config.tied == tied);
    CHECK(read.config.positions == 9);
    auto one = model.make_cache(1, 6), two = read.make_cache(1, 6);
    const auto expected = model.forward(ids, 1, 6, one);
    CHECK(max_abs_difference(read.forward(ids, 1, 6, two), expected) <= 1e-6 * max_abs(expected));
  }
}

TEST_CASE("matrices are views into the bytes, at any alignment, and the mapped file lives as long as the model") {
  const auto model = tinygrad_test::small_llama2c<packed>(false);
  const std::string shifted = "x" + llama2c_bytes(model);
  const auto bytes = span_of(shifted).subspan(1);
  const auto read = load_llama2c<packed>(bytes, "model.bin");
  CHECK(read.model.embed_tokens.stored.bytes().data() == bytes.data() + 28);
  CHECK(read.lm_head.stored.bytes().data() + 11 * 8 * 4 == bytes.data() + bytes.size());
  auto one = model.make_cache(1, 6), two = read.make_cache(1, 6);
  const auto expected = model.forward(ids, 1, 6, one);
  CHECK(max_abs_difference(read.forward(ids, 1, 6, two), expected) <= 1e-6 * max_abs(expected));

  const tinygrad_test::temp_folder folder;
  const auto from_file = load_llama2c<packed>(folder.put("model.bin", shifted.substr(1)));
  auto three = from_file.make_cache(1, 6);
  CHECK(max_abs_difference(from_file.forward(ids, 1, 6, three), expected) <= 1e-6 * max_abs(expected));
  CHECK_THROWS_AS(static_cast<void>(load_llama2c<packed>(folder / "absent.bin")), io_error);
}

TEST_CASE("stories260K.bin: logits within 1e-4 of llama2.c's, and its greedy story token for token") {
  const auto path = tinygrad_test::shared_data("models/stories260K/stories260K.bin");
  const auto logits = tinygrad_test::shared_data("golden/stories260K.logits.llama2c_f32.f32");
  const auto story = tinygrad_test::shared_data("golden/stories260K.greedy_ids.llama2c.txt");
  const auto text = tinygrad_test::shared_data("golden/stories260K.greedy_text.llama2c.txt");
  const auto words = tinygrad_test::shared_data("models/stories260K/tok512.bin");
  if (!path || !logits || !story || !text || !words) return;
  const auto model = load_llama2c(path->string());
  const std::vector<int> start{1, 403, 407, 261, 378, 432, 383, 285, 261, 376, 298, 394, 385, 418, 13, 310, 305, 350};
  const mapped_file golden(logits->string());
  std::vector<float> values(18 * 512);
  REQUIRE(golden.bytes().size() == values.size() * sizeof(float));
  std::memcpy(values.data(), golden.bytes().data(), golden.bytes().size());
  auto cache = model.make_cache(1, 18);
  CHECK(max_abs_difference(model.forward(start, 1, 18, cache), Tensor<float>::from(values, {1, 18, 512})) <= 1e-4);

  std::vector<int> expected;
  std::ifstream numbers(*story);
  for (int id = 0; numbers >> id;) expected.push_back(id);
  REQUIRE(expected.size() > 200);
  sampler_options greedy;
  greedy.temperature = 0;
  Sampler sampler(greedy);
  generate_options options;
  options.max_tokens = expected.size() - 1;
  const generation result = generate(model, std::span<const int>(expected).first(1), options, sampler);
  CHECK(std::vector<int>(expected.begin() + 1, expected.end()) == result.tokens);
  CHECK(mapped_file(text->string()).text().starts_with(read_llama2c_tokenizer(words->string()).decode(result.tokens)));
}

TEST_CASE("every prefix of a checkpoint is refused, and one with a byte too many") {
  const std::string bytes = llama2c_bytes(tinygrad_test::small_llama2c<packed>(true));
  for (std::size_t length = 0; length < 28; ++length) refused(bytes.substr(0, length), {"model.bin", "ends inside"});
  for (std::size_t length = 28; length < bytes.size(); length += 13)
    CHECK(refused(bytes.substr(0, length), {"of these sizes", std::to_string(length - 28)}) == 28);
  CHECK(refused(bytes + "x", {"of these sizes goes on for " + std::to_string(bytes.size() - 28) + " bytes"}) == 28);
}

TEST_CASE("sizes of a checkpoint that make no sense are named, with their place") {
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max(),
                         least = std::numeric_limits<std::int32_t>::min();
  const auto with = [](std::size_t which, std::int32_t value) {
    std::array<std::int32_t, 7> sizes{8, 6, 2, 4, 2, 11, 9};
    sizes[which] = value;
    return llama2c_head(sizes) + zeros(4096);
  };
  const std::array names{"dim", "hidden_dim", "n_layers", "n_heads", "n_kv_heads", "vocab_size", "seq_len"};
  for (std::size_t which = 0; which < 7; ++which) {
    CAPTURE(names[which]);
    CHECK(refused(with(which, 0), {"model.bin", names[which], " is 0"}) == which * 4);
    if (which != 5) CHECK(refused(with(which, -1), {names[which], " is -1"}) == which * 4);
  }
  CHECK(refused(with(3, 3), {"n_heads is 3", "dim 8"}) == 12);
  CHECK(refused(with(3, 8), {"n_heads is 8", "even size"}) == 12);
  CHECK(refused(with(4, 3), {"n_kv_heads is 3", "n_heads 4"}) == 16);
  for (const std::size_t which : {1U, 2U, 5U, 6U}) CHECK(refused(with(which, most), {"of these sizes"}) == 28);
  CHECK(refused(with(5, least), {"of these sizes"}) == 28);
  CHECK(refused(llama2c_head({most - 1, most, most, 1, 1, least, most}), {"more than 2^64"}) == 28);
}

TEST_CASE("llama2.c's later versions and other files are refused by name") {
  CHECK(refused("24ka" + tinygrad_test::le(std::int32_t{1}) + zeros(248), {"version 1 or later"}) == 0);
  CHECK(refused("GGUF" + zeros(60), {"model.bin"}) == 4);
  CHECK(refused("", {"dim"}) == 0);
}
