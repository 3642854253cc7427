// Value<double> against other reverse modes for scalars: recording, walking back and letting go, in nanoseconds a node.
//
//   closures   an engine in the shape of the well-known lesson: a shared_ptr for each number, a std::function for each
//              derivative, topological sort with a visited set. Written as well as that shape allows: closures hold
//              plain pointers, and sorting and freeing are loops, since recursion would end in a stack overflow.
//   ADOL-C     the tape of COIN-OR's library (Debian: libadolc-dev), where CMake finds it
//
// All engines run the same graph in turns; the figures are medians of processor time.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <memory>
#include <tinygrad/scalar/value.hpp>
#include <unordered_set>
#include <utility>
#include <vector>
#ifdef TINYGRAD_BENCH_ADOLC
#include <adolc/adolc.h>
#endif

namespace {

// --- The engine of the lesson ----------------------------------------------------------------------------------------

class Closure {
 public:
  Closure(double data) : node_(std::make_shared<node>(data)) {}
  Closure(const Closure&) = default;
  Closure(Closure&&) noexcept = default;
  Closure& operator=(Closure other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Closure() {  // iteratively: the destructor of a chain would recurse once a node
    std::vector<pointer> dying;
    if (node_.use_count() == 1) dying.push_back(std::move(node_));
    while (!dying.empty()) {
      const pointer last = std::move(dying.back());
      dying.pop_back();
      for (pointer& child : last->children)
        if (child.use_count() == 1) dying.push_back(std::move(child));
    }
  }

  [[nodiscard]] double grad() const { return node_->grad; }

  friend Closure operator+(const Closure& a, const Closure& b) {
    return Closure(a.data() + b.data(), {a.node_, b.node_}, [](node& out, node& x, node& y) {
      x.grad += out.grad;
      y.grad += out.grad;
    });
  }
  friend Closure operator*(const Closure& a, const Closure& b) {
    return Closure(a.data() * b.data(), {a.node_, b.node_}, [](node& out, node& x, node& y) {
      x.grad += y.data * out.grad;
      y.grad += x.data * out.grad;
    });
  }
  friend Closure tanh(const Closure& a) {
    const double t = std::tanh(a.data());
    return Closure(t, {a.node_}, [t](node& out, node& x, node&) { x.grad += (1 - t * t) * out.grad; });
  }

  void backward() const {
    std::vector<node*> sorted;
    std::unordered_set<node*> visited = {node_.get()};
    std::vector<std::pair<node*, std::size_t>> path = {{node_.get(), 0}};
    while (!path.empty()) {
      auto& [current, next] = path.back();
      if (next == current->children.size()) {
        sorted.push_back(current);
        path.pop_back();
      } else if (node* child = current->children[next++].get(); visited.insert(child).second) {
        path.emplace_back(child, 0);
      }
    }
    node_->grad = 1;
    for (std::size_t k = sorted.size(); k-- > 0;)
      if (sorted[k]->backward) sorted[k]->backward();
  }

 private:
  struct node;
  using pointer = std::shared_ptr<node>;
  struct node {
    explicit node(double number) : data(number) {}
    double data;
    double grad = 0;
    std::vector<pointer> children;
    std::function<void()> backward;
  };

  template <class F>
  Closure(double data, std::vector<pointer> children, F propagate) : Closure(data) {
    node_->children = std::move(children);
    node_->backward = [out = node_.get(), x = node_->children.front().get(), y = node_->children.back().get(),
                       propagate] { propagate(*out, *x, *y); };
  }
  [[nodiscard]] double data() const { return node_->data; }

  pointer node_;
};

using Arena = tinygrad::Value<double>;

// --- The graphs: the same code for every engine
// ------------------------------------------------------------------------

// n nodes: y = y * c + x, again and again.
template <class V>
V chain(const V& x, const V& c, long n) {
  V y = x;
  for (long k = 0; k < n / 2; ++k) y = y * c + x;
  return y;
}

// n nodes: n / 2 leaves, joined in pairs as soon as there are two subtrees of a height.
template <class V>
V tree(const V&, const V&, long n) {
  std::vector<std::pair<int, V>> parts;
  for (long leaf = 0; leaf < n / 2; ++leaf) {
    V part = 1.0;
    int height = 0;
    for (; !parts.empty() && parts.back().first == height; ++height) {
      part = parts.back().second + part;
      parts.pop_back();
    }
    parts.emplace_back(height, std::move(part));
  }
  V sum = std::move(parts.back().second);
  for (parts.pop_back(); !parts.empty(); parts.pop_back()) sum = parts.back().second + sum;
  return sum;
}

// About n nodes: layers of 16 neurons, each tanh(sum of w * y). All weights are x or c, so that no engine wins by
// how it stores parameters.
template <class V>
V network(const V& x, const V& c, long n) {
  constexpr int width = 16;
  std::vector<V> y(width, x);
  for (long layer = 0; layer < n / (width * 2 * width); ++layer) {
    std::vector<V> next;
    for (int j = 0; j < width; ++j) {
      V sum = c;
      for (int k = 0; k < width; ++k) sum = sum + (j < k ? x : c) * y[static_cast<std::size_t>(k)];
      next.push_back(tanh(sum));
    }
    y = std::move(next);
  }
  V sum = y[0];
  for (int k = 1; k < width; ++k) sum = sum + y[static_cast<std::size_t>(k)];
  return sum;
}

// --- Measuring ------------------------------------------------------------------------------------------------------

// Processor time of this thread: a machine that also does other things does not change the comparison.
double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
double seconds_of(const auto& work) {
  const double begin = seconds_now();
  work();
  return seconds_now() - begin;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Records, walks back, and drops the graph.
template <class V, class Graph>
double step(Graph graph, long n) {
  return seconds_of([&] {
    const V x = 0.1;
    const V c = 0.05;
    graph(x, c, n).backward();
    benchmark::DoNotOptimize(x.grad());
  });
}

#ifdef TINYGRAD_BENCH_ADOLC
template <class Graph>
double adolc_step(Graph graph, long n) {
  return seconds_of([&] {
    constexpr short tape = 1;
    double y = 0;
    double gradient[2];
    trace_on(tape, 1);  // 1: keep what the way back needs
    {
      adouble x;
      adouble c;
      x <<= 0.1;
      c <<= 0.05;
      adouble result = graph(x, c, n);
      result >>= y;
    }
    trace_off();
    double seed = 1;
    fos_reverse(tape, 1, 2, &seed, gradient);
    benchmark::DoNotOptimize(gradient[0]);
  });
}
#endif

// One iteration runs every engine once. The time that is shown is Value's.
template <class Graph>
void compare(benchmark::State& state, Graph graph) {
  const auto n = static_cast<long>(state.range(0));
  std::vector<double> arena;
  std::vector<double> closures;
  [[maybe_unused]] std::vector<double> adolc;
  step<Arena>(graph, n);
  for (auto _ : state) {
    arena.push_back(step<Arena>(graph, n));
    closures.push_back(step<Closure>(graph, n));
#ifdef TINYGRAD_BENCH_ADOLC
    if (n <= 100000) adolc.push_back(adolc_step(graph, n));  // longer tapes go to a file
#endif
    state.SetIterationTime(arena.back());
  }
  const double nanoseconds = 1e9 / static_cast<double>(n);
  state.SetItemsProcessed(state.iterations() * n);
  state.counters["ns/node"] = median(arena) * nanoseconds;
  state.counters["closures"] = median(closures) * nanoseconds;
  state.counters["times_faster"] = median(closures) / median(arena);
  if (!adolc.empty()) state.counters["ADOL-C"] = median(adolc) * nanoseconds;
}

void add(const char* name, auto graph) {
  for (const auto& [nodes, turns] : {std::pair{1000, 2000}, std::pair{100000, 50}, std::pair{10000000, 3}})
    benchmark::RegisterBenchmark(name, [graph](benchmark::State& state) { compare(state, graph); })
        ->Arg(nodes)
        ->Iterations(turns)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int count, char** arguments) {
  add("chain", [](const auto& x, const auto& c, long n) { return chain(x, c, n); });
  add("tree", [](const auto& x, const auto& c, long n) { return tree(x, c, n); });
  add("network", [](const auto& x, const auto& c, long n) { return network(x, c, n); });
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
