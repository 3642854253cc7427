// Models from GGUF files, with their weights in the file's format, against other engines' logits.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <tinygrad/generate/generate.hpp>
#include <tinygrad/models/load_gguf.hpp>
#include <tinygrad/testing/close.hpp>
#include <vector>

#include "support/shared_data.hpp"
#include "support/small_gpt.hpp"
#include "support/temp_folder.hpp"

using namespace tinygrad;

namespace {

const std::vector<int> story{1, 403, 407, 261, 378, 432, 383, 285, 261, 376, 298, 394, 385, 418, 13, 310, 305, 350};
const std::vector<int> gpt_ids{5, 17, 99, 500, 999, 1, 0, 321, 7, 7, 42, 650, 88, 123, 456, 789};

Tensor<float> golden(const std::string& path, const Shape& shape) {
  const mapped_file file(path);
  REQUIRE(file.bytes().size() == shape.count() * sizeof(float));
  std::vector<float> values(shape.count());
  std::memcpy(values.data(), file.bytes().data(), file.bytes().size());
  return Tensor<float>::from(values, shape);
}

/// Every stored matrix below `module` replaced by its values in F32: plain float arithmetic on the same weights.
template <class Module>
void dequantise_all(Module& module) {
  if constexpr (stores_weights<Module>) {
    if (!module.stored.defined()) return;
    std::vector<float> values(module.stored.rows() * module.stored.columns());
    module.stored.dequantise(values);
    module.stored =
        QuantMatrix::quantise(ggml_type::f32, module.stored.rows(), module.stored.columns(), std::span<float>(values));
  } else if constexpr (module_type<Module>) {
    module.visit([](std::string_view, auto& member) { dequantise_all(member); });
  } else if constexpr (requires { module.begin(); }) {
    for (auto& element : module) dequantise_all(element);
  }
}

/// Largest distance of the logits of `ids` from those of the dequantised weights, `chunk` tokens at a time.
template <class Model>
double distance_from_exact(const Model& model, const std::vector<int>& ids, std::size_t chunk) {
  Model exact = model;
  dequantise_all(exact);
  auto cache = exact.make_cache(1, ids.size());
  const auto expected = exact.forward(ids, 1, ids.size(), cache);
  auto other = model.make_cache(1, ids.size());
  double worst = 0;
  for (std::size_t first = 0; first < ids.size(); first += chunk) {
    const std::size_t count = std::min(chunk, ids.size() - first);
    const auto logits = model.forward(std::span<const int>(ids).subspan(first, count), 1, count, other);
    worst = std::max(worst, max_abs_difference(logits, narrow(expected, 1, first, count)));
  }
  return worst;
}

}  // namespace

TEST_CASE(
    "stored weights against float arithmetic on their values: fast within llama.cpp's distances, exact within "
    "rounding") {
  const auto check = [&](const char* name, const std::vector<int>& ids, double prefill, double decode) {
    CAPTURE(name);
    const auto path = tinygrad_test::shared_data("models/" + std::string(name));
    if (!path) return;
    const gguf_file file(path->string());
    for (const quant_precision precision : {quant_precision::fast, quant_precision::exact}) {
      const bool exact = precision == quant_precision::exact;
      CAPTURE(exact);
      const auto measure = [&](const auto& model, double rounding) {
        const double whole = distance_from_exact(model, ids, ids.size()), single = distance_from_exact(model, ids, 1);
        CHECK(whole <= (exact ? rounding : prefill));
        CHECK(single <= (exact ? 2 * rounding : decode));  // one row sums in another order than many
      };
      if (gguf_architecture(file) == "gpt2")
        measure(load_gpt_gguf(file, precision).first, 2e-5);
      else
        measure(load_llama_gguf(file, precision).first, 1e-4);
    }
  };
  check("stories260K/stories260K.f32.gguf", story, 1e-4, 1e-4);
  check("stories260K/stories260K.f16.gguf", story, 1e-4, 1e-3);
  check("stories260K/stories260K.q8_0-mixed.gguf", story, 0.72, 0.72);
  check("stories260K/stories260K.q4_0-mixed.gguf", story, 11.9, 11.9);
  check("tiny-random-gpt2/tiny-random-gpt2.f32.gguf", gpt_ids, 2e-5, 2e-5);
  check("tiny-random-gpt2/tiny-random-gpt2.f16.gguf", gpt_ids, 2e-5, 2.7e-4);
  check("tiny-random-gpt2/tiny-random-gpt2.q8_0.gguf", gpt_ids, 6e-3, 6e-3);
  check("tiny-random-gpt2/tiny-random-gpt2.q4_0.gguf", gpt_ids, 0.066, 0.066);
}

