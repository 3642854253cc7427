// Part 1: derivative, graph, gradient check, fast matrix products, and a network that learns a circle.
//
//   part1_autograd                                          all sections
//   part1_autograd --exercise exp|tanh-bug|sgd-lr           the article's exercises
//   options: --threads N, --policy naive|packed|threaded, --svg FILE (where section 6 draws; "" for nowhere)
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <tinygrad/parallel/split.hpp>
#include <tinygrad/simd/build_info.hpp>

#include "part1.hpp"

namespace {

int usage() {
  std::fputs(
      "usage: part1_autograd [--threads N] [--policy naive|packed|threaded] [--svg FILE]\n"
      "                      [--exercise exp|tanh-bug|sgd-lr]\n",
      stderr);
  return 2;
}

bool run_exercise(std::string_view name) {
  if (name == "exp") return part1::exercise_exp();
  if (name == "tanh-bug") return part1::exercise_tanh_bug();
  part1::exercise_sgd_rate();
  return true;
}

bool run_sections(const part1::options& options) {
  part1::derivative();
  part1::tiny_graph();
  const bool article = part1::gradient_check();
  const bool all = part1::every_operation();
  const bool broken = part1::break_it_on_purpose();
  part1::matrix_products();
  part1::circle(options);
  return article && all && broken;
}

}  // namespace

int main(int count, char** arguments) try {
  part1::options options;
  std::string exercise;
  for (int i = 1; i < count; ++i) {
    const std::string_view flag = arguments[i];
    const char* value = i + 1 < count ? arguments[++i] : nullptr;
    if (value == nullptr) return usage();
    if (flag == "--threads" && std::atoi(value) > 0)
      tinygrad::set_num_threads(std::atoi(value));
    else if (flag == "--policy" && (value == std::string_view("naive") || value == std::string_view("packed") ||
                                    value == std::string_view("threaded")))
      options.policy = value;
    else if (flag == "--svg")
      options.svg = value;
    else if (flag == "--exercise" && (value == std::string_view("exp") || value == std::string_view("tanh-bug") ||
                                      value == std::string_view("sgd-lr")))
      exercise = value;
    else
      return usage();
  }
  const bool passed = exercise.empty() ? run_sections(options) : run_exercise(exercise);
  return passed ? 0 : 1;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "part1_autograd: %s\n", problem.what());
  return 1;
}
