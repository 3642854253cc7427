// Without arguments: a small model is made, trained for some seconds on the built-in verses, exported to GGUF in full
// and in quantised form, loaded again and asked to write.
#include <chrono>
#include <cstdio>
#include <string>
#include <tinygrad/models/export_gguf.hpp>
#include <tinygrad/train/trainer.hpp>

#include "../support/char_corpus.hpp"
#include "ember.hpp"

namespace ember {

using namespace tinygrad;

int demo(const settings& s) {
  const example::char_corpus corpus = example::load_corpus("");
  gpt_config config;
  config.vocabulary = corpus.tokenizer.vocab_size();
  config.positions = 64;
  config.channels = 64;
  config.layers = 2;
  config.heads = 4;
  Random random(s.seed);
  Gpt<float> model(config, random);
  const TokenDataset data(corpus.ids, config.positions);
  train_options options;
  options.steps = 400;
  options.batch = 16;
  options.schedule = {3e-3, 20, 400, 3e-4};
  Trainer trainer(model, data, options);
  std::printf("no arguments: training a GPT of %zu parameters on the built-in verses for about ten seconds\n",
              parameter_count(model));
  const auto start = std::chrono::steady_clock::now();
  double loss = 0;
  while (!trainer.finished() && std::chrono::steady_clock::now() - start < std::chrono::seconds(10))
    loss = trainer.step().loss;
  std::printf("%llu steps, loss %.3f\n", static_cast<unsigned long long>(trainer.steps()), loss);
  for (const ggml_type type : {ggml_type::f32, ggml_type::q8_0}) {
    settings next = s;
    next.model = type == ggml_type::f32 ? "ember_demo.f32.gguf" : "ember_demo.q8_0.gguf";
    next.command = "generate";
    next.prompt = "أرى ";
    write_gpt_gguf(next.model, model, type, [&](gguf_writer& out) {
      out.set("tokenizer.ggml.model", "none");
      out.set("tinygrad.characters", corpus.tokenizer.vocabulary_text());
    });
    std::printf("\n== %s\n", next.model.c_str());
    if (const int failed = run_threaded(next); failed != 0) return failed;
  }
  return 0;
}

}  // namespace ember
