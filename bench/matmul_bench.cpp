// Matrix products: naive, packed, threaded, and where they were found OpenBLAS and Eigen, side by side.
//
// All candidates of a shape take turns within each measured round, so that a busy machine slows all of them alike; the
// figures are medians over the rounds. Reported per shape and candidate: GFLOP/s, the share of the FMA peak that this
// run measured, and for ours the ratio to each peer (above 1: ours is faster).
//
//   matmul_bench             squares of 64 to 512 and the products of a small GPT (under a minute)
//   matmul_bench --full      squares up to 2048, GPT-2's products, attention batches
// Names: <shape>/<candidate>/<threads>. Google Benchmark's flags work; --benchmark_filter takes whole shapes' time all
// the same, since candidates are measured together.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <tinygrad/core/random.hpp>
#include <tinygrad/kernel/policy.hpp>
#include <tinygrad/simd/build_info.hpp>
#include <vector>

#include "support/machine.hpp"

#if defined(TINYGRAD_BENCH_OPENBLAS)
#include <cblas.h>
#endif
#if defined(TINYGRAD_BENCH_EIGEN)
#include <Eigen/Core>
#endif

namespace {

using namespace tinygrad;

/// C[m, n] = A[m, k] B[k, n], `batch` times.
struct shape {
  std::string name;
  std::size_t m, k, n, batch = 1;
  [[nodiscard]] double flop() const { return 2.0 * static_cast<double>(m * k) * static_cast<double>(n * batch); }
};

struct matrices {
  std::vector<float> a, b, c;
  explicit matrices(const shape& s) : a(s.batch * s.m * s.k), b(s.batch * s.k * s.n), c(s.batch * s.m * s.n) {
    Random random(1);
    for (float& x : a) x = random.uniform(-1.0F, 1.0F);
    for (float& x : b) x = random.uniform(-1.0F, 1.0F);
  }
};

struct candidate {
  std::string name;
  int threads;
  std::function<void(const shape&, matrices&)> run;
};

template <class P>
void run_policy(const shape& s, matrices& x) {
  const auto k = static_cast<std::ptrdiff_t>(s.k), n = static_cast<std::ptrdiff_t>(s.n);
  const auto m = static_cast<std::ptrdiff_t>(s.m);
  P::gemm(gemm_args<float>{s.m, s.n, s.k, x.a.data(), k, 1, x.b.data(), n, 1, x.c.data(), n, false, s.batch, m * k,
                           k * n, m * n});
}

std::vector<candidate> all_candidates() {
  const int most = static_cast<int>(std::thread::hardware_concurrency());
  std::vector<candidate> result{{"naive", 1, run_policy<naive>}, {"packed", 1, run_policy<packed>}};
  if (most > 1) result.push_back({"threaded", most, run_policy<threaded<packed>>});
#if defined(TINYGRAD_BENCH_OPENBLAS)
  const auto blas = [](const shape& s, matrices& x) {
    for (std::size_t b = 0; b < s.batch; ++b)
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(s.m), static_cast<int>(s.n),
                  static_cast<int>(s.k), 1, x.a.data() + b * s.m * s.k, static_cast<int>(s.k),
                  x.b.data() + b * s.k * s.n, static_cast<int>(s.n), 0, x.c.data() + b * s.m * s.n,
                  static_cast<int>(s.n));
  };
  result.push_back({"openblas", 1, blas});
  if (most > 1) result.push_back({"openblas", most, blas});
#endif
#if defined(TINYGRAD_BENCH_EIGEN)
  result.push_back({"eigen", 1, [](const shape& s, matrices& x) {
                      using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
                      const auto rows = [](std::size_t size) { return static_cast<Eigen::Index>(size); };
                      for (std::size_t b = 0; b < s.batch; ++b) {
                        const Eigen::Map<const matrix> left(x.a.data() + b * s.m * s.k, rows(s.m), rows(s.k));
                        const Eigen::Map<const matrix> right(x.b.data() + b * s.k * s.n, rows(s.k), rows(s.n));
                        Eigen::Map<matrix>(x.c.data() + b * s.m * s.n, rows(s.m), rows(s.n)).noalias() = left * right;
                      }
                    }});
#endif
  return result;
}

/// Makes OpenBLAS use as many threads as the candidate; after more than one its workers spin for a while.
void prepare(const candidate& c) {
#if defined(TINYGRAD_BENCH_OPENBLAS)
  if (c.name == "openblas") openblas_set_num_threads(c.threads);
#endif
  set_num_threads(c.threads);
}
void settle(const candidate& c) {
  if (c.name == "openblas" && c.threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(150));
}

using result_key = std::pair<std::string, int>;

