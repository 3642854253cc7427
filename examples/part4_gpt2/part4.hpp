// Part 4 of the series: real GPT-2 weights in the class of part 3.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <tinygrad/models/load.hpp>
#include <tinygrad/text/load_tokenizer.hpp>

namespace part4 {

using namespace tinygrad;

using model_type = Gpt<float>;

struct settings {
  std::string folder;  // config.json, model.safetensors, vocab.json, merges.txt
  std::string prompt = "The capital of France is";
  std::string text;  // to fine-tune on
  std::string save = "finetuned.safetensors";
  std::uint64_t steps = 100, seed = 42;
  std::size_t tokens = 40, batch = 4, length = 64;
  double temperature = 0.8, rate = 3e-5;
  std::size_t top_k = 40;
};

/// The model in a folder, its weights looking into the mapped file. Throws io_error, format_error, shape_error.
struct loaded_model {
  Tokenizer tokenizer;
  model_type model;
  load_report report;
};
loaded_model load(const std::string& folder);

void tour(const settings&);      // header, tokens, next token, cache, generation
int compare(const settings&);    // against the files that examples/reference/hf_reference.py wrote
void finetune(const settings&);  // continue training from the loaded weights

/// Writes a small random model with the same files as GPT-2's into `folder`, for machines without the real one.
void make_stand_in(const std::string& folder);

/// Seconds since `start`.
double seconds_since(std::chrono::steady_clock::time_point start);

}  // namespace part4
