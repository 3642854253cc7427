// Part 2: three models of the next character: counted bigram, trained bigram, and an MLP of the last eight.
//
//   part2_char_model [train]     train, saving to part2_*.safetensors; Ctrl-C saves and leaves
//   part2_char_model sample      write with the saved models
//   part2_char_model check       gradient check of the models
#include <cstdio>
#include <exception>
#include <string>
#include <tinygrad/parallel/split.hpp>

#include "../support/arguments.hpp"
#include "part2.hpp"

namespace {

constexpr const char* usage = R"(usage: part2_char_model [train|sample|check] [options]
  --text FILE          learn this UTF-8 text (default: verses built in)
  --checkpoints NAME   where runs are saved: NAME_bigram.safetensors, NAME_mlp.safetensors (part2); --resume continues
  --bigram-steps N --mlp-steps N --batch N --length N --rate X --seed N
  --evaluate N --save N              every how many steps; --patience N stops early
  --prompt TEXT --characters N --temperature X
  --curve NAME         SVGs of the losses: NAME_bigram.svg, NAME_mlp.svg ("" for none)
  --threads N --policy threaded|packed|naive
)";

part2::settings read_settings(example::Arguments& arguments) {
  part2::settings s;
  s.command = arguments.command("train");
  if (s.command != "train" && s.command != "sample" && s.command != "check")
    throw example::usage_error("unknown command " + s.command);
  s.text = arguments.text("--text", "");
  s.checkpoints = arguments.text("--checkpoints", s.checkpoints);
  s.curve = arguments.text("--curve", s.curve);
  s.resume = arguments.flag("--resume");
  s.bigram_steps = arguments.whole("--bigram-steps", s.bigram_steps);
  s.mlp_steps = arguments.whole("--mlp-steps", s.mlp_steps);
  s.batch = arguments.whole("--batch", s.batch, 1);
  s.length = arguments.whole("--length", s.length, 1);
  s.rate = arguments.real("--rate", s.rate);
  s.seed = arguments.whole("--seed", s.seed);
  s.evaluate_every = arguments.whole("--evaluate", s.evaluate_every, 1);
  s.save_every = arguments.whole("--save", s.save_every, 1);
  s.patience = arguments.whole("--patience", 0);
  s.prompt = arguments.text("--prompt", "");
  s.characters = arguments.whole("--characters", s.characters);
  s.temperature = arguments.real("--temperature", s.temperature);
  return s;
}

}  // namespace

int main(int count, char** values) try {
  example::Arguments arguments(count, values);
  if (arguments.flag("--help")) {
    std::fputs(usage, stdout);
    return 0;
  }
  const part2::settings settings = read_settings(arguments);
  const std::string policy = arguments.choice("--policy", {"threaded", "packed", "naive"});
  if (const auto threads = arguments.whole("--threads", 0); threads > 0)
    tinygrad::set_num_threads(static_cast<int>(threads));
  arguments.done();
  if (settings.command == "check") return part2::check();
  if (policy == "naive") return part2::run_naive(settings);
  if (policy == "packed") return part2::run_packed(settings);
  return part2::run_threaded(settings);
} catch (const example::usage_error& problem) {
  std::fprintf(stderr, "part2_char_model: %s\n%s", problem.what(), usage);
  return 2;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "part2_char_model: %s\n", problem.what());
  return 1;
}
