// Loading published weights into a model by the names of its parameters.
//
// A tensor of the file matches a parameter of the same name, with or without the prefix "transformer." that some
// checkpoints carry. Shapes must agree; every parameter must be found; tensors that nobody asked for are listed.
// Values of the model's own type are not copied: the parameter looks into the mapped file (privately: training it
// changes memory, never the file). Other types are widened.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tinygrad/io/json.hpp>
#include <tinygrad/io/safetensors_model.hpp>
#include <tinygrad/models/gpt.hpp>
#include <tinygrad/nn/module.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

/// What became of the tensors of a file.
struct load_report {
  std::size_t parameters = 0;       // tensors that went into the model
  std::size_t numbers = 0;          // their elements
  std::vector<std::string> unused;  // tensors of the file that no parameter asked for
};

namespace detail {

/// The tensor called `name`, or "transformer." + name. Throws format_error that names the tensor.
[[nodiscard]] inline located_tensor require_tensor(const safetensors_model& file, const std::string& name) {
  if (const auto found = file.find(name)) return *found;
  if (const auto found = file.find("transformer." + name)) return *found;
  throw format_error(file.files().front().path(), 8, "tensor \"" + name + "\" is missing");
}

/// Points `parameter` at the values in the file, or copies and widens them.
template <class T, class P>
void fill_parameter(const located_tensor& source, Tensor<T, P>& parameter) {
  const std::string name(parameter.name());
  const bool trainable = parameter.needs_grad();
  if (const auto values = source.file->template view<T>(*source.info))
    parameter = Tensor<T, P>::borrow(const_cast<T*>(values->data()), parameter.shape(), source.file->owner());
  else
    source.file->read(*source.info, parameter.mutable_data());
  parameter.requires_grad(trainable).named(name);
}

}  // namespace detail

/// Fills every parameter of `model` from `file`. Throws format_error for a missing tensor or one that cannot be
/// widened, shape_error (with both shapes) for one that does not fit.
template <module_type M>
load_report load_weights(M& model, const safetensors_model& file) {
  load_report report;
  std::vector<const tensor_info*> used;
  for_each_parameter(model, [&](const std::string& name, auto& parameter) {
    const located_tensor source = detail::require_tensor(file, name);
    const Shape found = source.file->shape(*source.info);
    if (found != parameter.shape())
      throw shape_error(source.file->path() + ": tensor \"" + source.info->name + "\" is " + to_string(found) +
                        ", the model needs " + to_string(parameter.shape()));
    detail::fill_parameter(source, parameter);
    used.push_back(source.info);
    report.parameters += 1;
    report.numbers += parameter.count();
  });
  for (const located_tensor& tensor : file.tensors())
    if (std::find(used.begin(), used.end(), tensor.info) == used.end()) report.unused.push_back(tensor.info->name);
  return report;
}

/// The configuration in a Hugging Face config.json of a GPT-2. Throws format_error for what is missing or not GPT-2.
[[nodiscard]] inline gpt_config read_gpt_config(const json_document& document) {
  const json_ref root = document.root();
  if (const auto activation = root.find("activation_function"); activation && activation->string() != "gelu_new")
    activation->fail("activation \"" + activation->string() + "\" is not GPT-2's, which is gelu_new");
  const auto size = [&](const char* key) { return static_cast<std::size_t>(root[key].uint64()); };
  gpt_config config;
  config.vocabulary = size("vocab_size");
  config.positions = size("n_positions");
  config.channels = size("n_embd");
  config.layers = size("n_layer");
  config.heads = size("n_head");
  if (const auto epsilon = root.find("layer_norm_epsilon")) config.norm_epsilon = epsilon->number();
  config.validate();
  return config;
}

/// The same as JSON text, with the keys of Hugging Face's GPT-2.
[[nodiscard]] inline std::string write_gpt_config(const gpt_config& config) {
  json_object root;
  const auto add = [&](const char* key, json_value value) { root.push_back({key, std::move(value)}); };
  add("model_type", "gpt2");
  add("activation_function", "gelu_new");
  add("vocab_size", std::uint64_t{config.vocabulary});
  add("n_positions", std::uint64_t{config.positions});
  add("n_ctx", std::uint64_t{config.positions});
  add("n_embd", std::uint64_t{config.channels});
  add("n_layer", std::uint64_t{config.layers});
  add("n_head", std::uint64_t{config.heads});
  add("layer_norm_epsilon", config.norm_epsilon);
  return write_json(json_value(std::move(root)));
}

}  // namespace tinygrad::inline TINYGRAD_ABI
