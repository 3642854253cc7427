// Llamas from llama2.c's checkpoints ("stories15M.bin"): the layout that its run.c reads, version 0 of its export.py.
//
//   i32 dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len; vocab_size < 0: the head is a matrix of
//   its own. Then F32, matrices [out, in], each kind for all layers before the next kind: token embedding; attention
//   norms; wq; wk; wv; wo; feed-forward norms; w1 (gate); w2 (down); w3 (up); final norm; cosines and then sines of the
//   rotary positions, [seq_len, head / 2], which are computed here instead; the head if it is a matrix of its own.
// The format has no magic number: a file is one of these when its size is what the seven numbers say.
// Matrices are not copied: modules hold views into the mapped file. Source: run.c and export.py of karpathy/llama2.c.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/checked.hpp>
#include <tinygrad/io/byte_reader.hpp>
#include <tinygrad/io/dtype.hpp>
#include <tinygrad/io/mapped_file.hpp>
#include <tinygrad/models/llama.hpp>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {

/// As the format has no magic number, the file may be of any other kind: messages say what it was read as.
[[noreturn]] inline void refuse_llama2c(const byte_reader& in, std::uint64_t at, const std::string& what) {
  in.fail(at, "read as a llama2.c checkpoint, which it may not be: " + what);
}

/// The next of the seven numbers, where it must be positive.
[[nodiscard]] inline std::size_t llama2c_size(byte_reader& in, std::string_view name) {
  const std::uint64_t at = in.offset();
  const auto value = in.number<std::int32_t>(name);
  if (value < 1) refuse_llama2c(in, at, std::string(name) + " is " + std::to_string(value));
  return static_cast<std::size_t>(value);
}

/// Bytes of the file's numbers after the header, or nothing when they do not fit 64 bits.
[[nodiscard]] inline std::optional<std::uint64_t> llama2c_bytes(const llama_config& config) {
  const std::uint64_t c = config.channels, head = c / config.heads, narrow = head * config.groups;
  std::optional<std::uint64_t> floats = 0;
  const auto add = [&](std::uint64_t count, std::uint64_t rows, std::uint64_t columns) {
    const auto matrix = checked_mul(rows, columns);
    const auto all = matrix ? checked_mul(count, *matrix) : std::nullopt;
    floats = floats && all ? checked_add(*floats, *all) : std::nullopt;
  };
  add(config.tied ? 1 : 2, config.vocabulary, c);
  add(config.layers, 2 * (c + narrow + 1), c);  // wq and wo, wk and wv, two norms
  add(config.layers, 3 * std::uint64_t{config.hidden}, c);
  add(1, 1, c);
  add(1, config.positions, head);  // cosines and sines
  return floats ? checked_mul(*floats, sizeof(float)) : std::nullopt;
}

/// Reads the header; the size of the file must be what it says, so that nothing is allocated by numbers that lie.
[[nodiscard]] inline llama_config read_llama2c_header(byte_reader& in) {
  constexpr std::uint32_t versioned = 0x616B3432;  // "ak42", with which versions 1 and 2 begin
  if (in.remaining() >= 4 && byte_reader(in).number<std::uint32_t>("the start") == versioned)
    in.fail("a llama2.c checkpoint of version 1 or later; only version 0, which run.c reads, is supported");
  llama_config config;
  config.channels = llama2c_size(in, "dim");
  config.hidden = llama2c_size(in, "hidden_dim");
  config.layers = llama2c_size(in, "n_layers");
  config.heads = llama2c_size(in, "n_heads");
  config.groups = llama2c_size(in, "n_kv_heads");
  const auto vocabulary = std::int64_t{in.number<std::int32_t>("vocab_size")};
  if (vocabulary == 0) refuse_llama2c(in, in.offset() - 4, "vocab_size is 0");
  config.vocabulary = static_cast<std::size_t>(vocabulary < 0 ? -vocabulary : vocabulary);
  config.tied = vocabulary > 0;
  config.positions = llama2c_size(in, "seq_len");
  config.norm_epsilon = 1e-5;  // run.c's, like the next two
  config.theta = 10000;
  config.pairs = rope_pairs::interleaved;
  if (config.channels % config.heads != 0 || config.channels / config.heads % 2 != 0)
    refuse_llama2c(in, 12,
                   "n_heads is " + std::to_string(config.heads) + ", which does not cut dim " +
                       std::to_string(config.channels) + " into heads of an even size");
  if (config.heads % config.groups != 0)
    refuse_llama2c(in, 16,
                   "n_kv_heads is " + std::to_string(config.groups) + ", which does not divide n_heads " +
                       std::to_string(config.heads));
  const auto needed = llama2c_bytes(config);
  if (needed != in.remaining())
    refuse_llama2c(in, in.offset(),
                   "a file of these sizes goes on for " + (needed ? std::to_string(*needed) : "more than 2^64") +
                       " bytes, this file for " + std::to_string(in.remaining()));
  return config;
}

