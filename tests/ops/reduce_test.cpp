// sum, mean and max: values, shapes, errors, ties, NaN, empty axes, gradients.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <tinygrad/ops/reduce.hpp>
#include <vector>

#include "support/error_text.hpp"
#include "support/op_examples.hpp"

using namespace tinygrad;
using tinygrad_test::check_examples;
using tinygrad_test::error_text;

TEST_CASE("every example of sum, mean and max has right gradients under every policy") {
  check_examples<sum_op>();
  check_examples<mean_op>();
  check_examples<max_op>();
}

TEST_CASE_TEMPLATE("reductions have the values worked out by hand", P, naive, packed, threaded<packed>) {
  using tensor = Tensor<float, P>;
  const tensor x = tensor::from({1, 2, 3, 6, 5, 4}, {2, 3});
  CHECK(sum(x).item() == 21);
  CHECK(sum(x).shape() == Shape{});
  CHECK(max_abs_difference(sum(x, 0), tensor::from({7, 7, 7})) == 0);
  CHECK(max_abs_difference(sum(x, -1), tensor::from({6, 15})) == 0);
  CHECK(max_abs_difference(sum(x, 1, true), tensor::from({6, 15}, {2, 1})) == 0);
  CHECK(sum(x, {0, 1}, true).shape() == Shape{1, 1});
  CHECK(mean(x).item() == 3.5F);
  CHECK(max_abs_difference(mean(x, 1), tensor::from({2, 5})) == 0);
  CHECK((max)(x).item() == 6);
  CHECK(max_abs_difference((max)(x, 0), tensor::from({6, 5, 4})) == 0);
}

TEST_CASE_TEMPLATE("axes that are not neighbours are reduced together", P, naive, packed, threaded<packed>) {
  using tensor = Tensor<double, P>;
  const tensor y = tensor::from(tensor::arange(24).data(), {2, 3, 4}).requires_grad();
  // over axes 0 and 2: middle row m holds 4m .. 4m+3 and 12 + 4m .. 12 + 4m + 3
  CHECK(max_abs_difference(sum(y, {0, 2}), tensor::from({60, 92, 124})) == 0);
  CHECK(max_abs_difference(sum(y, {2, 0}), sum(y, {0, -1})) == 0);
  CHECK(max_abs_difference((max)(y, {0, 2}), tensor::from({15, 19, 23})) == 0);
  sum(y, {0, 2}).backward(tensor::from({1, 2, 3}));
  CHECK(y.grad().at({0, 0, 3}) == 1);
  CHECK(y.grad().at({1, 1, 0}) == 2);
  CHECK(y.grad().at({1, 2, 2}) == 3);
}

TEST_CASE("reducing nothing: the sum is 0, the mean is NaN, the maximum is an error") {
  using tensor = Tensor<float>;
  const tensor none = tensor::zeros({0, 3});
  CHECK(sum(none).item() == 0);
  CHECK(max_abs_difference(sum(none, 0), tensor::zeros({3})) == 0);
  CHECK(sum(none, 1).shape() == Shape{0});
  CHECK(std::isnan(mean(none).item()));
  CHECK(std::isnan(mean(none, 0).data()[2]));
  CHECK(error_text([&] { (void)(max)(none, 0); }) ==
        "[max] nothing to reduce: input (0, 3); a reduced axis needs at least one element");
  CHECK(error_text([&] { (void)(max)(none); }) ==
        "[max] nothing to reduce: input (0, 3); a reduced axis needs at least one element");
  CHECK((max)(none, 1).shape() == Shape{0});  // no maximum is needed
  CHECK((max)(tensor::zeros({0, 0}), 0).shape() == Shape{0});
}

