// Checkpoints of the Llama family saved by transformers: logits, cached logits, hidden states
// (make_llama_checkpoints.py).
#include <doctest/doctest.h>

#include <string>
#include <tinygrad/generate/generate.hpp>
#include <tinygrad/models/load_llama.hpp>
#include <tinygrad/ops/cross_entropy.hpp>
#include <tinygrad/testing/close.hpp>
#include <tinygrad/testing/gradcheck.hpp>
#include <vector>

using namespace tinygrad;
using model_type = Llama<float, packed>;
static_assert(language_model<model_type>);

namespace {

struct checkpoint {
  std::string folder;
  model_type model;
  std::vector<std::int32_t> ids;
  Tensor<float, packed> logits, hidden;

  explicit checkpoint(const std::string& name) : folder(TINYGRAD_SOURCE_DIR "/tests/golden/tiny_llama/" + name) {
    leave_uninitialized open;
    model = model_type(read_llama_config(read_json_file(folder + "/config.json")), open);
    CHECK(load_weights(model, safetensors_model(folder)).unused.empty());
    const safetensors_file expected(folder + "/expected.safetensors");
    const auto read = [&](const char* tensor) {
      return Tensor<float, packed>::from(expected.read<float>(expected.at(tensor)),
                                         expected.shape(expected.at(tensor)));
    };
    ids = expected.read<std::int32_t>(expected.at("ids"));
    logits = read("logits");
    hidden = read("hidden");
  }
  [[nodiscard]] std::size_t length() const { return logits.shape()[1]; }
};

llama_config parse(const std::string& text) {
  return read_llama_config(json_document{parse_json(text), "config.json"});
}

}  // namespace

TEST_CASE("logits are those of transformers, in one pass and in chunks with the cache") {
  for (const char* name : {"llama2", "llama3", "mistral", "qwen2", "qwen3"}) {
    CAPTURE(name);
    const checkpoint c(name);
    const no_grad guard;
    const double allowed = 1e-4 * max_abs(c.logits);
    CHECK(max_abs_difference(c.model(c.ids, 2, c.length()), c.logits) <= allowed);
    for (const std::size_t chunk : {1U, 3U, 14U}) {
      auto cache = c.model.make_cache(2, c.length());
      for (std::size_t first = 0; first < c.length(); first += chunk) {
        const std::size_t count = c.length() - first < chunk ? c.length() - first : chunk;
        std::vector<int> part;
        for (std::size_t b = 0; b < 2; ++b)
          part.insert(part.end(), c.ids.begin() + static_cast<std::ptrdiff_t>(b * c.length() + first),
                      c.ids.begin() + static_cast<std::ptrdiff_t>(b * c.length() + first + count));
        const auto logits = c.model.forward(part, 2, count, cache);
        CHECK(max_abs_difference(logits, narrow(c.logits, 1, first, count)) <= allowed);
      }
    }
  }
}

TEST_CASE("hidden states after the embedding and every block are those of transformers") {
  for (const char* name : {"llama2", "qwen3"}) {
    CAPTURE(name);
    const checkpoint c(name);
    auto cache = c.model.make_cache(2, c.length());
    std::size_t seen = 0;
    static_cast<void>(
        c.model.forward(c.ids, 2, c.length(), cache, logits_of::last, [&](std::size_t layer, const auto& x) {
          const auto last = narrow(x, 1, c.length() - 1, 1);
          const auto expected = narrow(c.hidden, 1, layer, 1);
          CHECK(max_abs_difference(last, expected) <= 1e-4 * max_abs(expected));
          ++seen;
        }));
    CHECK(seen == c.model.config.layers + 1);
  }
}

TEST_CASE("every parameter of a small Llama passes the gradient check in double") {
  llama_config config;
  config.vocabulary = 7;
  config.positions = 8;
  config.channels = 8;
  config.layers = 1;
  config.heads = 2;
  config.groups = 1;
  config.hidden = 6;
  config.attention_bias = true;
  config.head_norms = true;
  Random random(2);
  Llama<double, packed> model(config, random);
  for_each_parameter(model, [&](const std::string&, const auto& p) {
    for (double& value : p.mutable_data()) value += 0.4 * random.normal();
  });
  const std::vector<int> ids{1, 5, 2, 6, 0}, targets{5, 2, 6, 0, 3};
  const auto all = parameters(model);
  const auto results =
      gradcheck_each([&](const auto&) { return cross_entropy(model(ids, 1, 5), std::span<const int>(targets)); },
                     std::span<const Tensor<double, packed>>(all));
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(std::string(all[i].name()));
    CHECK(results[i].max_elementwise < 1e-6);
  }
}

TEST_CASE("G03 the frequencies of Llama 3 are scaled as its configuration says") {
  std::vector<double> plain = rope_frequencies(64, 500000), scaled = plain;
  scale_frequencies(scaled, {32, 1, 4, 8192});
  const auto divisor = [&](std::size_t i) { return plain[i] / scaled[i]; };
  for (std::size_t i = 0; i < 15; ++i) CHECK(divisor(i) == doctest::Approx(1));
  CHECK(divisor(15) == doctest::Approx(1.65133).epsilon(1e-5));
  CHECK(divisor(16) == doctest::Approx(3.29226).epsilon(1e-5));
  CHECK(divisor(17) == doctest::Approx(9.66673).epsilon(1e-5));
  for (std::size_t i = 18; i < 32; ++i) CHECK(divisor(i) == doctest::Approx(32));
}

TEST_CASE("G01 the two ways to pair channels") {
  const auto q = Tensor<double>::from({1, 2, 3, 4}, {1, 1, 4});
  const rope_angles<double, default_policy> angles(rope_frequencies(4, 10000), 1, 1);
  const auto check = [&](rope_pairs pairs, std::initializer_list<double> expected) {
    CHECK(max_abs_difference(rope(q, angles, 1, pairs), Tensor<double>::from(expected, {1, 1, 4})) < 1e-6);
  };
  check(rope_pairs::interleaved, {-1.142640, 1.922076, 2.959851, 4.029800});
  check(rope_pairs::halves, {-1.984111, 1.959901, 2.462378, 4.019800});
}

TEST_CASE("configurations that are not understood are refused, never ignored") {
  const std::string base =
      R"("vocab_size": 9, "max_position_embeddings": 8, "hidden_size": 8, "num_hidden_layers": 1,
         "num_attention_heads": 2, "intermediate_size": 4, "rms_norm_eps": 1e-5)";
  CHECK(parse(R"({"model_type": "llama", )" + base + "}").groups == 2);
  CHECK_THROWS_AS(static_cast<void>(parse(R"({"model_type": "gpt2", )" + base + "}")), format_error);
  CHECK_THROWS_AS(static_cast<void>(
                      parse(R"({"model_type": "llama", "rope_scaling": {"type": "yarn", "factor": 2}, )" + base + "}")),
                  format_error);
  CHECK_THROWS_AS(static_cast<void>(parse(R"({"model_type": "llama", "hidden_act": "gelu", )" + base + "}")),
                  format_error);
  CHECK_THROWS_AS(static_cast<void>(parse(R"({"model_type": "llama", "num_key_value_heads": 3, )" + base + "}")),
                  value_error);
}
