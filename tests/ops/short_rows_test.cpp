// Rows shorter than a pack, many of them: the packed policy joins them, and must agree with the textbook one, with the
// same bits for any number of threads.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <tinygrad/ops/activation.hpp>
#include <tinygrad/ops/cross_entropy.hpp>
#include <tinygrad/ops/operators.hpp>
#include <tinygrad/testing/close.hpp>
#include <utility>
#include <vector>

using namespace tinygrad;

namespace {

using leaves = std::vector<Tensor<float, naive>>;

/// The result of f on copies of `inputs` under P, and the gradients of all inputs for a given gradient of the result.
template <class P, class F>
leaves run(const leaves& inputs, const F& f) {
  std::vector<Tensor<float, P>> x;
  for (const auto& input : inputs) x.push_back(input.with_policy<P>().clone().requires_grad());
  const Tensor<float, P> y = f(x);
  Random random(9);
  y.backward(Tensor<float, P>::uniform(y.shape(), random, -1, 1));
  leaves results{y.detach().template with_policy<naive>()};
  for (const auto& leaf : x) results.push_back(leaf.grad().template with_policy<naive>());
  return results;
}

/// `tolerance` is relative to the largest element; the textbook sum of 20,001 terms is the less accurate one.
template <class F>
void check(const leaves& inputs, double tolerance, const F& f) {
  const leaves expected = run<naive>(inputs, f), got = run<packed>(inputs, f);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(max_abs_difference(got[i], expected[i]) <= tolerance * (1 + max_abs(expected[i])));
  }
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    const leaves threaded_results = run<threaded<packed>>(inputs, f);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(max_abs_difference(threaded_results[i], got[i]) == 0);
  }
  set_num_threads(0);
}

leaves random_leaves(const std::vector<Shape>& shapes) {
  Random random(3);
  leaves result;
  for (const Shape& shape : shapes) result.push_back(Tensor<float, naive>::uniform(shape, random, -2, 2));
  return result;
}

}  // namespace

TEST_CASE("a bias over short rows, forward and backward") {
  for (const std::size_t columns : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{16}, std::size_t{64}}) {
    CAPTURE(columns);
    for (const std::size_t rows : {std::size_t{7}, std::size_t{129}, std::size_t{20001}}) {
      CAPTURE(rows);
      const Shape matrix{rows, columns}, row{columns};
      check(random_leaves({matrix, row}), 1e-4, [](const auto& x) { return x[0] + x[1]; });
      check(random_leaves({row, matrix}), 1e-4, [](const auto& x) { return tanh(x[0] * x[1]); });
      check(random_leaves({matrix, row, row}), 1e-4, [](const auto& x) {
        return map([](auto a, auto scale, auto shift) { return a * scale + shift; }, x[0], x[1], x[2]);
      });
    }
  }
}

TEST_CASE("cross-entropy over two to nine classes") {
  for (const int classes : {1, 2, 3, 5, 7, 9}) {
    CAPTURE(classes);
    const std::size_t rows = 3001;
    std::vector<int> targets;
    for (std::size_t r = 0; r < rows; ++r) targets.push_back(r % 11 == 0 ? -100 : static_cast<int>(r) % classes);
    for (const cross_entropy_options how : {cross_entropy_options{}, {reduction::none, -100, 0.1}, {reduction::sum}}) {
      check(random_leaves({{rows, static_cast<std::size_t>(classes)}}), 1e-5,
            [&](const auto& x) { return cross_entropy(x[0], targets, how); });
      check(random_leaves({{rows, static_cast<std::size_t>(classes)}}), 1e-5, [&](const auto& x) {
        return cross_entropy(x[0], targets, how) + cross_entropy(x[0], targets, how);  // the second gradient is added
      });
    }
  }
}

TEST_CASE("cross-entropy of short rows of large and masked logits stays finite") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto x = Tensor<float, packed>::from({1000, -1000, -infinity, 3, 88, 90}, {3, 2}).requires_grad();
  const auto loss = cross_entropy(x, {0, 1, 0}, {reduction::none});
  loss.backward(Tensor<float, packed>::ones({3}));
  CHECK(loss.at({0}) == 0);
  CHECK(loss.at({1}) == 0);
  CHECK(loss.at({2}) == doctest::Approx(std::log1p(std::exp(2.0))));
  CHECK(x.grad().at({0, 0}) == 0);
  CHECK(x.grad().at({1, 0}) == 0);
  CHECK(x.grad().at({2, 1}) == doctest::Approx(1 / (1 + std::exp(-2.0))));
}
