// The works that bench/compare.py has measured: each is made once from its arguments and then called many times.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <tinygrad/core/random.hpp>
#include <vector>

namespace tinygrad_bench {

using arguments = std::span<const std::string>;

/// One call, and what it must at least do: the arithmetic and the bytes that have to come from memory or cache, from
/// which shares of the machine's limits are computed; zero: not said.
struct work {
  std::function<void()> call;
  double flop = 0, bytes = 0;
};

// Each throws std::invalid_argument for arguments that it does not know. See the files for the arguments.
work make_product(arguments what);    // products.cpp: matrix products, ours and those of OpenBLAS and Eigen
work make_limit(arguments what);      // limits.cpp:   what the machine can do at best
work make_operation(arguments what);  // operations.cpp: elementwise chains, rows, graphs, training of small networks
work make_model(arguments what);      // models.cpp:   training, generation, loading
work make_text(arguments what);       // text.cpp:     tokenizers

void write_model(arguments what);  // models.cpp: random weights as a file

[[nodiscard]] inline std::size_t number(const std::string& text) { return std::stoull(text); }

/// Argument number `index`; throws std::invalid_argument when there are fewer.
[[nodiscard]] inline const std::string& at(arguments what, std::size_t index) {
  if (index >= what.size())
    throw std::invalid_argument(what[0] + ": argument " + std::to_string(index) + " is missing");
  return what[index];
}

template <class T>
[[nodiscard]] std::vector<T> random_numbers(std::size_t count) {
  tinygrad::Random random(1);
  std::vector<T> values(count);
  for (T& x : values) x = random.uniform(T(-1), T(1));
  return values;
}
[[nodiscard]] inline std::vector<int> random_ids(std::size_t count, std::size_t below) {
  tinygrad::Random random(1);
  std::vector<int> ids(count);
  for (int& id : ids) id = static_cast<int>(random.below(below));
  return ids;
}

}  // namespace tinygrad_bench
