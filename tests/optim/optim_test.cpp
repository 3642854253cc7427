// Optimizers against hand-computed steps and closed forms; clipping; schedules.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tinygrad/optim/adam.hpp>
#include <tinygrad/optim/clip.hpp>
#include <tinygrad/optim/schedule.hpp>
#include <tinygrad/optim/sgd.hpp>
#include <vector>

using namespace tinygrad;
using tensor = Tensor<double, packed>;

namespace {

/// A parameter whose gradient is `g` everywhere.
tensor with_gradient(const Shape& shape, double value, double g) {
  const tensor p = tensor::full(shape, value).requires_grad();
  p.backward(tensor::full(shape, g));
  return p;
}
void set_gradient(const tensor& p, double g) {
  p.zero_grad();
  p.backward(tensor::full(p.shape(), g));
}
adam_options reference_options() {
  adam_options options = AdamW<double, packed>::defaults();
  options.learning_rate = 0.1;
  options.weight_decay = 0.1;
  return options;
}

}  // namespace

TEST_CASE("C01 C02 C03 AdamW's first step: decoupled decay of the old weight, bias corrected") {
  const tensor p = with_gradient({1, 1}, 1, 1);
  AdamW<double, packed> optimizer({p}, reference_options());
  optimizer.step();
  CHECK(p.item() == doctest::Approx(0.8900000010).epsilon(1e-10));
}

TEST_CASE("C02 ten AdamW steps") {
  const tensor p = with_gradient({1, 1}, 1, 0.5);
  AdamW<double, packed> optimizer({p}, reference_options());
  for (int i = 0; i < 10; ++i) optimizer.step();
  CHECK(p.item() == doctest::Approx(-0.0517971558).epsilon(1e-8));
  CHECK(optimizer.steps() == 10);
}

TEST_CASE("AdamW spares vectors from decay unless told otherwise; Adam decays through the gradient") {
  const tensor vector = with_gradient({1}, 1, 1);
  AdamW<double, packed>({vector}, reference_options()).step();
  CHECK(vector.item() == doctest::Approx(0.9000000010).epsilon(1e-10));

  const tensor decayed = with_gradient({1}, 1, 1);
  adam_options options = reference_options();
  options.decay_vectors = true;
  AdamW<double, packed>({decayed}, options).step();
  CHECK(decayed.item() == doctest::Approx(0.8900000010).epsilon(1e-10));

  const tensor l2 = with_gradient({1, 1}, 1, 1);
  options = {};
  options.learning_rate = 0.1;
  options.weight_decay = 0.1;
  Adam<double, packed>({l2}, options).step();
  CHECK(l2.item() == doctest::Approx(0.9000000009).epsilon(1e-10));
}

TEST_CASE("SGD: plain, momentum, Nesterov, dampening, L2 decay") {
  const auto two_steps = [](const sgd_options& options) {
    const tensor p = with_gradient({3}, 1, 1);
    Sgd<double, packed> optimizer({p}, options);
    optimizer.step();
    set_gradient(p, 2);
    optimizer.step();
    return p.at({2});
  };
  sgd_options options;
  options.learning_rate = 0.1;
  CHECK(two_steps(options) == doctest::Approx(1 - 0.1 - 0.2));
  options.momentum = 0.9;
  CHECK(two_steps(options) == doctest::Approx(1 - 0.1 - 0.1 * 2.9));  // u = 1, then 0.9 + 2
  options.nesterov = true;
  CHECK(two_steps(options) == doctest::Approx(1 - 0.1 * 1.9 - 0.1 * (2 + 0.9 * 2.9)));
  options.nesterov = false;
  options.dampening = 0.5;
  CHECK(two_steps(options) == doctest::Approx(1 - 0.1 - 0.1 * (0.9 + 1)));
  options = {};
  options.learning_rate = 0.1;
  options.weight_decay = 1;
  CHECK(two_steps(options) == doctest::Approx(0.8 - 0.1 * 2.8));
}

TEST_CASE("parameter groups have options of their own; parameters without a gradient are left alone") {
  const tensor slow = with_gradient({2}, 1, 1), fast = with_gradient({2}, 1, 1);
  const tensor idle = tensor::ones({2}).requires_grad();
  sgd_options small, large;
  small.learning_rate = 0.01;
  large.learning_rate = 0.5;
  Sgd<double, packed> optimizer({{{slow}, small}, {{fast, idle}, large}});
  optimizer.step();
  CHECK(slow.at({0}) == doctest::Approx(0.99));
  CHECK(fast.at({0}) == doctest::Approx(0.5));
  CHECK(idle.at({0}) == 1);
  optimizer.set_learning_rate(0);
  optimizer.step();
  CHECK(fast.at({0}) == doctest::Approx(0.5));
  optimizer.zero_grad();
  CHECK_FALSE(slow.has_grad());
}

