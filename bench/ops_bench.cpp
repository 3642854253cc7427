// Every operation of the library at one realistic size, forward and backward, in packs on one thread.
//
// Walks all_ops, so a new operation is here as soon as it is in the list. Times are of one forward, and of one forward
// with backward, in float.
#include <benchmark/benchmark.h>

#include <string>
#include <tinygrad/core/random.hpp>
#include <tinygrad/ops/all.hpp>
#include <tinygrad/simd/build_info.hpp>
#include <vector>

namespace {

using namespace tinygrad;
using tensor = Tensor<float, packed>;

std::vector<tensor> make_inputs(const std::vector<Shape>& shapes, value_range range) {
  Random random(1);
  std::vector<tensor> inputs;
  for (const Shape& shape : shapes)
    inputs.push_back(
        tensor::uniform(shape, random, static_cast<float>(range.low), static_cast<float>(range.high)).requires_grad());
  return inputs;
}

template <class Call>
void add(const std::string& name, const std::vector<Shape>& shapes, Call call, value_range range) {
  std::size_t numbers = 0;
  for (const Shape& shape : shapes) numbers += shape.count();
  const auto count = [numbers](benchmark::State& state) {
    state.counters["Melem/s"] = benchmark::Counter(
        1e-6 * static_cast<double>(numbers) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  };
  benchmark::RegisterBenchmark((name + "/forward").c_str(), [=](benchmark::State& state) {
    const auto inputs = make_inputs(shapes, range);
    const no_grad guard;
    for (auto _ : state) benchmark::DoNotOptimize(call(inputs).data().data());
    count(state);
  })->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark((name + "/backward").c_str(), [=](benchmark::State& state) {
    const auto inputs = make_inputs(shapes, range);
    const tensor weights = tensor::ones(call(inputs).shape());
    for (auto _ : state) {
      for (const tensor& x : inputs) x.zero_grad();
      call(inputs).backward(weights);
    }
    count(state);
  })->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int count, char** values) {
  benchmark::Initialize(&count, values);
  if (benchmark::ReportUnrecognizedArguments(count, values)) return 2;
  if (build_info().float_lanes <= 4)
    std::printf("warning: this build has %d float lanes; build with -march=native for the machine's own width\n",
                build_info().float_lanes);
  all_ops::for_each([]<class Op>() {
    Op::typical([](const std::vector<Shape>& shapes, auto call, value_range range = {}) {
      add(std::string(Op::name), shapes, call, range);
    });
  });
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
