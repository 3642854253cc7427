// What the machine can do, measured in the same run as the kernels: the limits that speeds are shares of.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <tinygrad/parallel/split.hpp>
#include <tinygrad/simd/pack.hpp>
#include <vector>

namespace tinygrad_bench {

/// Keeps the compiler from removing a computation.
inline void keep(float value) {
  [[maybe_unused]] static volatile float sink;
  sink = value;
}

[[nodiscard]] inline double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Multiply-adds in registers only, in GFLOP/s of one core: the widest packs, enough chains to hide the latency.
[[nodiscard]] inline double measure_fma_peak() {
  using V = tinygrad::pack<float>;
  constexpr int chains = 12, rounds = 200000;
  double best = 1e9;
  for (int trial = 0; trial < 9; ++trial) {
    volatile float seed = 0.5F;  // chains that begin alike would be computed once
    V sum[chains];
    for (V& s : sum) s = V(seed);
    const V x(0.999F), y(1e-3F);
    const double seconds = seconds_of([&] {
      for (int round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
        for (int c = 0; c < chains; ++c) sum[c] = tinygrad::fma(sum[c], x, y);
      }
    });
    V total(0.0F);
    for (const V& s : sum) total += s;
    keep(tinygrad::reduce_add(total));
    best = std::min(best, seconds);
  }
  return 2e-9 * chains * rounds * V::size() / best;
}

/// Reading of `bytes` once through, spread over `threads` threads, in GB/s. Choose many times the last cache for the
/// bandwidth of memory.
[[nodiscard]] inline double measure_read_bandwidth(std::size_t bytes, int threads) {
  using V = tinygrad::pack<float>;
  constexpr std::size_t stride = 8 * static_cast<std::size_t>(V::size());
  const std::vector<float> data(bytes / sizeof(float) / stride * stride, 1.0F);
  tinygrad::set_num_threads(threads);
  double best = 1e9;
  for (int trial = 0; trial < 7; ++trial) {
    const double seconds = seconds_of([&] {
      tinygrad::pooled::run(data.size() / stride, 1 << 12, [&](std::size_t begin, std::size_t end) {
        V sum[8];
        for (const float* p = data.data() + begin * stride; p != data.data() + end * stride; p += stride) {
#pragma GCC unroll 8
          for (int s = 0; s < 8; ++s) sum[s] += V::load(p + s * V::size());
        }
        V total(0.0F);
        for (const V& s : sum) total += s;
        keep(tinygrad::reduce_add(total));
      });
    });
    best = std::min(best, seconds);
  }
  tinygrad::set_num_threads(0);
  return 1e-9 * static_cast<double>(data.size() * sizeof(float)) / best;
}

}  // namespace tinygrad_bench
