// cross_entropy: values, reductions, ignored rows, smoothing, errors, gradients, memory.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <tinygrad/ops/cross_entropy.hpp>
#include <vector>

#include "support/error_text.hpp"
#include "support/op_examples.hpp"

using namespace tinygrad;
using tinygrad_test::check_examples;
using tinygrad_test::error_text;

namespace {

/// Probabilities 1/4, 1/4, 1/2 and 1/10, 9/10, 0 (almost).
template <class T, class P>
Tensor<T, P> two_rows() {
  return Tensor<T, P>::from({0, 0, T(0.6931471805599453), T(-2.1972245773362196), 0, -200}, {2, 3});
}

}  // namespace

TEST_CASE("every example of cross_entropy has right gradients under every policy") {
  check_examples<cross_entropy_op>();
}

TEST_CASE_TEMPLATE("the loss is minus the logarithm of the right class's probability", P, naive, packed,
                   threaded<packed>) {
  const auto logits = two_rows<double, P>();
  const double first = std::log(2.0), second = -std::log(0.9);
  CHECK(cross_entropy(logits, {2, 1}).item() == doctest::Approx((first + second) / 2).epsilon(1e-14));
  CHECK(cross_entropy(logits, {2, 1}, {reduction::sum, -100, 0}).item() ==
        doctest::Approx(first + second).epsilon(1e-14));
  const auto each = cross_entropy(logits, {2, 1}, {reduction::none, -100, 0});
  CHECK(each.shape() == Shape{2});
  CHECK(max_abs_difference(each, Tensor<double, P>::from({first, second})) < 1e-15);
}

TEST_CASE("the gradient is probability minus target: 0.9 on the right class gives -0.1") {
  const auto logits = two_rows<double, packed>().requires_grad();
  cross_entropy(logits, {2, 1}, {reduction::sum, -100, 0}).backward();
  const auto expected = Tensor<double, packed>::from({0.25, 0.25, -0.5, 0.1, -0.1, 0}, {2, 3});
  CHECK(max_abs_difference(logits.grad(), expected) < 1e-15);
  logits.zero_grad();
  cross_entropy(logits, {2, 1}).backward();
  CHECK(max_abs_difference(logits.grad(), Tensor<double, packed>::from({0.125, 0.125, -0.25, 0.05, -0.05, 0}, {2, 3})) <
        1e-15);
}

TEST_CASE("leading axes are rows, and without a reduction the loss keeps them") {
  const auto logits = Tensor<float>::zeros({2, 3, 4});
  const auto each = cross_entropy(logits, {0, 1, 2, 3, 0, 1}, {reduction::none, -100, 0});
  CHECK(each.shape() == Shape{2, 3});
  CHECK(each.data()[5] == doctest::Approx(std::log(4.0)));
  CHECK(cross_entropy(Tensor<float>::zeros({4}), {3}, {reduction::none, -100, 0}).shape() == Shape{});
}

TEST_CASE("ignored rows do not count, whatever they hold") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto logits = Tensor<double>::from({0, 0, nan, nan, 0, std::log(3.0)}, {3, 2}).requires_grad();
  const auto loss = cross_entropy(logits, {0, -100, 0});
  CHECK(loss.item() == doctest::Approx((std::log(2.0) + std::log(4.0)) / 2).epsilon(1e-14));
  loss.backward();
  CHECK(max_abs_difference(logits.grad(), Tensor<double>::from({-0.25, 0.25, 0, 0, -0.375, 0.375}, {3, 2})) < 1e-15);
  const auto each = cross_entropy(logits.detach(), {0, 5, 0}, {reduction::none, 5, 0});
  CHECK(each.data()[1] == 0);
}

TEST_CASE("label smoothing spreads a share of the target over all classes") {
  // q = 0.8 onehot(2) + 0.2 / 3 on p = (1/4, 1/4, 1/2)
  const auto logits = Tensor<double>::from({0, 0, std::log(2.0)}, {1, 3}).requires_grad();
  const auto loss = cross_entropy(logits, {2}, {reduction::mean, -100, 0.2});
  const double fourth = std::log(4.0), half = std::log(2.0);
  CHECK(loss.item() == doctest::Approx(0.8 * half + 0.2 / 3 * (2 * fourth + half)).epsilon(1e-14));
  loss.backward();
  const double floor = 0.2 / 3;
  CHECK(max_abs_difference(logits.grad(),
                           Tensor<double>::from({0.25 - floor, 0.25 - floor, 0.5 - floor - 0.8}, {1, 3})) < 1e-15);
  // all of it: the cross-entropy with the uniform distribution
  CHECK(cross_entropy(Tensor<double>::zeros({1, 5}), {2}, {reduction::mean, -100, 1}).item() ==
        doctest::Approx(std::log(5.0)));
}

