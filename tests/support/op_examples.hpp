// Walks the examples that an operation gives of itself: gradients in double, agreement of policies, and that threads
// change no bit.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
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

/// One example for tensors of one kind, behind a type of its own: gradient and policy checks are then compiled once a
/// kind, not once an example, which is most of what these tests cost to compile.
template <class T, class P>
using example_call = std::function<tinygrad::Tensor<T, P>(std::span<const tinygrad::Tensor<T, P>>)>;

/// An example for every kind that is tried.
struct any_example : example_call<double, tinygrad::naive>,
                     example_call<double, tinygrad::packed>,
                     example_call<float, tinygrad::naive>,
                     example_call<float, tinygrad::packed>,
                     example_call<float, tinygrad::threaded<tinygrad::packed>> {
  template <class F>
  explicit any_example(const F& f)
      : example_call<double, tinygrad::naive>(f),
        example_call<double, tinygrad::packed>(f),
        example_call<float, tinygrad::naive>(f),
        example_call<float, tinygrad::packed>(f),
        example_call<float, tinygrad::threaded<tinygrad::packed>>(f) {}

  template <class T, class P>
  tinygrad::Tensor<T, P> operator()(std::span<const tinygrad::Tensor<T, P>> x) const {
    return example_call<T, P>::operator()(x);
  }
  template <class T, class P>
  tinygrad::Tensor<T, P> operator()(const std::vector<tinygrad::Tensor<T, P>>& x) const {
    return example_call<T, P>::operator()(x);
  }
};

/// Largest deviation of the gradients of one example from their measured slopes, in double.
template <class P>
double gradient_error(const any_example& f, const std::vector<tinygrad::Shape>& shapes, tinygrad::value_range range) {
  tinygrad::Random random(11);
  std::vector<tinygrad::Tensor<double, P>> inputs;
  for (const auto& shape : shapes)
    inputs.push_back(tinygrad::Tensor<double, P>::uniform(shape, random, range.low, range.high));
  return gradcheck(f, inputs).max_elementwise;
}

/// True when output and gradients are the same bits on one thread and on the pool.
inline bool threads_change_nothing(const any_example& f, const std::vector<tinygrad::Shape>& shapes,
                                   tinygrad::value_range range) {
  using namespace tinygrad;
  const auto one = tinygrad::detail::run_both_ways<float, packed>(f, shapes, range);
  const auto many = tinygrad::detail::run_both_ways<float, threaded<packed>>(f, shapes, range);
  bool same = one.size() == many.size();
  for (std::size_t i = 0; same && i < one.size(); ++i)
    same = one[i].shape() == many[i].shape() &&
           (one[i].count() == 0 ||
            std::memcmp(one[i].data().data(), many[i].data().data(), one[i].count() * sizeof(float)) == 0);
  return same;
}

inline void check_one_example(const std::vector<tinygrad::Shape>& shapes, const any_example& f,
                              tinygrad::value_range range) {
  const std::string on = shapes_as_text(shapes);
  CAPTURE(on);
  CHECK(gradient_error<tinygrad::naive>(f, shapes, range) < 1e-6);
  CHECK(gradient_error<tinygrad::packed>(f, shapes, range) < 1e-6);
  CHECK(tinygrad::policy_check<tinygrad::packed, float>(f, shapes, range).ok());
  CHECK(threads_change_nothing(f, shapes, range));
}

/// What an operation's `examples` is called with.
struct check_example {
  template <class F>
  void operator()(const std::vector<tinygrad::Shape>& shapes, const F& f, tinygrad::value_range range = {}) const {
    check_one_example(shapes, any_example(f), range);
  }
};

/// All of that for every example of `Op`.
template <class Op>
void check_examples() {
  Op::examples(check_example{});
}

/// The text of the error that `action` throws, or "no error".
inline std::string text_of_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const tinygrad::error& caught) {
    return caught.what();
  }
  return "no error";
}

}  // namespace tinygrad_test
