// The printed numbers of part 1: derivative table, tiny graph, the assigning product, and the circle network's table.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <tinygrad/core/random_compat.hpp>
#include <tinygrad/ops/activation.hpp>
#include <tinygrad/ops/cross_entropy.hpp>
#include <tinygrad/ops/matmul.hpp>
#include <tinygrad/ops/operators.hpp>
#include <tinygrad/optim/adam.hpp>
#include <tinygrad/optim/sgd.hpp>
#include <tinygrad/testing/gradcheck.hpp>
#include <vector>

#include "support/allocations.hpp"

using namespace tinygrad;

namespace {

/// The article's normal draws: the cosine of Box and Muller's pair.
struct article_normal {
  dotnet_random random{4};
  double normal() {
    const double u1 = 1 - random.next_double();
    const double u2 = random.next_double();
    return std::sqrt(-2 * std::log(u1)) * std::cos(2 * std::numbers::pi * u2);
  }
};

template <class P>
struct circle {
  using tensor = Tensor<float, P>;
  tensor points;
  std::vector<int> inside;
  tensor w1, b1, w2, b2, logits;

  circle() {
    dotnet_random random(3);
    std::vector<float> coordinates;
    for (int i = 0; i < 256; ++i) {
      const auto x = static_cast<float>(random.next_double() * 2 - 1);
      const auto y = static_cast<float>(random.next_double() * 2 - 1);
      coordinates.insert(coordinates.end(), {x, y});
      inside.push_back(x * x + y * y < 0.5F ? 1 : 0);
    }
    points = tensor::from(coordinates, {256, 2});
    article_normal normal;
    w1 = tensor::randn({2, 16}, normal, 0.5F).requires_grad();
    b1 = tensor::zeros({16}).requires_grad();
    w2 = tensor::randn({16, 2}, normal, 0.5F).requires_grad();
    b2 = tensor::zeros({2}).requires_grad();
  }
  std::vector<tensor> parameters() const { return {w1, b1, w2, b2}; }
  template <class Optimizer>
  float step(Optimizer& optimizer) {
    logits = matmul(tanh(matmul(points, w1) + b1), w2) + b2;
    const tensor loss = cross_entropy(logits, inside);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    return loss.item();
  }
  int right() const {
    int count = 0;
    for (std::size_t i = 0; i < 256; ++i) count += (logits.at({i, 1}) > logits.at({i, 0}) ? 1 : 0) == inside[i];
    return count;
  }
};

template <class P>
Sgd<float, P> sgd(const circle<P>& c, double rate) {
  sgd_options options;
  options.learning_rate = rate;
  return Sgd<float, P>(c.parameters(), options);
}
template <class P>
AdamW<float, P> adamw(const circle<P>& c) {
  adam_options options = AdamW<float, P>::defaults();
  options.learning_rate = 0.05;
  options.weight_decay = 0;
  return AdamW<float, P>(c.parameters(), options);
}

/// Losses and correct counts at steps 0, 100, ..., 500.
struct table {
  std::array<double, 6> losses;
  std::array<int, 6> right;
};
template <class P, class Optimizer>
void check_table(circle<P> c, Optimizer optimizer, const table& expected, int slack, double tolerance = 2e-6) {
  for (std::size_t step = 0; step <= 500; ++step) {
    const float loss = c.step(optimizer);
    if (step % 100 != 0) continue;
    CAPTURE(step);
    CHECK(std::fabs(static_cast<double>(loss) - expected.losses[step / 100]) < tolerance);
    CHECK(std::abs(c.right() - expected.right[step / 100]) <= slack);
  }
}

constexpr table sgd_table{{0.9454401, 0.6644350, 0.6491338, 0.6281590, 0.5994953, 0.5637596},
                          {124, 149, 163, 185, 199, 211}};
constexpr table adamw_table{{0.9454401, 0.0713608, 0.0351869, 0.0231384, 0.0166920, 0.0125471},
                            {124, 255, 256, 256, 256, 256}};

}  // namespace

