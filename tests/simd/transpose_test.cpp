#include <doctest/doctest.h>

#include <cstddef>
#include <tinygrad/simd/transpose.hpp>
#include <vector>

namespace {
using namespace tinygrad;

template <class V>
void check_transpose() {
  using T = scalar_of<V>;
  constexpr int n = lanes<V>, from_row = n + 3, to_row = n + 5;
  std::vector<T> from(static_cast<std::size_t>(n * from_row)), to(static_cast<std::size_t>(n * to_row), T(-1));
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i);
  transpose_square<V>(from.data(), from_row, to.data(), to_row);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < to_row; ++j) {
      const T expected = j < n ? static_cast<T>(j * from_row + i) : T(-1);
      CHECK(to[static_cast<std::size_t>(i * to_row + j)] == expected);
    }
  }
}
}  // namespace

TEST_CASE("a square is transposed and nothing beside it is written") {
  check_transpose<pack<float>>();
  check_transpose<pack<double>>();
  check_transpose<pack<float, 4>>();
  check_transpose<pack<float, 8>>();
  check_transpose<pack<double, 2>>();
  check_transpose<pack<double, 4>>();
}
