// Models from GGUF files: GPT-2, Llama (Mistral, SmolLM), Qwen2 and Qwen3, with their weights in the file's own format.
//
// Matrices are not converted: modules hold a view into the mapped file and multiply with it as it is. Norms, biases and
// position tables are small and become float tensors. Products are fast, or exact for a model loaded with
// quant_precision::exact. Names are those of llama.cpp ("blk.0.attn_q.weight"); rows of queries and keys of "llama"
// files are permuted for interleaved rotary pairs, those of qwen2 and qwen3 are not.
// Source: gguf-py/gguf/constants.py of llama.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tinygrad/io/gguf.hpp>
#include <tinygrad/models/gpt.hpp>
#include <tinygrad/models/llama.hpp>
#include <tinygrad/models/load.hpp>
#include <tinygrad/nn/stored.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {

struct renamed {
  std::string_view ours, theirs;
};
inline constexpr std::array<renamed, 9> gpt_names{{{"wte", "token_embd"},
                                                   {"wpe", "position_embd"},
                                                   {"ln_f", "output_norm"},
                                                   {"ln_1", "attn_norm"},
                                                   {"attn.c_attn", "attn_qkv"},
                                                   {"attn.c_proj", "attn_output"},
                                                   {"ln_2", "ffn_norm"},
                                                   {"mlp.c_fc", "ffn_up"},
                                                   {"mlp.c_proj", "ffn_down"}}};
inline constexpr std::array<renamed, 14> llama_names{{{"model.embed_tokens", "token_embd"},
                                                      {"model.norm", "output_norm"},
                                                      {"lm_head", "output"},
                                                      {"input_layernorm", "attn_norm"},
                                                      {"self_attn.q_proj", "attn_q"},
                                                      {"self_attn.k_proj", "attn_k"},
                                                      {"self_attn.v_proj", "attn_v"},
                                                      {"self_attn.o_proj", "attn_output"},
                                                      {"self_attn.q_norm", "attn_q_norm"},
                                                      {"self_attn.k_norm", "attn_k_norm"},
                                                      {"post_attention_layernorm", "ffn_norm"},
                                                      {"mlp.gate_proj", "ffn_gate"},
                                                      {"mlp.up_proj", "ffn_up"},
                                                      {"mlp.down_proj", "ffn_down"}}};

/// "h.3.attn.c_attn" -> "blk.3.attn_qkv" by the table; `blocks` is how our names of layers begin ("h.").
template <std::size_t N>
[[nodiscard]] std::string gguf_name(const std::array<renamed, N>& table, std::string_view blocks,
                                    std::string_view name) {
  std::string prefix;
  if (name.starts_with(blocks)) {
    name.remove_prefix(blocks.size());
    const std::size_t dot = name.find('.');
    prefix = "blk." + std::string(name.substr(0, dot)) + ".";
    name.remove_prefix(dot + 1);
  }
  for (const renamed& entry : table)
    if (entry.ours == name) return prefix + std::string(entry.theirs);
  return prefix + std::string(name);
}

/// Fills the modules of a model, one after another, from the tensors of a file.
class gguf_loader {
 public:
  /// `precision` is that of every matrix.
  gguf_loader(const gguf_file& file, quant_precision precision)
      : file_(file), precision_(precision), used_(file.tensors().size()) {}

  /// Fills `member`, whose name in the file is name_of(ours).
  template <class Member, class Name>
  void fill(const std::string& ours, Member& member, const Name& name_of) {
    if constexpr (stores_weights<Member>) {
      fill_module(member, name_of(ours));
    } else if constexpr (module_type<Member>) {
      if constexpr (requires { member.weight; }) {
        member.visit([&](std::string_view inner, auto& tensor) {
          if (tensor.defined()) fill_tensor(tensor, name_of(ours) + "." + std::string(inner));
        });
      } else {
        member.visit([&](std::string_view inner, auto& x) { fill(join(ours, inner), x, name_of); });
      }
    } else {
      for (std::size_t i = 0; i < member.size(); ++i) fill(ours + "." + std::to_string(i), member[i], name_of);
    }
  }
  /// The matrix called `name`, or nothing.
  [[nodiscard]] std::optional<QuantMatrix> matrix(const std::string& name, std::size_t rows, std::size_t columns) {
    const gguf_tensor* found = file_.find_tensor(name);
    if (found == nullptr) return std::nullopt;
    return view(*found, rows, columns);
  }
  /// Values of the tensor called `name` as floats, or an empty list.
  [[nodiscard]] std::vector<float> values(const std::string& name) {
    const gguf_tensor* found = file_.find_tensor(name);
    if (found == nullptr) return {};
    std::vector<float> result(static_cast<std::size_t>(found->count()));
    const std::size_t columns = found->sizes.empty() ? 1 : static_cast<std::size_t>(found->sizes.back());
    if (columns != 0) view(*found, result.size() / columns, columns).dequantise(result);
    return result;
  }
  [[nodiscard]] load_report report() const {
    load_report result = report_;
    for (std::size_t i = 0; i < used_.size(); ++i)
      if (!used_[i]) result.unused.push_back(file_.tensors()[i].name);
    return result;
  }