TEST_CASE("the data and the first weights are the article's") {
  const circle<packed> c;
  CHECK(c.points.at({0, 0}) == doctest::Approx(-0.412961572).epsilon(1e-7));
  CHECK(c.points.at({255, 1}) == doctest::Approx(0.978965104).epsilon(1e-7));
  int count = 0;
  for (const int label : c.inside) count += label;
  CHECK(count == 107);
  CHECK(c.w1.at({0, 0}) == doctest::Approx(0.918452859).epsilon(1e-6));
  CHECK(c.w1.at({1, 15}) == doctest::Approx(0.430971771).epsilon(1e-6));
  CHECK(c.w2.at({15, 1}) == doctest::Approx(-0.356896549).epsilon(1e-6));
}

TEST_CASE("the first gradients are the article's") {
  circle<packed> c;
  auto optimizer = sgd(c, 0);
  c.step(optimizer);
  CHECK(c.w1.grad().at({0, 0}) == doctest::Approx(-0.0208488239).epsilon(1e-5));
  CHECK(c.b1.grad().at({0}) == doctest::Approx(-0.00234546632).epsilon(1e-5));
  CHECK(c.w2.grad().at({0, 1}) == doctest::Approx(0.105994617).epsilon(1e-5));
  CHECK(c.b2.grad().at({1}) == doctest::Approx(0.0856665081).epsilon(1e-5));
}

TEST_CASE_TEMPLATE("all losses and accuracies of the circle table", P, naive, default_policy) {
  const circle<P> for_sgd, for_adamw;
  check_table(for_sgd, sgd(for_sgd, 0.05), sgd_table, 1);
  check_table(for_adamw, adamw(for_adamw), adamw_table, 1);
}

TEST_CASE("the circle network trains to the same bits with one and two threads") {
  const auto final_weights = [](int threads) {
    set_num_threads(threads);
    circle<default_policy> c;
    auto optimizer = adamw(c);
    for (int step = 0; step < 200; ++step) c.step(optimizer);
    return std::vector<float>(c.w1.data().begin(), c.w1.data().end());
  };
  const int before = num_threads();
  const auto one = final_weights(1), two = final_weights(2);
  set_num_threads(before);
  CHECK(one == two);
}

TEST_CASE("a warmed-up step of the circle network makes no call to the general allocator; memory stays flat") {
  circle<default_policy> c;
  auto optimizer = adamw(c);
  for (int step = 0; step < 5; ++step) c.step(optimizer);
  const std::size_t calls = test_support::allocations(), cached = cached_memory();
  for (int step = 0; step < 2000; ++step) c.step(optimizer);
  CHECK(test_support::allocations() == calls);
  CHECK(cached_memory() == cached);
}

TEST_CASE("the tiny graph, and the check that catches a product assigning its gradient") {
  const auto w = Tensor<float>::scalar(2).requires_grad(), x = Tensor<float>::scalar(3).requires_grad();
  const auto b = Tensor<float>::scalar(1).requires_grad();
  const auto z = w * x + b;
  z.retain_grad();
  (z * z).backward();
  CHECK(z.grad().item() == 14);
  CHECK(w.grad().item() == 42);
  CHECK(x.grad().item() == 28);
  CHECK(b.grad().item() == 14);
  const std::array seven{Tensor<float>::scalar(7)};
  const auto check = gradcheck([](const auto& in) { return in[0] * in[0]; }, seven, 0.01F);
  CHECK(check.max_relative == doctest::Approx(1.14e-5).epsilon(0.01));
}

TEST_CASE("exercise: SGD at ten times the rate") {
  const circle<packed> c;
  check_table(c, sgd(c, 0.5), {{0.9454, 0.3664, 0.1826, 0.1365, 0.1123, 0.0964}, {124, 233, 250, 252, 252, 253}}, 2,
              6e-5);
}
