// Gradient check of a whole GPT: every parameter tensor, every number in it, in float by the article's measure and in
// double number by number.
#include <cstdio>
#include <string>
#include <tinygrad/testing/gradcheck.hpp>
#include <tinygrad/tinygrad.hpp>
#include <vector>

#include "part3.hpp"

using namespace tinygrad;

namespace {

/// Small, so that moving each number twice takes seconds, but with every kind of layer twice.
gpt_config small_model() {
  gpt_config config;
  config.vocabulary = 11;
  config.positions = 6;
  config.channels = 8;
  config.layers = 2;
  config.heads = 2;
  return config;
}

/// Weights large enough that no gradient drowns in float's rounding; gains and biases are moved off 1 and 0.
template <class T>
Gpt<T> make_model() {
  Random random(3);
  Gpt<T> model(small_model(), random);
  for_each_parameter(model, [&](const std::string& name, const auto& parameter) {
    const bool gain = parameter.rank() == 1 && name.find("ln_") != std::string::npos && name.ends_with("weight");
    for (T& value : parameter.mutable_data()) value = static_cast<T>((gain ? 1.0 : 0.0) + 0.4 * random.normal());
  });
  return model;
}

template <class T>
bool check_all(const char* type, double limit, double (*measure)(const gradcheck_result&)) {
  Gpt<T> model = make_model<T>();
  const gpt_config config = small_model();
  Random random(4);
  std::vector<int> ids, targets;
  for (std::size_t i = 0; i < 2 * config.positions; ++i) {
    ids.push_back(static_cast<int>(random.below(config.vocabulary)));
    targets.push_back(static_cast<int>(random.below(config.vocabulary)));
  }
  cross_entropy_options each;
  each.reduce = reduction::none;  // the check weighs and sums in double
  const auto loss = [&](const auto&) {
    return cross_entropy(model(ids, 2, config.positions), std::span<const int>(targets), each);
  };
  const std::vector<Tensor<T>> all = parameters(model);
  std::printf("== gradient check of the whole model in %s: %zu tensors, %zu parameters, limit %g\n", type, all.size(),
              parameter_count(model), limit);
  const auto results = gradcheck_each(loss, std::span<const Tensor<T>>(all));
  bool passed = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double error = measure(results[i]);
    passed &= error < limit;
    std::printf("%-24s %-10s max abs diff = %.2e   max rel diff = %.2e   %s\n", std::string(all[i].name()).c_str(),
                to_string(all[i].shape()).c_str(), results[i].max_absolute, error, error < limit ? "OK" : "FAIL");
  }
  return passed;
}

}  // namespace

int part3::check() {
  const bool in_float = check_all<float>("float", 1e-3, [](const gradcheck_result& r) { return r.max_relative; });
  const bool in_double = check_all<double>("double", 1e-6, [](const gradcheck_result& r) { return r.max_elementwise; });
  std::puts(in_float && in_double ? "all gradients are right" : "SOME GRADIENTS ARE WRONG");
  return in_float && in_double ? 0 : 1;
}
