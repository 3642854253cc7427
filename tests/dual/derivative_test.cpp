#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <tinygrad/dual/derivative.hpp>
#include <vector>

using namespace tinygrad;

TEST_CASE("derivative: of plain functions, whole numbers included") {
  CHECK(derivative([](auto x) { return sin(x * x); }, 2.0) == doctest::Approx(4 * std::cos(4.0)).epsilon(1e-15));
  CHECK(derivative([](auto x) { return x * x + 3 * x + 1; }, 2) == 7.0);
  CHECK(derivative([](auto) { return 3.0; }, 2.0) == 0.0);
  static_assert(std::is_same_v<decltype(derivative([](auto x) { return x; }, 1.0f)), float>);
}

TEST_CASE("derivative: follows branches and loops") {
  const auto power_by_loop = [](auto x) {
    auto y = x;
    for (int k = 1; k < 5; ++k) y *= x;
    return y;
  };
  CHECK(derivative(power_by_loop, 2.0) == 80.0);
  const auto branching = [](auto x) {
    if (x < 0) return x * x;
    return 5 * x;
  };
  CHECK(derivative(branching, -3.0) == -6.0);
  CHECK(derivative(branching, 3.0) == 5.0);
}

TEST_CASE("derivative: nests to any order") {
  const auto f = [](auto x) { return pow(x, 4) + exp(2 * x); };
  const auto first = [&](auto x) { return derivative(f, x); };
  const auto second = [&](auto x) { return derivative(first, x); };
  const auto third = [&](auto x) { return derivative(second, x); };
  CHECK(first(1.5) == doctest::Approx(4 * 3.375 + 2 * std::exp(3.0)));
  CHECK(second(1.5) == doctest::Approx(12 * 2.25 + 4 * std::exp(3.0)));
  CHECK(third(1.5) == doctest::Approx(24 * 1.5 + 8 * std::exp(3.0)));
}

TEST_CASE("derivative: mixed nesting keeps the two infinitesimals apart") {
  // d/dx of x * d/dy (x + y) is 1; confusing the two directions gives 2
  const auto outer = [](auto x) { return x * derivative([&](auto y) { return x + y; }, decltype(x)(3.0)); };
  CHECK(derivative(outer, 1.0) == 1.0);
}

TEST_CASE("gradient: of several arguments, of an array, of a vector") {
  const auto by_arguments = gradient([](auto x, auto y) { return x * y + exp(x); }, 1, 2.0);
  CHECK(by_arguments[0] == doctest::Approx(2 + std::exp(1.0)));
  CHECK(by_arguments[1] == 1.0);

  const auto sum_of_products = [](const auto& x) {
    auto sum = x[0] * 0.0;
    for (std::size_t k = 0; k + 1 < x.size(); ++k) sum += x[k] * x[k + 1] * x[k + 1];
    return sum;
  };
  const auto by_array = gradient(sum_of_products, std::array{1.0, 2.0, 3.0});
  CHECK(by_array == std::array{4.0, 4.0 + 9.0, 12.0});

  for (const std::size_t size : {1u, 2u, 7u, 8u, 9u, 24u, 37u}) {  // around the block of eight
    std::vector<double> x(size);
    for (std::size_t k = 0; k < size; ++k) x[k] = 0.5 + static_cast<double>(k);
    const auto g = gradient(sum_of_products, x);
    REQUIRE(g.size() == size);
    for (std::size_t k = 0; k < size; ++k) {
      const double want = (k + 1 < size ? x[k + 1] * x[k + 1] : 0) + (k > 0 ? 2 * x[k - 1] * x[k] : 0);
      CHECK(g[k] == doctest::Approx(want));
    }
  }
  CHECK(gradient(sum_of_products, std::vector<double>{}).empty());
}

TEST_CASE("jacobian: rows are outputs, columns are inputs") {
  const auto f = [](const auto& x) { return std::array{x[0] * x[1], x[0] / x[1], sin(x[0]) + 0 * x[1]}; };
  const auto j = jacobian(f, std::array{1.0, 2.0});
  static_assert(std::tuple_size_v<decltype(j)> == 3);
  CHECK(j[0] == std::array{2.0, 1.0});
  CHECK(j[1] == std::array{0.5, -0.25});
  CHECK(j[2][0] == doctest::Approx(std::cos(1.0)));

  std::vector<double> x(11);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = 1.0 + static_cast<double>(k);
  const auto neighbours = [](const auto& v) {
    auto y = v;
    y.pop_back();
    for (std::size_t k = 0; k < y.size(); ++k) y[k] = v[k] * v[k + 1];
    return y;
  };
  const auto wide = jacobian(neighbours, x);
  REQUIRE(wide.size() == 10);
  for (std::size_t i = 0; i < 10; ++i)
    for (std::size_t k = 0; k < 11; ++k) CHECK(wide[i][k] == (k == i ? x[i + 1] : k == i + 1 ? x[i] : 0.0));
}

TEST_CASE("hessian: is exact and symmetric") {
  // Rosenbrock's function, whose Hessian is known
  const auto f = [](const auto& x) { return pow(1 - x[0], 2) + 100 * pow(x[1] - x[0] * x[0], 2); };
  const double a = -1.2;
  const double b = 1.0;
  const auto h = hessian(f, std::array{a, b});
  CHECK(h[0][0] == doctest::Approx(2 - 400 * (b - 3 * a * a)));
  CHECK(h[0][1] == doctest::Approx(-400 * a));
  CHECK(h[1][0] == h[0][1]);
  CHECK(h[1][1] == doctest::Approx(200.0));

  std::vector<double> x(10, 0.5);
  const auto log_sum_exp = [](const auto& v) {
    auto sum = exp(v[0]);
    for (std::size_t k = 1; k < v.size(); ++k) sum += exp(v[k]);
    return log(sum);
  };
  const auto big = hessian(log_sum_exp, x);  // diag(p) - p p^T with p = 1/10
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t k = 0; k < x.size(); ++k)
      CHECK(big[i][k] == doctest::Approx(i == k ? 0.09 : -0.01).epsilon(1e-12));
}