TEST_CASE("axes that do not exist or are given twice are errors") {
  const Tensor<float> x = Tensor<float>::zeros({2, 3});
  CHECK(error_text([&] { (void)sum(x, 2); }) == "[sum] axis out of range: axis 2, input (2, 3); -rank <= axis < rank");
  CHECK(error_text([&] {
          (void)mean(x, {0, -3});
        }) == "[mean] axis out of range: axis -3, input (2, 3); -rank <= axis < rank");
  CHECK_THROWS_AS((void)sum(Tensor<float>::scalar(1), 0), index_error);
  CHECK(error_text([&] {
          (void)(max)(x, {1, -1});
        }) == "[max] axis -1 is given twice: input (2, 3); every axis at most once");
  CHECK_THROWS_AS((void)sum(x, {0, 0}), shape_error);
  const std::vector<int> seven(7, 0);
  CHECK(error_text([&] { (void)sum(x, std::span<const int>(seven)); }) == "[axis_list] 7 axes; a tensor has at most 6");
}

TEST_CASE_TEMPLATE("elements that tie for the maximum share its gradient equally", P, naive, packed) {
  using tensor = Tensor<double, P>;
  const tensor x = tensor::from({2, 5, 5, 7, 1, 7, 7, 7}, {2, 4}).requires_grad();
  (max)(x, 1).backward(tensor::from({3, 6}));
  CHECK(max_abs_difference(x.grad(), tensor::from({0, 0, 0, 3, 0, 2, 2, 2}, {2, 4})) == 0);
  x.zero_grad();
  (max)(x).backward();  // four sevens
  CHECK(max_abs_difference(x.grad(), tensor::from({0, 0, 0, 0.25, 0, 0.25, 0.25, 0.25}, {2, 4})) == 0);
}

TEST_CASE_TEMPLATE("a NaN anywhere makes sum, mean and max NaN", P, naive, packed, threaded<packed>) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::size_t n : {std::size_t{1}, std::size_t{5}, std::size_t{100}}) {
    for (std::size_t at = 0; at < n; ++at) {
      const auto x = Tensor<float, P>::zeros({n});
      x.mutable_data()[at] = nan;
      const bool all = std::isnan(sum(x).item()) && std::isnan(mean(x).item()) && std::isnan((max)(x).item());
      CHECK(all);
      const auto pair =
          Tensor<float, P>::from(std::vector<float>{0, at % 2 == 0 ? nan : 1, 2, at % 2 == 0 ? 1 : nan}, {2, 2});
      CHECK(std::isnan((max)(pair, 0).data()[1]));
      CHECK((max)(pair, 0).data()[0] == 2);
    }
  }
}

TEST_CASE("the gradient of a NaN maximum goes to the NaN") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto x = Tensor<double>::from({1, nan, 3}).requires_grad();
  (max)(x).backward();
  CHECK(max_abs_difference(x.grad(), Tensor<double>::from({0, 1, 0})) == 0);
}

TEST_CASE("the maximum of values that are all -inf is -inf") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK((max)(Tensor<float>::full({40}, -infinity)).item() == -infinity);
}

TEST_CASE("a tensor reduced twice gets the sum of both gradients") {
  const auto x = Tensor<double>::from({1, 2, 3, 4}, {2, 2}).requires_grad();
  sum(x, 0).backward(Tensor<double>::from({1, 10}));
  mean(x, 1).backward(Tensor<double>::from({2, 4}));
  (max)(x).backward();
  CHECK(max_abs_difference(x.grad(), Tensor<double>::from({2, 11, 3, 13}, {2, 2})) == 0);
}

TEST_CASE("long sums are the same bits for any number of threads, and accurate") {
  Random random(5);
  const auto x = Tensor<float, packed>::uniform({300007}, random);
  double exact = 0;
  for (const float value : x.data()) exact += static_cast<double>(value);
  const float alone = sum(x).item();
  CHECK(std::fabs(static_cast<double>(alone) - exact) < 1e-6 * exact);
  for (const int threads : {1, 2, 3, 5}) {
    set_num_threads(threads);
    CHECK(sum(x.with_policy<threaded<packed>>()).item() == alone);
  }
  set_num_threads(0);
}
