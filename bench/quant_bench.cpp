// Products with weights as they are stored: one row (decode) and many rows (prefill) for every format.
//
// Reported: bytes of weights a second, rows of W a second, the speed beside F32 on the same matrix ("to_f32", stored as
// files store it), for many rows that beside the product of floats with the matrix turned ("to_sgemm"), and for one row
// the share of the read bandwidth that this run measured ("of_bandwidth"). Formats take turns within one measured
// round, so that a busy machine slows all of them alike, and each finds its weights out of the nearer caches; figures
// are medians.
//
//   quant_bench [--benchmark_filter=...]      TINYGRAD_BENCH_COLD=1 reads a different copy of W in each round
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <span>
#include <string>
#include <tinygrad/core/random.hpp>
#include <tinygrad/quant/matrix.hpp>
#include <vector>

#include "support/machine.hpp"

namespace {

using namespace tinygrad;

struct candidate {
  ggml_type type;
  quant_precision precision;
  std::vector<QuantMatrix> copies;
  std::vector<double> seconds;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

QuantMatrix random_matrix(ggml_type type, std::size_t rows, std::size_t columns) {
  Random random(3);
  std::vector<float> values(rows * columns);
  for (float& x : values) x = random.uniform(-1.0f, 1.0f);
  if (info_of(type).elements < 256) return QuantMatrix::quantise(type, rows, columns, values);
  // The search of the K formats takes long. Any bytes will do for speed, as long as the numbers are ordinary: no
  // exponent of a half is all ones.
  const std::size_t bytes = rows * (columns / info_of(type).elements) * info_of(type).bytes;
  const auto memory = std::make_shared<std::vector<std::byte>>(bytes);
  for (std::byte& b : *memory) b = static_cast<std::byte>(random.uniform(0.0f, 64.0f));
  return QuantMatrix(type, rows, columns, *memory, memory);
}

/// Times all candidates and, for many rows, the product with a matrix [columns, rows] of floats: its median.
template <class P>
double measure(std::vector<candidate>& all, std::size_t n, int rounds) {
  const std::size_t rows = all[0].copies[0].rows(), columns = all[0].copies[0].columns();
  Random random(5);
  std::vector<float> x(n * columns), y(n * rows);
  for (float& value : x) value = random.uniform(-1.0f, 1.0f);
  const std::vector<float> turned(n == 1 ? 0 : rows * columns, 0.5f);
  const auto step = [](std::size_t count) { return static_cast<std::ptrdiff_t>(count); };
  const gemm_args<float> sgemm{n,          rows, columns,  x.data(),   step(columns), 1, turned.data(),
                               step(rows), 1,    y.data(), step(rows), false};
  std::vector<double> sgemm_seconds;
  for (int round = -1; round < rounds; ++round) {
    for (candidate& each : all) {
      const QuantMatrix& w = each.copies[static_cast<std::size_t>(round + 1) % each.copies.size()];
      const double seconds = tinygrad_bench::seconds_of([&] { w.multiply<P>(x, y, each.precision); });
      if (round >= 0) each.seconds.push_back(seconds);
    }
    if (n == 1) continue;
    const double seconds = tinygrad_bench::seconds_of([&] { P::gemm(sgemm); });
    if (round >= 0) sgemm_seconds.push_back(seconds);
  }
  tinygrad_bench::keep(y[0]);
  return n == 1 ? 0 : median(sgemm_seconds);
}

struct setting {
  std::size_t rows, columns, n;
  int threads;
};

std::vector<candidate> candidates(std::size_t rows, std::size_t columns, bool cold) {
  std::vector<candidate> all;
  quant::for_each_format([&](auto format) {
    constexpr ggml_type type = format.type;
    if (columns % format.elements != 0) return;
    const QuantMatrix first = random_matrix(type, rows, columns);
    candidate fast{type, quant_precision::fast, {first}, {}};
    // Enough copies that the next one is no longer in the cache.
    const std::size_t copies = cold ? (std::size_t{128} << 20) / first.bytes().size() + 1 : 1;
    for (std::size_t i = 1; i < copies; ++i) {
      const auto memory = std::make_shared<std::vector<std::byte>>(first.bytes().begin(), first.bytes().end());
      fast.copies.emplace_back(type, rows, columns, *memory, memory);
    }
    all.push_back(fast);
    if constexpr (quant::block_format<decltype(format)>) {
      fast.precision = quant_precision::exact;
      all.push_back(fast);
    }
  });
  return all;
}

/// The figures of one setting, measured when the first of its benchmarks runs.
class figures {
 public:
  explicit figures(const setting& s) : s_(s) {}

  void report(benchmark::State& state, std::size_t which) {
    if (all_.empty()) measure_all();
    const candidate& each = all_[which];
    const double seconds = median(each.seconds), bytes = static_cast<double>(each.copies[0].bytes().size());
    for (auto _ : state) state.SetIterationTime(seconds);
    state.counters["GB/s"] = 1e-9 * bytes / seconds;
    state.counters["Mrows/s"] = 1e-6 * static_cast<double>(s_.rows * s_.n) / seconds;
    state.counters["to_f32"] = median(all_[0].seconds) / seconds;
    if (s_.n == 1)
      state.counters["of_bandwidth"] = 1e-9 * bytes / seconds / bandwidth_;
    else
      state.counters["to_sgemm"] = sgemm_seconds_ / seconds;
  }

 private:
  void measure_all() {
    const bool cold = std::getenv("TINYGRAD_BENCH_COLD") != nullptr;
    all_ = candidates(s_.rows, s_.columns, cold);
    const std::size_t bytes = cold ? std::size_t{512} << 20 : s_.rows * s_.columns * sizeof(float);
    bandwidth_ = tinygrad_bench::measure_read_bandwidth(bytes, s_.threads);
    set_num_threads(s_.threads);
    sgemm_seconds_ = measure<threaded<packed>>(all_, s_.n, s_.n == 1 ? 21 : 5);
    set_num_threads(0);
  }

  setting s_;
  std::vector<candidate> all_;
  double bandwidth_ = 0, sgemm_seconds_ = 0;
};

void add_benchmarks(const setting& s) {
  const auto shared = std::make_shared<figures>(s);
  std::size_t which = 0;
  const auto add = [&](const std::string& format) {
    const std::string name = format + "/" + std::to_string(s.columns) + "x" + std::to_string(s.rows) +
                             "/n:" + std::to_string(s.n) + "/threads:" + std::to_string(s.threads);
    benchmark::RegisterBenchmark(name.c_str(),
                                 [=, index = which++](benchmark::State& state) { shared->report(state, index); })
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMicrosecond);
  };
  quant::for_each_format([&](auto format) {  // in the order of candidates()
    if (s.columns % format.elements != 0) return;
    add(std::string(name_of(format.type)));
    if (quant::block_format<decltype(format)>) add(std::string(name_of(format.type)) + "_exact");
  });
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  using sizes = std::pair<std::size_t, std::size_t>;
  for (const int threads : {1, 2}) {  // the matrices of GPT-2 124M
    for (const auto& [rows, columns] : {sizes{3072, 768}, sizes{50257, 768}})
      add_benchmarks({rows, columns, 1, threads});
    for (const auto& [rows, columns] : {sizes{2304, 768}, sizes{3072, 768}, sizes{768, 3072}, sizes{768, 768}})
      for (const std::size_t n : {16U, 128U, 512U}) add_benchmarks({rows, columns, n, threads});
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
