// GPTs and Llamas written as GGUF and read back.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <tinygrad/models/export_gguf.hpp>
#include <tinygrad/testing/close.hpp>
#include <vector>

#include "support/small_gpt.hpp"
#include "support/temp_folder.hpp"

using namespace tinygrad;
using model_type = Gpt<float, packed>;

namespace {

/// Rows of 48 are no whole blocks of 32, rows of 192 are.
model_type small_model() { return tinygrad_test::small_gpt<packed>(48); }
std::vector<int> some_ids() {
  std::vector<int> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(i * 7 % 29);
  return ids;
}
}  // namespace

TEST_CASE("a GPT written in F32 and read back gives the same logits, bit for bit") {
  model_type model = small_model();
  const tinygrad_test::temp_folder folder;
  const gguf_file file(tinygrad_test::write_small_gpt(folder, model, ggml_type::f32));
  const auto [read, report] = load_gpt_gguf<packed>(file);
  CHECK(report.unused.empty());
  CHECK(read.config.norm_epsilon == doctest::Approx(1e-6));
  const no_grad guard;
  const std::vector<int> ids = some_ids();
  const auto expected = model(ids, 1, 20), logits = read(ids, 1, 20);
  REQUIRE(logits.shape() == expected.shape());
  CHECK(std::memcmp(logits.data().data(), expected.data().data(), expected.count() * sizeof(float)) == 0);
}

TEST_CASE("the numbers in the file are the model's, matrices [out, in]") {
  model_type model = small_model();
  const tinygrad_test::temp_folder folder;
  const gguf_file file(tinygrad_test::write_small_gpt(folder, model, ggml_type::f32));
  const auto values = [&](const char* name) { return file.read<float>(*file.find_tensor(name)); };
  const auto table = model.wte.weight.data();
  CHECK(std::equal(table.begin(), table.end(), values("token_embd.weight").begin()));
  const auto bias = model.h[1].mlp.c_fc.bias.data();
  CHECK(std::equal(bias.begin(), bias.end(), values("blk.1.ffn_up.bias").begin()));
  const std::vector<float> turned = values("blk.1.ffn_up.weight");
  const auto weight = model.h[1].mlp.c_fc.weight;  // [48, 192]
  CHECK(file.find_tensor("blk.1.ffn_up.weight")->sizes == std::vector<std::uint64_t>{192, 48});
  for (std::size_t i = 0; i < 48; ++i)
    for (std::size_t j = 0; j < 192; ++j) REQUIRE(turned[j * 48 + i] == weight.data()[i * 192 + j]);
}

TEST_CASE("the keys that llama.cpp asks for are there") {
  model_type model = small_model();
  const tinygrad_test::temp_folder folder;
  const gguf_file file(tinygrad_test::write_small_gpt(folder, model, ggml_type::f16));
  CHECK(file["general.architecture"].text() == "gpt2");
  CHECK(file["general.file_type"].uint64() == 1);
  CHECK(file["gpt2.vocab_size"].uint64() == 29);
  CHECK(file["gpt2.context_length"].uint64() == 20);
  CHECK(file["gpt2.embedding_length"].uint64() == 48);
  CHECK(file["gpt2.feed_forward_length"].uint64() == 192);
  CHECK(file["gpt2.block_count"].uint64() == 2);
  CHECK(file["gpt2.attention.head_count"].uint64() == 4);
  CHECK(file["gpt2.attention.layer_norm_epsilon"].number() == doctest::Approx(1e-6));
}

