// dropout: how much is dropped, that backward uses the same mask, that masks depend on the generator alone.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <tinygrad/ops/dropout.hpp>

#include "support/op_examples.hpp"

using namespace tinygrad;
using tinygrad_test::text_of_error;

namespace {
template <class T, class P>
std::size_t zeros_in(const Tensor<T, P>& x) {
  std::size_t count = 0;
  for (const T value : x.data()) count += value == 0;
  return count;
}
}  // namespace

TEST_CASE("a share p is dropped and the rest is scaled, so that the mean stays") {
  for (const double p : {0.1, 0.5, 0.9}) {
    Random generator(1);
    const std::size_t n = 100003;
    const auto y = dropout(Tensor<double, packed>::ones({n}), p, generator);
    const double sd = std::sqrt(p * (1 - p) * static_cast<double>(n));
    CHECK(std::fabs(static_cast<double>(zeros_in(y)) - p * static_cast<double>(n)) < 4 * sd);
    std::size_t scaled = 0;
    for (const double value : y.data()) scaled += value == 1 / (1 - p);
    CHECK(scaled + zeros_in(y) == n);
  }
}

TEST_CASE("neighbours are dropped independently of each other") {
  Random generator(2);
  const auto y = dropout(Tensor<float, packed>::ones({100000}), 0.5, generator);
  for (const std::size_t distance : {1U, 2U, 3U, 32U, 64U}) {
    std::size_t equal = 0;
    for (std::size_t i = 0; i + distance < y.count(); ++i) equal += (y.data()[i] == 0) == (y.data()[i + distance] == 0);
    CHECK(std::fabs(static_cast<double>(equal) - 50000) < 4 * 158);
  }
}

TEST_CASE("backward drops what forward dropped") {
  Random generator(3);
  const auto x = Tensor<float, packed>::ones({1000}).requires_grad();
  const auto y = dropout(x, 0.3, generator);
  generator();  // what is drawn later changes nothing
  y.backward(Tensor<float, packed>::ones({1000}));
  CHECK(max_abs_difference(x.grad(), y) == 0);
  CHECK(zeros_in(y) > 200);
}

TEST_CASE("the mask depends on the generator, not on the policy, the type or the number of threads") {
  const auto masked = []<class T, class P>(T, P) {
    Random generator(4);
    return dropout(Tensor<T, P>::ones({70000}), 0.5, generator);
  };
  const auto y = masked(0.0F, naive{});
  CHECK(max_abs_difference(y, masked(0.0F, packed{})) == 0);
  CHECK(max_abs_difference(y, masked(0.0F, threaded<packed>{})) == 0);
  CHECK(max_abs_difference(y, masked(0.0, packed{})) == 0);
  Random generator(4);
  const auto x = Tensor<float, packed>::ones({1000});
  const auto first = dropout(x, 0.5, generator), second = dropout(x, 0.5, generator);
  CHECK(max_abs_difference(first, second) == 2);
}

TEST_CASE("without training, or with p = 0, dropout is its input and draws nothing") {
  Random generator(5);
  const Random before = generator;
  const auto x = Tensor<float>::ones({3});
  CHECK(dropout(x, 0.5, generator, false).handle() == x.handle());
  CHECK(dropout(x, 0, generator).handle() == x.handle());
  CHECK(generator == before);
}

TEST_CASE("an infinity that is dropped is zero") {
  Random generator(6);
  const auto y = dropout(Tensor<float, packed>::full({100}, std::numeric_limits<float>::infinity()), 0.5, generator);
  for (const float value : y.data()) CHECK_UNARY(value == 0 || std::isinf(value));
}

TEST_CASE("p must be a probability below 1") {
  Random generator(7);
  const auto x = Tensor<float>::ones({3});
  CHECK(text_of_error([&] { static_cast<void>(dropout(x, 1.0, generator)); }) ==
        "[dropout] p is 1.000000; the probability of dropping must lie in [0, 1)");
  CHECK_THROWS_AS(static_cast<void>(dropout(x, -0.1, generator)), value_error);
  CHECK_THROWS_AS(static_cast<void>(dropout(x, std::nan(""), generator, false)), value_error);
}
