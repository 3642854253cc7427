// ember: one small engine for GPT-2 and Llama models in GGUF files, from the command line to logits.
#pragma once

#include <cstdint>
#include <string>
#include <tinygrad/generate/sampler.hpp>

namespace ember {

struct settings {
  std::string command;
  std::string model;  // GGUF file
  std::string prompt;
  std::string text;  // file: perplexity, probe
  std::string output;
  std::string type = "q8_0";      // of quantize
  std::string format = "chatml";  // of chat: chatml, llama2, llama3, plain
  std::string system;
  bool json = false;
  std::size_t tokens = 64;
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

/// Text as a JSON string, quotes included.
std::string json_text(const std::string& text);

}  // namespace ember
