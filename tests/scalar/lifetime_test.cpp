// What lives how long on the tape behind Value, what is taken again, and what is refused.
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <support/small_stack.hpp>
#include <thread>
#include <tinygrad/scalar/value.hpp>
#include <utility>
#include <vector>

using namespace tinygrad;

namespace {
using V = Value<double>;
const V outlives_the_tape = 5.0;  // destroyed after the thread-local tape of the main thread
}  // namespace

TEST_CASE("Value: the memory of a step is taken again by the next, without a word from the user") {
  const V w = 0.5;
  std::size_t results_of_a_step = 0;
  std::size_t leaves_of_a_step = 0;
  const tape_usage before = V::usage();
  for (int step = 0; step < 2000; ++step) {
    CHECK(V::usage().results == before.results);
    V loss = 0.0;
    for (int k = 0; k < 10; ++k) loss += pow(tanh(w * V(0.1 * k)) - V(0.3), 2);
    if (step == 0) results_of_a_step = V::usage().results;
    if (step == 0) leaves_of_a_step = V::usage().leaves;
    CHECK(V::usage().results == results_of_a_step);
    CHECK(V::usage().leaves == leaves_of_a_step);
    w.zero_grad();
    loss.backward();
    w.set_data(w.data() - 0.01 * w.grad());
  }
  CHECK(V::usage().results == before.results);
  CHECK(V::usage().leaves == before.leaves);
}

TEST_CASE("Value: parameters that are replaced instead of changed do not pile up") {
  V w = 1.0;
  const tape_usage before = V::usage();
  for (int step = 0; step < 1000; ++step) {
    const V loss = w * w;
    loss.backward();
    w = V(w.data() - 0.1 * w.grad());  // a new leaf, while the results of the old one are still there
  }
  CHECK(V::usage().results == before.results);
  CHECK(V::usage().leaves == before.leaves);
}

TEST_CASE("Value: a kept result keeps what is older, not what comes after") {
  const V x = 2.0;
  const std::size_t start = V::usage().results;
  const std::size_t leaves = V::usage().leaves;
  const V kept = x * x;
  const std::size_t with_kept = V::usage().results;
  CHECK(with_kept == start + 1);
  for (int step = 0; step < 100; ++step) {
    const V temporary = exp(kept * V(0.5)) + kept;
    temporary.backward();
  }
  CHECK(V::usage().results == with_kept);
  CHECK(V::usage().leaves == leaves);
  x.zero_grad();
  kept.backward();
  CHECK(x.grad() == 4.0);
}

TEST_CASE("Value: leaves that nobody holds any more live on in the results that used them") {
  std::optional<V> y;
  const std::size_t leaves = V::usage().leaves;
  {
    const V a = 2.0;
    const V b = 3.0;
    y = a * b + V(1.0);
  }
  CHECK(V::usage().leaves == leaves + 3);
  std::vector<V> others;
  for (int k = 0; k < 50; ++k) others.emplace_back(k);  // must not take the slots of a, b and 1
  y->backward();
  const V product = y->children()[0];
  CHECK(product.children()[0].data() == 2.0);
  CHECK(product.children()[0].grad() == 3.0);
  CHECK(product.children()[1].grad() == 2.0);
  CHECK(others[7].data() == 7.0);
  others.clear();
  CHECK(V::usage().leaves == leaves + 3);
}

TEST_CASE("Value: the leaves of dropped results are free again") {
  const std::size_t leaves = V::usage().leaves;
  const V x = 1.0;
  { const V y = V(2.0) * V(3.0) + x; }
  CHECK(V::usage().leaves == leaves + 1);
  V z = V(4.0);
  z = V(5.0);
  CHECK(V::usage().leaves == leaves + 2);
}

TEST_CASE("Value: copies refer to the same number, moves hand it on") {
  const V a = 1.0;
  const V same = a;
  same.set_data(5.0);
  CHECK(a.data() == 5.0);
  (same * 2).backward();
  CHECK(a.grad() == 2.0);

  V source = a * 3;
  V target = std::move(source);
  CHECK(target.data() == 15.0);
  CHECK_THROWS_AS(static_cast<void>(source.data()), graph_error);
  CHECK_THROWS_AS(source.backward(), graph_error);
  CHECK_THROWS_AS(static_cast<void>(source + a), graph_error);
  CHECK_THROWS_AS(static_cast<void>(std::vector<V>{source}), graph_error);
  source = target;
  CHECK(source.data() == 15.0);
  V& alias = source;
  source = alias;
  CHECK(source.data() == 15.0);
}

