// Whole workloads, timed on their own, for bench/compare.py to set beside other programs: one line with a rate.
//
//   workloads train  LAYERS CHANNELS HEADS VOCABULARY BATCH LENGTH THREADS [SECONDS]     tokens/s of training steps
//   workloads decode LAYERS CHANNELS HEADS VOCABULARY PROMPT TOKENS THREADS [SECONDS]    tokens/s after the prompt
//   workloads prefill LAYERS CHANNELS HEADS VOCABULARY PROMPT 0 THREADS [SECONDS]        tokens/s of the prompt
//   workloads circle 0 0 0 0 0 0 THREADS [SECONDS]                                       steps/s of the circle network
// The median over all repetitions of SECONDS (default 3) is printed as "RATE unit (spread P%)".
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <tinygrad/generate/generate.hpp>
#include <tinygrad/models/gpt.hpp>
#include <tinygrad/ops/cross_entropy.hpp>
#include <tinygrad/optim/adam.hpp>
#include <tinygrad/optim/clip.hpp>
#include <vector>

using namespace tinygrad;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Prints the median rate of `step`, which does `units` of work, over repetitions for `seconds`.
void report(double units, const char* unit, double seconds, const std::function<void()>& step) {
  for (int i = 0; i < 3; ++i) step();  // memory pools, threads, caches
  std::vector<double> rates;
  const double end = now() + seconds;
  do {
    const double start = now();
    step();
    rates.push_back(units / (now() - start));
  } while (now() < end || rates.size() < 5);
  std::sort(rates.begin(), rates.end());
  const double middle = rates[rates.size() / 2];
  std::printf("%.6g %s (spread %.0f%%)\n", middle, unit,
              100 * (rates[rates.size() * 3 / 4] - rates[rates.size() / 4]) / middle);
}

std::vector<int> random_ids(std::size_t count, std::size_t vocabulary) {
  Random random(1);
  std::vector<int> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(static_cast<int>(random.below(vocabulary)));
  return ids;
}

void train(Gpt<float>& model, std::size_t batch, std::size_t length, double seconds) {
  const auto ids = random_ids(batch * length, model.vocabulary()), targets = random_ids(ids.size(), model.vocabulary());
  const auto all = parameters(model);
  AdamW<float> optimizer(all);
  report(static_cast<double>(batch * length), "tokens/s", seconds, [&] {
    const auto loss = cross_entropy(model(ids, batch, length), std::span<const int>(targets));
    optimizer.zero_grad();
    loss.backward();
    clip_grad_norm(all, 1.0);
    optimizer.step();
  });
}

void prefill(const Gpt<float>& model, std::size_t prompt, double seconds) {
  const auto ids = random_ids(prompt, model.vocabulary());
  auto cache = model.make_cache(1, prompt);
  report(static_cast<double>(prompt), "tokens/s", seconds, [&] {
    cache.clear();
    static_cast<void>(model.forward(ids, 1, prompt, cache, logits_of::last));
  });
}

void decode(const Gpt<float>& model, std::size_t prompt, std::size_t tokens, double seconds) {
  const auto ids = random_ids(prompt, model.vocabulary());
  auto cache = model.make_cache(1, prompt + tokens);
  static_cast<void>(model.forward(ids, 1, prompt, cache, logits_of::last));
  report(static_cast<double>(tokens), "tokens/s", seconds, [&] {
    cache.truncate(prompt);
    for (std::size_t i = 0; i < tokens; ++i)
      static_cast<void>(model.forward(std::span<const int>(ids).first(1), 1, 1, cache, logits_of::last));
  });
}

void circle(double seconds) {
  Random random(1);
  const auto x = Tensor<float>::uniform({256, 2}, random, -1, 1);
  const auto labels = random_ids(256, 2);
  const auto w1 = Tensor<float>::randn({2, 16}, random, 0.5F).requires_grad();
  const auto b1 = Tensor<float>::zeros({16}).requires_grad();
  const auto w2 = Tensor<float>::randn({16, 2}, random, 0.5F).requires_grad();
  const auto b2 = Tensor<float>::zeros({2}).requires_grad();
  AdamW<float> optimizer({w1, b1, w2, b2});
  report(100, "steps/s", seconds, [&] {
    for (int i = 0; i < 100; ++i) {
      const auto loss = cross_entropy(matmul(tanh(matmul(x, w1) + b1), w2) + b2, labels);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
    }
  });
}

}  // namespace

int main(int count, char** values) {
  if (count < 9) {
    std::fputs("usage: workloads train|decode|prefill|circle LAYERS CHANNELS HEADS VOCABULARY A B THREADS [SECONDS]\n",
               stderr);
    return 2;
  }
  const std::string what = values[1];
  const auto number = [&](int i) { return static_cast<std::size_t>(std::strtoull(values[i], nullptr, 10)); };
  set_num_threads(static_cast<int>(number(8)));
  const double seconds = count > 9 ? std::atof(values[9]) : 3;
  if (what == "circle") {
    circle(seconds);
    return 0;
  }
  gpt_config config;
  config.layers = number(2);
  config.channels = number(3);
  config.heads = number(4);
  config.vocabulary = number(5);
  config.positions = what == "train" ? number(7) : number(6) + number(7);
  Random random(1);
  Gpt<float> model(config, random);
  if (what == "train")
    train(model, number(6), number(7), seconds);
  else if (what == "prefill")
    prefill(model, number(6), seconds);
  else
    decode(model, number(6), number(7), seconds);
  return 0;
}
