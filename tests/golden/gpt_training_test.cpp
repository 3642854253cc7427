// Ten training steps of a small GPT against PyTorch, from the same weights and batches (make_gpt_training.py).
#include <doctest/doctest.h>

#include <string>
#include <tinygrad/models/checkpoint.hpp>
#include <tinygrad/models/gpt.hpp>
#include <tinygrad/ops/cross_entropy.hpp>
#include <tinygrad/optim/adam.hpp>
#include <tinygrad/optim/clip.hpp>
#include <tinygrad/testing/close.hpp>
#include <vector>

using namespace tinygrad;

namespace {

const safetensors_file& golden() {
  static const safetensors_file file(TINYGRAD_SOURCE_DIR "/tests/golden/gpt_training.safetensors");
  return file;
}
template <class T>
std::vector<T> values(const std::string& name) {
  return golden().read<T>(golden().at(name));
}

template <class P>
Gpt<float, P> golden_model() {
  gpt_config config;
  config.vocabulary = 13;
  config.positions = 8;
  config.channels = 12;
  config.layers = 2;
  config.heads = 3;
  leave_uninitialized open;
  Gpt<float, P> model(config, open);
  for_each_parameter(model, [](const std::string& name, const auto& p) { detail::read_tensor(golden(), name, p); });
  return model;
}

}  // namespace

TEST_CASE_TEMPLATE("ten steps of a small GPT have PyTorch's losses and the first one its gradients", P, naive,
                   default_policy) {
  Gpt<float, P> model = golden_model<P>();
  const auto ids = values<std::int32_t>("ids"), targets = values<std::int32_t>("targets");
  const auto losses = values<double>("losses");
  adam_options options = AdamW<float, P>::defaults();
  options.learning_rate = 1e-2;
  options.weight_decay = 0.1;
  options.beta2 = 0.99;
  AdamW<float, P> optimizer(parameters(model), options);
  constexpr std::size_t tokens = 3 * 8;
  for (std::size_t step = 0; step < 10; ++step) {
    const auto at = [&](const std::vector<std::int32_t>& all) {
      return std::span<const int>(all).subspan(step * tokens, tokens);
    };
    const auto loss = cross_entropy(model(at(ids), 3, 8), at(targets));
    optimizer.zero_grad();
    loss.backward();
    CAPTURE(step);
    CHECK(static_cast<double>(loss.item()) == doctest::Approx(losses[step]).epsilon(1e-4));
    if (step == 0)
      for_each_parameter(model, [](const std::string& name, const auto& p) {
        CAPTURE(name);
        const auto expected = Tensor<float, P>::from(values<float>("grad." + name), p.shape());
        CHECK(max_abs_difference(p.grad(), expected) <= 1e-4 * max_abs(expected));
      });
    clip_grad_norm(parameters(model), 1.0);
    optimizer.step();
  }
}
