// A training run as a person wants it at the keyboard: progress, evaluation, samples, a loss curve, checkpoints,
// Ctrl-C.
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <tinygrad/io/mapped_file.hpp>
#include <tinygrad/train/trainer.hpp>
#include <tinygrad/viz/progress.hpp>
#include <tinygrad/viz/svg.hpp>
#include <utility>
#include <vector>

namespace example {

using namespace tinygrad;

/// Set by Ctrl-C (and by SIGTERM): the run saves and leaves at the next step.
inline volatile std::sig_atomic_t& interrupted() {
  static volatile std::sig_atomic_t flag = 0;
  return flag;
}
inline void catch_interrupts() {
  const auto handler = [](int) { interrupted() = 1; };
  std::signal(SIGINT, handler);
  std::signal(SIGTERM, handler);
}

struct run_options {
  std::string name;                    // in front of messages
  std::string checkpoint;              // empty: none
  std::string curve;                   // SVG file of the losses; empty: none
  std::uint64_t evaluate_every = 250;  // steps
  std::uint64_t sample_every = 0;      // steps; 0: only at the end
  std::uint64_t save_every = 250;
  std::size_t patience = 0;  // evaluations without improvement before stopping early; 0: never
  text_pairs notes;          // what the checkpoint must remember beside the run
};

/// Training and validation losses over the steps; kept in the checkpoint, so that a resumed run draws the whole curve.
class LossCurve {
 public:
  void training(std::uint64_t step, double loss) { add(0, step, loss); }
  void validation(std::uint64_t step, double loss) { add(1, step, loss); }
  [[nodiscard]] std::string svg(std::string_view title) const { return line_chart(title, "step", "loss", series_); }

  /// One line per point: series, step, loss.
  [[nodiscard]] std::string text() const {
    std::string result;
    for (std::size_t s = 0; s < 2; ++s)
      for (const svg_point& p : series_[s].points)
        result += std::to_string(s) + " " + detail::number_text(p.x) + " " + detail::number_text(p.y) + "\n";
    return result;
  }
  void restore(std::string_view lines) {
    int which = 0;
    double step = 0, loss = 0;
    for (std::size_t begin = 0, end = 0; begin < lines.size(); begin = end + 1) {
      end = lines.find('\n', begin);
      if (end == std::string_view::npos) break;
      if (std::sscanf(std::string(lines.substr(begin, end - begin)).c_str(), "%d %lf %lf", &which, &step, &loss) == 3)
        series_[which == 1 ? 1 : 0].points.push_back({step, loss});
    }
  }

 private:
  void add(std::size_t which, std::uint64_t step, double loss) {
    series_[which].points.push_back({static_cast<double>(step), loss});
  }
  std::vector<svg_series> series_{{"training", {}}, {"validation", {}}};
};

/// Trains until the trainer is finished, the loss stops improving, or someone presses Ctrl-C.
template <class Model>
class TrainingRun {
 public:
  TrainingRun(Trainer<Model>& trainer, run_options options)
      : trainer_(trainer), options_(std::move(options)), terminal_(isatty(STDOUT_FILENO) != 0) {}

  /// Continues the run in the checkpoint. Throws io_error, format_error, shape_error.
  void resume() {
    for (const auto& [key, text] : trainer_.load(options_.checkpoint))
      if (key == "curve") curve_.restore(text);
    std::printf("%s: continuing at step %llu\n", options_.name.c_str(),
                static_cast<unsigned long long>(trainer_.steps()));
  }

  /// Returns the last validation loss; `sample` prints a text made by the model as it is. False in `completed` when
  /// the run was interrupted.
  double operator()(const std::function<void()>& sample, bool& completed) {
    const Progress progress(trainer_.options().steps, trainer_.steps(), trainer_.tokens_per_step());
    double smooth = 0, validation = 0, best = 0;
    std::size_t without_improvement = 0;
    bool saved = false, evaluated = false;
    while (!trainer_.finished() && interrupted() == 0) {
      const step_report report = trainer_.step();
      const std::uint64_t step = trainer_.steps();
      smooth = smooth == 0 ? report.loss : 0.95 * smooth + 0.05 * report.loss;
      if (step % 10 == 0) curve_.training(step, smooth);
      show(progress, step, smooth);
      saved = evaluated = false;
      if (step % options_.evaluate_every == 0) {
        validation = evaluate(step);
        evaluated = true;
        without_improvement = best == 0 || validation < best ? 0 : without_improvement + 1;
        best = best == 0 || validation < best ? validation : best;
      }
      if (options_.sample_every != 0 && step % options_.sample_every == 0) sample();
      if (!options_.checkpoint.empty() && step % options_.save_every == 0) saved = save();
      if (options_.patience != 0 && without_improvement >= options_.patience) {
        say("no improvement in " + std::to_string(without_improvement) + " evaluations: stopping early");
        break;
      }
    }
    completed = interrupted() == 0;
    if (completed && !evaluated) validation = evaluate(trainer_.steps());
    if (!options_.checkpoint.empty() && !saved) save();
    if (!options_.curve.empty()) write_file(options_.curve, curve_.svg(options_.name));
    if (!completed) say("interrupted at step " + std::to_string(trainer_.steps()) + "; --resume continues here");
    if (completed)
      say("done: " + std::to_string(static_cast<long long>(progress.tokens_per_second(trainer_.steps()))) +
          " tokens/s, " + clock_text(progress.seconds()));
    return validation;
  }

 private:
  void say(const std::string& text) const {
    std::printf("%s%s: %s\n", terminal_ ? "\r\x1b[K" : "", options_.name.c_str(), text.c_str());
    std::fflush(stdout);
  }
  void show(const Progress& progress, std::uint64_t step, double loss) const {
    if (terminal_)
      std::fputs(progress.bar(step, loss).c_str(), stdout);
    else if (step % 100 == 0 || step == 1)
      std::printf("%s: %s\n", options_.name.c_str(), progress.line(step, loss).c_str());
    std::fflush(stdout);
  }
  double evaluate(std::uint64_t step) {
    const double loss = trainer_.evaluate();
    curve_.validation(step, loss);
    char text[64];
    std::snprintf(text, sizeof text, "step %llu  validation loss %.4f", static_cast<unsigned long long>(step), loss);
    say(text);
    return loss;
  }
  bool save() {
    text_pairs notes = options_.notes;
    notes.emplace_back("curve", curve_.text());
    trainer_.save(options_.checkpoint, std::move(notes));
    return true;
  }

  Trainer<Model>& trainer_;
  run_options options_;
  bool terminal_;
  LossCurve curve_;
};

}  // namespace example
