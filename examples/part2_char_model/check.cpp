// Gradient check of the trained models, small.
#include <tinygrad/models/bigram.hpp>
#include <tinygrad/models/char_mlp.hpp>

#include "../support/check_model.hpp"
#include "part2.hpp"

using namespace tinygrad;

namespace {

template <class T>
bool check_both() {
  Bigram<T> bigram(7);
  char_mlp_config config;
  config.vocabulary = 7;
  config.context = 3;
  config.channels = 4;
  config.hidden = 10;
  Random random(3);
  CharMlp<T> mlp(config, random);
  const bool table = example::check_model(bigram, 7, 2, 6);
  const bool network = example::check_model(mlp, 7, 2, 6);
  return table && network;
}

}  // namespace

int part2::check() {
  const bool in_float = check_both<float>();
  const bool in_double = check_both<double>();
  return example::verdict(in_float && in_double);
}
