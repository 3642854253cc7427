// decode FILE CONTEXT TOKENS      TOKENS times one token after CONTEXT of them, from a GGUF file of a GPT-2 or Llama
// prefill FILE LENGTH             logits of the last of LENGTH tokens
// train LAYERS CHANNELS HEADS VOCABULARY BATCH LENGTH     one step: loss, gradients, clipping, AdamW
// load FILE LENGTH                from GPT-2's safetensors to the logits after LENGTH tokens
//
// write_model: gpt2|llama TYPE FILE    random weights of GPT-2 124M or of a small Llama as GGUF, or gpt2 as
//                                      safetensors where TYPE is "safetensors"
#include <memory>
#include <tinygrad/models/export_gguf.hpp>
#include <tinygrad/ops/cross_entropy.hpp>
#include <tinygrad/optim/adam.hpp>
#include <tinygrad/optim/clip.hpp>

#include "worker.hpp"

namespace tinygrad_bench {

namespace {

using namespace tinygrad;

/// The same tokens as bench/peers/llama_worker.py.
std::vector<int> some_ids(std::size_t count, std::size_t vocabulary) {
  std::vector<int> ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = static_cast<int>((i * 7919 + 1) % vocabulary);
  return ids;
}

/// The matrices of a file, which are read once for each token: all but tables of which a token needs one row.
double bytes_a_token(const gguf_file& file) {
  const bool tied = file.find_tensor("output.weight") == nullptr;
  double bytes = 0;
  for (const gguf_tensor& tensor : file.tensors())
    if (tensor.name != "position_embd.weight" && (tied || tensor.name != "token_embd.weight"))
      bytes += static_cast<double>(tensor.bytes);
  return bytes;
}
/// Multiply-adds of `count` tokens in the matrices of the blocks, and of one in the head.
double flop_of(const gguf_file& file, std::size_t count) {
  double blocks = 0;
  for (const gguf_tensor& tensor : file.tensors())
    if (tensor.sizes.size() == 2 && tensor.name.starts_with("blk.")) blocks += static_cast<double>(tensor.count());
  const auto& table = *file.find_tensor("token_embd.weight");
  return 2 * (blocks * static_cast<double>(count) + static_cast<double>(table.count()));
}

template <class Model>
work make_decode(const gguf_file& file, Model loaded, std::size_t context, std::size_t tokens) {
  const auto model = std::make_shared<const Model>(std::move(loaded));
  const auto cache = std::make_shared<KvCache<float>>(model->make_cache(1, context + tokens));
  const std::vector<int> ids = some_ids(context + tokens, model->vocabulary());
  const auto all = std::span<const int>(ids);
  if (context > 0) static_cast<void>(model->forward(all.first(context), 1, context, *cache, logits_of::last));
  const auto call = [=] {
    cache->truncate(context);
    for (std::size_t i = 0; i < tokens; ++i)
      static_cast<void>(model->forward(std::span(ids).subspan(context + i, 1), 1, 1, *cache, logits_of::last));
  };
  return {call, 0, bytes_a_token(file) * static_cast<double>(tokens)};
}

template <class Model>
work make_prefill(const gguf_file& file, Model loaded, std::size_t length) {
  const auto model = std::make_shared<const Model>(std::move(loaded));
  const auto cache = std::make_shared<KvCache<float>>(model->make_cache(1, length));
  const auto call = [=, ids = some_ids(length, model->vocabulary())] {
    cache->clear();
    static_cast<void>(model->forward(ids, 1, length, *cache, logits_of::last));
  };
  return {call, flop_of(file, length), 0};
}

template <class Model>
work make_generation(arguments what, const gguf_file& file, Model model) {
  const std::size_t length = number(at(what, 2));
  if (what[0] == "prefill") return make_prefill(file, std::move(model), length);
  return make_decode(file, std::move(model), length, number(at(what, 3)));
}

work make_training(arguments what) {
  gpt_config config;
  config.layers = number(at(what, 1));
  config.channels = number(at(what, 2));
  config.heads = number(at(what, 3));
  config.vocabulary = number(at(what, 4));
  const std::size_t batch = number(at(what, 5)), length = config.positions = number(at(what, 6));
  Random random(1);
  const auto model = std::make_shared<Gpt<float>>(config, random);
  const auto all = parameters(*model);
  const auto optimizer = std::make_shared<AdamW<float>>(all);
  const auto call = [=, ids = random_ids(batch * length, config.vocabulary)] {
    const auto loss = cross_entropy((*model)(ids, batch, length), std::span<const int>(ids));
    optimizer->zero_grad();
    loss.backward();
    clip_grad_norm(all, 1.0);
    optimizer->step();
  };
  // Products forward, and twice as many backward; queries with keys and weights with values as all pairs.
  const auto c = static_cast<double>(config.channels), tokens = static_cast<double>(batch * length);
  const double block = 12 * c * c + 2 * c * static_cast<double>(length);
  return {call, 6 * tokens * (static_cast<double>(config.layers) * block + c * static_cast<double>(config.vocabulary)),
          0};
}

gpt_config gpt2_small() {
  gpt_config config;
  config.vocabulary = 50257;
  config.positions = 1024;
  config.channels = 768;
  config.layers = config.heads = 12;
  return config;
}

work make_load(const std::string& path, std::size_t length) {
  return {[=, ids = random_ids(length, gpt2_small().vocabulary)] {
    leave_uninitialized open;
    Gpt<float> model(gpt2_small(), open);
    static_cast<void>(load_weights(model, safetensors_model(path)));
    auto cache = model.make_cache(1, length);
    static_cast<void>(model.forward(ids, 1, length, cache, logits_of::last));
  }};
}

// --- files -----------------------------------------------------------------------------------------------------------

ggml_type type_called(std::string_view name) {
  for (const ggml_type_info& info : ggml_types)
    if (info.name == name) return info.type;
  throw std::invalid_argument("no type of tensors is called " + std::string(name));
}

/// llama.cpp takes files without a tokenizer when they say so and give the number of ids.
void add_no_vocabulary(gguf_writer& out, const std::string& architecture, std::size_t ids) {
  out.set("tokenizer.ggml.model", "none");
  out.set(architecture + ".vocab_size", static_cast<std::uint32_t>(ids));
}

/// 512 wide, 8 layers, 8 heads of 64, 4 key/value heads, 1408 hidden, 32000 ids: 62 million weights.
void write_llama(const std::string& path, ggml_type type) {
  constexpr std::size_t c = 512, layers = 8, heads = 8, groups = 4, hidden = 1408, ids = 32000;
  gguf_writer out;
  out.set("general.architecture", "llama");
  add_no_vocabulary(out, "llama", ids);
  const auto count = [&](const std::string& key, std::size_t value) {
    out.set("llama." + key, static_cast<std::uint32_t>(value));
  };
  count("context_length", 2048);
  count("embedding_length", c);
  count("feed_forward_length", hidden);
  count("block_count", layers);
  count("attention.head_count", heads);
  count("attention.head_count_kv", groups);
  count("rope.dimension_count", c / heads);
  out.set("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  detail::gguf_tensors tensors(out);
  Random random(1);
  const auto matrix = [&](const std::string& name, std::size_t rows, std::size_t columns) {
    std::vector<float> values(rows * columns);
    for (float& x : values) x = random.uniform(-0.035F, 0.035F);  // a deviation of 0.02
    tensors.add(name + ".weight", type, rows, columns, std::move(values));
  };
  const auto gains = [&](const std::string& name) {
    tensors.add(name + ".weight", ggml_type::f32, 0, c, std::vector<float>(c, 1.0F));
  };
  matrix("token_embd", ids, c);
  matrix("output", ids, c);
  gains("output_norm");
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    gains(block + "attn_norm");
    gains(block + "ffn_norm");
    matrix(block + "attn_q", c, c);
    matrix(block + "attn_k", c / heads * groups, c);
    matrix(block + "attn_v", c / heads * groups, c);
    matrix(block + "attn_output", c, c);
    matrix(block + "ffn_gate", hidden, c);
    matrix(block + "ffn_up", hidden, c);
    matrix(block + "ffn_down", c, hidden);
  }
  out.write(path);
}

}  // namespace

work make_model(arguments what) {
  if (what[0] == "train") return make_training(what);
  if (what[0] == "load") return make_load(at(what, 1), number(at(what, 2)));
  const gguf_file file(at(what, 1));
  if (gguf_architecture(file) == "gpt2") return make_generation(what, file, load_gpt_gguf(file).first);
  return make_generation(what, file, load_llama_gguf(file).first);
}

void write_model(arguments what) {
  const std::string &type = at(what, 1), &path = at(what, 2);
  if (what[0] == "llama") return write_llama(path, type_called(type));
  Random random(1);
  Gpt<float> model(gpt2_small(), random);
  if (type != "safetensors")
    return write_gpt_gguf(path, model, type_called(type),
                          [](gguf_writer& out) { add_no_vocabulary(out, "gpt2", gpt2_small().vocabulary); });
  std::vector<tensor_source> tensors;
  for_each_parameter(model, [&](const std::string& name, const auto& tensor) {
    tensors.push_back(source_of(name, tensor.shape(), tensor.data()));
  });
  write_safetensors(path, tensors, {{"format", "pt"}});
}

}  // namespace tinygrad_bench