/// Median seconds of each candidate on a shape, taking turns. Naive gets few turns where it is slow.
std::map<result_key, double> measure(const shape& s, const std::vector<candidate>& candidates) {
  matrices x(s);
  std::map<result_key, std::vector<double>> times;
  const double guess = s.flop() / 50e9;                                          // seconds at a modest speed
  const auto repeats = static_cast<int>(std::clamp(2e-3 / guess, 1.0, 1000.0));  // calls in one measurement
  const int rounds = static_cast<int>(std::clamp(0.3 / (guess * repeats), 5.0, 31.0));
  for (int round = 0; round < rounds; ++round)
    for (const candidate& c : candidates) {
      const bool slow = c.name == "naive";
      if (slow && round >= (s.flop() > 1e9 ? 1 : 3)) continue;
      prepare(c);
      if (round == 0 && !slow) c.run(s, x);  // memory, threads
      const int calls = slow ? 1 : repeats;
      const double seconds = tinygrad_bench::seconds_of([&] {
        for (int i = 0; i < calls; ++i) c.run(s, x);
      });
      tinygrad_bench::keep(x.c[0]);
      times[{c.name, c.threads}].push_back(seconds / calls);
      settle(c);
    }
  std::map<result_key, double> medians;
  for (auto& [key, all] : times) {
    std::sort(all.begin(), all.end());
    medians[key] = all[all.size() / 2];
  }
  return medians;
}

double fma_peak() {
  static const double peak = tinygrad_bench::measure_fma_peak();
  return peak;
}

/// Registers one shape: the first of its benchmarks to run measures all candidates.
void add_shape(const shape& s, const std::vector<candidate>& candidates) {
  const auto cache = std::make_shared<std::map<result_key, double>>();
  for (const candidate& c : candidates) {
    const std::string name = s.name + "/" + c.name + "/" + std::to_string(c.threads);
    benchmark::RegisterBenchmark(
        name.c_str(),
        [=](benchmark::State& state) {
          if (cache->empty()) *cache = measure(s, candidates);
          const double seconds = cache->at({c.name, c.threads});
          for (auto _ : state) state.SetIterationTime(seconds);
          const double speed = s.flop() / seconds * 1e-9;
          state.counters["GFLOP/s"] = speed;
          state.counters["of_peak"] = speed / (fma_peak() * c.threads);
          if (c.name == "packed" || c.name == "threaded")
            for (const auto& [peer, time] : *cache)
              if (peer.first == "naive" ||
                  (peer.second == c.threads && (peer.first == "openblas" || peer.first == "eigen")))
                state.counters["to_" + peer.first] = time / seconds;
        })
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMicrosecond);
  }
}

std::vector<shape> shapes(bool full) {
  std::vector<shape> all;
  for (const std::size_t size :
       full ? std::vector<std::size_t>{64, 128, 256, 512, 1024, 2048} : std::vector<std::size_t>{64, 128, 256, 512})
    all.push_back({"square/" + std::to_string(size), size, size, size});
  const auto add = [&](std::size_t m, std::size_t k, std::size_t n) {
    all.push_back({"rows" + std::to_string(m) + "/" + std::to_string(k) + "x" + std::to_string(n), m, k, n});
  };
  if (full) {
    for (const std::size_t rows : {1, 5, 64, 256}) {
      add(rows, 768, 2304);
      add(rows, 768, 3072);
      add(rows, 3072, 768);
      add(rows, 768, 50257);
    }
  } else {
    add(1, 768, 3072);
    add(64, 768, 3072);
    add(2048, 96, 384);
  }
  all.push_back({"batch48/64x64x24", 64, 64, 24, 48});
  all.push_back({"batch48/64x24x64", 64, 24, 64, 48});
  return all;
}

void describe_build() {
  const build_description build = build_info();
  std::printf("build: %s, %s, %d float lanes, %s FMA; measured FMA peak of a core: %.1f GFLOP/s\n",
              std::string(build.isa).c_str(), std::string(build.backend).c_str(), build.float_lanes,
              build.has_fma ? "with" : "without", fma_peak());
  if (build.float_lanes <= 4)
    std::printf("warning: this build has %d float lanes; build with -march=native for the machine's own width\n",
                build.float_lanes);
#if defined(TINYGRAD_BENCH_OPENBLAS)
  std::printf("OpenBLAS kernel: %s (OPENBLAS_CORETYPE chooses another; SkylakeX is the right one for AVX-512)\n",
              openblas_get_corename());
#endif
}

}  // namespace

int main(int count, char** values) {
  bool full = false;
  std::vector<char*> rest;
  for (int i = 0; i < count; ++i)
    if (std::strcmp(values[i], "--full") == 0)
      full = true;
    else
      rest.push_back(values[i]);
  int left = static_cast<int>(rest.size());
  benchmark::Initialize(&left, rest.data());
  if (benchmark::ReportUnrecognizedArguments(left, rest.data())) return 2;
  describe_build();
  const std::vector<candidate> candidates = all_candidates();
  for (const shape& s : shapes(full)) add_shape(s, candidates);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
