// Decoding makes no call to the general allocator once it is warm.
#include <doctest/doctest.h>

#include <cstddef>
#include <tinygrad/generate/generate.hpp>
#include <tinygrad/models/gpt.hpp>
#include <tinygrad/models/llama.hpp>
#include <vector>

#include "support/allocations.hpp"

using namespace tinygrad;

namespace {

/// Calls to the allocator between the second and the last of the tokens generated.
template <class Model>
std::size_t calls_while_decoding(const Model& model) {
  sampler_options sampling;
  sampling.top_k = 5;
  sampling.repetition_penalty = 1.1;
  Sampler sampler(sampling, 3);
  generate_options options;
  options.max_tokens = 30;
  std::size_t seen = 0, start = 0;
  static_cast<void>(generate(model, std::vector<int>{1, 2, 3}, options, sampler, [&](int) {
    if (++seen == 2) start = test_support::allocations();
    return true;
  }));
  return test_support::allocations() - start;
}

}  // namespace

TEST_CASE("GPT decodes without the general allocator after the first tokens") {
  gpt_config config;
  config.vocabulary = 20;
  config.positions = 40;
  config.channels = 16;
  config.layers = 2;
  config.heads = 2;
  Random random(1);
  CHECK(calls_while_decoding(Gpt<float>(config, random)) == 0);
}

TEST_CASE("Llama decodes without the general allocator after the first tokens") {
  llama_config config;
  config.vocabulary = 20;
  config.positions = 40;
  config.channels = 16;
  config.layers = 2;
  config.heads = 4;
  config.groups = 2;
  config.hidden = 24;
  config.head_norms = true;
  Random random(1);
  CHECK(calls_while_decoding(Llama<float>(config, random)) == 0);
}
