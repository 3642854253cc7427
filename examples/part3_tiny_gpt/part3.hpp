// Part 3 of the series: a small GPT that learns to write verse, character by character.
#pragma once

#include <cstdint>
#include <string>
#include <tinygrad/models/gpt.hpp>

namespace part3 {

struct settings {
  std::string command = "train";
  std::string text;  // file to learn; empty: the built-in verses
  std::string checkpoint = "part3.safetensors";
  std::string curve = "part3_loss.svg";
  std::string attention;  // SVG file of attention maps; empty: none
  std::size_t layer = 0, head = 0;
  bool resume = false;
  tinygrad::gpt_config model;
  std::uint64_t steps = 0, warmup = 100;  // 0 steps: 2000 for a file, 300 for the built-in verses, which are few
  std::size_t batch = 32, accumulate = 1;
  double rate = 2e-3, decay = 0.1, clip = 1;
  std::uint64_t seed = 1;
  std::uint64_t evaluate_every = 250, sample_every = 500, save_every = 250;
  std::size_t patience = 0;
  std::string prompt;
  std::size_t characters = 300;
  double temperature = 0.8;
  std::size_t top_k = 0;
};

/// One function per policy, each compiled in a file of its own. Returns the exit code.
int run_naive(const settings&);
int run_packed(const settings&);
int run_threaded(const settings&);

/// Gradient check of the whole model; part3_check.cpp.
int check();

}  // namespace part3
