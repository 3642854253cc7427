// ember: one small engine for GPT-2 and Llama models in GGUF files and llama2.c checkpoints, from the command line to
// logits.
#pragma once

#include <cstdint>
#include <string>
#include <tinygrad/generate/sampler.hpp>
#include <tinygrad/io/json.hpp>
#include <vector>

namespace ember {

struct settings {
  std::string command;
  std::string model;      // GGUF file or llama2.c checkpoint
  std::string tokenizer;  // tokenizer.bin of a llama2.c checkpoint; empty: the one that lies beside it
  std::string prompt;
  std::vector<int> ids;  // in place of the prompt: its tokens
  std::string text;      // file: perplexity, probe
  std::string output;
  std::string type = "q8_0";    // of quantize
  std::string format = "auto";  // of chat: as the file says, or one of chat_formats
  std::string system;
  bool json = false;
  bool exact = false;  // products with quantised weights: activations as they are, not rounded to 8 bits
  std::size_t tokens = 64;
  std::size_t chunk = 0;  // tokens of the prompt per pass; 0: all in one
  std::uint64_t seed = 1;
  tinygrad::sampler_options sampling;
};

/// generate, logits, probe, perplexity, chat for one policy, each compiled in a file of its own.
int run_naive(const settings&);
int run_packed(const settings&);
int run_threaded(const settings&);

int info(const settings&);      // metadata, tensors, sizes
int quantize(const settings&);  // a GGUF file into another format
int convert(const settings&);   // a GPT-2 folder or a checkpoint of part 3 into GGUF
int demo(const settings&);      // without arguments: train, export, load, generate

/// Writes a line of JSON to the standard output.
void print_json(tinygrad::json_object object);

}  // namespace ember
