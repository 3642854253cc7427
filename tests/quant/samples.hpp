// Matrices of every format to test with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tinygrad/core/random.hpp>
#include <tinygrad/quant/matrix.hpp>
#include <vector>

namespace tinygrad_test {

using namespace tinygrad;

inline std::vector<float> normal_values(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& x : values) x = static_cast<float>(random.normal());
  return values;
}

// A matrix of any format: made of numbers where that is quick, else blocks of random bytes with ordinary scales.
template <class F>
QuantMatrix sample(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  if constexpr (F::elements < 256) {
    return QuantMatrix::quantise(F::type, rows, columns, normal_values(rows * columns, seed));
  } else {
    Random random(seed);
    const auto memory = std::make_shared<std::vector<std::byte>>(rows * columns / F::elements * F::bytes);
    for (std::byte& b : *memory) b = static_cast<std::byte>(random.uniform(0.0f, 48.0f));  // halves below 1
    return QuantMatrix(F::type, rows, columns, *memory, memory);
  }
}

inline std::vector<float> floats_of(const QuantMatrix& w) {
  std::vector<float> values(w.rows() * w.columns());
  w.dequantise<packed>(values);
  return values;
}

// A number of columns that is no multiple of anything larger than a block.
template <class F>
inline constexpr std::size_t odd_columns = F::elements == 1    ? 77
                                           : F::elements == 32 ? 7 * 32
                                                               : 3 * 256;

}  // namespace tinygrad_test
