// Token ids and logits against those of Hugging Face transformers (examples/reference/hf_reference.py writes them).
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <tinygrad/generate/sampler.hpp>
#include <vector>

#include "part4.hpp"

namespace part4 {

namespace {

std::vector<int> ids_of(const json_ref& list) {
  std::vector<int> ids;
  for (const json_value& id : list.array()) ids.push_back(static_cast<int>(id.as_int64().value_or(-1)));
  return ids;
}

bool compare_tokens(const Tokenizer& tokenizer, const json_ref& tests, const std::string& path) {
  std::puts("== Tokenizer: ours vs Hugging Face");
  std::size_t same = 0;
  for (const json_value& value : tests.array()) {
    const json_ref test(value, path);
    const std::vector<int> ours = tokenizer.encode(test["text"].string());
    const bool equal = ours == ids_of(test["ids"]);
    same += equal;
    std::printf("%3zu tokens  %s  %s\n", ours.size(), equal ? "identical" : "DIFFERENT", test["text"].string().c_str());
  }
  std::printf("%zu/%zu identical\n\n", same, tests.array().size());
  return same == tests.array().size();
}

std::vector<float> read_floats(const std::string& path, std::size_t count) {
  const mapped_file file(path);
  if (file.bytes().size() != count * sizeof(float))
    throw format_error(path, file.bytes().size(), "needs " + std::to_string(count) + " float32 logits");
  std::vector<float> values(count);
  std::memcpy(values.data(), file.bytes().data(), file.bytes().size());
  return values;
}

std::vector<token_candidate> top_five(std::span<const float> logits) {
  Sampler sampler;
  const auto all = sampler.candidates(logits);
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(5, all.size()))};
}

}  // namespace

int compare(const settings& s) {
  const loaded_model loaded = load(s.folder);
  const json_document document = read_json_file(s.folder + "/hf_reference.json");
  const json_ref root = document.root();
  const bool tokens = compare_tokens(loaded.tokenizer, root["tokenizer_tests"], document.path);

  const std::string prompt = root["prompt"].string();
  const std::vector<int> theirs = ids_of(root["input_ids"]);
  const std::vector<int> ids = loaded.tokenizer.encode(prompt);
  std::printf("== Logits for \"%s\" (%zu tokens, same ids as HF: %s)\n", prompt.c_str(), ids.size(),
              ids == theirs ? "True" : "False");
  const std::size_t vocabulary = loaded.model.vocabulary();
  const std::vector<float> expected = read_floats(s.folder + "/hf_logits.f32", theirs.size() * vocabulary);
  const no_grad guard;
  const auto start = std::chrono::steady_clock::now();
  const auto logits = loaded.model(theirs, 1, theirs.size());
  std::printf("forward pass: %.0f ms\n", 1000 * seconds_since(start));
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference = std::max(difference, std::fabs(static_cast<double>(logits.data()[i] - expected[i])));
    largest = std::max(largest, std::fabs(static_cast<double>(expected[i])));
  }
  std::printf("%zu logits compared (%zu positions x %zu), largest |logit| = %.2f\n", expected.size(), theirs.size(),
              vocabulary, largest);
  std::printf("max abs difference vs Hugging Face = %.2E\n", difference);

  const std::span<const float> ours_last = logits.data().last(vocabulary);
  const auto theirs_last = std::span<const float>(expected).last(vocabulary);
  const auto ours_top = top_five(ours_last), theirs_top = top_five(theirs_last);
  bool same_top = true;
  for (std::size_t i = 0; i < ours_top.size(); ++i) {
    same_top &= ours_top[i].id == theirs_top[i].id;
    const auto id = static_cast<std::size_t>(ours_top[i].id);
    const std::string text = "\"" + loaded.tokenizer.decode(std::vector<token_id>{ours_top[i].id}) + "\"";
    std::printf("  %zu %5d %-12s logit %.4f / %.4f\n", i + 1, ours_top[i].id, text.c_str(),
                static_cast<double>(ours_last[id]), static_cast<double>(theirs_last[id]));
  }
  std::printf("same top-5: %s\n", same_top ? "True" : "False");
  return tokens && ids == theirs && same_top && difference <= 1e-4 * largest ? 0 : 1;
}

}  // namespace part4
