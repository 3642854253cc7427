// The worker of bench/compare.py: a process that measures what it is asked to, so that the runner can let it and its
// peers take turns. Works and their arguments are in the other files here.
//
//   compare_worker                              one request a line: THREADS SECONDS WORK [ARGUMENT ...]
//   compare_worker once THREADS CALLS WORK ...  that many calls, for tools that count instructions
//   compare_worker write gpt2|llama TYPE FILE   random weights
//   compare_worker describe                     the build and its peers, as JSON
// The answer to a request is a line of JSON: seconds of one call (the mean over calls for about SECONDS), the calls,
// calls of the general allocator in one of them, the process's peak of memory, and what a call has to do at least.
// A work is made at its first request and kept; SECONDS 0 is one call after one that is not timed.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <thread>
#include <tinygrad/io/json.hpp>
#include <tinygrad/parallel/thread_pool.hpp>
#include <tinygrad/simd/build_info.hpp>

#include "../../tests/support/allocations.hpp"
#include "../support/machine.hpp"
#include "worker.hpp"

#if defined(TINYGRAD_BENCH_OPENBLAS)
#include <cblas.h>
#endif

namespace {

using namespace tinygrad;
using namespace tinygrad_bench;

work make_work(arguments what) {
  static const std::map<std::string, work (*)(arguments)> makers{
      {"gemm", make_product},     {"gemv", make_product},         {"fma", make_limit},
      {"read", make_limit},       {"chain", make_operation},      {"softmax", make_operation},
      {"circle", make_operation}, {"layer_norm", make_operation}, {"cross_entropy", make_operation},
      {"xor", make_operation},    {"graph", make_operation},      {"decode", make_model},
      {"prefill", make_model},    {"train", make_model},          {"load", make_model},
      {"tokenize", make_text}};
  const auto found = makers.find(what[0]);
  if (found == makers.end()) throw std::invalid_argument("no work is called " + what[0]);
  return found->second(what);
}

void use_threads(int count) {
  set_num_threads(count);
#if defined(TINYGRAD_BENCH_OPENBLAS)
  openblas_set_num_threads(count);
#endif
}

/// VmHWM: the most memory that this process ever had resident.
double peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return 1024 * std::stod(line.substr(6));
  return 0;
}

/// A work and how long its last call took, so that only short ones are called once more before they are timed.
struct made_work {
  work what;
  double last = 0;
};

json_value measure(made_work& made, double seconds) {
  const work& w = made.what;
  if (seconds == 0 || made.last < 0.05) w.call();  // caches, threads, pools
  std::size_t calls = 0;
  double passed = 0;
  const std::size_t before = test_support::allocations();
  const auto begin = std::chrono::steady_clock::now();
  do {
    w.call();
    ++calls;
    passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  } while (passed < seconds);
  const std::size_t allocated = test_support::allocations() - before;
  const auto count = static_cast<double>(calls);
  made.last = passed / count;
  json_object answer;
  answer.push_back({"seconds", made.last});
  answer.push_back({"calls", count});
  answer.push_back({"allocations", static_cast<double>(allocated) / count});
  answer.push_back({"peak_bytes", peak_bytes()});
  answer.push_back({"flop", w.flop});
  answer.push_back({"bytes", w.bytes});
  return json_value(std::move(answer));
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

void serve() {
  std::map<std::string, made_work> works;
  for (std::string line; std::getline(std::cin, line);) {
    json_value answer;
    try {
      const std::vector<std::string> words = words_of(line);
      if (words.size() < 3) throw std::invalid_argument("a request is THREADS SECONDS WORK [ARGUMENT ...]");
      const auto what = arguments(words).subspan(2);
      use_threads(std::stoi(words[0]));
      std::string key;
      for (const std::string& word : what) key += word + ' ';
      if (!works.contains(key)) works[key].what = make_work(what);
      answer = measure(works[key], std::stod(words[1]));
    } catch (const std::exception& problem) {
      answer = json_value(json_object{{"error", json_value(std::string(problem.what()))}});
    }
    std::printf("%s\n", write_json(answer).c_str());
    std::fflush(stdout);
  }
}

void describe() {
  const build_description build = build_info();
  json_object text;
  text.push_back({"isa", std::string(build.isa)});
  text.push_back({"backend", std::string(build.backend)});
  text.push_back({"float_lanes", static_cast<double>(build.float_lanes)});
#if defined(__clang__)
  text.push_back({"compiler", std::string("clang ") + std::to_string(__clang_major__)});
#else
  text.push_back({"compiler", std::string("g++ ") + std::to_string(__GNUC__)});
#endif
#if defined(TINYGRAD_BENCH_OPENBLAS)
  text.push_back({"openblas", std::string(openblas_get_corename())});
#endif
#if defined(TINYGRAD_BENCH_EIGEN)
  text.push_back({"eigen", std::string("yes")});
#endif
  std::printf("%s\n", write_json(json_value(std::move(text))).c_str());
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> words(values + 1, values + count);
  const std::string mode = words.empty() ? "" : words[0];
  try {
    if (mode.empty()) {
      serve();
    } else if (mode == "describe") {
      describe();
    } else if (mode == "write" && words.size() == 4) {
      write_model(arguments(words).subspan(1));
    } else if (mode == "once" && words.size() > 3) {
      use_threads(std::stoi(words[1]));
      const work w = make_work(arguments(words).subspan(3));
      for (std::size_t i = number(words[2]); i > 0; --i) w.call();
    } else {
      std::fputs("usage: compare_worker [describe | once THREADS CALLS WORK ... | write gpt2|llama TYPE FILE]\n",
                 stderr);
      return 2;
    }
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
  return 0;
}
