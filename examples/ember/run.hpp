// The commands that compute, for one policy and either family.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <tinygrad/generate/probe.hpp>
#include <tinygrad/models/load_gguf.hpp>
#include <tinygrad/ops/cross_entropy.hpp>
#include <tinygrad/text/char_tokenizer.hpp>
#include <tinygrad/text/detokenizer.hpp>
#include <tinygrad/text/gguf_tokenizer.hpp>
#include <variant>
#include <vector>

#include "ember.hpp"

namespace ember {

using namespace tinygrad;

/// The tokenizer of a file: a published one, or the characters of a model that we trained ourselves.
class vocabulary {
 public:
  explicit vocabulary(const gguf_file& file) {
    if (const auto characters = file.find("tinygrad.characters"))
      kind_.emplace<CharTokenizer>(characters->text());
    else
      kind_.emplace<Tokenizer>(read_tokenizer(file, "gpt-2"));
  }
  [[nodiscard]] std::vector<int> encode(const std::string& text, bool begin, bool special = false) const {
    if (const auto* characters = std::get_if<CharTokenizer>(&kind_)) return characters->encode(text);
    encode_options options;
    options.add_special = begin;
    options.parse_special = special;
    return std::get<Tokenizer>(kind_).encode(text, options);
  }
  [[nodiscard]] std::string decode(std::span<const int> ids) const {
    if (const auto* characters = std::get_if<CharTokenizer>(&kind_)) return characters->decode(ids);
    return std::get<Tokenizer>(kind_).decode(ids);
  }
  /// Tokens that end a text or a turn.
  [[nodiscard]] std::vector<int> stops() const {
    std::vector<int> result;
    if (const auto* published = std::get_if<Tokenizer>(&kind_))
      for (const int id : {published->special().eos, published->special().eot})
        if (id != no_token) result.push_back(id);
    return result;
  }

 private:
  std::variant<std::monostate, Tokenizer, CharTokenizer> kind_;
};

/// Prints what a stream of tokens adds, never half a character.
class printer {
 public:
  explicit printer(const vocabulary& words) : words_(words) {}
  void push(int token) {
    ids_.push_back(token);
    const std::string all = words_.decode(ids_);
    const std::size_t whole = all.ends_with("\xEF\xBF\xBD") ? shown_ : all.size();  // a character still incomplete
    if (whole > shown_) std::fwrite(all.data() + shown_, 1, whole - shown_, stdout);
    shown_ = std::max(shown_, whole);
    std::fflush(stdout);
  }

 private:
  const vocabulary& words_;
  std::vector<int> ids_;
  std::size_t shown_ = 0;
};

template <class Model>
generation continue_text(const Model& model, const vocabulary& words, const std::vector<int>& prompt, const settings& s,
                         bool show) {
  Sampler sampler(s.sampling, s.seed);
  generate_options options;
  options.max_tokens = s.tokens;
  options.stop_tokens = words.stops();
  printer out(words);
  return generate(model, prompt, options, sampler, [&](int token) {
    if (show) out.push(token);
    return true;
  });
}

template <class Model>
int generate_text(const Model& model, const vocabulary& words, const settings& s) {
  const std::vector<int> prompt = words.encode(s.prompt, true);
  if (!s.json) std::fputs(s.prompt.c_str(), stdout);
  const generation result = continue_text(model, words, prompt, s, !s.json);
  if (s.json)
    std::printf("{\"prompt\":%s,\"text\":%s,\"tokens\":%zu,\"reason\":\"%s\"}\n", json_text(s.prompt).c_str(),
                json_text(words.decode(result.tokens)).c_str(), result.tokens.size(),
                std::string(to_string(result.reason)).c_str());
  else
    std::printf("\n[%zu tokens, %s]\n", result.tokens.size(), std::string(to_string(result.reason)).c_str());
  return 0;
}

template <class Model>
int print_logits(const Model& model, const vocabulary& words, const settings& s) {
  const std::vector<int> prompt = words.encode(s.prompt, true);
  auto cache = model.make_cache(1, prompt.size());
  const auto logits = model.forward(prompt, 1, prompt.size(), cache, logits_of::last);
  Sampler sampler;
  const auto candidates = sampler.candidates(logits.data());
  if (s.json) std::fputs("[", stdout);
  for (std::size_t i = 0; i < candidates.size() && i < 10; ++i) {
    const token_candidate& c = candidates[i];
    const std::string text = json_text(words.decode(std::vector<int>{c.id}));
    const double logit = static_cast<double>(logits.data()[static_cast<std::size_t>(c.id)]);
    if (s.json)
      std::printf("%s{\"id\":%d,\"text\":%s,\"logit\":%.9g,\"p\":%.9g}", i > 0 ? "," : "", c.id, text.c_str(), logit,
                  c.probability);
    else
      std::printf("%7d  %-20s logit %10.5f   p = %.4f\n", c.id, text.c_str(), logit, c.probability);
  }
  if (s.json) std::puts("]");
  return 0;
}

/// exp of the mean loss over the text, cut into consecutive windows of the model's context.
template <class Model>
int perplexity(const Model& model, const vocabulary& words, const settings& s) {
  const mapped_file file(s.text);
  const std::vector<int> ids = words.encode(std::string(file.text()), false);
  const std::size_t window = std::min<std::size_t>(model.positions(), 512);
  double total = 0;
  std::size_t count = 0;
  const no_grad guard;
  for (std::size_t first = 0; first + 1 < ids.size(); first += window) {
    const std::size_t length = std::min(window, ids.size() - 1 - first);
    auto cache = model.make_cache(1, length);
    const auto logits = model.forward(std::span<const int>(ids).subspan(first, length), 1, length, cache);
    const auto loss = cross_entropy(logits, std::span<const int>(ids).subspan(first + 1, length));
    total += static_cast<double>(loss.item()) * static_cast<double>(length);
    count += length;
  }
  if (count == 0) throw value_error(s.text + ": at least two tokens are needed");
  const double mean = total / static_cast<double>(count);
  std::printf(
      s.json ? "{\"tokens\":%zu,\"loss\":%.9g,\"perplexity\":%.9g}\n" : "%zu tokens, mean loss %.4f, perplexity %.4f\n",
      count, mean, std::exp(mean));
  return 0;
}

/// The tokens that `more` adds to `text`, as they come when both are one text: a tokenizer may treat the start of a
/// text apart.
inline std::vector<int> added_tokens(const vocabulary& words, const stimulus& s, const std::string& more) {
  const std::vector<int> whole = words.encode(s.text + more, true);
  if (whole.size() < s.ids.size() || !std::equal(s.ids.begin(), s.ids.end(), whole.begin()))
    return words.encode(more, false);
  return {whole.begin() + static_cast<std::ptrdiff_t>(s.ids.size()), whole.end()};
}

/// Stimuli, one a line: the text, and after a tab the continuation that is expected.
inline std::vector<stimulus> read_stimuli(const std::string& path, const vocabulary& words) {
  std::vector<stimulus> result;
  std::ifstream in(path);
  if (!in) throw io_error(path + ": cannot be read");
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    const std::size_t tab = line.find('\t');
    stimulus s;
    s.text = line.substr(0, tab);
    s.ids = words.encode(s.text, true);
    if (tab != std::string::npos) s.expected = added_tokens(words, s, line.substr(tab + 1));
    result.push_back(std::move(s));
  }
  if (result.empty()) throw value_error(path + ": no stimuli");
  return result;
}

