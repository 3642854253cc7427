// layer_norm and rms_norm: values, optional parameters, errors, gradients, threads.
#include <doctest/doctest.h>

#include <cmath>
#include <tinygrad/ops/norm.hpp>

#include "support/error_text.hpp"
#include "support/op_examples.hpp"

using namespace tinygrad;
using tinygrad_test::check_examples;
using tinygrad_test::error_text;

TEST_CASE("every example of layer_norm and rms_norm has right gradients under every policy") {
  check_examples<layer_norm_op>();
  check_examples<rms_norm_op>();
}

TEST_CASE_TEMPLATE("layer_norm has the values worked out by hand", P, naive, packed, threaded<packed>) {
  using tensor = Tensor<double, P>;
  // mean 2, variance (4 + 0 + 4) / 3; eps brings it to 4
  const tensor x = tensor::from({0, 2, 4}, {1, 3});
  const double eps = 4 - 8.0 / 3;
  CHECK(max_abs_difference(layer_norm(x, eps), tensor::from({-1, 0, 1}, {1, 3})) < 1e-15);
  const tensor w = tensor::from({2, 3, 4}), b = tensor::from({10, 20, 30});
  CHECK(max_abs_difference(layer_norm(x, w, eps), tensor::from({-2, 0, 4}, {1, 3})) < 1e-15);
  CHECK(max_abs_difference(layer_norm(x, w, b, eps), tensor::from({8, 20, 34}, {1, 3})) < 1e-14);
}

TEST_CASE_TEMPLATE("rms_norm has the values worked out by hand", P, naive, packed, threaded<packed>) {
  using tensor = Tensor<double, P>;
  const tensor x = tensor::from({3, 4, 0, 0}, {1, 4});  // mean square 25 / 4
  CHECK(max_abs_difference(rms_norm(x, 0), tensor::from({1.2, 1.6, 0, 0}, {1, 4})) < 1e-15);
  const tensor w = tensor::from({1, 2, 3, 4});
  CHECK(max_abs_difference(rms_norm(x, w, 0), tensor::from({1.2, 3.2, 0, 0}, {1, 4})) < 1e-15);
  CHECK(max_abs_difference(rms_norm(x, 2.75), tensor::from({1, 4.0 / 3, 0, 0}, {1, 4})) < 1e-15);
}

TEST_CASE("gradients of layer_norm worked out by hand") {
  using tensor = Tensor<double, packed>;
  // xhat = (-1, 0, 1), 1 / sqrt(variance + eps) = 1/2, g = w dy = (2, 0, 0): mean g = 2/3, mean g xhat = -2/3
  const tensor x = tensor::from({0, 2, 4}, {1, 3}).requires_grad();
  const tensor w = tensor::from({2, 3, 4}).requires_grad(), b = tensor::zeros({3}).requires_grad();
  layer_norm(x, w, b, 4 - 8.0 / 3).backward(tensor::from({1, 0, 0}, {1, 3}));
  CHECK(max_abs_difference(x.grad(), tensor::from({1.0 / 3, -1.0 / 3, 0}, {1, 3})) < 1e-15);
  CHECK(max_abs_difference(w.grad(), tensor::from({-1, 0, 0})) < 1e-15);
  CHECK(max_abs_difference(b.grad(), tensor::from({1, 0, 0})) == 0);
}

TEST_CASE("only the gradients that are wanted are made") {
  using tensor = Tensor<float>;
  const tensor x = tensor::from({1, 2, 4, 8}, {2, 2}), w = tensor::ones({2}).requires_grad(), b = tensor::ones({2});
  layer_norm(x, w, b).backward(tensor::ones({2, 2}));
  CHECK(w.has_grad());
  CHECK_FALSE(x.has_grad());
  CHECK_FALSE(b.has_grad());
  const tensor leaf = x.clone().requires_grad();
  rms_norm(leaf, w.detach()).backward(tensor::ones({2, 2}));
  CHECK(leaf.has_grad());
}

