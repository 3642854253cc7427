// A program of somebody else's, built against the library by its CMake target alone.
#include <cstdio>
#include <tinygrad/core/random.hpp>

int main() {
  tinygrad::Random rng(1);
  std::printf("%f\n", rng.uniform());
  return 0;
}
