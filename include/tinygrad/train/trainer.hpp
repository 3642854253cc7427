// Trainer: one update after another of a language model, with everything that makes a run repeatable.
//
// A model is anything with `logits = model(ids, batch, length)` and `visit`. An update draws `accumulate` batches, adds
// up their gradients (each loss divided by their number), clips, sets the learning rate for this step and lets AdamW
// move the weights. Steps, generator and optimizer are the whole state: save and load continue bit for bit.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tinygrad/models/checkpoint.hpp>
#include <tinygrad/nn/module.hpp>
#include <tinygrad/ops/arithmetic.hpp>
#include <tinygrad/ops/cross_entropy.hpp>
#include <tinygrad/optim/adam.hpp>
#include <tinygrad/optim/clip.hpp>
#include <tinygrad/optim/schedule.hpp>
#include <tinygrad/train/dataset.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

struct train_options {
  std::uint64_t steps = 1000;
  std::size_t batch = 32;
  std::size_t accumulate = 1;  // batches added up before each update
  cosine_schedule schedule{1e-3, 100, 1000, 1e-4};
  double weight_decay = 0.1;
  double clip = 1;  // largest norm of the gradient; 0: no clipping
  double beta2 = 0.99;
  std::uint64_t seed = 1;  // of the batches
};

/// What one update reports.
struct step_report {
  double loss = 0;           // mean over the batches of this update
  double gradient_norm = 0;  // before clipping; 0 without clipping
  double learning_rate = 0;
};

template <class Model>
class Trainer {
 public:
  using tensor = typename Model::tensor;
  using value_type = typename tensor::value_type;
  using policy = typename tensor::policy;

  /// Keeps references to model and data. Throws value_error for options out of range.
  Trainer(Model& model, const TokenDataset& data, const train_options& options)
      : model_(model),
        data_(data),
        options_(options),
        parameters_(parameters(model)),
        optimizer_(parameters_, adam(options)),
        random_(options.seed) {
    if (options.batch == 0 || options.accumulate == 0)
      throw value_error("[trainer] batch and accumulate must be at least 1");
  }

  /// One update. Throws value_error when the loss is no longer finite: the run has diverged.
  step_report step() {
    step_report report;
    report.learning_rate = options_.schedule(step_);
    optimizer_.zero_grad();
    for (std::size_t i = 0; i < options_.accumulate; ++i) {
      data_.draw(options_.batch, random_, batch_);
      const tensor loss = loss_of(batch_);
      report.loss += static_cast<double>(loss.item()) / static_cast<double>(options_.accumulate);
      (options_.accumulate == 1 ? loss
                                : scale(loss, static_cast<value_type>(1.0 / static_cast<double>(options_.accumulate))))
          .backward();
    }
    if (!std::isfinite(report.loss))
      throw value_error("[trainer] the loss is " + std::to_string(report.loss) + " at step " + std::to_string(step_) +
                        ": the run has diverged; try a smaller learning rate");
    if (options_.clip > 0) report.gradient_norm = clip_grad_norm(parameters_, options_.clip);
    optimizer_.set_learning_rate(report.learning_rate);
    optimizer_.step();
    ++step_;
    return report;
  }

  /// Mean loss over the validation part, or over its first `blocks` batches.
  [[nodiscard]] double evaluate(std::size_t blocks = static_cast<std::size_t>(-1)) {
    const no_grad guard;
    double total = 0;
    std::size_t tokens = 0;
    for (std::size_t block = 0; block < blocks && data_.validation_block(block, options_.batch, batch_); ++block) {
      total += static_cast<double>(loss_of(batch_).item()) * static_cast<double>(batch_.ids.size());
      tokens += batch_.ids.size();
    }
    return total / static_cast<double>(tokens);
  }

  /// Updates made, over all sessions of this run.
  [[nodiscard]] std::uint64_t steps() const noexcept { return step_; }
  [[nodiscard]] bool finished() const noexcept { return step_ >= options_.steps; }
  [[nodiscard]] const train_options& options() const noexcept { return options_; }
  [[nodiscard]] std::size_t tokens_per_step() const noexcept {
    return options_.batch * options_.accumulate * data_.length();
  }
  [[nodiscard]] AdamW<value_type, policy>& optimizer() noexcept { return optimizer_; }

  /// Saves the run to `path`, with the caller's notes. Throws io_error.
  void save(const std::string& path, text_pairs notes = {}) {
    training_state state;
    state.step = step_;
    state.random = random_.state();
    state.notes = std::move(notes);
    save_checkpoint(path, model_, optimizer_, state);
  }
  /// Continues a run saved by `save`; returns its notes. Throws io_error, format_error, shape_error.
  text_pairs load(const std::string& path) {
    training_state state = load_checkpoint(path, model_, optimizer_);
    step_ = state.step;
    random_ = Random(state.random);
    return std::move(state.notes);
  }

 private:
  static adam_options adam(const train_options& options) {
    adam_options result = AdamW<value_type, policy>::defaults();
    result.learning_rate = options.schedule(0);
    result.weight_decay = options.weight_decay;
    result.beta2 = options.beta2;
    return result;
  }
  [[nodiscard]] tensor loss_of(const token_batch& batch) const {
    return cross_entropy(model_(batch.ids, batch.batch, batch.length), std::span<const int>(batch.targets));
  }

  Model& model_;
  const TokenDataset& data_;
  train_options options_;
  std::vector<tensor> parameters_;
  AdamW<value_type, policy> optimizer_;
  Random random_;
  token_batch batch_;
  std::uint64_t step_ = 0;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