TEST_CASE("Value: only leaves can be given a number") {
  const V x = 2.0;
  const V y = x * x;
  std::string text;
  try {
    y.set_data(1.0);
  } catch (const graph_error& error) {
    text = error.what();
  }
  CHECK(text == "[set_data] not a leaf: this Value was made by '*'");
  x.set_data(7.0);
  CHECK(y.data() == 4.0);  // computed before
  y.backward();
  CHECK(x.grad() == 4.0);  // the derivative where it was computed
}

TEST_CASE("Value: belongs to its thread; elsewhere it is refused, never wrong") {
  const V here = 2.0;
  std::optional<V> there;
  bool refused = false;
  bool copy_refused = false;
  std::thread other([&] {
    const V own = 3.0;
    try {
      static_cast<void>(here * own);
    } catch (const graph_error&) {
      refused = true;
    }
    try {
      const V copy = here;
    } catch (const graph_error&) {
      copy_refused = true;
    }
    there.emplace(own * own);
    CHECK(there->data() == 9.0);
  });
  other.join();
  CHECK(refused);
  CHECK(copy_refused);
  CHECK_THROWS_AS(static_cast<void>(there->data()), graph_error);  // its thread is gone
  there.reset();                                                   // dropping it is fine
  CHECK(here.data() == 2.0);
}

TEST_CASE("Value: each thread has a tape of its own") {
  std::vector<double> gradients(4);
  std::vector<std::thread> threads;
  for (std::size_t id = 0; id < gradients.size(); ++id)
    threads.emplace_back([&gradients, id] {
      const V x = static_cast<double>(id);
      for (int k = 0; k < 1000; ++k) {
        V y = x;
        for (int j = 0; j < 20; ++j) y = y + x;
        x.zero_grad();
        y.backward();
      }
      gradients[id] = x.grad();
    });
  for (auto& thread : threads) thread.join();
  for (const double g : gradients) CHECK(g == 21.0);
}

TEST_CASE("Value: a million nodes are recorded, walked and dropped on a small stack") {
  double walked = 0;
  std::size_t left = 1;
  test_support::on_small_stack([&] {
    const V x = 1.0;
    {
      V y = x;
      for (int k = 0; k < 1000000; ++k) y = y + y * 1e-6;
      y.backward();
      walked = x.grad();
      V dropped = x;  // and one that nobody walks
      for (int k = 0; k < 1000000; ++k) dropped = dropped + x;
    }
    left = V::usage().results;
  });
  CHECK(walked == doctest::Approx(2.718280469).epsilon(1e-9));
  CHECK(left == 0);
}

TEST_CASE("Value: ten million numbers as a chain and as a balanced tree, and the second round takes no new memory") {
  const V x = 1.0;
  const auto chain = [&x](int nodes) {
    V y = x;
    for (int k = 0; k < nodes; ++k) y = y + x;
    return y;
  };
  const auto tree = [](int nodes) {  // pairs are joined as soon as there are two of a size, as when counting in binary
    std::vector<std::pair<int, V>> parts;
    for (int leaf = 0; leaf < nodes / 2; ++leaf) {
      V part = 1.0;
      int height = 0;
      for (; !parts.empty() && parts.back().first == height; ++height) {
        part = parts.back().second + part;
        parts.pop_back();
      }
      parts.emplace_back(height, std::move(part));
    }
    return parts.front().second;
  };
  constexpr int ten_million = 10'000'000;
  std::size_t capacity = 0;
  for (int round = 0; round < 2; ++round) {
    x.zero_grad();
    {
      const V y = chain(ten_million);
      y.backward();
      CHECK(x.grad() == ten_million + 1.0);
    }
    const V root = tree(1 << 23);
    root.backward();
    CHECK(root.data() == 1 << 22);
    if (round == 0) capacity = V::usage().capacity;
  }
  CHECK(V::usage().capacity == capacity);
  CHECK(V::usage().results == 0);
}
