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

/// Arithmetic of one fma_in_registers().
inline constexpr int fma_chains = 12, fma_rounds = 200000;
inline constexpr double fma_flop = 2.0 * fma_chains * fma_rounds * tinygrad::pack<float>::size();

/// Multiply-adds in registers only, on one core: the widest packs, enough chains to hide the latency.
inline void fma_in_registers() {
  using V = tinygrad::pack<float>;
  volatile float seed = 0.5F;  // chains that begin alike would be computed once
  V sum[fma_chains];
  for (V& s : sum) s = V(seed);
  const V x(0.999F), y(1e-3F);
  for (int round = 0; round < fma_rounds; ++round) {
#pragma GCC unroll 12
    for (int c = 0; c < fma_chains; ++c) sum[c] = tinygrad::fma(sum[c], x, y);
  }
  V total(0.0F);
  for (const V& s : sum) total += s;
  keep(tinygrad::reduce_add(total));
}

/// The FMA peak in GFLOP/s of one core.
[[nodiscard]] inline double measure_fma_peak() {
  double best = 1e9;
  for (int trial = 0; trial < 9; ++trial) best = std::min(best, seconds_of(fma_in_registers));
  return 1e-9 * fma_flop / best;
}

/// Memory to be read once through, eight places at a time: what the prefetchers of one core can follow, and faster than
/// one place. Choose many times the last cache for the bandwidth of memory.
class read_buffer {
  using V = tinygrad::pack<float>;
  static constexpr std::size_t streams = 8, lanes = static_cast<std::size_t>(V::size()), block = streams * 512;

 public:
  explicit read_buffer(std::size_t bytes) : data_(bytes / sizeof(float) / block * block, 1.0F) {}
  [[nodiscard]] std::size_t bytes() const noexcept { return data_.size() * sizeof(float); }

  /// Reads all of it, spread over the threads of the library.
  void read() const {
    tinygrad::pooled::run(data_.size() / block, 256, [&](std::size_t begin, std::size_t end) {
      const float* const from = data_.data() + begin * block;
      const std::size_t length = (end - begin) * block / streams;
      V sum[2 * streams];
      for (std::size_t i = 0; i < length; i += 2 * lanes) {
#pragma GCC unroll 8
        for (std::size_t s = 0; s < streams; ++s) {
          sum[2 * s] += V::load(from + s * length + i);
          sum[2 * s + 1] += V::load(from + s * length + i + lanes);
        }
      }
      V total(0.0F);
      for (const V& s : sum) total += s;
      keep(tinygrad::reduce_add(total));
    });
  }

 private:
  std::vector<float> data_;
};

/// The bandwidth of reading `bytes` with `threads` threads, in GB/s.
[[nodiscard]] inline double measure_read_bandwidth(std::size_t bytes, int threads) {
  const read_buffer data(bytes);
  tinygrad::set_num_threads(threads);
  double best = 1e9;
  for (int trial = 0; trial < 7; ++trial) best = std::min(best, seconds_of([&] { data.read(); }));
  tinygrad::set_num_threads(0);
  return 1e-9 * static_cast<double>(data.bytes()) / best;
}

}  // namespace tinygrad_bench