 private:
  static std::string join(const std::string& outer, std::string_view inner) {
    return outer.empty() ? std::string(inner) : outer + "." + std::string(inner);
  }
  template <class Module>
  void fill_module(Module& module, const std::string& theirs) {
    const Shape& shape = module.weight.shape();
    const bool transposed = requires { module.product(module.weight); };  // Linear keeps [in, out], files [out, in]
    const std::size_t rows = shape[transposed ? 1 : 0], columns = shape[transposed ? 0 : 1];
    const auto found = matrix(theirs + ".weight", rows, columns);
    if (!found) throw format_error(file_.path(), 0, "tensor \"" + theirs + ".weight\" is missing");
    module.stored = *found;
    module.weight = {};
    if constexpr (requires { module.bias; })
      if (module.bias.defined()) fill_tensor(module.bias, theirs + ".bias");
  }
  template <class T, class P>
  void fill_tensor(Tensor<T, P>& tensor, const std::string& name) {
    const gguf_tensor* found = file_.find_tensor(name);
    if (found == nullptr) throw format_error(file_.path(), 0, "tensor \"" + name + "\" is missing");
    std::vector<float> floats(tensor.count());
    const Shape& shape = tensor.shape();
    view(*found, shape.rows(), shape.columns()).dequantise(floats);
    const std::span<T> to = tensor.mutable_data();
    for (std::size_t i = 0; i < floats.size(); ++i) to[i] = static_cast<T>(floats[i]);
  }
  [[nodiscard]] QuantMatrix view(const gguf_tensor& tensor, std::size_t rows, std::size_t columns) {
    std::vector<std::uint64_t> wanted{columns};
    if (rows != 1 || tensor.sizes.size() > 1) wanted.insert(wanted.begin(), rows);
    if (tensor.sizes != wanted)
      throw shape_error(file_.path() + ": tensor \"" + tensor.name + "\" is " + sizes_text(tensor.sizes) +
                        ", the model needs " + sizes_text(wanted));
    used_[static_cast<std::size_t>(&tensor - file_.tensors().data())] = true;
    report_.parameters += 1;
    report_.numbers += rows * columns;
    try {
      QuantMatrix result(tensor.type, rows, columns, file_.bytes(tensor), file_.owner());
      result.set_precision(precision_);
      return result;
    } catch (const value_error& problem) {
      throw format_error(file_.path(), tensor.offset, "tensor \"" + tensor.name + "\": " + problem.what());
    }
  }
  [[nodiscard]] static std::string sizes_text(const std::vector<std::uint64_t>& sizes) {
    std::string text = "(";
    for (std::size_t i = 0; i < sizes.size(); ++i) text.append(i > 0 ? ", " : "").append(std::to_string(sizes[i]));
    return text += ")";
  }

  const gguf_file& file_;
  quant_precision precision_;
  std::vector<bool> used_;
  load_report report_;
};

/// Metadata of the file's architecture: "llama.block_count" is ("block_count").
class gguf_config {
 public:
  explicit gguf_config(const gguf_file& file) : file_(file), architecture_(required("general.architecture").text()) {}

  [[nodiscard]] const std::string& architecture() const noexcept { return architecture_; }
  [[nodiscard]] std::optional<gguf_ref> find(const std::string& key) const {
    return file_.find(architecture_ + "." + key);
  }
  [[nodiscard]] std::size_t size(const std::string& key) const {
    return static_cast<std::size_t>(required(architecture_ + "." + key).uint64());
  }
  [[nodiscard]] double number(const std::string& key) const { return required(architecture_ + "." + key).number(); }
  /// Rows of the token table: the vocabulary. Throws format_error when there is no such table.
  [[nodiscard]] std::size_t vocabulary() const {
    const gguf_tensor* table = file_.find_tensor("token_embd.weight");
    if (table == nullptr || table->sizes.size() != 2)
      throw format_error(file_.path(), 0, "tensor \"token_embd.weight\" is missing or no matrix");
    return static_cast<std::size_t>(table->sizes[0]);
  }
  /// Throws format_error when the file does not have that many blocks, before anything is made for them.
  void require_blocks(std::size_t count) const {
    if (count == 0 || count > file_.tensors().size() ||
        file_.find_tensor("blk." + std::to_string(count - 1) + ".attn_norm.weight") == nullptr)
      throw format_error(file_.path(), 0,
                         "block_count is " + std::to_string(count) + ", but tensor \"blk." +
                             std::to_string(count == 0 ? 0 : count - 1) + ".attn_norm.weight\" is missing");
  }

 private:
  [[nodiscard]] gguf_ref required(const std::string& key) const {
    const auto found = file_.find(key);
    if (!found) throw format_error(file_.path(), 0, "key \"" + key + "\" is missing");
    return *found;
  }
  const gguf_file& file_;
  std::string architecture_;
};

}  // namespace detail

/// The architecture a file declares: "gpt2", "llama", "qwen2", ... Throws format_error when it declares none.
[[nodiscard]] inline std::string gguf_architecture(const gguf_file& file) {
  return detail::gguf_config(file).architecture();
}