TEST_CASE("a quantised GPT loaded for exact products computes with its dequantised weights, prefill and decode") {
  auto written = tinygrad_test::small_gpt<default_policy>(64);
  const tinygrad_test::temp_folder folder;
  const gguf_file file(tinygrad_test::write_small_gpt(folder, written, ggml_type::q8_0));
  const auto fast = load_gpt_gguf(file).first;
  const auto exact = load_gpt_gguf(file, quant_precision::exact).first;
  const std::vector<int> ids{0, 7, 14, 21, 28, 6, 13, 20, 27, 5, 12, 19};
  CHECK(distance_from_exact(exact, ids, ids.size()) <= 2e-5);
  CHECK(distance_from_exact(exact, ids, 1) <= 2e-5);
  CHECK(distance_from_exact(fast, ids, 1) > 1e-3);
}

TEST_CASE("stories260K in float, half and quantised: within the distances that llama.cpp shows from llama2.c") {
  const auto reference = tinygrad_test::shared_data("golden/stories260K.logits.llama2c_f32.f32");
  if (!reference) return;
  const Tensor<float> expected = golden(reference->string(), {1, 18, 512});
  const auto check = [&](const char* kind, double allowed) {
    CAPTURE(kind);
    const auto path = tinygrad_test::shared_data(std::string("models/stories260K/stories260K.") + kind + ".gguf");
    if (!path) return;
    const gguf_file file(path->string());
    const auto [model, report] = load_llama_gguf(file);
    CHECK(report.unused.empty());
    auto cache = model.make_cache(1, 18);
    CHECK(max_abs_difference(model.forward(story, 1, 18, cache), expected) <= allowed);
  };
  check("f32", 1e-4);
  check("f16", 0.04);
  check("q8_0-mixed", 1.0);
  check("q4_0-mixed", 14);
}

TEST_CASE("stories260K writes llama2.c's greedy story, token for token") {
  const auto path = tinygrad_test::shared_data("models/stories260K/stories260K.f32.gguf");
  const auto ids = tinygrad_test::shared_data("golden/stories260K.greedy_ids.llama2c.txt");
  if (!path || !ids) return;
  std::vector<int> expected;
  std::ifstream numbers(*ids);
  for (int id = 0; numbers >> id;) expected.push_back(id);
  REQUIRE(expected.size() > 20);
  const gguf_file file(path->string());
  const auto [model, report] = load_llama_gguf(file);
  sampler_options greedy;
  greedy.temperature = 0;
  Sampler sampler(greedy);
  generate_options options;
  options.max_tokens = expected.size() - 1;
  const generation result = generate(model, std::span<const int>(expected).first(1), options, sampler);
  CHECK(result.reason == stop_reason::context_full);  // the file declares 128 positions
  REQUIRE(result.tokens.size() == 128);
  CHECK(std::vector<int>(expected.begin() + 1, expected.begin() + 129) == result.tokens);
}

TEST_CASE("tiny-random-gpt2 from GGUF in every format") {
  const auto reference = tinygrad_test::shared_data("golden/tiny-random-gpt2.logits.torch_f64.f32");
  if (!reference) return;
  const Tensor<float> expected = golden(reference->string(), {1, 16, 1000});
  const auto check = [&](const char* kind, double allowed) {
    CAPTURE(kind);
    const auto path =
        tinygrad_test::shared_data(std::string("models/tiny-random-gpt2/tiny-random-gpt2.") + kind + ".gguf");
    if (!path) return;
    const gguf_file file(path->string());
    const auto [model, report] = load_gpt_gguf(file);
    CHECK(report.unused.empty());
    const no_grad guard;
    CHECK(max_abs_difference(model(gpt_ids, 1, 16), expected) <= allowed);
  };
  check("f32", 2e-5);
  check("f16", 4e-4);
  check("q8_0", 8e-3);
  check("q4_0", 8e-2);
}

TEST_CASE("F13 a block count that the file does not bear out is an error before anything is made for it") {
  const auto path = tinygrad_test::shared_data("models/stories260K/stories260K.f32.gguf");
  if (!path) return;
  const mapped_file original(path->string());
  std::vector<std::byte> bytes(original.bytes().begin(), original.bytes().end());
  const std::string key = "llama.block_count";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t at = text.find(key);
  REQUIRE(at != std::string_view::npos);
  bytes[at + key.size() + 4] = std::byte{33};  // after the value's kind
  const gguf_file file(bytes, "edited.gguf");
  CHECK_THROWS_WITH_AS(static_cast<void>(load_llama_gguf(file)),
                       "edited.gguf: byte 0: block_count is 33, but tensor \"blk.32.attn_norm.weight\" is missing",
                       format_error);
  CHECK_THROWS_AS(static_cast<void>(load_gpt_gguf(file)), format_error);
}