template <class Model>
int run_probe(const Model& model, const vocabulary& words, const settings& s) {
  const std::vector<stimulus> stimuli = read_stimuli(s.text, words);
  const probe_result result = probe(model, stimuli, s.tokens);
  const std::string base = s.output.empty() ? "probe" : s.output;
  write_probe(base, result, stimuli, [&](const std::vector<int>& ids) { return words.decode(ids); });
  const auto right = std::count(result.correct.begin(), result.correct.end(), true);
  std::printf("%s.npy %s, %s_correctness.json: %td of %zu as expected\n", base.c_str(), to_string(result.shape).c_str(),
              base.c_str(), right, stimuli.size());
  return 0;
}

/// One turn of a conversation in the model's own markup.
inline std::string turn(const settings& s, const std::string& user, bool first) {
  if (s.format == "chatml")
    return (first && !s.system.empty() ? "<|im_start|>system\n" + s.system + "<|im_end|>\n" : std::string()) +
           "<|im_start|>user\n" + user + "<|im_end|>\n<|im_start|>assistant\n";
  if (s.format == "llama3")
    return (first && !s.system.empty() ? "<|start_header_id|>system<|end_header_id|>\n\n" + s.system + "<|eot_id|>"
                                       : std::string()) +
           "<|start_header_id|>user<|end_header_id|>\n\n" + user +
           "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n";
  if (s.format == "llama2")
    return "[INST] " + (first && !s.system.empty() ? "<<SYS>>\n" + s.system + "\n<</SYS>>\n\n" : std::string()) + user +
           " [/INST]";
  return user + "\n";
}

template <class Model>
int chat(const Model& model, const vocabulary& words, const settings& s) {
  std::vector<int> history;
  const auto answer = [&](const std::string& user) {
    const std::vector<int> ids = words.encode(turn(s, user, history.empty()), history.empty(), true);
    history.insert(history.end(), ids.begin(), ids.end());
    const generation result = continue_text(model, words, history, s, true);
    history.insert(history.end(), result.tokens.begin(), result.tokens.end());
    if (result.reason == stop_reason::stop_token && !words.stops().empty()) history.push_back(words.stops().back());
    std::puts("");
  };
  if (!s.prompt.empty()) {
    answer(s.prompt);
    return 0;
  }
  for (std::string line; std::fputs("> ", stdout), std::fflush(stdout), std::getline(std::cin, line);)
    if (!line.empty()) answer(line);
  return 0;
}

template <class Model>
int run_command(const Model& model, const vocabulary& words, const settings& s) {
  if (s.command == "logits") return print_logits(model, words, s);
  if (s.command == "perplexity") return perplexity(model, words, s);
  if (s.command == "probe") return run_probe(model, words, s);
  if (s.command == "chat") return chat(model, words, s);
  return generate_text(model, words, s);
}

template <class P>
int run(const settings& s) {
  const gguf_file file(s.model);
  const vocabulary words(file);
  if (gguf_architecture(file) == "gpt2") return run_command(load_gpt_gguf<P>(file).first, words, s);
  return run_command(load_llama_gguf<P>(file).first, words, s);
}

}  // namespace ember
