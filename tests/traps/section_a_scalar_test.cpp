// Known traps, section A: the cases about kinks, powers and broadcast elementwise gradients, on tensors.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <tinygrad/ops/activation.hpp>
#include <tinygrad/ops/elementary.hpp>
#include <tinygrad/ops/operators.hpp>

using namespace tinygrad;

namespace {

/// df/dx at x, through a rank 0 tensor; under both register types, since they share no code.
template <class F>
void check_slope(F f, double x, double expected) {
  const auto slope = [&]<class P>(P) {
    const auto leaf = Tensor<double, P>::scalar(x).requires_grad();
    f(leaf).backward();
    return leaf.grad().item();
  };
  CHECK(slope(naive{}) == doctest::Approx(expected).epsilon(1e-12));
  CHECK(slope(packed{}) == doctest::Approx(expected).epsilon(1e-12));
}

}  // namespace

TEST_CASE("A14 pow at zero base has no NaN") {
  check_slope([](const auto& x) { return pow(x, 2.0); }, 0, 0);
  check_slope([](const auto& x) { return x * x; }, 0, 0);
  check_slope([](const auto& x) { return pow(x, 1.875); }, 0, 0);
  check_slope([](const auto& x) { return pow(x, 1.0); }, 0, 1);
}

TEST_CASE("A15 pow asks for no logarithm where the exponent takes no gradient") {
  check_slope([](const auto& x) { return pow(x, 3.0); }, -2, 12);
  check_slope([](const auto& x) { return pow(x, x.detach() * 0 + 3); }, -2, 12);
  check_slope([](const auto& x) { return pow(x.detach() * 0 - 5, x.detach() * 0 + 5) + x * 0; }, 1, 0);
}

TEST_CASE("A16 one rule for kinks, the same in every spelling") {
  check_slope([](const auto& x) { return relu(x); }, 0, 0);
  check_slope([](const auto& x) { return abs(x); }, 0, 0);
  check_slope([](const auto& x) { return clamp(x, 0.0, 6.0); }, 6, 0);
  check_slope([](const auto& x) { return clamp(x, 0.0, 6.0); }, 0, 0);
  check_slope([](const auto& x) { return x * clamp(x + 3, 0.0, 6.0) / 6; }, 3, 1);  // hard-swish
  check_slope([](const auto& x) { return maximum(x, x.detach()); }, 2, 0.5);        // a tie shares
}

TEST_CASE("A17 SiLU's slope is right at zero and far out") {
  check_slope([](const auto& x) { return silu(x); }, 0, 0.5);
  check_slope([](const auto& x) { return silu(x); }, 30, 1 + 30 * std::exp(-30.0));
  check_slope([](const auto& x) { return silu(x); }, -30, std::exp(-30.0) * (1 - 30));
}

TEST_CASE("A06 A07 gradients of broadcast operands have the operands' own shapes and sum over the repeats") {
  using tensor = Tensor<double>;
  const auto a = tensor::ones({5, 1, 7}).requires_grad(), b = tensor::full({4, 5, 6, 7}, 2).requires_grad();
  (a * b).backward(tensor::ones({4, 5, 6, 7}));
  CHECK(a.grad().shape() == Shape{5, 1, 7});
  CHECK(a.grad().at({4, 0, 6}) == 2 * 4 * 6);
  CHECK(b.grad().shape() == b.shape());

  const auto column = tensor::ones({6, 1}).requires_grad(), full = tensor::ones({2, 3, 6, 4}).requires_grad();
  (column * full).backward(tensor::ones({2, 3, 6, 4}));
  CHECK(column.grad().shape() == Shape{6, 1});
  CHECK(column.grad().at({5, 0}) == 2 * 3 * 4);

  const auto h = tensor::full({2, 1, 4, 64}, 3).requires_grad(), mask = tensor::ones({2, 1, 4, 1}).requires_grad();
  (h * mask).backward(tensor::ones({2, 1, 4, 64}));
  CHECK(mask.grad().shape() == Shape{2, 1, 4, 1});
  CHECK(mask.grad().at({1, 0, 3, 0}) == 3 * 64);
}
