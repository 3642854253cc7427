// softmax, log_softmax, causal_softmax: values, masks, axes, errors, gradients, threads.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <tinygrad/ops/softmax.hpp>
#include <vector>

#include "support/error_text.hpp"
#include "support/op_examples.hpp"

using namespace tinygrad;
using tinygrad_test::check_examples;
using tinygrad_test::error_text;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// What softmax is, in the words of its definition: along `axis` of x, one value at a time, in double.
std::vector<double> by_definition(const Tensor<double, naive>& x, int axis, bool logarithm) {
  const std::size_t outer = x.shape().outer(axis), n = x.shape()[axis], inner = x.shape().inner(axis);
  std::vector<double> y(x.count());
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t c = 0; c < inner; ++c) {
      double total = 0;
      for (std::size_t j = 0; j < n; ++j) total += std::exp(x.data()[(o * n + j) * inner + c]);
      for (std::size_t j = 0; j < n; ++j) {
        const std::size_t at = (o * n + j) * inner + c;
        y[at] = logarithm ? x.data()[at] - std::log(total) : std::exp(x.data()[at]) / total;
      }
    }
  return y;
}

}  // namespace

TEST_CASE("every example of the softmax family has right gradients under every policy") {
  check_examples<softmax_op>();
  check_examples<log_softmax_op>();
  check_examples<causal_softmax_op>();
}

TEST_CASE_TEMPLATE("softmax is its definition along every axis", P, naive, packed, threaded<packed>) {
  Random random(1);
  const auto x = Tensor<double, naive>::uniform({3, 5, 67}, random, -3, 3);
  for (const int axis : {0, 1, 2}) {
    const auto y = softmax(x.with_policy<P>(), axis);
    CHECK(max_abs_difference(y, Tensor<double, P>::from(by_definition(x, axis, false), x.shape())) < 1e-15);
    const auto z = log_softmax(x.with_policy<P>(), axis - 3);
    CHECK(max_abs_difference(z, Tensor<double, P>::from(by_definition(x, axis, true), x.shape())) < 1e-14);
  }
}

TEST_CASE("the gradients of softmax and log_softmax worked out by hand") {
  // x = (0, log 3): y = (1/4, 3/4). dy = (1, 0): softmax 3/16, -3/16; log_softmax 1 - 1/4, -3/4.
  const auto x = Tensor<double, naive>::from({0, std::log(3.0)}).requires_grad();
  softmax(x).backward(Tensor<double, naive>::from({1, 0}));
  CHECK(max_abs_difference(x.grad(), Tensor<double, naive>::from({0.1875, -0.1875})) < 1e-15);
  x.zero_grad();
  log_softmax(x).backward(Tensor<double, naive>::from({1, 0}));
  CHECK(max_abs_difference(x.grad(), Tensor<double, naive>::from({0.75, -0.75})) < 1e-15);
}

TEST_CASE("softmax of a rank 0 tensor is 1, of an empty one empty") {
  CHECK(softmax(Tensor<float>::scalar(7)).item() == 1);
  CHECK(log_softmax(Tensor<float>::scalar(7), 0).item() == 0);
  CHECK(softmax(Tensor<float>::zeros({2, 0, 3}), 1).shape() == Shape{2, 0, 3});
}

TEST_CASE("an axis that does not exist is an error") {
  CHECK(error_text([] {
          (void)softmax(Tensor<float>::zeros({2, 3}), 2);
        }) == "[softmax] axis out of range: axis 2, input (2, 3); -rank <= axis < rank");
  CHECK(error_text([] {
          (void)log_softmax(Tensor<float>::zeros({2, 3}), -3);
        }) == "[log_softmax] axis out of range: axis -3, input (2, 3); -rank <= axis < rank");
  CHECK(error_text([] { (void)softmax(Tensor<float>::scalar(1), 1); }) ==
        "[softmax] axis out of range: axis 1, input (); -rank <= axis < rank");
}

TEST_CASE_TEMPLATE("masked values get no weight and no gradient, a row of nothing else is all zeros", P, naive,
                   packed) {
  using tensor = Tensor<double, P>;
  const auto x = tensor::from({0, -infinity, 0, -infinity, -infinity, -infinity}, {2, 3}).requires_grad();
  const auto y = softmax(x);
  CHECK(max_abs_difference(y, tensor::from({0.5, 0, 0.5, 0, 0, 0}, {2, 3})) == 0);
  y.backward(tensor::from({1, 2, 3, 4, 5, 6}, {2, 3}));
  CHECK(max_abs_difference(x.grad(), tensor::from({-0.5, 0, 0.5, 0, 0, 0}, {2, 3})) == 0);

  const auto down = tensor::from({0, -infinity, -infinity, -infinity, 0, -infinity}, {3, 2}).requires_grad();
  const auto z = softmax(down, 0);
  CHECK(max_abs_difference(z, tensor::from({0.5, 0, 0, 0, 0.5, 0}, {3, 2})) == 0);
  z.backward(tensor::from({1, 2, 3, 4, 5, 6}, {3, 2}));
  CHECK(max_abs_difference(down.grad(), tensor::from({-1, 0, 0, 0, 1, 0}, {3, 2})) == 0);
}

