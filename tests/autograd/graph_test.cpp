// The recorded graph: order, accumulation, retention, consumption, versions, and graphs far deeper than the stack.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <tinygrad/ops/elementary.hpp>
#include <tinygrad/ops/operators.hpp>
#include <vector>

#include "support/small_stack.hpp"

using namespace tinygrad;
using tensor = Tensor<double, naive>;

namespace {

tensor parameter(double value) { return tensor::scalar(value).requires_grad(); }

std::string error_of(const auto& action) {
  try {
    action();
  } catch (const error& caught) {
    return caught.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("A01 a node used on several paths is propagated once") {
  const tensor x = parameter(1), a = tensor::scalar(1);
  const tensor xa = x * a, x2 = x * x;
  const tensor f = x * xa + x2 * a + x * xa;
  f.backward();
  CHECK(x.grad().item() == 6);
}

TEST_CASE("A02 a second backward does not count interior gradients again") {
  const tensor x = parameter(3);
  const tensor y = x * x * x;
  y.backward(true);
  CHECK(x.grad().item() == 27);
  x.zero_grad();
  y.backward(true);
  CHECK(x.grad().item() == 27);

  const tensor a = parameter(3), b = parameter(2), d = parameter(1);
  const tensor c = a + b, e = c * d;
  e.backward(true);
  e.backward();
  CHECK(a.grad().item() == 2);
  CHECK(b.grad().item() == 2);
  CHECK(d.grad().item() == 10);
}

TEST_CASE("A03 shared subexpressions cost time linear in the nodes") {
  const tensor x = parameter(1);
  tensor y = x;
  for (int i = 0; i < 60; ++i) y = y + y;
  y.backward();
  CHECK(x.grad().item() == std::ldexp(1.0, 60));
}

TEST_CASE("A04 a chain of a million nodes is walked and freed on a 512 KiB stack") {
  test_support::on_small_stack([] {
    const auto build = [](const tensor& x) {
      tensor y = x;
      for (int i = 0; i < 1000000; ++i) y = y + y * 1e-6;
      return y;
    };
    const tensor x = parameter(1);
    {
      const tensor dropped = build(x);  // freed without a backward
      CHECK(dropped.item() == doctest::Approx(std::exp(1.0)).epsilon(1e-5));
    }
    const tensor y = build(x);
    y.backward();
    CHECK(x.grad().item() == doctest::Approx(std::exp(1.0)).epsilon(1e-5));
  });
}

TEST_CASE("a graph of 100,000 nodes with two children each is walked and freed on a 512 KiB stack") {
  test_support::on_small_stack([] {
    const tensor x = parameter(0.5);
    std::vector<tensor> level(1 << 16, x);
    while (level.size() > 1) {
      std::vector<tensor> next;
      for (std::size_t i = 0; i + 1 < level.size(); i += 2) next.push_back(level[i] + level[i + 1]);
      level = std::move(next);
    }
    tensor tangled = level[0], other = x;
    for (int i = 0; i < 50000; ++i) {
      const tensor sum = tangled - other;
      other = tangled * 0.5;
      tangled = sum;
    }
    tangled.backward();
    CHECK(std::isfinite(x.grad().item()));
  });
}

TEST_CASE("A13 two losses that share a subgraph: retain the graph, or be told how") {
  const tensor t = parameter(1);
  for (const bool through_exp : {false, true}) {
    t.zero_grad();
    const tensor k = through_exp ? exp(t) : 2 * t;
    const tensor l1 = 2 * k, l2 = 3 * k;
    l1.backward(true);
    l2.backward();
    CHECK(t.grad().item() == doctest::Approx(through_exp ? 5 * std::exp(1.0) : 10));
  }
  const tensor k = exp(t);
  const tensor l1 = 2 * k, l2 = 3 * k;
  l1.backward();
  CHECK(error_of([&] { l2.backward(); }) ==
        "[backward] the graph was already consumed by an earlier backward; "
        "call backward(retain_graph) the first time, or run the forward again");
}

TEST_CASE("A12 a saved value changed in place is an error that names the operation") {
  const tensor x = tensor::from({1, 2, 3, 4, 5, 6}, {2, 3}).requires_grad();
  const tensor y = x * x;
  x.mutable_data()[0] = 10;
  CHECK(error_of([&] {
          y.backward(tensor::ones({2, 3}));
        }) ==
        "[mul] input 0 (2, 3) was changed in place after it was saved for backward: version 0 was saved, version 1 "
        "is there now; change a clone() instead");
  CHECK_FALSE(x.has_grad());
}

TEST_CASE("A12 the change is noticed through another handle on the same memory") {
  const tensor x = tensor::from({1, 2, 3}).requires_grad();
  const tensor y = sin(x);
  x.detach().mutable_data()[1] = 0;
  CHECK_THROWS_AS(y.backward(tensor::ones({3})), graph_error);
}

TEST_CASE("A12 the output of an operation that saves only its inputs may be changed") {
  const tensor x = tensor::from({0, 1}).requires_grad();
  tensor y = sin(x);
  for (double& value : y.mutable_data()) value += 1;
  y.backward(tensor::ones({2}));
  CHECK(x.grad().at({1}) == doctest::Approx(std::cos(1.0)));
}

TEST_CASE("A12 an operation that saves its output leaves its input free to change, and not the output") {
  const tensor x = tensor::from({0, 1}).requires_grad();
  const tensor y = exp(x), z = exp(x);
  for (double& value : x.mutable_data()) value += 1;
  y.backward(tensor::ones({2}));
  CHECK(x.grad().at({1}) == doctest::Approx(std::exp(1.0)));
  z.mutable_data()[0] = 2;
  CHECK_THROWS_AS(z.backward(tensor::ones({2})), graph_error);
}

TEST_CASE("a gradient that is handed on belongs to one tensor alone") {
  const tensor a = tensor::from({1, 2}).requires_grad(), b = tensor::from({3, 4}).requires_grad();
  const tensor sum = a + b;
  (sum * sum + (a + a) - b).backward(tensor::ones({2}));
  CHECK(a.grad().at({0}) == 10);
  CHECK(b.grad().at({0}) == 7);
  CHECK(a.grad().data().data() != b.grad().data().data());
  const tensor kept = a * b;
  kept.retain_grad();
  a.zero_grad();
  (kept + a).backward(tensor::ones({2}));
  CHECK(kept.grad().at({1}) == 1);
  CHECK(a.grad().at({1}) == 5);
}

TEST_CASE("+= rebinds the name and leaves the graph right") {
  const tensor x = parameter(2);
  tensor y = exp(x);
  const tensor before = y;
  y += 1;
  CHECK(before.item() == doctest::Approx(std::exp(2.0)));
  CHECK(y.item() == doctest::Approx(std::exp(2.0) + 1));
  y.backward();
  CHECK(x.grad().item() == doctest::Approx(std::exp(2.0)));
}

TEST_CASE("an addition saves nothing, so its inputs may change before backward") {
  const tensor x = tensor::from({1, 2}).requires_grad();
  const tensor y = x + 1;
  x.mutable_data()[0] = 5;
  y.backward(tensor::ones({2}));
  CHECK(x.grad().at({0}) == 1);
}

TEST_CASE("A20 a parameter not used in the loss has no gradient, which is not a gradient of zero") {
  const tensor used = parameter(1), unused = parameter(1).named("unused");
  (used * 2).backward();
  CHECK(used.has_grad());
  CHECK_FALSE(unused.has_grad());
  CHECK(error_of([&] { static_cast<void>(unused.grad()); }) ==
        "[grad] no gradient: 'unused' () is not required to have one, was not used in the loss, or backward() has not "
        "run");
}

TEST_CASE("leaf gradients accumulate until zero_grad") {
  const tensor x = parameter(2);
  (x * 3).backward();
  (x * 4).backward();
  CHECK(x.grad().item() == 7);
  x.zero_grad();
  (x * 4).backward();
  CHECK(x.grad().item() == 4);
}

TEST_CASE("interior gradients are kept only when asked for") {
  const tensor x = parameter(2);
  const tensor h = x * 3, y = h * h;
  h.retain_grad();
  y.backward(true);
  CHECK(h.grad().item() == 12);
  CHECK_FALSE(y.has_grad());
  y.backward();
  CHECK(h.grad().item() == 24);  // accumulates like a leaf's
  CHECK(x.grad().item() == 72);
  CHECK_THROWS_AS(tensor::scalar(1).retain_grad(), graph_error);
}

TEST_CASE("no_grad stops recording, enable_grad resumes it inside") {
  const tensor x = parameter(2);
  {
    const no_grad guard;
    CHECK_FALSE((x * x).needs_grad());
    const enable_grad again;
    CHECK((x * x).needs_grad());
  }
  CHECK((x * x).needs_grad());
}

TEST_CASE("detach shares the values and leaves the graph") {
  const tensor x = parameter(3);
  const tensor y = x * x, d = y.detach();
  CHECK(d.is_leaf());
  CHECK(d.data().data() == y.data().data());
  (d * x).backward();
  CHECK(x.grad().item() == 9);
}

TEST_CASE("backward starts from one element or from a given gradient of the same shape") {
  const tensor x = tensor::ones({2, 2}).requires_grad();
  const tensor y = x * 2;
  CHECK(error_of([&] { y.backward(); }) ==
        "[backward] not a scalar: input (2, 2); start from a loss of one element or pass its gradient");
  CHECK(error_of([&] { y.backward(tensor::ones({4})); }) ==
        "[backward] the gradient has another shape: lhs (2, 2), rhs (4); both must be equal");
  CHECK_THROWS_AS(tensor::scalar(1).backward(), graph_error);
  y.backward(tensor::from({1, 2, 3, 4}, {2, 2}));
  CHECK(x.grad().at({1, 0}) == 6);
}

TEST_CASE("backward on a leaf adds to its own gradient") {
  const tensor x = parameter(3);
  x.backward();
  x.backward();
  CHECK(x.grad().item() == 2);
}

TEST_CASE("only leaves can be marked as parameters") {
  const tensor y = parameter(1) * 2;
  CHECK_THROWS_AS(y.requires_grad(false), graph_error);
  CHECK_NOTHROW(y.requires_grad());  // already so
}

TEST_CASE("a graph outlives the handles that built it, and its owner may be built in another thread") {
  const tensor x = parameter(2);
  tensor y;
  test_support::on_small_stack([&] { y = x * x * x; });
  y.backward();
  CHECK(x.grad().item() == 12);
}

TEST_CASE("the same tensor on both sides of a broadcast operation gets both contributions") {
  const tensor x = tensor::from({1, 2, 3}).requires_grad();
  (x * x).backward(tensor::ones({3}));
  CHECK(x.grad().at({2}) == 6);
}
