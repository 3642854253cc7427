// Writing GPTs and Llamas as GGUF, for llama.cpp and for ourselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tinygrad/io/gguf_writer.hpp>
#include <tinygrad/models/gpt.hpp>
#include <tinygrad/models/llama.hpp>
#include <tinygrad/models/load_gguf.hpp>
#include <tinygrad/quant/matrix.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {

/// Tensors of a GGUF file in the making, and the memory of those that had to be converted.
class gguf_tensors {
 public:
  explicit gguf_tensors(gguf_writer& out) : out_(out) {}

  /// Adds values [rows, columns] (one axis when rows is 0) as `type`; where a row is no whole number of blocks, as F32.
  void add(const std::string& name, ggml_type type, std::size_t rows, std::size_t columns, std::vector<float> values) {
    const ggml_type used = columns % info_of(type).elements == 0 ? type : ggml_type::f32;
    matrices_.push_back(QuantMatrix::quantise(used, rows == 0 ? 1 : rows, columns, values));
    std::vector<std::uint64_t> sizes{columns};
    if (rows != 0) sizes.insert(sizes.begin(), rows);
    out_.add_tensor(name, used, sizes, matrices_.back().bytes());
  }

 private:
  gguf_writer& out_;
  std::vector<QuantMatrix> matrices_;
};

/// Values of a matrix [rows, columns] turned to [columns, rows].
template <class T, class P>
[[nodiscard]] std::vector<float> turned(const Tensor<T, P>& x) {
  const std::size_t rows = x.shape()[0], columns = x.shape()[1];
  std::vector<float> result(x.count());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) result[j * rows + i] = static_cast<float>(x.data()[i * columns + j]);
  return result;
}

/// The metadata of a file in the making; keys that are not "general." begin with the architecture.
struct gguf_keys {
  gguf_writer& out;
  std::string architecture;

  template <class Value>
  void set(const std::string& key, Value value) {
    out.set(architecture + "." + key, value);
  }
  void set_count(const std::string& key, std::size_t value) { set(key, static_cast<std::uint32_t>(value)); }
};

/// The keys that every architecture has. Throws value_error for a model whose weights are not its own: those of
/// `table`, its embedding, are not there.
template <class Config, class Tensor>
[[nodiscard]] gguf_keys begin_gguf(gguf_writer& out, const std::string& architecture, std::string_view name,
                                   ggml_type type, const Config& config, std::size_t hidden, const Tensor& table) {
  if (!table.defined()) throw value_error("[gguf] the model's weights are those of a file already");
  out.set("general.architecture", architecture);
  out.set("general.name", name);
  out.set("general.file_type", std::uint32_t{type == ggml_type::f16 ? 1U : type == ggml_type::q8_0 ? 7U : 0U});
  gguf_keys keys{out, architecture};
  keys.set_count("vocab_size", config.vocabulary);  // llama.cpp reads it where there is no tokenizer
  keys.set_count("context_length", config.positions);
  keys.set_count("embedding_length", config.channels);
  keys.set_count("feed_forward_length", hidden);
  keys.set_count("block_count", config.layers);
  keys.set_count("attention.head_count", config.heads);
  return keys;
}

/// A projection's rows [heads, depth, columns] in the order of "llama" files: those of a pair, which Hugging Face keeps
/// half a head apart, beside each other.
[[nodiscard]] inline std::vector<float> pair_rows(const std::vector<float>& values, std::size_t heads,
                                                  std::size_t columns) {
  const std::size_t rows = values.size() / columns, depth = rows / heads;
  std::vector<float> result(values.size());
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t i = r % depth, from = r - i + i % 2 * (depth / 2) + i / 2;
    for (std::size_t j = 0; j < columns; ++j) result[r * columns + j] = values[from * columns + j];
  }
  return result;
}

}  // namespace detail

