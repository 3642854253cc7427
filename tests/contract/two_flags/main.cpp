// Builds of the library for different instruction sets live side by side in one program and agree.
#include <cmath>
#include <cstdio>
#include <tinygrad/core/error.hpp>

#include "units.hpp"

namespace {

bool close(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size() || a.empty()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::fabs(a[i] - b[i]) <= 2e-6f)) return false;
  return true;
}

bool catches(void (*thrower)()) {
  try {
    thrower();
  } catch (const tinygrad::shape_error&) {
    return true;
  }
  return false;
}

}  // namespace

int main() {
  std::printf("units: %s, %s, %s\n", plain::build().c_str(), native::build().c_str(), one_lane::build().c_str());
  const bool apart = one_lane::build() != plain::build();
  const bool same_results = close(plain::train(), native::train()) && close(plain::train(), one_lane::train());
  const bool errors_cross = catches(plain::fail) && catches(native::fail) && catches(one_lane::fail);
  std::printf("namespaces differ: %d, results agree: %d, errors cross units: %d\n", apart, same_results, errors_cross);
  return apart && same_results && errors_cross ? 0 : 1;
}
