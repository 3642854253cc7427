#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <tinygrad/parallel/split.hpp>
#include <vector>

#if __has_include(<sys/wait.h>)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace {
using namespace tinygrad;

/// Restores the default number of threads at the end of a test.
struct thread_setting {
  explicit thread_setting(int count) { set_num_threads(count); }
  ~thread_setting() { set_num_threads(0); }
};

/// How often run() visits each of n elements; records a begin that is no multiple of grain.
template <class Split>
std::vector<int> visits(std::size_t n, std::size_t grain, bool& aligned) {
  std::vector<int> count(n, 0);
  std::atomic<bool> fine{true};
  Split::run(n, grain, [&](std::size_t begin, std::size_t end) {
    if (begin % (grain == 0 ? 1 : grain) != 0 || begin >= end || end > n) fine = false;
    for (std::size_t i = begin; i < end; ++i) ++count[i];
  });
  aligned = fine;
  return count;
}
}  // namespace

TEST_CASE("every element is visited once, in ranges that begin at multiples of the grain") {
  for (const int threads : {1, 2, 3, 5, 8}) {
    const thread_setting setting(threads);
    for (const std::size_t n : {0U, 1U, 2U, 7U, 64U, 1000U, 4097U}) {
      for (const std::size_t grain : {0U, 1U, 3U, 16U, 1000U}) {
        CAPTURE(threads);
        CAPTURE(n);
        CAPTURE(grain);
        bool aligned = false;
        CHECK(visits<pooled>(n, grain, aligned) == std::vector<int>(n, 1));
        CHECK(aligned);
        CHECK(visits<serial>(n, grain, aligned) == std::vector<int>(n, 1));
        CHECK(aligned);
      }
    }
  }
}

TEST_CASE("the number of threads can be read, changed and put back to the default") {
  CHECK(num_threads() >= 1);
  const int usual = num_threads();
  {
    const thread_setting setting(3);
    CHECK(num_threads() == 3);
    CHECK(pooled::width() == 3);
  }
  CHECK(num_threads() == usual);
  set_num_threads(-4);
  CHECK(num_threads() == usual);
  CHECK(serial::width() == 1);
}

TEST_CASE("several threads really take part when the work is long enough") {
  const thread_setting setting(4);
  std::atomic<int> inside{0}, most{0};
  // Each chunk waits until a second one runs at the same time, or gives up after a while.
  pooled::run(16, 1, [&](std::size_t, std::size_t) {
    const int now = ++inside;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
    for (int turn = 0; turn < 2000 && most < 2; ++turn) std::this_thread::yield();
    --inside;
  });
  CHECK(most >= 2);
}

TEST_CASE("a run inside a run is serial and complete") {
  const thread_setting setting(4);
  std::vector<int> count(64 * 100, 0);
  std::atomic<int> widest{0}, ranges{0};
  pooled::run(64, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      if (pooled::width() > widest) widest = pooled::width();
      pooled::run(100, 1, [&](std::size_t from, std::size_t to) {
        ++ranges;
        for (std::size_t i = from; i < to; ++i) ++count[row * 100 + i];
      });
    }
  });
  CHECK(count == std::vector<int>(64 * 100, 1));
  CHECK(widest == 1);
  CHECK(ranges == 64);
}

TEST_CASE("runs from several user threads at once are safe") {
  const thread_setting setting(3);
  std::vector<std::vector<long>> sums(4, std::vector<long>(512, 0));
  std::vector<std::thread> users;
  for (std::size_t user = 0; user < sums.size(); ++user) {
    users.emplace_back([&mine = sums[user]] {
      for (int round = 0; round < 300; ++round) {
        pooled::run(mine.size(), 8, [&](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; ++i) mine[i] += static_cast<long>(i);
        });
      }
    });
  }
  for (std::thread& user : users) user.join();
  for (const auto& mine : sums)
    for (std::size_t i = 0; i < mine.size(); ++i) CHECK(mine[i] == 300 * static_cast<long>(i));
}

TEST_CASE("many short jobs in a row, with the number of threads changing between them") {
  std::vector<int> count(256, 0);
  for (int round = 0; round < 2000; ++round) {
    if (round % 50 == 0) set_num_threads(1 + round / 50 % 6);
    pooled::run(count.size(), 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++count[i];
    });
  }
  set_num_threads(0);
  CHECK(count == std::vector<int>(256, 2000));
}

TEST_CASE("jobs after a pause find the sleeping workers") {
  const thread_setting setting(2);
  std::vector<int> count(64, 0);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    pooled::run(count.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++count[i];
    });
  }
  CHECK(count == std::vector<int>(64, 20));
}

TEST_CASE("a callable passed as a constant object works") {
  const thread_setting setting(2);
  std::atomic<std::size_t> total{0};
  const auto add = [&](std::size_t begin, std::size_t end) { total += end - begin; };
  pooled::run(1000, 10, add);
  CHECK(total == 1000);
}

namespace {
/// Built before the pool's first use, so destroyed after the pool has stopped.
struct outlives_the_pool {
  ~outlives_the_pool() {
    std::size_t total = 0;
    pooled::run(1000, 10, [&](std::size_t begin, std::size_t end) { total += end - begin; });  // alone: no race
    if (total != 1000) std::_Exit(3);
  }
} const last_user;
}  // namespace

#if __has_include(<sys/wait.h>)
TEST_CASE("a forked child can run jobs and leave, though it has no workers") {
  const thread_setting setting(3);
  std::vector<int> count(64, 0);
  const auto visit_all = [&] {
    pooled::run(count.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++count[i];
    });
  };
  visit_all();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a child that hangs dies of it
    visit_all();
    std::exit(count == std::vector<int>(64, 2) ? 0 : 1);
  }
  REQUIRE(child > 0);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
#endif
