// GPT-2 checkpoints saved by transformers: loading, logits, cached logits, fine-tuning (make_gpt2_checkpoint.py).
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <tinygrad/models/load.hpp>
#include <tinygrad/ops/cross_entropy.hpp>
#include <tinygrad/optim/adam.hpp>
#include <tinygrad/testing/close.hpp>
#include <vector>

#include "support/shared_data.hpp"

using namespace tinygrad;

namespace {

const std::string folder = TINYGRAD_SOURCE_DIR "/tests/golden/tiny_gpt2";

gpt_config config_in(const std::string& where) { return read_gpt_config(read_json_file(where + "/config.json")); }

template <class P>
Gpt<float, P> load_model(const std::string& where) {
  leave_uninitialized open;
  Gpt<float, P> model(config_in(where), open);
  static_cast<void>(load_weights(model, safetensors_model(where)));
  return model;
}

struct expected_values {
  safetensors_file file{folder + "/expected.safetensors"};
  std::vector<std::int32_t> ids = file.read<std::int32_t>(file.at("ids"));
  Shape shape = file.shape(file.at("logits"));
  Tensor<float> logits = Tensor<float>::from(file.read<float>(file.at("logits")), shape);
  std::vector<double> losses = file.read<double>(file.at("losses"));
};

/// The fixture's tensors as sources for files of our own.
std::vector<tensor_source> fixture_tensors(const safetensors_file& file) {
  std::vector<tensor_source> all;
  for (const tensor_info& info : file.tensors()) all.push_back({info.name, info.type, info.sizes, file.bytes(info)});
  return all;
}
struct temporary_file {
  std::string path = (std::filesystem::temp_directory_path() / "tinygrad_gpt2_test.safetensors").string();
  ~temporary_file() { std::filesystem::remove(path); }
};

}  // namespace

TEST_CASE_TEMPLATE("G08 logits are those of transformers, in one pass and token by token", P, naive, default_policy) {
  const expected_values expected;
  const Gpt<float, P> model = load_model<P>(folder);
  const no_grad guard;
  const std::size_t length = expected.shape[1];
  const double allowed = 1e-4 * max_abs(expected.logits);
  CHECK(max_abs_difference(model(expected.ids, 2, length), expected.logits) <= allowed);
  auto cache = model.make_cache(2, length);
  for (std::size_t t = 0; t < length; ++t) {
    const std::vector<int> step{expected.ids[t], expected.ids[length + t]};
    CHECK(max_abs_difference(model.forward(step, 2, 1, cache), narrow(expected.logits, 1, t, 1)) <= allowed);
  }
}

TEST_CASE("five steps of fine-tuning have PyTorch's losses, and the file stays as it was") {
  const expected_values expected;
  Gpt<float> model = load_model<default_policy>(folder);
  adam_options options = AdamW<float>::defaults();
  AdamW<float> optimizer(parameters(model), options);
  const std::size_t length = expected.shape[1];
  std::vector<int> ids, targets;
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t t = 0; t + 1 < length; ++t) {
      ids.push_back(expected.ids[b * length + t]);
      targets.push_back(expected.ids[b * length + t + 1]);
    }
  for (const double wanted : expected.losses) {
    const auto loss = cross_entropy(model(ids, 2, length - 1), std::span<const int>(targets));
    CHECK(static_cast<double>(loss.item()) == doctest::Approx(wanted).epsilon(1e-3));
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  const no_grad guard;  // the weights looked into the mapped file; training must not have reached it
  const Gpt<float> again = load_model<default_policy>(folder);
  CHECK(max_abs_difference(again(expected.ids, 2, length), expected.logits) <= 1e-4 * max_abs(expected.logits));
}

TEST_CASE("names may carry the prefix transformer., and tensors that nobody asked for are listed") {
  const temporary_file file;
  const safetensors_file original(folder + "/model.safetensors");
  std::vector<tensor_source> tensors = fixture_tensors(original);
  for (tensor_source& tensor : tensors)
    if (!tensor.name.starts_with("transformer.")) tensor.name = "transformer." + tensor.name;
  const std::vector<float> mask(4, 1.0F);
  tensors.push_back(source_of<float>("transformer.h.0.attn.bias", Shape{2, 2}, mask));
  write_safetensors(file.path, tensors);
  leave_uninitialized open;
  Gpt<float> model(config_in(folder), open);
  const load_report report = load_weights(model, safetensors_model(file.path));
  CHECK(report.parameters == 28);
  CHECK(report.numbers == parameter_count(model));
  CHECK(report.unused == std::vector<std::string>{"transformer.h.0.attn.bias"});
}