/// A GPT-2 from a GGUF file; `precision` is that of all products with its matrices. Throws format_error for another
/// architecture, missing keys or tensors, shape_error.
template <class P = default_policy>
[[nodiscard]] std::pair<Gpt<float, P>, load_report> load_gpt_gguf(const gguf_file& file,
                                                                  quant_precision precision = quant_precision::fast) {
  const detail::gguf_config keys(file);
  if (keys.architecture() != "gpt2")
    throw format_error(file.path(), 0, "architecture \"" + keys.architecture() + "\" is not gpt2");
  gpt_config config;
  config.vocabulary = keys.vocabulary();
  config.positions = keys.size("context_length");
  config.channels = keys.size("embedding_length");
  config.layers = keys.size("block_count");
  config.heads = keys.size("attention.head_count");
  config.norm_epsilon = keys.number("attention.layer_norm_epsilon");
  config.validate();
  keys.require_blocks(config.layers);
  leave_uninitialized open;
  Gpt<float, P> model(config, open);
  detail::gguf_loader loader(file, precision);
  const auto name = [](const std::string& ours) { return detail::gguf_name(detail::gpt_names, "h.", ours); };
  model.visit([&](std::string_view ours, auto& member) {
    if (ours != "wpe") loader.fill(std::string(ours), member, name);
  });
  const std::vector<float> positions = loader.values("position_embd.weight");
  if (positions.size() != model.wpe.weight.count())
    throw format_error(file.path(), 0, "tensor \"position_embd.weight\" is missing or of another size");
  std::copy(positions.begin(), positions.end(), model.wpe.weight.mutable_data().begin());
  if (const auto head = loader.matrix("output.weight", config.vocabulary, config.channels)) model.own_head = *head;
  return {std::move(model), loader.report()};
}

/// The configuration of a Llama, Qwen2 or Qwen3 in a GGUF file. Throws format_error, value_error.
[[nodiscard]] inline llama_config read_llama_config(const gguf_file& file) {
  const detail::gguf_config keys(file);
  const std::string& type = keys.architecture();
  if (type != "llama" && type != "qwen2" && type != "qwen3")
    throw format_error(file.path(), 0, "architecture \"" + type + "\" is none of llama, qwen2, qwen3");
  llama_config config;
  config.vocabulary = keys.vocabulary();
  config.positions = keys.size("context_length");
  config.channels = keys.size("embedding_length");
  config.layers = keys.size("block_count");
  config.hidden = keys.size("feed_forward_length");
  config.heads = keys.size("attention.head_count");
  const auto groups = keys.find("attention.head_count_kv");
  config.groups = groups ? static_cast<std::size_t>(groups->uint64()) : config.heads;
  if (const auto depth = keys.find("attention.key_length")) config.depth = static_cast<std::size_t>(depth->uint64());
  config.norm_epsilon = keys.number("attention.layer_norm_rms_epsilon");
  if (const auto theta = keys.find("rope.freq_base")) config.theta = theta->number();
  if (const auto window = keys.find("attention.sliding_window"))
    config.window = static_cast<std::size_t>(window->uint64());
  if (const auto scaling = keys.find("rope.scaling.type"); scaling && scaling->text() != "none")
    scaling->fail("rope scaling \"" + std::string(scaling->text()) + "\" is not supported");
  config.pairs = type == "llama" ? rope_pairs::interleaved : rope_pairs::halves;
  config.attention_bias = file.find_tensor("blk.0.attn_q.bias") != nullptr;
  config.head_norms = file.find_tensor("blk.0.attn_q_norm.weight") != nullptr;
  config.tied = file.find_tensor("output.weight") == nullptr;
  config.validate();
  keys.require_blocks(config.layers);
  return config;
}

/// A Llama, Mistral, SmolLM, Qwen2 or Qwen3 from a GGUF file; `precision` is that of all products with its matrices.
/// Throws format_error, shape_error, value_error.
template <class P = default_policy>
[[nodiscard]] std::pair<Llama<float, P>, load_report> load_llama_gguf(
    const gguf_file& file, quant_precision precision = quant_precision::fast) {
  llama_config config = read_llama_config(file);
  detail::gguf_loader loader(file, precision);
  if (file.find_tensor("rope_freqs.weight") != nullptr) {
    const std::vector<float> divisors = loader.values("rope_freqs.weight");
    config.frequency_divisors.assign(divisors.begin(), divisors.end());
  }
  leave_uninitialized open;
  Llama<float, P> model(config, open);
  const auto name = [](const std::string& ours) {
    return detail::gguf_name(detail::llama_names, "model.layers.", ours);
  };
  model.visit([&](std::string_view ours, auto& member) {
    if constexpr (stores_weights<std::remove_cvref_t<decltype(member)>>) {
      if (member.weight.defined()) loader.fill(std::string(ours), member, name);
    } else {
      loader.fill(std::string(ours), member, name);
    }
  });
  return {std::move(model), loader.report()};
}

}  // namespace tinygrad::inline TINYGRAD_ABI