TEST_CASE("options out of range and wrong parameters are refused") {
  const tensor p = tensor::ones({1}).requires_grad();
  sgd_options sgd;
  sgd.learning_rate = -1;
  CHECK_THROWS_WITH_AS((Sgd<double, packed>({p}, sgd)), "[sgd] learning_rate must not be negative, got -1.000000",
                       value_error);
  sgd = {};
  sgd.nesterov = true;
  CHECK_THROWS_AS((Sgd<double, packed>({p}, sgd)), value_error);
  adam_options adam;
  adam.beta2 = 1;
  CHECK_THROWS_AS((Adam<double, packed>({p}, adam)), value_error);
  adam = {};
  adam.learning_rate = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS((Adam<double, packed>({p}, adam)), value_error);
  CHECK_THROWS_AS((Sgd<double, packed>({tensor::ones({1})})), graph_error);
  CHECK_THROWS_AS((Sgd<double, packed>({tensor{}})), graph_error);
}

TEST_CASE("every policy and thread count makes the same update") {
  const auto run = [](auto policy, int threads) {
    using P = decltype(policy);
    set_num_threads(threads);
    Random random(3);
    const auto p = Tensor<float, P>::randn({123, 457}, random).requires_grad();
    p.backward(Tensor<float, P>::randn({123, 457}, random));
    AdamW<float, P> optimizer({p});
    for (int i = 0; i < 3; ++i) optimizer.step();
    return std::vector<float>(p.data().begin(), p.data().end());
  };
  const int before = num_threads();
  const auto one = run(threaded<packed>{}, 1), two = run(threaded<packed>{}, 2), plain = run(naive{}, 1);
  set_num_threads(before);
  CHECK(one == two);
  for (std::size_t i = 0; i < one.size(); i += 997) CHECK(one[i] == doctest::Approx(plain[i]).epsilon(1e-6));
}

TEST_CASE("B11 clipping: the norm over all parameters, zero is defined, negative is rejected") {
  const tensor a = with_gradient({1}, 0, 3), b = with_gradient({1}, 0, 4), none = tensor::ones({1}).requires_grad();
  const std::vector<tensor> parameters{a, b, none};
  CHECK(grad_norm(parameters) == doctest::Approx(5));
  CHECK(clip_grad_norm(parameters, 10) == doctest::Approx(5));
  CHECK(a.grad().item() == 3);
  CHECK(clip_grad_norm(parameters, 1) == doctest::Approx(5));
  CHECK(a.grad().item() == doctest::Approx(0.6));
  CHECK(b.grad().item() == doctest::Approx(0.8));
  CHECK(clip_grad_norm(parameters, 0) == doctest::Approx(1));
  CHECK(a.grad().item() == 0);
  CHECK_THROWS_AS(clip_grad_norm(parameters, -1), value_error);
  CHECK_THROWS_AS(clip_grad_norm(parameters, std::nan("")), value_error);
}

TEST_CASE("B10 a gradient that is not finite is reported, not hidden") {
  for (const double bad : {HUGE_VAL, std::nan("")}) {
    const tensor a = with_gradient({1}, 0, bad), b = with_gradient({1}, 0, 1);
    CHECK_FALSE(std::isfinite(clip_grad_norm(std::vector<tensor>{a, b}, 1)));
    CHECK(b.grad().item() == 1);
    CHECK_THROWS_AS(clip_grad_norm(std::vector<tensor>{a, b}, 1, true), value_error);
  }
}

TEST_CASE("schedules are functions of the step") {
  CHECK(constant_schedule{0.5}(123) == 0.5);
  const step_schedule drops{1, 10, 0.5};
  CHECK(drops(9) == 1);
  CHECK(drops(10) == 0.5);
  CHECK(drops(29) == 0.25);
  const cosine_schedule cosine{1, 10, 110, 0.1};
  CHECK(cosine(0) == doctest::Approx(0.1));
  CHECK(cosine(9) == doctest::Approx(1));
  CHECK(cosine(10) == doctest::Approx(1));
  CHECK(cosine(60) == doctest::Approx(0.55));
  CHECK(cosine(110) == doctest::Approx(0.1));
  CHECK(cosine(100000) == doctest::Approx(0.1));
  CHECK(cosine_schedule{1, 0, 100, 0}(0) == 1);
}
