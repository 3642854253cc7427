// Training, comparing and sampling for one policy.
#pragma once

#include <cstdio>
#include <string>
#include <tinygrad/models/bigram.hpp>
#include <tinygrad/models/char_mlp.hpp>
#include <tinygrad/models/load.hpp>
#include <tinygrad/train/trainer.hpp>

#include "../support/char_corpus.hpp"
#include "../support/training_run.hpp"
#include "part2.hpp"

namespace part2 {

using namespace tinygrad;

/// Validation losses, side by side at the end.
struct losses {
  double counted = 0, bigram = 0, mlp = 0;
};

/// Trains one model; false when interrupted.
template <class Model>
bool train_one(Model& model, const char* name, const example::char_corpus& corpus, const TokenDataset& data,
               const train_options& options, const settings& s, double& loss) {
  std::printf("== %s: %zu parameters\n", name, parameter_count(model));
  Trainer trainer(model, data, options);
  example::run_options run;
  run.name = name;
  run.checkpoint = s.checkpoint(name);
  run.curve = s.curve.empty() ? "" : s.curve + "_" + name + ".svg";
  run.evaluate_every = s.evaluate_every;
  run.save_every = s.save_every;
  run.patience = s.patience;
  run.notes = {{"vocabulary", corpus.tokenizer.vocabulary_text()}};
  example::TrainingRun session(trainer, run);
  if (s.resume) {
    example::require_same_vocabulary(run.checkpoint, corpus);
    session.resume();
  }
  bool completed = false;
  loss = session([] {}, completed);
  return completed;
}

template <class Model>
void show_sample(const Model& model, const CharTokenizer& tokenizer, std::size_t window, const char* name,
                 const settings& s) {
  sampler_options options;
  options.temperature = s.temperature;
  Sampler sampler(options, s.seed);
  const std::string start = s.prompt.empty() ? tokenizer.decode(std::vector<int>{0}) : s.prompt;
  std::printf("--- %s writes\n%s\n", name,
              example::write_text(model, tokenizer, start, s.characters, window, sampler).c_str());
}

inline char_mlp_config mlp_config(std::size_t vocabulary) {
  char_mlp_config config;
  config.vocabulary = vocabulary;
  return config;
}

template <class P>
int train(const settings& s) {
  const example::char_corpus corpus = example::load_corpus(s.text);
  const std::size_t vocabulary = corpus.tokenizer.vocab_size();
  const TokenDataset data(corpus.ids, s.length);
  std::printf("%s: %zu characters, %zu distinct\n", corpus.source.c_str(), corpus.ids.size(), vocabulary);
  example::catch_interrupts();

  losses result;
  const CountedBigram counted(data.training(), vocabulary);
  result.counted = counted.loss(data.validation());
  std::printf("== counted bigram: validation loss %.4f\n", result.counted);

  train_options options;
  options.seed = s.seed;
  options.weight_decay = 0;
  options.batch = 8 * s.batch;  // a table is cheap, and large batches bring it close to the counts
  options.steps = s.bigram_steps;
  options.schedule = {0.1, 0, s.bigram_steps, 1e-3};
  Bigram<float, P> bigram(vocabulary);
  if (!train_one(bigram, "bigram", corpus, data, options, s, result.bigram)) return 130;

  options.batch = s.batch;
  options.steps = s.mlp_steps;
  options.schedule = {s.rate, 100, s.mlp_steps, s.rate / 20};
  Random random(s.seed);
  CharMlp<float, P> mlp(mlp_config(vocabulary), random);
  if (!train_one(mlp, "mlp", corpus, data, options, s, result.mlp)) return 130;

  std::printf("\nvalidation loss   counted bigram %.4f   trained bigram %.4f   MLP of the last %zu characters %.4f\n",
              result.counted, result.bigram, mlp.config.context, result.mlp);
  show_sample(bigram, corpus.tokenizer, 1, "bigram", s);
  show_sample(mlp, corpus.tokenizer, mlp.config.context, "mlp", s);
  return 0;
}

template <class P>
int sample(const settings& s) {
  const CharTokenizer tokenizer(example::note_of(s.checkpoint("mlp"), "vocabulary"));
  Bigram<float, P> bigram(tokenizer.vocab_size());
  static_cast<void>(load_weights(bigram, safetensors_model(s.checkpoint("bigram"))));
  leave_uninitialized open;
  CharMlp<float, P> mlp(mlp_config(tokenizer.vocab_size()), open);
  static_cast<void>(load_weights(mlp, safetensors_model(s.checkpoint("mlp"))));
  show_sample(bigram, tokenizer, 1, "bigram", s);
  show_sample(mlp, tokenizer, mlp.config.context, "mlp", s);
  return 0;
}

template <class P>
int run(const settings& s) {
  return s.command == "sample" ? sample<P>(s) : train<P>(s);
}

}  // namespace part2
