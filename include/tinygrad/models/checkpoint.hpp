// Checkpoints: everything a training run needs to go on as if it had never stopped, in one safetensors file.
//
// The model's tensors keep their own names, so a checkpoint is a model file that any reader of safetensors loads. The
// optimizer's moments are beside them as "optimizer.0.<name>", "optimizer.1.<name>"; steps, the generator's state and
// whatever the caller adds are metadata texts. The file is written under another name and renamed when it is complete:
// a crash or a full disk leaves the previous checkpoint as it was.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/random.hpp>
#include <tinygrad/io/json.hpp>
#include <tinygrad/io/safetensors.hpp>
#include <tinygrad/nn/module.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

/// What a checkpoint holds beside tensors.
struct training_state {
  std::uint64_t step = 0;      // updates made
  Random::State random{};      // of the generator that draws the batches: the position in the data
  double best_validation = 0;  // 0: none measured yet
  text_pairs notes;            // the caller's own: configuration, vocabulary, ...

  /// The note called `key`, or an empty text.
  [[nodiscard]] std::string_view note(std::string_view key) const noexcept {
    for (const auto& [name, text] : notes)
      if (name == key) return text;
    return {};
  }
};

namespace detail {

inline constexpr std::string_view checkpoint_prefix = "tinygrad.";

[[nodiscard]] inline std::string optimizer_name(std::size_t slot, std::string_view parameter) {
  return "optimizer." + std::to_string(slot) + "." + std::string(parameter);
}
/// The number in the metadata of `file`. Throws format_error when it is missing or no number.
template <class Number>
[[nodiscard]] Number metadata_number(const safetensors_file& file, std::string_view key, int base = 10) {
  const std::string name = std::string(checkpoint_prefix) + std::string(key);
  for (const auto& [found, text] : file.metadata()) {
    if (found != name) continue;
    if constexpr (std::is_integral_v<Number>) {
      Number value{};
      const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value, base);
      if (status == std::errc{} && end == text.data() + text.size()) return value;
    } else if (const auto value = parse_json(text, file.path()).as_double()) {  // libc++ 14 reads no doubles itself
      return *value;
    }
    throw format_error(file.path(), 8, "metadata \"" + name + "\" is no number: \"" + text + "\"");
  }
  throw format_error(file.path(), 8, "metadata \"" + name + "\" is missing: this is not a training checkpoint");
}
template <class Number>
[[nodiscard]] std::string number_text(Number value, int base = 10) {
  char digits[64];
  std::to_chars_result result{};
  if constexpr (std::is_integral_v<Number>)
    result = std::to_chars(digits, digits + sizeof digits, value, base);
  else
    result = std::to_chars(digits, digits + sizeof digits, value);  // shortest text that reads back the same
  return {digits, result.ptr};
}

template <class T, class P>
void read_tensor(const safetensors_file& file, const std::string& name, const Tensor<T, P>& target) {
  const tensor_info* info = file.find(name);
  if (info == nullptr) throw format_error(file.path(), 8, "tensor \"" + name + "\" is missing");
  const Shape found = file.shape(*info);
  if (found != target.shape())
    throw shape_error(file.path() + ": tensor \"" + name + "\" is " + to_string(found) + ", the model needs " +
                      to_string(target.shape()));
  file.read(*info, target.mutable_data());
}

/// f(name, parameter, optimizer state) for every parameter of the model that the optimizer updates.
template <class Model, class Optimizer, class F>
void for_each_state(Model& model, Optimizer& optimizer, F&& f) {
  optimizer.visit_state([&](const auto& parameter, auto& state) {
    bool found = false;
    for_each_parameter(model, [&](const std::string& name, const auto& tensor) {
      if (found || tensor.handle() != parameter.handle()) return;
      found = true;
      f(name, parameter, state);
    });
    if (!found) throw graph_error("[checkpoint] the optimizer has a parameter that is not in the model");
  });
}

}  // namespace detail

/// Writes model, optimizer and state to `path`. Throws io_error; then the file that was there is unchanged.
template <module_type Model, class Optimizer>
void save_checkpoint(const std::string& path, Model& model, Optimizer& optimizer, const training_state& state) {
  std::vector<tensor_source> tensors;
  for_each_parameter(model, [&](const std::string& name, const auto& tensor) {
    tensors.push_back(source_of(name, tensor.shape(), tensor.data()));
  });
  detail::for_each_state(model, optimizer, [&](const std::string& name, const auto&, const auto& slots) {
    for (std::size_t s = 0; s < slots.size(); ++s)
      if (slots[s].defined())
        tensors.push_back(source_of(detail::optimizer_name(s, name), slots[s].shape(), slots[s].data()));
  });
  text_pairs texts = state.notes;
  const auto add = [&](std::string_view key, std::string text) {
    texts.emplace_back(std::string(detail::checkpoint_prefix) + std::string(key), std::move(text));
  };
  add("step", detail::number_text(state.step));
  add("optimizer_steps", detail::number_text(optimizer.steps()));
  add("best_validation", detail::number_text(state.best_validation));
  for (std::size_t i = 0; i < state.random.size(); ++i)
    add("random." + std::to_string(i), detail::number_text(state.random[i], 16));
  write_safetensors(path, tensors, texts);
}

/// Reads what save_checkpoint wrote into a model and an optimizer of the same shapes, and returns the state.
/// Throws io_error, format_error for a damaged file or a missing tensor, shape_error for another model; model and
/// optimizer may then be partly overwritten.
template <module_type Model, class Optimizer>
[[nodiscard]] training_state load_checkpoint(const std::string& path, Model& model, Optimizer& optimizer) {
  const safetensors_file file(path);
  training_state state;
  state.step = detail::metadata_number<std::uint64_t>(file, "step");
  state.best_validation = detail::metadata_number<double>(file, "best_validation");
  for (std::size_t i = 0; i < state.random.size(); ++i)
    state.random[i] = detail::metadata_number<std::uint64_t>(file, "random." + std::to_string(i), 16);
  const auto steps = detail::metadata_number<std::uint64_t>(file, "optimizer_steps");
  for (const auto& [key, text] : file.metadata())
    if (!key.starts_with(detail::checkpoint_prefix)) state.notes.emplace_back(key, text);

  for_each_parameter(model,
                     [&](const std::string& name, const auto& tensor) { detail::read_tensor(file, name, tensor); });
  detail::for_each_state(model, optimizer, [&](const std::string& name, const auto& parameter, auto& slots) {
    for (std::size_t s = 0; s < slots.size(); ++s) {
      const std::string slot_name = detail::optimizer_name(s, name);
      slots[s] = {};
      if (file.find(slot_name) == nullptr) continue;  // no update has reached this parameter yet
      slots[s] = std::remove_cvref_t<decltype(parameter)>::empty(parameter.shape());
      detail::read_tensor(file, slot_name, slots[s]);
    }
  });
  optimizer.set_steps(steps);
  return state;
}

}  // namespace tinygrad::inline TINYGRAD_ABI
