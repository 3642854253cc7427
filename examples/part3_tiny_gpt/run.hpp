// Training and sampling for one policy.
#pragma once

#include <cstdio>
#include <string>
#include <tinygrad/models/load.hpp>
#include <tinygrad/train/trainer.hpp>

#include "../support/char_corpus.hpp"
#include "../support/training_run.hpp"
#include "part3.hpp"

namespace part3 {

using namespace tinygrad;

inline gpt_config config_in(const std::string& checkpoint) {
  return read_gpt_config(json_document{parse_json(example::note_of(checkpoint, "config"), checkpoint), checkpoint});
}

/// Head `head` of layer `layer` as a picture: rows look at columns, dark is much.
template <class P>
void draw_attention(const Gpt<float, P>& model, const CharTokenizer& tokenizer, const std::string& text,
                    const settings& s) {
  std::vector<int> ids = tokenizer.encode(text);
  if (ids.size() > model.config.positions) ids.resize(model.config.positions);
  if (s.head >= model.config.heads)
    throw index_error("head " + std::to_string(s.head) + " of " + std::to_string(model.config.heads));
  const std::size_t length = ids.size();
  const auto weights = model.attention_weights(ids, 1, length, s.layer);
  const double cell = 14, margin = 30;
  SvgCanvas canvas(2 * margin + cell * static_cast<double>(length), 2 * margin + cell * static_cast<double>(length));
  for (std::size_t i = 0; i < length; ++i) {
    const double at = margin + cell * static_cast<double>(i);
    const std::string letter = tokenizer.decode(std::span<const int>(ids).subspan(i, 1));
    canvas.text(margin - 6, at + 11, letter, 11, "end");
    canvas.text(at + cell / 2, margin - 6, letter, 11, "middle");
    for (std::size_t j = 0; j <= i; ++j)
      canvas.rect(margin + cell * static_cast<double>(j), at, cell - 1, cell - 1,
                  blend({242, 246, 250}, {10, 60, 130}, static_cast<double>(weights.at({0, s.head, i, j}))));
  }
  write_file(s.attention, canvas.str());
  std::printf("attention of layer %zu, head %zu: %s\n", s.layer, s.head, s.attention.c_str());
}

template <class P>
void write_sample(const Gpt<float, P>& model, const CharTokenizer& tokenizer, const settings& s, Sampler& sampler) {
  const std::string start = s.prompt.empty() ? tokenizer.decode(std::vector<int>{0}) : s.prompt;
  const std::string text = example::write_text(model, tokenizer, start, s.characters, model.config.positions, sampler);
  std::printf("---\n%s\n---\n", text.c_str());
}

inline sampler_options sampling(const settings& s) {
  sampler_options options;
  options.temperature = s.temperature;
  options.top_k = s.top_k;
  return options;
}

template <class P>
int train(settings s) {
  const example::char_corpus corpus = example::load_corpus(s.text);
  s.model.vocabulary = corpus.tokenizer.vocab_size();
  if (s.steps == 0) s.steps = s.text.empty() ? 300 : 2000;
  if (s.resume) {
    example::require_same_vocabulary(s.checkpoint, corpus);
    s.model = config_in(s.checkpoint);
  }
  Random random(s.seed);
  Gpt<float, P> model(s.model, random);
  const TokenDataset data(corpus.ids, s.model.positions);
  std::printf("%s: %zu characters, %zu distinct; %zu to train on, %zu to judge by\n", corpus.source.c_str(),
              corpus.ids.size(), corpus.tokenizer.vocab_size(), data.training().size(), data.validation().size());
  std::printf("GPT: %zu layers, %zu channels, %zu heads, block %zu: %zu parameters\n", s.model.layers, s.model.channels,
              s.model.heads, s.model.positions, parameter_count(model));

  train_options options;
  options.steps = s.steps;
  options.batch = s.batch;
  options.accumulate = s.accumulate;
  options.schedule = {s.rate, s.warmup, s.steps, s.rate / 10};
  options.weight_decay = s.decay;
  options.clip = s.clip;
  options.seed = s.seed;
  Trainer trainer(model, data, options);

  example::run_options run;
  run.name = "part3";
  run.checkpoint = s.checkpoint;
  run.curve = s.curve;
  run.evaluate_every = s.evaluate_every;
  run.sample_every = s.sample_every;
  run.save_every = s.save_every;
  run.patience = s.patience;
  run.notes = {{"config", write_gpt_config(s.model)}, {"vocabulary", corpus.tokenizer.vocabulary_text()}};
  example::TrainingRun session(trainer, run);
  if (s.resume) session.resume();

  example::catch_interrupts();
  Sampler sampler(sampling(s), s.seed);
  bool completed = false;
  const double loss = session([&] { write_sample(model, corpus.tokenizer, s, sampler); }, completed);
  if (!completed) return 130;
  std::printf("validation loss %.4f\n", loss);
  write_sample(model, corpus.tokenizer, s, sampler);
  if (!s.attention.empty()) draw_attention(model, corpus.tokenizer, corpus.text.substr(0, 4096), s);
  return 0;
}

template <class P>
int sample(const settings& s) {
  leave_uninitialized open;
  Gpt<float, P> model(config_in(s.checkpoint), open);
  const CharTokenizer tokenizer(example::note_of(s.checkpoint, "vocabulary"));
  static_cast<void>(load_weights(model, safetensors_model(s.checkpoint)));
  Sampler sampler(sampling(s), s.seed);
  write_sample(model, tokenizer, s, sampler);
  if (!s.attention.empty()) {
    if (s.prompt.empty()) throw value_error("--attention needs a --prompt to look at");
    draw_attention(model, tokenizer, s.prompt, s);
  }
  return 0;
}

template <class P>
int run(const settings& s) {
  return s.command == "sample" ? sample<P>(s) : train<P>(s);
}

}  // namespace part3
