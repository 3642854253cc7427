// Walks the examples that an operation gives of itself: gradients in double, agreement of policies, and that threads
// change no bit.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <tinygrad/testing/gradcheck.hpp>
#include <tinygrad/testing/policy_check.hpp>
#include <vector>

namespace tinygrad_test {

inline std::string shapes_as_text(const std::vector<tinygrad::Shape>& shapes) {
  std::string text;
  for (const auto& shape : shapes) text += to_string(shape) + " ";
  return text;
}

/// Largest deviation of the gradients of one example from their measured slopes, in double.
template <class P, class F>
double gradient_error(F f, const std::vector<tinygrad::Shape>& shapes, tinygrad::value_range range) {
  tinygrad::Random random(11);
  std::vector<tinygrad::Tensor<double, P>> inputs;
  for (const auto& shape : shapes)
    inputs.push_back(tinygrad::Tensor<double, P>::uniform(shape, random, range.low, range.high));
  return gradcheck(f, inputs).max_elementwise;
}

/// True when output and gradients are the same bits on one thread and on the pool.
template <class T, class F>
bool threads_change_nothing(F f, const std::vector<tinygrad::Shape>& shapes, tinygrad::value_range range) {
  using namespace tinygrad;
  const auto one = tinygrad::detail::run_both_ways<T, packed>(f, shapes, range);
  const auto many = tinygrad::detail::run_both_ways<T, threaded<packed>>(f, shapes, range);
  bool same = one.size() == many.size();
  for (std::size_t i = 0; same && i < one.size(); ++i)
    same = one[i].shape() == many[i].shape() &&
           (one[i].count() == 0 ||
            std::memcmp(one[i].data().data(), many[i].data().data(), one[i].count() * sizeof(T)) == 0);
  return same;
}

/// All of that for one example. Four instantiations of the operation and no more: this is most of what a test file
/// costs to compile.
struct check_example {
  template <class F>
  void operator()(const std::vector<tinygrad::Shape>& shapes, F f, tinygrad::value_range range = {}) const {
    using namespace tinygrad;
    const std::string on = shapes_as_text(shapes);
    CAPTURE(on);
    CHECK(gradient_error<naive>(f, shapes, range) < 1e-6);
    CHECK(gradient_error<packed>(f, shapes, range) < 1e-6);
    CHECK(policy_check<packed, float>(f, shapes, range).ok());
    CHECK(threads_change_nothing<float>(f, shapes, range));
  }
};

template <class Op>
void check_examples() {
  Op::examples(check_example{});
}

/// The text of the error that `action` throws, or "no error".
template <class F>
std::string text_of_error(F action) {
  try {
    action();
  } catch (const tinygrad::error& caught) {
    return caught.what();
  }
  return "no error";
}

}  // namespace tinygrad_test