TEST_CASE("no rows, and rows that are all ignored, have a mean loss of 0") {
  CHECK(cross_entropy(Tensor<float>::zeros({0, 3}), {}).item() == 0);
  CHECK(cross_entropy(Tensor<float>::zeros({2, 3}), {-100, -100}).item() == 0);
  CHECK(cross_entropy(Tensor<float>::zeros({0, 3}), {}, {reduction::none, -100, 0}).shape() == Shape{0});
}

TEST_CASE("a class that is impossible costs infinitely much, a NaN stays") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(cross_entropy(Tensor<double>::from({0, -infinity}, {1, 2}), {1}).item() == infinity);
  CHECK(cross_entropy(Tensor<double>::from({0, -infinity}, {1, 2}), {0}).item() == 0);
  CHECK(std::isnan(cross_entropy(Tensor<double>::from({0, std::nan("")}, {1, 2}), {0}).item()));
}

TEST_CASE("targets that do not fit are errors that say which") {
  const auto logits = Tensor<float>::zeros({2, 2, 3});
  CHECK(error_text([&] {
          (void)cross_entropy(logits, {0, 1, 2});
        }) == "[cross_entropy] 3 targets for 4 rows: input (2, 2, 3); one target for every row of logits");
  CHECK(error_text([&] {
          (void)cross_entropy(logits, {0, 1, 3, 0});
        }) ==
        "[cross_entropy] target out of range: target 3 at position 2, logits (2, 2, 3); 0 <= target < 3, or "
        "ignore_index -100");
  CHECK_THROWS_AS((void)cross_entropy(logits, {0, -1, 0, 0}), index_error);
  CHECK_THROWS_AS((void)cross_entropy(logits, {0, 1}), shape_error);
  CHECK(error_text([&] { (void)cross_entropy(Tensor<float>::scalar(1), {0}); }) ==
        "[cross_entropy] no axis of classes: input (); logits are (..., classes)");
  for (const double smoothing : {-0.1, 1.5, std::nan("")})
    CHECK_THROWS_AS((void)cross_entropy(logits, {0, 1, 2, 0}, {reduction::mean, -100, smoothing}), value_error);
  CHECK(error_text([&] {
          (void)cross_entropy(logits, {0, 1, 2, 0}, {reduction::mean, -100, 1.5});
        }) == "[cross_entropy] label_smoothing 1.500000 is not between 0 and 1");
}

TEST_CASE("targets may come from any contiguous memory, and need not outlive the call") {
  const auto logits = Tensor<double>::zeros({2, 4}).requires_grad();
  Tensor<double> loss;
  {
    const std::vector<int> classes{3, 0};
    loss = cross_entropy(logits, classes);
  }
  loss.backward();
  CHECK(logits.grad().at({0, 3}) == doctest::Approx(-0.375));
  CHECK(logits.grad().at({1, 0}) == doctest::Approx(-0.375));
}

TEST_CASE("logits used twice get the sum of both gradients, and ignored rows add nothing") {
  const auto logits = Tensor<double, packed>::zeros({2, 2}).requires_grad();
  cross_entropy(logits, {0, 1}, {reduction::sum, -100, 0}).backward();
  cross_entropy(logits, {0, -100}, {reduction::sum, -100, 0}).backward();
  CHECK(max_abs_difference(logits.grad(), Tensor<double, packed>::from({-1, 1, 0.5, -0.5}, {2, 2})) == 0);
}

TEST_CASE("many rows are the same bits for any number of threads") {
  Random random(4);
  const auto logits = Tensor<float, packed>::uniform({300, 131}, random, -5, 5);
  std::vector<int> classes;
  for (int r = 0; r < 300; ++r) classes.push_back(r % 7 == 0 ? -100 : r % 131);
  const auto run = [&](auto policy) {
    using tensor = Tensor<float, decltype(policy)>;
    const tensor leaf = logits.with_policy<decltype(policy)>().clone().requires_grad();
    const tensor loss = cross_entropy(leaf, classes, {reduction::mean, -100, 0.1});
    loss.backward();
    return std::pair(loss.item(), Tensor<float, packed>::from(leaf.grad().data(), leaf.shape()));
  };
  const auto [loss, gradient] = run(packed{});
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    const auto [threaded_loss, threaded_gradient] = run(threaded<packed>{});
    CHECK(threaded_loss == loss);
    CHECK(max_abs_difference(threaded_gradient, gradient) == 0);
  }
  set_num_threads(0);
}
