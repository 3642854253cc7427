// ember: GPT-2 and Llama models from GGUF files and llama2.c checkpoints on the command line.
#include <charconv>
#include <cstdio>
#include <exception>
#include <string>
#include <tinygrad/parallel/split.hpp>
#include <vector>

#include "../support/arguments.hpp"
#include "ember.hpp"

namespace {

constexpr const char* usage = R"(usage: ember                                       a demonstration that needs nothing
       ember generate   --model FILE --prompt TEXT [--tokens N]
       ember logits     --model FILE --prompt TEXT   the ten likeliest next tokens; with --output FILE.npy the
                                                     logits of every position, too
       ember probe      --model FILE --text FILE     one stimulus a line, expected continuation after a tab;
                                                     writes --output NAME .npy and _correctness.json
       ember perplexity --model FILE --text FILE
       ember chat       --model FILE [--prompt TEXT] [--format auto|chatml|llama2|llama3|plain] [--system TEXT]
       ember info       --model FILE
       ember quantize   --model FILE --output FILE [--type q8_0|q4_0|q4_k|q6_k|f16|...]
       ember convert    --model FOLDER|CHECKPOINT --output FILE [--type f32|f16|q8_0|...]     GPT-2, Llama, Qwen to GGUF
  FILE is a GGUF or a llama2.c checkpoint, told by its content; a checkpoint's tokenizer.bin lies beside it or is given
  with --tokenizer FILE. Generation stops where the model's context ends, and says so.
  --ids 1,2,3   the prompt as token numbers             --chunk N   N tokens of the prompt a pass, in place of all
  --json        one line of JSON in place of text, with every command that takes a model
  --exact       float activations times dequantised weights, in place of activations rounded to 8 bits; slower
  --temperature X --top-k N --top-p X --min-p X --repetition-penalty X --seed N
  --threads N --policy threaded|packed|naive
)";

/// "1,2,3", blanks allowed.
std::vector<int> read_ids(const std::string& text) {
  std::vector<int> ids;
  for (const char *p = text.data(), *const end = p + text.size(); p < end;) {
    if (*p == ',' || *p == ' ') {
      ++p;
      continue;
    }
    int id = 0;
    const auto [next, status] = std::from_chars(p, end, id);
    if (status != std::errc{}) throw example::usage_error("--ids needs numbers with commas between, got " + text);
    ids.push_back(id);
    p = next;
  }
  return ids;
}

ember::settings read_settings(example::Arguments& arguments) {
  ember::settings s;
  s.command = arguments.command("demo");
  s.model = arguments.text("--model", "");
  s.tokenizer = arguments.text("--tokenizer", "");
  s.prompt = arguments.text("--prompt", "");
  s.ids = read_ids(arguments.text("--ids", ""));
  s.text = arguments.text("--text", "");
  s.output = arguments.text("--output", "");
  s.type = arguments.text("--type", s.command == "convert" ? "f32" : s.type);
  s.format = arguments.choice("--format", {"auto", "chatml", "llama2", "llama3", "plain"});
  s.system = arguments.text("--system", "");
  s.json = arguments.flag("--json");
  s.exact = arguments.flag("--exact");
  s.tokens = arguments.whole("--tokens", s.command == "chat" ? 256 : s.tokens, 1);
  s.chunk = arguments.whole("--chunk", 0);
  s.seed = arguments.whole("--seed", s.seed);
  s.sampling.temperature = arguments.real("--temperature", 0.8);
  s.sampling.top_k = arguments.whole("--top-k", 40);
  s.sampling.top_p = arguments.real("--top-p", 0.95);
  s.sampling.min_p = arguments.real("--min-p", 0);
  s.sampling.repetition_penalty = arguments.real("--repetition-penalty", 1);
  return s;
}

void require(bool ok, const std::string& what) {
  if (!ok) throw example::usage_error(what);
}

int run(const ember::settings& s, const std::string& policy) {
  if (s.command == "demo") return ember::demo(s);
  require(!s.model.empty(), s.command + " needs --model");
  if (s.command == "info") return ember::info(s);
  if (s.command == "quantize" || s.command == "convert") {
    require(!s.output.empty(), s.command + " needs --output");
    return s.command == "quantize" ? ember::quantize(s) : ember::convert(s);
  }
  const bool of_text = s.command == "probe" || s.command == "perplexity";
  const bool of_prompt = s.command == "generate" || s.command == "logits";
  require(of_text || of_prompt || s.command == "chat", "unknown command " + s.command);
  require(!of_text || !s.text.empty(), s.command + " needs --text");
  require(!of_prompt || !s.prompt.empty() || !s.ids.empty(), s.command + " needs --prompt or --ids");
  if (policy == "naive") return ember::run_naive(s);
  if (policy == "packed") return ember::run_packed(s);
  return ember::run_threaded(s);
}

}  // namespace

int main(int count, char** values) try {
  example::Arguments arguments(count, values);
  if (arguments.flag("--help")) {
    std::fputs(usage, stdout);
    return 0;
  }
  const ember::settings settings = read_settings(arguments);
  const std::string policy = arguments.choice("--policy", {"threaded", "packed", "naive"});
  if (const auto threads = arguments.whole("--threads", 0); threads > 0)
    tinygrad::set_num_threads(static_cast<int>(threads));
  arguments.done();
  return run(settings, policy);
} catch (const example::usage_error& problem) {
  std::fprintf(stderr, "ember: %s\n%s", problem.what(), usage);
  return 2;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "ember: %s\n", problem.what());
  return 1;
}
