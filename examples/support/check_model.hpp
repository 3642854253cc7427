// Gradient check of a whole model: every parameter tensor, every number in it, in float by the article's measure and in
// double number by number.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <tinygrad/nn/module.hpp>
#include <tinygrad/ops/cross_entropy.hpp>
#include <tinygrad/testing/gradcheck.hpp>
#include <type_traits>
#include <vector>

namespace example {

using namespace tinygrad;

/// Checks `model` on random ids; its weights are first moved to values at which no gradient drowns in rounding.
template <class Model>
bool check_model(Model& model, std::size_t vocabulary, std::size_t batch, std::size_t length) {
  using tensor = typename Model::tensor;
  using T = typename tensor::value_type;
  constexpr bool in_float = std::is_same_v<T, float>;
  constexpr double limit = in_float ? 1e-3 : 1e-6;
  Random random(3);
  for_each_parameter(model, [&](const std::string& name, const auto& parameter) {
    const bool gain = parameter.rank() == 1 && name.find("ln_") != std::string::npos && name.ends_with("weight");
    for (T& value : parameter.mutable_data()) value = static_cast<T>((gain ? 1.0 : 0.0) + 0.4 * random.normal());
  });
  std::vector<int> ids, targets;
  for (std::size_t i = 0; i < batch * length; ++i) {
    ids.push_back(static_cast<int>(random.below(vocabulary)));
    targets.push_back(static_cast<int>(random.below(vocabulary)));
  }
  cross_entropy_options each;
  each.reduce = reduction::none;  // the check weighs and sums in double
  const std::vector<tensor> all = parameters(model);
  std::printf("== gradient check of the whole model in %s: %zu tensors, %zu parameters, limit %g\n",
              in_float ? "float" : "double", all.size(), parameter_count(model), limit);
  const auto results = gradcheck_each(
      [&](const auto&) { return cross_entropy(model(ids, batch, length), std::span<const int>(targets), each); },
      std::span<const tensor>(all));
  bool passed = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double error = in_float ? results[i].max_relative : results[i].max_elementwise;
    passed &= error < limit;
    std::printf("%-24s %-10s max abs diff = %.2e   max rel diff = %.2e   %s\n", std::string(all[i].name()).c_str(),
                to_string(all[i].shape()).c_str(), results[i].max_absolute, error, error < limit ? "OK" : "FAIL");
  }
  return passed;
}

/// Prints the verdict and returns the exit code.
inline int verdict(bool passed) {
  std::puts(passed ? "all gradients are right" : "SOME GRADIENTS ARE WRONG");
  return passed ? 0 : 1;
}

}  // namespace example
