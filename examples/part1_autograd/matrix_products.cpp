// Section 4: the textbook product against the packed and threaded one, 512 x 512 x 512.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <tinygrad/testing/close.hpp>
#include <tinygrad/tinygrad.hpp>
#include <vector>

#include "part1.hpp"

using namespace tinygrad;

namespace {

constexpr std::size_t size = 512;
constexpr double flop = 2.0 * size * size * size;

/// Median milliseconds of `repetitions` products under policy P.
template <class P>
double time_product(const Tensor<float>& a, const Tensor<float>& b, int repetitions) {
  const no_grad guard;
  const auto x = a.with_policy<P>(), y = b.with_policy<P>();
  static_cast<void>(matmul(x, y));  // warm-up: memory, threads
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    static_cast<void>(matmul(x, y));
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    times.push_back(time.count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void line(const char* name, double milliseconds, const char* more) {
  std::printf("%-9s %7.1f ms  (%.2f GFLOP/s)%s\n", name, milliseconds, flop / milliseconds / 1e6, more);
}

}  // namespace

void part1::matrix_products() {
  std::printf("== 4) MatMul 512x512 @ 512x512 on %u logical CPUs, %d threads\n", std::thread::hardware_concurrency(),
              num_threads());
  const build_description build = build_info();
  if (build.float_lanes <= 4)
    std::printf("note: this build has %d float lanes; build with -march=native for the machine's own width\n",
                build.float_lanes);
  Random random(5);
  const auto a = Tensor<float>::randn({size, size}, random), b = Tensor<float>::randn({size, size}, random);
  const double slow = time_product<naive>(a, b, 3);
  const double quick = time_product<packed>(a, b, 20);
  const double quickest = time_product<default_policy>(a, b, 20);
  const no_grad guard;
  const double difference = max_abs_difference(matmul(a, b), matmul(a.with_policy<naive>(), b.with_policy<naive>()));
  line("naive:", slow, "");
  line("packed:", quick, "");
  line("fast:", quickest, ("   max difference = " + scientific(difference)).c_str());
  std::printf("fast is %.0f times naive\n\n", slow / quickest);
}
