// The commands that compute, for one policy and either family.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <tinygrad/generate/probe.hpp>
#include <tinygrad/models/load_gguf.hpp>
#include <tinygrad/models/load_llama2c.hpp>
#include <tinygrad/ops/cross_entropy.hpp>
#include <tinygrad/text/chat_template.hpp>
#include <vector>

#include "ember.hpp"
#include "vocabulary.hpp"

namespace ember {

using namespace tinygrad;

inline std::vector<int> prompt_of(const vocabulary& words, const settings& s) {
  return s.ids.empty() ? words.encode(s.prompt, true) : s.ids;
}

inline json_value numbers(std::span<const int> ids) { return json_array(ids.begin(), ids.end()); }

/// Continues a prompt and, unless JSON is wanted, shows it as it comes.
template <class Model>
generation continue_text(const Model& model, const vocabulary& words, const std::vector<int>& prompt,
                         const std::vector<int>& stops, const settings& s) {
  Sampler sampler(s.sampling, s.seed);
  generate_options options;
  options.max_tokens = s.tokens;
  options.stop_tokens = stops;
  options.prefill_chunk = s.chunk;
  printer out(words);
  generation result = generate(model, prompt, options, sampler, [&](int token) {
    if (!s.json) out.push(token);
    return true;
  });
  if (!s.json) out.finish();
  return result;
}

/// What generate and chat say as JSON.
inline json_object said(const vocabulary& words, const std::vector<int>& prompt, const generation& result) {
  return {{"prompt_tokens", numbers(prompt)},
          {"text", words.decode(result.tokens)},
          {"tokens", numbers(result.tokens)},
          {"reason", to_string(result.reason)}};
}

template <class Model>
int generate_text(const Model& model, const vocabulary& words, const settings& s) {
  const std::vector<int> prompt = prompt_of(words, s);
  if (!s.json) std::fputs(s.ids.empty() ? s.prompt.c_str() : words.decode(prompt).c_str(), stdout);
  const generation result = continue_text(model, words, prompt, words.stops(), s);
  if (s.json)
    print_json(said(words, prompt, result));
  else
    std::printf("\n[%zu tokens, %s]\n", result.tokens.size(), std::string(to_string(result.reason)).c_str());
  return 0;
}

/// The likeliest next tokens; with --output the logits of all positions, too.
template <class Model>
int print_logits(const Model& model, const vocabulary& words, const settings& s) {
  const std::vector<int> prompt = prompt_of(words, s);
  const std::size_t step = s.chunk == 0 ? prompt.size() : s.chunk, width = model.vocabulary();
  auto cache = model.make_cache(1, prompt.size());
  std::vector<float> all;
  for (std::size_t first = 0; first < prompt.size(); first += step) {
    const std::size_t count = std::min(step, prompt.size() - first);
    const auto logits = model.forward(std::span<const int>(prompt).subspan(first, count), 1, count, cache,
                                      s.output.empty() ? logits_of::last : logits_of::all);
    all.insert(all.end(), logits.data().begin(), logits.data().end());
  }
  const std::span<const float> last = std::span<const float>(all).last(width);
  if (!s.output.empty()) write_npy<float>(s.output, Shape{prompt.size(), width}, all);
  Sampler sampler;
  json_array top;
  for (const token_candidate& c : sampler.candidates(last)) {
    if (top.size() == 10) break;
    top.push_back(json_object{{"id", c.id},
                              {"text", words.decode(std::vector<int>{c.id})},
                              {"logit", static_cast<double>(last[static_cast<std::size_t>(c.id)])},
                              {"p", c.probability}});
  }
  if (s.json) {
    print_json({{"prompt_tokens", numbers(prompt)}, {"top", std::move(top)}});
    return 0;
  }
  for (const json_value& entry : top)
    std::printf("%7d  %-20s logit %10.5f   p = %.4f\n", static_cast<int>(*entry.find("id")->as_int64()),
                write_json(*entry.find("text")).c_str(), *entry.find("logit")->as_double(),
                *entry.find("p")->as_double());
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
  if (s.json)
    print_json({{"tokens", count}, {"loss", mean}, {"perplexity", std::exp(mean)}});
  else
    std::printf("%zu tokens, mean loss %.4f, perplexity %.4f\n", count, mean, std::exp(mean));
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
  if (s.json)
    print_json({{"hidden", base + ".npy"},
                {"shape", json_array{result.shape[0], result.shape[1], result.shape[2]}},
                {"correctness", base + "_correctness.json"},
                {"total", stimuli.size()},
                {"correct", right}});
  else
    std::printf("%s.npy %s, %s_correctness.json: %td of %zu as expected\n", base.c_str(),
                to_string(result.shape).c_str(), base.c_str(), right, stimuli.size());
  return 0;
}

/// The format asked for, or the one that the file's own template is recognised as.
inline chat_template template_of(const vocabulary& words, const settings& s) {
  const auto recognised = recognise_chat_template(words.chat_program());
  for (const auto& [name, format] : chat_formats)
    if (name == s.format) return recognised && recognised->format == format ? *recognised : chat_template{format, {}};
  if (recognised) return *recognised;
  if (!words.chat_program().empty())
    throw value_error("the file's chat template is none of chatml, llama2, llama3; choose a format with --format");
  std::fputs("ember: the file has no chat template; plain lines are used (--format chooses another)\n", stderr);
  return {};
}

template <class Model>
int chat(const Model& model, const vocabulary& words, const settings& s) {
  const chat_template shape = template_of(words, s);
  std::vector<int> stops = words.stops();
  if (const int end = words.control(end_of_turn(shape.format)); end != no_token) stops.push_back(end);
  std::vector<chat_message> talk;
  if (const std::string& system = s.system.empty() ? shape.default_system : s.system; !system.empty())
    talk.push_back({"system", system});
  const auto answer = [&](const std::string& question) {
    talk.push_back({"user", question});
    const bool begin = shape.format == chat_format::plain;  // the others write BOS themselves, or do without
    const std::vector<int> prompt =
        words.encode(render_chat(shape.format, talk, words.bos(), words.eos()), begin, true);
    const generation result = continue_text(model, words, prompt, stops, s);
    talk.push_back({"assistant", words.decode(result.tokens)});
    if (s.json)
      print_json(said(words, prompt, result));
    else
      std::printf(result.reason == stop_reason::stop_token ? "\n" : "\n[%s]\n",
                  std::string(to_string(result.reason)).c_str());
  };
  if (!s.prompt.empty()) {
    answer(s.prompt);
    return 0;
  }
  for (std::string line; std::fputs(s.json ? "" : "> ", stdout), std::fflush(stdout), std::getline(std::cin, line);)
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

/// What a file is, its first bytes say: GGUF, or else llama2.c's checkpoint, whose size gives it away.
template <class P>
int run(const settings& s) {
  const auto bytes = std::make_shared<const mapped_file>(s.model);
  if (!bytes->text().starts_with("GGUF")) {
    const auto model = load_llama2c<P>(bytes->bytes(), s.model, bytes);
    return run_command(model, vocabulary(s, model.vocabulary()), s);
  }
  const gguf_file file(bytes);
  const vocabulary words(file);
  const quant_precision precision = s.exact ? quant_precision::exact : quant_precision::fast;
  if (gguf_architecture(file) == "gpt2") return run_command(load_gpt_gguf<P>(file, precision).first, words, s);
  return run_command(load_llama_gguf<P>(file, precision).first, words, s);
}

}  // namespace ember
