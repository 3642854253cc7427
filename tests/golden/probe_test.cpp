// Probing two checkpoints of transformers: the files that a probe writes, against make_probe.py.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <tinygrad/generate/probe.hpp>
#include <tinygrad/models/gpt.hpp>
#include <tinygrad/models/load.hpp>
#include <tinygrad/models/load_llama.hpp>
#include <vector>

#include "support/temp_folder.hpp"

using namespace tinygrad;

namespace {

const std::string golden = TINYGRAD_SOURCE_DIR "/tests/golden/";

std::vector<int> ids_of(const json_ref& list) {
  std::vector<int> ids;
  for (std::size_t i = 0; i < list.array().size(); ++i) ids.push_back(static_cast<int>(list[i].int64()));
  return ids;
}
std::string text_of(const std::vector<int>& ids) {
  std::string text;
  for (const int id : ids) text += std::to_string(id) + " ";
  return text;
}

/// Probes with the stimuli of `name`: of the first the right continuation is expected, of the second a wrong one.
template <class Model>
void check_probe(const std::string& name, const Model& model) {
  CAPTURE(name);
  const json_document reference = read_json_file(golden + "probe/" + name + ".json");
  std::vector<stimulus> stimuli;
  std::vector<std::vector<int>> continuations;
  for (std::size_t i = 0; i < 2; ++i) {
    const json_ref entry = reference.root()[i];
    continuations.push_back(ids_of(entry["continuation"]));
    stimuli.push_back({"stimulus " + std::to_string(i),
                       ids_of(entry["ids"]),
                       {continuations[i][0], continuations[i][1] + static_cast<int>(i)}});
  }
  const tinygrad_test::temp_folder folder;
  write_probe(folder / name, probe(model, std::span<const stimulus>(stimuli)), stimuli, text_of);

  const npy_file written(folder / (name + ".npy")), expected(golden + "probe/" + name + ".npy");
  CHECK(written.shape() == Shape{2, 2, 16});
  const std::string bytes = folder.get(name + ".npy");
  const mapped_file numpy(golden + "probe/" + name + ".npy");
  CHECK(bytes.size() == numpy.text().size());
  CHECK(bytes.substr(0, 128) == numpy.text().substr(0, 128));  // the header
  const std::vector<float> ours = written.read<float>(), theirs = expected.read<float>();
  float scale = 0, worst = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    scale = std::max(scale, std::abs(theirs[i]));
    worst = std::max(worst, std::abs(ours[i] - theirs[i]));
  }
  CHECK(worst <= 1e-4F * scale);

  const json_document report = read_json_file(folder / (name + "_correctness.json"));
  const json_ref root = report.root();
  CHECK(root["total"].uint64() == 2);
  CHECK(root["correct"].uint64() == 1);
  for (std::size_t i = 0; i < 2; ++i) {
    const json_ref entry = root["stimuli"][i];
    CHECK(entry["stimulus"].string() == stimuli[i].text);
    CHECK(entry["expected"].string() == text_of(stimuli[i].expected));
    CHECK(entry["continuation"].string() == text_of(continuations[i]));
    CHECK(entry["correct"].boolean() == (i == 0));
  }
}

}  // namespace

TEST_CASE("probing a GPT-2 writes transformers' hidden states for NumPy, and which continuations came") {
  leave_uninitialized open;
  Gpt<float, packed> model(read_gpt_config(read_json_file(golden + "tiny_gpt2/config.json")), open);
  static_cast<void>(load_weights(model, safetensors_model(golden + "tiny_gpt2")));
  check_probe("gpt2", model);
}

TEST_CASE("probing a Llama does, too") {
  leave_uninitialized open;
  Llama<float, packed> model(read_llama_config(read_json_file(golden + "tiny_llama/llama2/config.json")), open);
  static_cast<void>(load_weights(model, safetensors_model(golden + "tiny_llama/llama2")));
  check_probe("llama", model);
}

TEST_CASE("a stimulus without tokens is refused, one without an expectation is never correct") {
  leave_uninitialized open;
  Gpt<float, packed> model(read_gpt_config(read_json_file(golden + "tiny_gpt2/config.json")), open);
  static_cast<void>(load_weights(model, safetensors_model(golden + "tiny_gpt2")));
  const std::vector<stimulus> empty{{"nothing", {}, {}}}, open_end{{"open", {1, 2}, {}}};
  CHECK_THROWS_WITH_AS(static_cast<void>(probe(model, std::span<const stimulus>(empty))),
                       "[probe] the stimulus \"nothing\" has no tokens", value_error);
  const probe_result result = probe(model, std::span<const stimulus>(open_end), 3);
  CHECK(result.continuations[0].size() == 3);
  CHECK_FALSE(result.correct[0]);
}
