// The second half of section 3: every operation of the library on its own example shapes, in double, where each single
// derivative can be held to 1e-6.
#include <cmath>
#include <cstdio>
#include <string>
#include <tinygrad/testing/gradcheck.hpp>
#include <tinygrad/tinygrad.hpp>
#include <vector>

#include "part1.hpp"

using namespace tinygrad;
using tensor = Tensor<double, naive>;  // one thread, one lane: the quickest to compile

namespace {

template <class Op>
gradcheck_result check_all_examples() {
  Random random(2);
  gradcheck_result worst;
  Op::examples([&](const std::vector<Shape>& shapes, auto call, value_range range = {}) {
    std::vector<tensor> inputs;
    for (const Shape& shape : shapes) inputs.push_back(tensor::uniform(shape, random, range.low, range.high));
    const gradcheck_result result = gradcheck(call, inputs);
    worst.max_absolute = std::fmax(worst.max_absolute, result.max_absolute);
    worst.max_elementwise = std::fmax(worst.max_elementwise, result.max_elementwise);
  });
  return worst;
}

}  // namespace

bool part1::every_operation() {
  std::printf("-- every operation of the library (%zu), in double, each derivative within 1e-6\n", all_ops::count);
  bool passed = true;
  all_ops::for_each([&]<class Op>() {
    const gradcheck_result result = check_all_examples<Op>();
    const bool ok = result.max_elementwise < 1e-6;
    passed &= ok;
    std::printf("%-22s max abs diff = %s   max rel diff = %s   %s\n", std::string(Op::name).c_str(),
                scientific(result.max_absolute).c_str(), scientific(result.max_elementwise).c_str(),
                ok ? "OK" : "FAIL");
  });
  std::puts("");
  return passed;
}
