// How fast texts become GPT-2's tokens, in bytes a second, on one thread.
//
//   tokenizer_bench [--vocab FOLDER] [file ...] [--benchmark_... flags]
// The folder has encoder.json and vocab.bpe, or vocab.json and merges.txt; without it GPT2_DIR or TINYGRAD_SHARED_DATA
// say where. Without any vocabulary a small one made here is used, and without files a text made here.
// "warm" keeps what the tokenizer has learned from round to round, as a program that encodes many texts does; "cold"
// begins every round with a tokenizer that has seen nothing. bench/compare.py shows tiktoken beside it.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <tinygrad/core/random.hpp>
#include <tinygrad/text/load_tokenizer.hpp>
#include <vector>

using namespace tinygrad;

namespace {

struct sample {
  std::string name, text;
};

std::optional<std::string> content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// The 256 bytes and some pairs: slower and coarser than GPT-2's vocabulary, but it needs no file.
BpeTokenizer small_tokenizer() {
  bpe_vocabulary v;
  for (const char32_t code : bpe_detail::byte_alphabet()) append_code_point(v.tokens.emplace_back(), code);
  v.merges = {"Ġ t", "h e", "Ġ a", "i n", "r e", "o n", "Ġt he", "e r", "Ġ s", "a t", "n d", "Ġ w", "o r", "Ġa nd"};
  for (std::string merge : v.merges) {
    merge.erase(merge.find(' '), 1);
    v.tokens.push_back(merge);
  }
  return BpeTokenizer(std::move(v));
}

// Words of a thousand made-up ones, the early ones more often, as words are.
std::string made_text() {
  Random random(1);
  std::vector<std::string> words(1000);
  for (std::string& word : words) {
    for (std::uint64_t n = 1 + random.below(9); n > 0; --n) word += "etaoinshrdlucmfw"[random.below(16)];
  }
  std::string text;
  while (text.size() < 1 << 20) {
    text += words[random.below(1 + random.below(words.size()))];
    text += random.below(12) == 0 ? ".\n" : " ";
  }
  return text;
}

std::optional<BpeTokenizer> tokenizer_in(const std::string& folder) {
  const std::string names[][2] = {{"/encoder.json", "/vocab.bpe"}, {"/vocab.json", "/merges.txt"}};
  for (const auto& [vocab, merges] : names) {
    if (content_of(folder + vocab)) return read_gpt2_tokenizer(folder + vocab, folder + merges);
  }
  return std::nullopt;
}

BpeTokenizer find_tokenizer(const std::string& folder) {
  const char *const gpt2 = std::getenv("GPT2_DIR"), *const shared = std::getenv("TINYGRAD_SHARED_DATA");
  std::vector<std::string> places;
  if (!folder.empty()) places.push_back(folder);
  if (gpt2) places.emplace_back(gpt2);
  if (shared) places.push_back(std::string(shared) + "/tokenizer/gpt2");
  for (const std::string& place : places) {
    if (auto found = tokenizer_in(place)) return std::move(*found);
  }
  std::fprintf(stderr, "no vocabulary found (--vocab FOLDER): a small one made here is used\n");
  return small_tokenizer();
}

void report(benchmark::State& state, const sample& s, std::size_t tokens) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(s.text.size()));
  state.counters["tokens"] = static_cast<double>(tokens);
}

void encode_warm(benchmark::State& state, const BpeTokenizer& tok, const sample& s) {
  std::size_t tokens = 0;
  for (auto _ : state) {
    const std::vector<token_id> ids = tok.encode(s.text);
    benchmark::DoNotOptimize(ids.data());
    tokens = ids.size();
  }
  report(state, s, tokens);
}

void encode_cold(benchmark::State& state, const BpeTokenizer& tok, const sample& s) {
  std::size_t tokens = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto fresh = std::make_unique<BpeTokenizer>(tok);
    state.ResumeTiming();
    const std::vector<token_id> ids = fresh->encode(s.text);
    benchmark::DoNotOptimize(ids.data());
    tokens = ids.size();
    state.PauseTiming();
    fresh.reset();
    state.ResumeTiming();
  }
  report(state, s, tokens);
}

void decode(benchmark::State& state, const BpeTokenizer& tok, const sample& s) {
  const std::vector<token_id> ids = tok.encode(s.text);
  for (auto _ : state) {
    const std::string text = tok.decode_bytes(ids);
    benchmark::DoNotOptimize(text.data());
  }
  report(state, s, ids.size());
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::string folder;
  std::vector<sample> samples;
  for (int k = 1; k < argc; ++k) {
    const std::string argument = argv[k];
    if (argument == "--vocab" && k + 1 < argc) {
      folder = argv[++k];
    } else if (auto text = content_of(argument)) {
      samples.push_back({argument.substr(argument.find_last_of('/') + 1), std::move(*text)});
    } else {
      std::fprintf(stderr, "cannot read %s\n", argument.c_str());
      return 1;
    }
  }
  if (samples.empty()) samples.push_back({"made", made_text()});
  const BpeTokenizer tok = find_tokenizer(folder);
  for (const sample& s : samples) {
    benchmark::RegisterBenchmark(("encode/warm/" + s.name).c_str(), encode_warm, std::cref(tok), std::cref(s));
    benchmark::RegisterBenchmark(("encode/cold/" + s.name).c_str(), encode_cold, std::cref(tok), std::cref(s));
    benchmark::RegisterBenchmark(("decode/" + s.name).c_str(), decode, std::cref(tok), std::cref(s));
  }
  benchmark::RunSpecifiedBenchmarks();
}
