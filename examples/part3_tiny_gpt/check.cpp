// Gradient check of a whole GPT: small, so that moving each number twice takes seconds, but with every kind of layer
// twice.
#include <tinygrad/models/gpt.hpp>

#include "../support/check_model.hpp"
#include "part3.hpp"

using namespace tinygrad;

namespace {

template <class T>
bool check_gpt() {
  gpt_config config;
  config.vocabulary = 11;
  config.positions = 6;
  config.channels = 8;
  config.layers = 2;
  config.heads = 2;
  Random random(3);
  Gpt<T> model(config, random);
  return example::check_model(model, config.vocabulary, 2, config.positions);
}

}  // namespace

int part3::check() {
  const bool in_float = check_gpt<float>();
  const bool in_double = check_gpt<double>();
  return example::verdict(in_float && in_double);
}