TEST_CASE("in other types matrices are rounded where their rows are whole blocks, and the rest stays F32") {
  model_type model = small_model();
  const tinygrad_test::temp_folder folder;
  const no_grad guard;
  const std::vector<int> ids = some_ids();
  const auto expected = model(ids, 1, 20);
  for (const auto& [type, allowed] : {std::pair(ggml_type::f16, 1e-2), std::pair(ggml_type::q8_0, 5e-2)}) {
    const gguf_file file(tinygrad_test::write_small_gpt(folder, model, type));
    const bool whole = type == ggml_type::f16;
    CHECK(file.find_tensor("blk.0.attn_qkv.weight")->type == (whole ? type : ggml_type::f32));
    CHECK(file.find_tensor("blk.0.ffn_down.weight")->type == type);
    CHECK(file.find_tensor("position_embd.weight")->type == ggml_type::f32);
    CHECK(file.find_tensor("blk.0.attn_norm.weight")->type == ggml_type::f32);
    CHECK(max_abs_difference(load_gpt_gguf<packed>(file).first(ids, 1, 20), expected) <= allowed * max_abs(expected));
  }
}

TEST_CASE("a model whose weights are a file's is not written again") {
  model_type model = small_model();
  const tinygrad_test::temp_folder folder;
  const gguf_file file(tinygrad_test::write_small_gpt(folder, model, ggml_type::f32));
  auto [read, report] = load_gpt_gguf<packed>(file);
  CHECK_THROWS_AS(static_cast<void>(tinygrad_test::write_small_gpt(folder, read, ggml_type::f32)), value_error);
}

namespace {

Llama<float, packed> small_llama(llama_config config) {
  config.vocabulary = 31;
  config.positions = 24;
  config.channels = 32;
  config.layers = 2;
  config.heads = 4;
  config.groups = 2;
  config.hidden = 64;
  Random random(6);
  Llama<float, packed> model(config, random);
  for_each_parameter(model, [&](const std::string&, const auto& p) {
    if (!p.defined()) return;
    for (float& value : p.mutable_data()) value += 0.1F * static_cast<float>(random.normal());
  });
  return model;
}

}  // namespace

TEST_CASE("Llamas of every kind, written and read back, give the same logits") {
  llama_config mistral, scaled, deep, qwen2, qwen3, interleaved;
  mistral.window = 5;
  scaled.tied = true;
  scaled.theta = 500000;
  scaled.scaling = rope_scaling{8, 1, 4, 16};
  deep.depth = 16;
  qwen2.attention_bias = true;
  qwen3.head_norms = true;
  interleaved.pairs = rope_pairs::interleaved;
  const std::vector<std::pair<llama_config, const char*>> kinds{
      {{}, "llama"},    {mistral, "llama"}, {scaled, "llama"},     {deep, "llama"},
      {qwen2, "qwen2"}, {qwen3, "qwen3"},   {interleaved, "llama"}};
  const no_grad guard;
  std::vector<int> ids;
  for (int i = 0; i < 24; ++i) ids.push_back(i * 7 % 31);
  for (const auto& kind : kinds) {
    const llama_config& config = kind.first;
    const std::string architecture = kind.second;
    CAPTURE(architecture);
    Llama<float, packed> model = small_llama(config);
    const tinygrad_test::temp_folder folder;
    write_llama_gguf(folder / "model.gguf", model, ggml_type::f32,
                     [](gguf_writer& out) { out.set("tokenizer.ggml.model", "none"); });
    const gguf_file file(folder / "model.gguf");
    CHECK(gguf_architecture(file) == architecture);
    auto [read, report] = load_llama_gguf<packed>(file);
    CHECK(report.unused.empty());
    CHECK(read.config.groups == 2);
    CHECK(read.config.window == config.window);
    const auto expected = model(ids, 1, 24);
    CHECK(max_abs_difference(read(ids, 1, 24), expected) <= 2e-5 * max_abs(expected));
    CHECK_THROWS_AS(write_llama_gguf(folder / "again.gguf", read, ggml_type::f32, [](gguf_writer&) {}), value_error);
  }
}

TEST_CASE("a Llama that no architecture describes is not written") {
  llama_config config;
  config.head_norms = true;
  config.pairs = rope_pairs::interleaved;
  Llama<float, packed> model = small_llama(config);
  const tinygrad_test::temp_folder folder;
  CHECK_THROWS_AS(write_llama_gguf(folder / "model.gguf", model, ggml_type::f32, [](gguf_writer&) {}), value_error);
}
