// Part 3: a GPT of 457,440 parameters that learns to write verse on a CPU.
//
//   part3_tiny_gpt [train]     train, saving to part3.safetensors; Ctrl-C saves and leaves
//   part3_tiny_gpt sample      write with the saved model
//   part3_tiny_gpt check       gradient check of the whole model
#include <cstdio>
#include <exception>
#include <string>
#include <tinygrad/parallel/split.hpp>

#include "../support/arguments.hpp"
#include "part3.hpp"

namespace {

constexpr const char* usage = R"(usage: part3_tiny_gpt [train|sample|check] [options]
  --text FILE         learn this UTF-8 text (default: verses built in)
  --checkpoint FILE   where the run is saved (part3.safetensors); --resume continues it
  --steps N --batch N --accumulate N --rate X --warmup N --decay X --clip X --seed N
  --layers N --channels N --heads N --block N
  --evaluate N --sample N --save N   every how many steps; --patience N stops early
  --prompt TEXT --characters N --temperature X --top-k N
  --curve FILE        SVG of the losses ("" for none)
  --attention FILE    SVG of the attention of --layer N --head N
  --threads N --policy threaded|packed|naive
)";

part3::settings read_settings(example::Arguments& arguments) {
  part3::settings s;
  s.command = arguments.command("train");
  if (s.command != "train" && s.command != "sample" && s.command != "check")
    throw example::usage_error("unknown command " + s.command);
  s.text = arguments.text("--text", "");
  s.checkpoint = arguments.text("--checkpoint", s.checkpoint);
  s.curve = arguments.text("--curve", s.curve);
  s.attention = arguments.text("--attention", "");
  s.layer = arguments.whole("--layer", 0);
  s.head = arguments.whole("--head", 0);
  s.resume = arguments.flag("--resume");
  s.model.layers = arguments.whole("--layers", 4, 1);
  s.model.channels = arguments.whole("--channels", 96, 1);
  s.model.heads = arguments.whole("--heads", 4, 1);
  s.model.positions = arguments.whole("--block", 64, 1);
  s.steps = arguments.whole("--steps", s.steps);
  s.warmup = arguments.whole("--warmup", s.warmup);
  s.batch = arguments.whole("--batch", s.batch, 1);
  s.accumulate = arguments.whole("--accumulate", s.accumulate, 1);
  s.rate = arguments.real("--rate", s.rate);
  s.decay = arguments.real("--decay", s.decay);
  s.clip = arguments.real("--clip", s.clip);
  s.seed = arguments.whole("--seed", s.seed);
  s.evaluate_every = arguments.whole("--evaluate", s.evaluate_every, 1);
  s.sample_every = arguments.whole("--sample", s.sample_every);
  s.save_every = arguments.whole("--save", s.save_every, 1);
  s.patience = arguments.whole("--patience", 0);
  s.prompt = arguments.text("--prompt", "");
  s.characters = arguments.whole("--characters", s.characters);
  s.temperature = arguments.real("--temperature", s.temperature);
  s.top_k = arguments.whole("--top-k", 0);
  return s;
}

}  // namespace

int main(int count, char** values) try {
  example::Arguments arguments(count, values);
  if (arguments.flag("--help")) {
    std::fputs(usage, stdout);
    return 0;
  }
  const part3::settings settings = read_settings(arguments);
  const std::string policy = arguments.choice("--policy", {"threaded", "packed", "naive"});
  if (const auto threads = arguments.whole("--threads", 0); threads > 0)
    tinygrad::set_num_threads(static_cast<int>(threads));
  arguments.done();
  if (settings.command == "check") return part3::check();
  if (policy == "naive") return part3::run_naive(settings);
  if (policy == "packed") return part3::run_packed(settings);
  return part3::run_threaded(settings);
} catch (const example::usage_error& problem) {
  std::fprintf(stderr, "part3_tiny_gpt: %s\n%s", problem.what(), usage);
  return 2;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "part3_tiny_gpt: %s\n", problem.what());
  return 1;
}