/// Writes the model to `path`, matrices as `type`, norms and biases as F32. `add_vocabulary(writer)` adds the keys of
/// the tokenizer; llama.cpp opens files whose tokenizer.ggml.model is "none" too, for work on ids.
/// Throws io_error, and value_error for a type that cannot be made and a model whose weights are stored in a file.
template <class T, class P, class AddVocabulary>
void write_gpt_gguf(const std::string& path, Gpt<T, P>& model, ggml_type type, AddVocabulary&& add_vocabulary) {
  const gpt_config& config = model.config;
  gguf_writer out;
  detail::gguf_keys keys =
      detail::begin_gguf(out, "gpt2", "tinygrad gpt", type, config, 4 * config.channels, model.wte.weight);
  keys.set("attention.layer_norm_epsilon", static_cast<float>(config.norm_epsilon));
  add_vocabulary(out);
  detail::gguf_tensors tensors(out);
  for_each_parameter(model, [&](const std::string& name, const auto& tensor) {
    const std::size_t dot = name.rfind('.');
    const std::string theirs = detail::gguf_name(detail::gpt_names, "h.", name.substr(0, dot)) + name.substr(dot);
    const Shape& shape = tensor.shape();
    if (shape.rank() == 1)
      tensors.add(theirs, ggml_type::f32, 0, shape[0], {tensor.data().begin(), tensor.data().end()});
    else if (name.starts_with("h."))  // Conv1D keeps [in, out]
      tensors.add(theirs, type, shape[1], shape[0], detail::turned(tensor));
    else
      tensors.add(theirs, name == "wpe.weight" ? ggml_type::f32 : type, shape[0], shape[1],
                  {tensor.data().begin(), tensor.data().end()});
  });
  out.write(path);
}

/// The same for a Llama, Mistral, SmolLM ("llama"), Qwen2 or Qwen3, told apart by biases and norms of heads. Scaled
/// frequencies are written as divisors, as llama.cpp's own converter does.
/// Throws as write_gpt_gguf does, and value_error for norms of heads beside interleaved pairs, which no file can say.
template <class T, class P, class AddVocabulary>
void write_llama_gguf(const std::string& path, Llama<T, P>& model, ggml_type type, AddVocabulary&& add_vocabulary) {
  const llama_config& config = model.config;
  const bool interleaved = config.pairs == rope_pairs::interleaved;
  if (config.head_norms && interleaved)
    throw value_error("[gguf] no architecture has norms of heads and interleaved rotary pairs");
  const std::string architecture = config.head_norms                       ? "qwen3"
                                   : config.attention_bias && !interleaved ? "qwen2"
                                                                           : "llama";
  const std::size_t depth = config.head_depth();
  gguf_writer out;
  detail::gguf_keys header = detail::begin_gguf(out, architecture, "tinygrad llama", type, config, config.hidden,
                                                model.model.embed_tokens.weight);
  header.set_count("attention.head_count_kv", config.groups);
  header.set_count("attention.key_length", depth);
  header.set_count("attention.value_length", depth);
  header.set_count("rope.dimension_count", depth);
  if (config.window != 0) header.set_count("attention.sliding_window", config.window);
  header.set("attention.layer_norm_rms_epsilon", static_cast<float>(config.norm_epsilon));
  header.set("rope.freq_base", static_cast<float>(config.theta));
  add_vocabulary(out);

  detail::gguf_tensors tensors(out);
  if (config.scaling || !config.frequency_divisors.empty()) {
    const std::vector<double> plain = rope_frequencies(depth, config.theta);
    std::vector<float> divisors;
    for (std::size_t i = 0; i < plain.size(); ++i)
      divisors.push_back(static_cast<float>(plain[i] / model.frequencies[i]));
    tensors.add("rope_freqs.weight", ggml_type::f32, 0, divisors.size(), divisors);
  }
  for_each_parameter(model, [&](const std::string& name, const auto& tensor) {
    const std::size_t dot = name.rfind('.');
    const std::string module = name.substr(0, dot);
    const Shape& shape = tensor.shape();
    std::vector<float> values(tensor.data().begin(), tensor.data().end());
    const bool queries = module.ends_with("q_proj"), keys = module.ends_with("k_proj");
    if (architecture == "llama" && !interleaved && (queries || keys))
      values = detail::pair_rows(values, queries ? config.heads : config.groups, shape.rank() == 1 ? 1 : shape[1]);
    tensors.add(detail::gguf_name(detail::llama_names, "model.layers.", module) + name.substr(dot),
                shape.rank() == 1 ? ggml_type::f32 : type, shape.rank() == 1 ? 0 : shape[0], shape[-1],
                std::move(values));
  });
  out.write(path);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
