// Probing: what a model's hidden states are after every block, and whether it continues texts as expected.
//
// The result is an array [stimuli][blocks][channels] of the residual stream at the last position of each text, for
// write_npy, and for each text whether the greedy continuation began with the expected one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <tinygrad/autograd/no_grad.hpp>
#include <tinygrad/core/shape.hpp>
#include <tinygrad/generate/generate.hpp>
#include <tinygrad/io/json.hpp>
#include <tinygrad/io/mapped_file.hpp>
#include <tinygrad/io/npy.hpp>
#include <tinygrad/models/language_model.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

/// A text to probe with: its tokens, and the tokens that a model which has understood would write next.
struct stimulus {
  std::string text;
  std::vector<int> ids;
  std::vector<int> expected;  // empty: nothing is expected
};

struct probe_result {
  Shape shape;                // [stimuli, blocks, channels]
  std::vector<float> hidden;  // row-major
  std::vector<std::vector<int>> continuations;
  std::vector<bool> correct;
};

/// The residual stream after every block at the last position of a sequence.
struct hidden_stack {
  std::size_t blocks = 0, channels = 0;
  std::vector<float> values;  // [blocks, channels]
};

/// Throws what the model's forward throws.
template <language_model M>
[[nodiscard]] hidden_stack hidden_states(const M& model, std::span<const int> ids) {
  hidden_stack states;
  auto cache = model.make_cache(1, ids.size());
  static_cast<void>(model.forward(ids, 1, ids.size(), cache, logits_of::last, [&](std::size_t layer, const auto& x) {
    if (layer == 0) return;  // before the first block
    states.blocks = layer;
    states.channels = x.shape()[2];
    const auto last = x.data().last(states.channels);
    states.values.insert(states.values.end(), last.begin(), last.end());
  }));
  return states;
}

/// Probes the model with every stimulus; `tokens` is how long a continuation is (at least as long as what is expected).
/// Throws value_error for a stimulus without tokens.
template <language_model M>
[[nodiscard]] probe_result probe(const M& model, std::span<const stimulus> stimuli, std::size_t tokens = 8) {
  probe_result result;
  sampler_options greedy;
  greedy.temperature = 0;
  Sampler sampler(greedy);
  std::size_t blocks = 0, channels = 0;
  for (const stimulus& s : stimuli) {
    if (s.ids.empty()) throw value_error("[probe] the stimulus \"" + s.text + "\" has no tokens");
    const hidden_stack states = hidden_states(model, s.ids);
    blocks = states.blocks;
    channels = states.channels;
    result.hidden.insert(result.hidden.end(), states.values.begin(), states.values.end());
    generate_options options;
    options.max_tokens = tokens < s.expected.size() ? s.expected.size() : tokens;
    std::vector<int> next = generate(model, s.ids, options, sampler).tokens;
    bool correct = !s.expected.empty() && next.size() >= s.expected.size();
    for (std::size_t i = 0; correct && i < s.expected.size(); ++i) correct = next[i] == s.expected[i];
    result.correct.push_back(correct);
    result.continuations.push_back(std::move(next));
  }
  result.shape = Shape{stimuli.size(), blocks, channels};
  return result;
}

/// Writes `base`.npy and `base`_correctness.json: per stimulus its text, what the model wrote and whether that was
/// expected. `decode` turns ids into text. Throws io_error.
template <class Decode>
void write_probe(const std::string& base, const probe_result& result, std::span<const stimulus> stimuli,
                 Decode&& decode) {
  write_npy<float>(base + ".npy", result.shape, result.hidden);
  json_array list;
  std::uint64_t right = 0;
  for (std::size_t i = 0; i < stimuli.size(); ++i) {
    json_object entry;
    entry.push_back({"stimulus", stimuli[i].text});
    entry.push_back({"expected", decode(stimuli[i].expected)});
    entry.push_back({"continuation", decode(result.continuations[i])});
    entry.push_back({"correct", json_value(static_cast<bool>(result.correct[i]))});
    right += result.correct[i];
    list.push_back(json_value(std::move(entry)));
  }
  json_object root;
  root.push_back({"total", json_value(std::uint64_t{stimuli.size()})});
  root.push_back({"correct", json_value(right)});
  root.push_back({"stimuli", json_value(std::move(list))});
  write_file(base + "_correctness.json", write_json(json_value(std::move(root)), 2) + "\n");
}

}  // namespace tinygrad::inline TINYGRAD_ABI