TEST_CASE("a missing tensor is named, a shape that does not fit is refused with both shapes") {
  const temporary_file file;
  const safetensors_file original(folder + "/model.safetensors");
  std::vector<tensor_source> tensors = fixture_tensors(original);
  std::erase_if(tensors, [](const tensor_source& t) { return t.name.ends_with("h.1.ln_2.bias"); });
  write_safetensors(file.path, tensors);
  leave_uninitialized open;
  Gpt<float> model(config_in(folder), open);
  CHECK_THROWS_WITH_AS(static_cast<void>(load_weights(model, safetensors_model(file.path))),
                       (file.path + ": byte 8: tensor \"h.1.ln_2.bias\" is missing").c_str(), format_error);

  gpt_config wider = config_in(folder);
  wider.vocabulary = 42;
  Gpt<float> other(wider, open);
  CHECK_THROWS_AS(static_cast<void>(load_weights(other, safetensors_model(folder))), shape_error);
  try {
    static_cast<void>(load_weights(other, safetensors_model(folder)));
  } catch (const shape_error& problem) {
    const std::string text = problem.what();
    CHECK(text.ends_with("wte.weight\" is (41, 16), the model needs (42, 16)"));
  }
}

TEST_CASE("half precision and double weights are widened or rounded to the model's type") {
  const temporary_file file;
  const safetensors_file original(folder + "/model.safetensors");
  std::vector<tensor_source> tensors = fixture_tensors(original);
  std::vector<std::vector<double>> wide;
  for (tensor_source& tensor : tensors) {
    wide.push_back(original.read<double>(original.at(tensor.name)));
    tensor.type = dtype::f64;
    tensor.data = std::as_bytes(std::span<const double>(wide.back()));
  }
  write_safetensors(file.path, tensors);
  leave_uninitialized open;
  Gpt<double> model(config_in(folder), open);
  CHECK(load_weights(model, safetensors_model(file.path)).parameters == 28);
  const expected_values expected;
  const no_grad guard;
  CHECK(max_abs_difference(model(expected.ids, 2, expected.shape[1]), expected.logits) <= 1e-6);
}

TEST_CASE("a configuration of another architecture is refused") {
  const auto parse = [](const char* text) { return read_gpt_config(json_document{parse_json(text), "config.json"}); };
  CHECK_THROWS_AS(static_cast<void>(parse(R"({"vocab_size": 10})")), format_error);
  CHECK_THROWS_AS(static_cast<void>(parse(R"({"activation_function": "relu", "vocab_size": 10, "n_positions": 4,
                                            "n_embd": 4, "n_layer": 1, "n_head": 1})")),
                  format_error);
  CHECK_THROWS_AS(
      static_cast<void>(parse(R"({"vocab_size": 10, "n_positions": 4, "n_embd": 4, "n_layer": 1, "n_head": 3})")),
      value_error);
  const gpt_config back =
      read_gpt_config(json_document{parse_json(write_gpt_config(config_in(folder))), "config.json"});
  CHECK(back == config_in(folder));
}

TEST_CASE("tiny-random-gpt2 against float64 logits of PyTorch") {
  const auto path = tinygrad_test::shared_data("models/tiny-random-gpt2");
  const auto golden = tinygrad_test::shared_data("golden/tiny-random-gpt2.logits.torch_f64.f32");
  if (!path || !golden) return;
  const Gpt<float> model = load_model<default_policy>(path->string());
  const std::vector<int> ids{5, 17, 99, 500, 999, 1, 0, 321, 7, 7, 42, 650, 88, 123, 456, 789};
  const mapped_file bytes(golden->string());
  REQUIRE(bytes.bytes().size() == 16 * 1000 * sizeof(float));
  std::vector<float> values(16000);
  std::memcpy(values.data(), bytes.bytes().data(), bytes.bytes().size());
  const no_grad guard;
  CHECK(max_abs_difference(model(ids, 1, 16), Tensor<float>::from(values, {1, 16, 1000})) <= 2e-5);
}
