// Fine-tuning: training goes on from the loaded weights, on a text of the user's.
#include <cstdio>
#include <string>
#include <tinygrad/train/trainer.hpp>

#include "../support/training_run.hpp"
#include "part4.hpp"

namespace part4 {

void finetune(const settings& s) {
  loaded_model loaded = load(s.folder);
  const mapped_file text(s.text);
  const std::size_t length = s.length < loaded.model.positions() ? s.length : loaded.model.positions();
  const TokenDataset data(loaded.tokenizer.encode(text.text()), length);
  std::printf("%s: %zu tokens to train on, %zu to judge by\n", s.text.c_str(), data.training().size(),
              data.validation().size());
  train_options options;
  options.steps = s.steps;
  options.batch = s.batch;
  options.schedule = {s.rate, s.steps / 20, s.steps, 0};
  options.weight_decay = 0.01;
  options.beta2 = 0.999;
  options.seed = s.seed;
  Trainer trainer(loaded.model, data, options);
  std::printf("validation loss before: %.4f\n", trainer.evaluate());
  example::run_options run;
  run.name = "finetune";
  run.checkpoint = s.save;
  run.curve = "";
  run.evaluate_every = s.steps;
  run.save_every = s.steps;
  run.notes = {{"config", write_gpt_config(loaded.model.config)}};
  example::catch_interrupts();
  bool completed = false;
  example::TrainingRun session(trainer, run);
  const double loss = session([] {}, completed);
  if (completed) std::printf("validation loss after: %.4f; weights in %s\n", loss, s.save.c_str());
}

}  // namespace part4
