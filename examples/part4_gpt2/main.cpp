// Part 4: GPT-2's published weights, loaded into the class of part 3.
//
//   part4_gpt2 ["a prompt"]          the article's tour with the default or your prompt
//   part4_gpt2 compare               against reference files of Hugging Face transformers
//   part4_gpt2 finetune --text FILE  go on training from the loaded weights
// The model is looked for in --model DIR, then in the environment's GPT2_DIR, then in models/gpt2. Where there is none,
// the program says how to get it and runs on a small random model that it makes itself.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <tinygrad/parallel/split.hpp>

#include "../support/arguments.hpp"
#include "part4.hpp"

namespace {

constexpr const char* usage = R"(usage: part4_gpt2 [PROMPT | compare | finetune --text FILE] [options]
  --model DIR       folder with config.json, model.safetensors, vocab.json, merges.txt (or GPT2_DIR; models/gpt2)
  --tokens N --temperature X --top-k N --seed N
  --steps N --batch N --length N --rate X --save FILE      for finetune
  --threads N
)";

std::string model_folder(std::string given) {
  const char* from_environment = std::getenv("GPT2_DIR");
  if (given.empty() && from_environment != nullptr) given = from_environment;
  if (!given.empty()) return given;
  if (std::filesystem::exists("models/gpt2/config.json")) return "models/gpt2";
  std::puts(
      "No weights of GPT-2 found. To get them (548 MB, MIT licence), in the build folder:\n"
      "    cmake --build . --target download-gpt2\n"
      "then run this with --model DIR or GPT2_DIR=DIR, the folder it names. Until then everything below runs on a "
      "small\n"
      "random model in the same files, made just now in part4_stand_in/: its text is noise.\n");
  part4::make_stand_in("part4_stand_in");
  return "part4_stand_in";
}

int run(example::Arguments& arguments) {
  part4::settings s;
  s.folder = arguments.text("--model", "");
  s.text = arguments.text("--text", "");
  s.save = arguments.text("--save", s.save);
  s.steps = arguments.whole("--steps", s.steps, 1);
  s.batch = arguments.whole("--batch", s.batch, 1);
  s.length = arguments.whole("--length", s.length, 1);
  s.rate = arguments.real("--rate", s.rate);
  s.tokens = arguments.whole("--tokens", s.tokens, 1);
  s.temperature = arguments.real("--temperature", s.temperature);
  s.top_k = arguments.whole("--top-k", s.top_k);
  s.seed = arguments.whole("--seed", s.seed);
  if (const auto threads = arguments.whole("--threads", 0); threads > 0)
    tinygrad::set_num_threads(static_cast<int>(threads));
  const std::string words = arguments.remaining();
  s.folder = model_folder(s.folder);
  if (words == "compare") return part4::compare(s);
  if (words == "finetune") {
    if (s.text.empty()) throw example::usage_error("finetune needs --text FILE");
    part4::finetune(s);
    return 0;
  }
  if (!words.empty()) s.prompt = words;
  part4::tour(s);
  return 0;
}

}  // namespace

part4::loaded_model part4::load(const std::string& folder) {
  leave_uninitialized open;
  loaded_model result{
      load_tokenizer(folder), model_type(read_gpt_config(read_json_file(folder + "/config.json")), open), {}};
  result.report = load_weights(result.model, safetensors_model(folder));
  return result;
}

double part4::seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int main(int count, char** values) try {
  example::Arguments arguments(count, values);
  if (arguments.flag("--help")) {
    std::fputs(usage, stdout);
    return 0;
  }
  return run(arguments);
} catch (const example::usage_error& problem) {
  std::fprintf(stderr, "part4_gpt2: %s\n%s", problem.what(), usage);
  return 2;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "part4_gpt2: %s\n", problem.what());
  return 1;
}