TEST_CASE_TEMPLATE("log_softmax of a row of nothing but -inf is -inf, with no gradient", P, naive, packed) {
  using tensor = Tensor<double, P>;
  const auto x = tensor::full({2, 5}, -infinity).requires_grad();
  for (const int axis : {0, 1}) {
    x.zero_grad();
    const auto y = log_softmax(x, axis);
    CHECK(max_abs_difference(y, x) == 0);
    y.backward(tensor::ones({2, 5}));
    CHECK(max_abs_difference(x.grad(), tensor::zeros({2, 5})) == 0);
  }
}

TEST_CASE_TEMPLATE("NaN and +inf make their own row NaN and no other", P, naive, packed) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), infinity}) {
    const auto x = Tensor<double, P>::zeros({3, 70});
    x.mutable_data()[70 + 69] = bad;
    for (const auto& y : {softmax(x), log_softmax(x)}) {
      CHECK(std::isnan(y.data()[70]));
      CHECK(std::isnan(y.data()[70 + 69]));
      CHECK(std::isfinite(y.data()[69]));
      CHECK(std::isfinite(y.data()[140]));
    }
  }
}

TEST_CASE_TEMPLATE("row i of a causal softmax sees columns 0 to i, and more where there are more keys", P, naive,
                   packed, threaded<packed>) {
  using tensor = Tensor<float, P>;
  const auto y = causal_softmax(tensor::zeros({2, 3, 3}));
  const float third = 1.0F / 3;
  const auto square = tensor::from({1, 0, 0, 0.5F, 0.5F, 0, third, third, third}, {3, 3});
  CHECK(max_abs_difference(tensor::from(y.data().subspan(9), {3, 3}), square) < 1e-7);
  // two queries at the end of four keys: the first sees three, the last all
  const auto late = causal_softmax(tensor::zeros({2, 4}));
  CHECK(max_abs_difference(late, tensor::from({third, third, third, 0, 0.25F, 0.25F, 0.25F, 0.25F}, {2, 4})) < 1e-7);
}

TEST_CASE("what lies beyond the diagonal is not read, and gets a gradient of zero") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto x = Tensor<double>::from({1, nan, infinity, 2, 2, nan, 0, 0, 0}, {3, 3}).requires_grad();
  const auto y = causal_softmax(x);
  y.backward(Tensor<double>::from({1, 9, 9, 1, 3, 9, 0, 0, 3}, {3, 3}));
  const double third = 1.0 / 3;
  CHECK(max_abs_difference(y, Tensor<double>::from({1, 0, 0, 0.5, 0.5, 0, third, third, third}, {3, 3})) < 1e-15);
  CHECK(max_abs_difference(x.grad(), Tensor<double>::from({0, 0, 0, -0.5, 0.5, 0, -third, -third, 2 * third}, {3, 3})) <
        1e-15);
}

TEST_CASE("a causal softmax needs a matrix with at least as many keys as queries") {
  CHECK(error_text([] {
          (void)causal_softmax(Tensor<float>::zeros({4, 3}));
        }) == "[causal_softmax] fewer keys than queries: input (4, 3); input[-1] must be at least input[-2]");
  CHECK(error_text([] { (void)causal_softmax(Tensor<float>::zeros({4})); }) ==
        "[causal_softmax] not a matrix of scores: input (4); it needs at least the axes [query, key]");
}

TEST_CASE("an input used twice gets the sum of both gradients") {
  using tensor = Tensor<double, packed>;
  const auto x = tensor::from({0, std::log(3.0)}, {1, 2}).requires_grad();
  softmax(x).backward(tensor::from({1, 0}, {1, 2}));
  log_softmax(x).backward(tensor::from({1, 0}, {1, 2}));
  softmax(x, 0).backward(tensor::from({1, 5}, {1, 2}));  // one value each: no gradient
  causal_softmax(x).backward(tensor::from({1, 0}, {1, 2}));
  CHECK(max_abs_difference(x.grad(), tensor::from({1.125, -1.125}, {1, 2})) < 1e-15);
}

TEST_CASE("large softmax is the same bits for any number of threads") {
  Random random(9);
  const auto x = Tensor<float, packed>::uniform({9, 130, 70}, random, -5, 5);
  for (const int axis : {1, 2}) {
    const auto alone = softmax(x, axis);
    for (const int threads : {2, 3}) {
      set_num_threads(threads);
      CHECK(max_abs_difference(softmax(x.with_policy<threaded<packed>>(), axis), alone) == 0);
    }
  }
  set_num_threads(0);
}