TEST_CASE("inputs and parameters used twice get the sum of both gradients") {
  using tensor = Tensor<double, packed>;
  const tensor x = tensor::from({0, 2, 4}, {1, 3}).requires_grad();
  const tensor w = tensor::from({2, 3, 4}).requires_grad(), b = tensor::zeros({3}).requires_grad();
  for (int i = 0; i < 2; ++i) layer_norm(x, w, b, 4 - 8.0 / 3).backward(tensor::from({1, 0, 0}, {1, 3}));
  CHECK(max_abs_difference(x.grad(), tensor::from({2.0 / 3, -2.0 / 3, 0}, {1, 3})) < 1e-15);
  CHECK(max_abs_difference(w.grad(), tensor::from({-2, 0, 0})) < 1e-15);
  CHECK(max_abs_difference(b.grad(), tensor::from({2, 0, 0})) == 0);
}

TEST_CASE("parameters that do not fit and a negative eps are errors") {
  using tensor = Tensor<float>;
  const tensor x = tensor::zeros({2, 3}), three = tensor::ones({3}), two = tensor::ones({2});
  CHECK(error_text([&] { (void)layer_norm(x, two); }) ==
        "[layer_norm] weight or bias does not fit: lhs (2, 3), rhs (2); it must have shape (lhs[-1])");
  CHECK(error_text([&] {
          (void)layer_norm(x, three, tensor::ones({1, 3}));
        }) == "[layer_norm] weight or bias does not fit: lhs (2, 3), rhs (1, 3); it must have shape (lhs[-1])");
  CHECK_THROWS_AS((void)rms_norm(x, two), shape_error);
  CHECK(error_text([&] { (void)rms_norm(x, three, -1); }) == "[rms_norm] eps -1.000000 is negative");
  CHECK_THROWS_AS((void)layer_norm(x, std::nan("")), value_error);
}

TEST_CASE("no rows give parameter gradients of zero, rows of nothing give nothing") {
  using tensor = Tensor<float>;
  const tensor w = tensor::ones({3}).requires_grad(), b = tensor::ones({3}).requires_grad();
  layer_norm(tensor::zeros({0, 3}), w, b).backward(tensor::zeros({0, 3}));
  CHECK(max_abs_difference(w.grad(), tensor::zeros({3})) == 0);
  CHECK(max_abs_difference(b.grad(), tensor::zeros({3})) == 0);
  CHECK(layer_norm(tensor::zeros({3, 0})).shape() == Shape{3, 0});
}

TEST_CASE("parameter gradients over many rows are the same bits for any number of threads, and accurate") {
  Random random(2);
  const auto values = Tensor<float, packed>::uniform({1000, 70}, random, -1, 1);
  const auto upstream = Tensor<float, packed>::uniform({1000, 70}, random, -1, 1);
  const auto run = [&](auto policy) {
    using P = decltype(policy);
    const auto x = values.with_policy<P>().clone().requires_grad();
    const auto w = Tensor<float, P>::ones({70}).requires_grad(), b = Tensor<float, P>::ones({70}).requires_grad();
    layer_norm(x, w, b).backward(upstream.with_policy<P>());
    return std::array{x.grad().template with_policy<packed>(), w.grad().template with_policy<packed>(),
                      b.grad().template with_policy<packed>()};
  };
  const auto alone = run(packed{});
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    const auto shared = run(threaded<packed>{});
    for (std::size_t i = 0; i < 3; ++i) CHECK(max_abs_difference(shared[i], alone[i]) == 0);
  }
  set_num_threads(0);
  double bias = 0;
  for (std::size_t r = 0; r < 1000; ++r) bias += static_cast<double>(upstream.at({r, 17}));
  CHECK(static_cast<double>(alone[2].data()[17]) == doctest::Approx(bias).epsilon(1e-5));
}
