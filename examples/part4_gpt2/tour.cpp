// The article's tour: what is in the file, tokens, the next token, cached against full, generation both ways.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <tinygrad/generate/generate.hpp>
#include <tinygrad/ops/softmax.hpp>
#include <tinygrad/testing/close.hpp>
#include <tinygrad/text/detokenizer.hpp>
#include <vector>

#include "part4.hpp"

namespace part4 {

namespace {

constexpr const char* samples[] = {"The capital of France is", "مرحبا بكم في عرب رووت"};

std::string grouped(std::uint64_t number) {  // 124,439,808
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

std::string shape_text(const std::vector<std::uint64_t>& sizes) {  // [50257, 768]
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(sizes[i]);
  }
  text += ']';
  return text;
}

std::string quoted(std::string text) {
  text.insert(0, 1, '"');
  text += '"';
  return text;
}

std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80;
  return count;
}

void print_header(const std::string& folder, const loaded_model& loaded, double seconds) {
  const safetensors_model file(folder);
  for (const safetensors_file& part : file.files()) {
    std::ifstream in(part.path(), std::ios::binary);
    std::string start(128, '\0');
    in.read(start.data(), static_cast<std::streamsize>(start.size()));
    std::uint64_t length = 0;
    for (std::size_t byte = 8; byte-- > 0;) length = length << 8 | static_cast<unsigned char>(start[byte]);
    std::printf("== %s\nheader length = %s bytes, first bytes of the JSON: %s\n", part.path().c_str(),
                grouped(length).c_str(), start.substr(8).c_str());
  }
  std::printf("%zu tensors in the file, %zu parameters in our model (%s numbers)\n", file.tensors().size(),
              loaded.report.parameters, grouped(loaded.report.numbers).c_str());
  for (const char* name : {"wte.weight", "wpe.weight", "h.0.ln_1.weight", "h.0.attn.c_attn.weight",
                           "h.0.attn.c_proj.weight", "h.0.mlp.c_fc.weight", "h.0.mlp.c_proj.weight", "ln_f.weight"}) {
    const located_tensor tensor = detail::require_tensor(file, name);
    std::printf("  %-28s %s %s\n", name, std::string(name_of(tensor.info->type)).c_str(),
                shape_text(tensor.info->sizes).c_str());
  }
  std::printf("not used: %zu tensors%s", loaded.report.unused.size(), loaded.report.unused.empty() ? "" : " (");
  for (std::size_t i = 0; i < loaded.report.unused.size() && i < 3; ++i)
    std::printf("%s%s", i > 0 ? ", " : "", loaded.report.unused[i].c_str());
  if (!loaded.report.unused.empty()) std::fputs(loaded.report.unused.size() > 3 ? "...)" : ")", stdout);
  std::puts("");
  std::printf("loaded in %.3fs\n\n", seconds);
}

void print_tokens(const Tokenizer& tokenizer, std::string_view text) {
  const std::vector<token_id> ids = tokenizer.encode(text);
  std::string list;
  for (const token_id id : ids) {
    if (!list.empty()) list += ", ";
    list += std::to_string(id);
  }
  std::printf("\"%.*s\" (%zu chars) -> %zu tokens: [%s]\n", static_cast<int>(text.size()), text.data(),
              characters(text), ids.size(), list.c_str());
}

void print_next_tokens(const Tokenizer& tokenizer, const std::string& prompt, std::span<const float> logits) {
  std::printf("== Next token after \"%s\"\n", prompt.c_str());
  Sampler sampler;  // temperature 1, nothing cut: the model's own probabilities
  const auto candidates = sampler.candidates(logits);
  for (std::size_t i = 0; i < 5 && i < candidates.size(); ++i) {
    const token_candidate& c = candidates[i];
    const std::string text = quoted(tokenizer.decode(std::vector<token_id>{c.id}));
    std::printf("%6d  %-12s logit %8.3f   p = %.1f %%\n", c.id, text.c_str(),
                static_cast<double>(logits[static_cast<std::size_t>(c.id)]), 100 * c.probability);
  }
  std::puts("");
}

void print_generation(const loaded_model& loaded, const std::vector<int>& prompt, const settings& s, bool cached) {
  std::printf("== Generation (temperature %g, top-k %zu, %zu new tokens, %s KV cache)\n", s.temperature, s.top_k,
              s.tokens, cached ? "with" : "without");
  sampler_options sampling;
  sampling.temperature = s.temperature;
  sampling.top_k = s.top_k;
  Sampler sampler(sampling, s.seed);
  generate_options options;
  options.max_tokens = s.tokens;
  options.use_cache = cached;
  Detokenizer stream(loaded.tokenizer);
  std::printf("%s", s.prompt.c_str());
  const auto start = std::chrono::steady_clock::now();
  const generation result = generate(loaded.model, prompt, options, sampler, [&](int token) {
    std::fputs(stream.push(token).c_str(), stdout);
    std::fflush(stdout);
    return true;
  });
  const double seconds = seconds_since(start);
  std::printf("%s\n%.2f tokens/second (%.1fs, %d threads)%s\n\n", stream.flush().c_str(),
              static_cast<double>(result.tokens.size()) / seconds, seconds, num_threads(),
              result.reason == stop_reason::context_full ? ", stopped: the context is full" : "");
}

}  // namespace

void tour(const settings& s) {
  const auto start = std::chrono::steady_clock::now();
  const loaded_model loaded = load(s.folder);
  print_header(s.folder, loaded, seconds_since(start));

  std::puts("== Tokenizer");
  for (const char* text : samples) print_tokens(loaded.tokenizer, text);
  if (s.prompt != samples[0]) print_tokens(loaded.tokenizer, s.prompt);
  std::puts("");

  const std::vector<int> ids = loaded.tokenizer.encode(s.prompt);
  const no_grad guard;
  const auto logits = loaded.model(ids, 1, ids.size());
  const std::span<const float> last = logits.data().last(loaded.model.vocabulary());
  print_next_tokens(loaded.tokenizer, s.prompt, last);

  auto cache = loaded.model.make_cache(1, ids.size());
  Tensor<float> step;
  for (const int id : ids) step = loaded.model.forward(std::vector<int>{id}, 1, 1, cache, logits_of::last);
  double difference = 0;
  for (std::size_t i = 0; i < last.size(); ++i)
    difference = std::max(difference, std::fabs(static_cast<double>(step.data()[i] - last[i])));
  std::printf("KV cache path vs full forward: max abs difference = %.2E\n\n", difference);

  print_generation(loaded, ids, s, false);
  print_generation(loaded, ids, s, true);
}

}  // namespace part4