/// Fills the modules of a model, one after another, from the numbers of a file whose size has been checked.
class llama2c_loader {
 public:
  llama2c_loader(byte_reader& in, const std::shared_ptr<const void>& owner) : in_(in), owner_(owner) {}

  /// A Projection or an Embedding, which then looks into the file.
  template <class Module>
  void matrix(Module& module) {
    const Shape& shape = module.weight.shape();  // [out, in]
    module.stored = QuantMatrix(ggml_type::f32, shape[0], shape[1], next(shape.count(), "a matrix"), owner_);
    module.weight = {};
  }
  template <class T, class P>
  void norm(RmsNorm<T, P>& norm) {
    read_elements<T>(dtype::f32, next(norm.weight.count(), "a norm"), norm.weight.mutable_data().data());
  }
  void skip(std::size_t count) { static_cast<void>(next(count, "the rotary tables")); }

 private:
  [[nodiscard]] std::span<const std::byte> next(std::size_t count, std::string_view what) {
    return in_.bytes(std::uint64_t{count} * sizeof(float), what);
  }
  byte_reader& in_;
  const std::shared_ptr<const void>& owner_;
};

}  // namespace detail

/// The configuration of a llama2.c checkpoint from its bytes. `path` is for errors. Throws format_error for sizes that
/// make no sense and a file of another size than they say.
[[nodiscard]] inline llama_config read_llama2c_config(std::span<const std::byte> bytes, const std::string& path) {
  byte_reader in(bytes, path);
  return detail::read_llama2c_header(in);
}

/// The Llama in the bytes of a llama2.c checkpoint, which the model looks into: `owner`, when given, keeps them alive.
/// Throws what read_llama2c_config throws.
template <class P = default_policy>
[[nodiscard]] Llama<float, P> load_llama2c(std::span<const std::byte> bytes, const std::string& path,
                                           const std::shared_ptr<const void>& owner = nullptr) {
  byte_reader in(bytes, path);
  const llama_config config = detail::read_llama2c_header(in);
  leave_uninitialized open;
  Llama<float, P> model(config, open);
  detail::llama2c_loader file(in, owner);
  const auto each_block = [&](auto read) {
    for (LlamaBlock<float, P>& block : model.model.layers) read(block);
  };
  file.matrix(model.model.embed_tokens);
  each_block([&](auto& block) { file.norm(block.input_layernorm); });
  each_block([&](auto& block) { file.matrix(block.self_attn.q_proj); });
  each_block([&](auto& block) { file.matrix(block.self_attn.k_proj); });
  each_block([&](auto& block) { file.matrix(block.self_attn.v_proj); });
  each_block([&](auto& block) { file.matrix(block.self_attn.o_proj); });
  each_block([&](auto& block) { file.norm(block.post_attention_layernorm); });
  each_block([&](auto& block) { file.matrix(block.mlp.gate_proj); });
  each_block([&](auto& block) { file.matrix(block.mlp.down_proj); });
  each_block([&](auto& block) { file.matrix(block.mlp.up_proj); });
  file.norm(model.model.norm);
  file.skip(config.positions * config.head_depth());
  if (!config.tied) file.matrix(model.lm_head);
  return model;
}

/// The same from a file, mapped. Throws io_error too.
template <class P = default_policy>
[[nodiscard]] Llama<float, P> load_llama2c(const std::string& path) {
  const auto file = std::make_shared<const mapped_file>(path);
  return load_llama2c<P>(file->bytes(), path, file);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
