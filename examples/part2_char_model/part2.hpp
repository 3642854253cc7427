// Part 2 of the series: three models of the next character, from counting to a network.
#pragma once

#include <cstdint>
#include <string>

namespace part2 {

struct settings {
  std::string command = "train";
  std::string text;                   // file to learn; empty: the built-in verses
  std::string checkpoints = "part2";  // names of the files of the trained models start with this
  std::string curve = "part2_loss";   // so do the SVGs of their losses; empty: none
  bool resume = false;
  std::uint64_t bigram_steps = 500, mlp_steps = 3000;
  std::size_t batch = 32, length = 32;
  double rate = 2e-3;
  std::uint64_t seed = 1;
  std::uint64_t evaluate_every = 500, save_every = 500;
  std::size_t patience = 0;
  std::string prompt;
  std::size_t characters = 200;
  double temperature = 1;

  [[nodiscard]] std::string checkpoint(const char* model) const { return checkpoints + "_" + model + ".safetensors"; }
};

/// One function per policy, each compiled in a file of its own. Returns the exit code.
int run_naive(const settings&);
int run_packed(const settings&);
int run_threaded(const settings&);

/// Gradient check of the trained models.
int check();

}  // namespace part2
