// The process-wide pool of worker threads.
//
// One job at a time: a range [0, n) cut into chunks. Every thread owns a contiguous share of the chunks, so that
// repeated jobs over the same data meet the same caches, and helps with the other shares when its own is done. The
// caller works too and never waits for a worker that has not begun: a job too short to wake anybody costs one pass
// over the chunks. Idle workers spin for some microseconds, longer while jobs keep coming, and then sleep.
//
// The pool starts at its first use and stops when static objects are destroyed; jobs run by the caller alone
// when the pool is stopped, when another thread's job is running, or inside a job.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <thread>
#include <tinygrad/core/config.hpp>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace tinygrad::inline TINYGRAD_ABI {
namespace detail {

/// Tells the core that this thread only waits.
TINYGRAD_ALWAYS_INLINE void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class thread_pool {
 public:
  /// body(context, begin, end) over disjoint ranges that cover [0, n).
  using body = void (*)(void* context, std::size_t begin, std::size_t end);

  static constexpr int max_threads = 1024;

  static thread_pool& instance() noexcept {
    // Never destroyed, only stopped: a static object that outlives the stop may still run jobs, alone.
    alignas(thread_pool) static unsigned char memory[sizeof(thread_pool)];
    static thread_pool* const pool = ::new (memory) thread_pool;
    static const stop_at_exit stopper{*pool};
    return *pool;
  }

  /// Threads a job may use, the caller included.
  [[nodiscard]] int threads() const noexcept {
    const int wanted = wanted_.load(std::memory_order_relaxed);
    return wanted > 0 ? wanted : default_threads();
  }
  /// Takes effect at the next job; zero or less brings back the default, one thread per hardware thread.
  void set_threads(int count) noexcept {
    wanted_.store(count < 0 ? 0 : count > max_threads ? max_threads : count, std::memory_order_relaxed);
  }
  /// True on a thread that is inside a job.
  [[nodiscard]] static bool inside_job() noexcept { return inside_; }

  /// Runs `work` over [0, n) in chunks of `step`; returns when all is done.
  void run(std::size_t n, std::size_t step, body work, void* context) noexcept {
    if (inside_ || threads() == 1 || busy_.test_and_set(std::memory_order_acquire)) return work(context, 0, n);
    const int width = prepare(threads());
    if (width == 1) {
      busy_.clear(std::memory_order_release);
      return work(context, 0, n);
    }
    publish({work, context, n, step, width});
    help(0);
    close();
    busy_.clear(std::memory_order_release);
  }

 private:
  struct job {
    body work = nullptr;
    void* context = nullptr;
    std::size_t n = 0, step = 1;
    int width = 1;
  };
  /// One thread's share of the job, and its bed. Slot 0 is the caller's.
  struct alignas(64) slot {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
    std::atomic<bool> asleep{false};
    std::mutex mutex;
    std::condition_variable wake;
    std::thread thread;
  };
  struct stop_at_exit {
    thread_pool& pool;
    ~stop_at_exit() { pool.stop(); }
  };

  // The gate: bit 0 is set while a job takes helpers, bits 1..15 count the helpers inside, the rest numbers the jobs.
  static constexpr std::uint64_t open_bit = 1, one_helper = 2, helper_mask = 0xfffe, one_job = 0x10000;

  using microseconds = std::chrono::microseconds;
  // How long an idle worker spins before it sleeps: while jobs follow each other closely, and otherwise.
  static constexpr microseconds long_spin{60}, short_spin{4};

  thread_pool() = default;

  static long this_process() noexcept {
#if __has_include(<unistd.h>)
    return static_cast<long>(::getpid());
#else
    return 0;
#endif
  }
  static int default_threads() noexcept {
    static const int count = static_cast<int>(std::thread::hardware_concurrency());
    return count < 1 ? 1 : count > max_threads ? max_threads : count;
  }

  /// Makes sure that the workers for `wanted` threads run; returns how many threads the job gets.
  int prepare(int wanted) noexcept {
    if (stopped_) return 1;
    if (wanted > asked_) {
      end_workers();
      start_workers(wanted);
      asked_ = wanted;
    }
    return wanted < started_ ? wanted : started_;
  }

  /// Failure to create a thread or its slot leaves a smaller pool.
  void start_workers(int count) noexcept {
    slots_ = new (std::nothrow) slot[static_cast<std::size_t>(count)];
    started_ = 1;
    if (slots_ == nullptr) return;
    process_ = this_process();
    const std::uint64_t seen = gate_.load(std::memory_order_relaxed) / one_job;
    for (; started_ < count; ++started_) {
      try {
        slots_[started_].thread = std::thread([this, id = started_, seen] { work_loop(slots_[id], id, seen); });
      } catch (...) {
        return;
      }
    }
  }

  void end_workers() noexcept {
    if (slots_ == nullptr) return;
    ending_.store(true, std::memory_order_relaxed);
    gate_.store(next_gate(), std::memory_order_seq_cst);
    wake_workers(started_);
    for (int id = 1; id < started_; ++id) slots_[id].thread.join();
    ending_.store(false, std::memory_order_relaxed);
    delete[] slots_;
    slots_ = nullptr;
    started_ = 1;
  }

  void stop() noexcept {
    if (slots_ != nullptr && this_process() != process_) return;  // a forked child: the workers stayed in the parent
    if (inside_) return detach_workers();  // exit() called from a job: its thread cannot wait for itself
    while (busy_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    end_workers();
    stopped_ = true;
    busy_.clear(std::memory_order_release);
  }
  void detach_workers() noexcept {
    for (int id = 1; id < started_; ++id) slots_[id].thread.detach();
  }

  [[nodiscard]] std::uint64_t next_gate() const noexcept {
    return (gate_.load(std::memory_order_relaxed) & ~(one_job - 1)) + one_job;
  }

  /// Deals the chunks out and opens the gate.
  void publish(const job& next) noexcept {
    job_ = next;
    const std::size_t chunks = (job_.n + job_.step - 1) / job_.step, width = static_cast<std::size_t>(job_.width);
    for (std::size_t id = 0; id < width; ++id) {
      slots_[id].next.store(chunks * id / width, std::memory_order_relaxed);
      slots_[id].end = chunks * (id + 1) / width;
    }
    gate_.store(next_gate() | open_bit, std::memory_order_seq_cst);
    wake_workers(job_.width);
  }

  void wake_workers(int width) noexcept {
    for (int id = 1; id < width; ++id) {
      // Ordered after the gate's store: either the worker sees the new gate or this thread sees it asleep.
      if (!slots_[id].asleep.load(std::memory_order_seq_cst)) continue;
      if (!slots_[id].asleep.exchange(false, std::memory_order_seq_cst)) continue;
      { const std::lock_guard<std::mutex> lock(slots_[id].mutex); }
      slots_[id].wake.notify_one();
    }
  }

  /// Lets nobody in any more and waits for those inside.
  void close() noexcept {
    std::uint64_t gate = gate_.fetch_and(~open_bit, std::memory_order_acq_rel);
    for (int spins = 0; (gate & helper_mask) != 0; ++spins) {
      spins < 4000 ? spin_pause() : std::this_thread::yield();
      gate = gate_.load(std::memory_order_acquire);
    }
  }

  /// Runs chunks, the thread's own share first, until none is left.
  void help(int id) noexcept {
    inside_ = true;
    for (int shift = 0; shift < job_.width; ++shift) {
      slot& share = slots_[(id + shift) % job_.width];
      for (;;) {
        const std::size_t chunk = share.next.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= share.end) break;
        const std::size_t begin = chunk * job_.step;
        job_.work(job_.context, begin, job_.n - begin < job_.step ? job_.n : begin + job_.step);
      }
    }
    inside_ = false;
  }

  void work_loop(slot& mine, int id, std::uint64_t seen) noexcept {
    for (microseconds patience = long_spin;;) {
      std::uint64_t gate = wait_for_job(mine, seen, patience);
      if (ending_.load(std::memory_order_relaxed)) return;
      seen = gate / one_job;
      // Entering fails when the gate closed or belongs to a later job, which the next turn sees.
      while ((gate & open_bit) != 0 && gate / one_job == seen) {
        if (!gate_.compare_exchange_weak(gate, gate + one_helper, std::memory_order_acq_rel)) continue;
        if (id < job_.width) help(id);
        gate_.fetch_sub(one_helper, std::memory_order_release);
        break;
      }
    }
  }

  /// Returns a gate whose job number differs from `seen`.
  std::uint64_t wait_for_job(slot& mine, std::uint64_t seen, microseconds& patience) noexcept {
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t gate = gate_.load(std::memory_order_acquire);
    do {
      for (int spins = 0; spins < 32 && gate / one_job == seen; ++spins) {
        spin_pause();
        gate = gate_.load(std::memory_order_acquire);
      }
      if (gate / one_job != seen) return gate;
    } while (std::chrono::steady_clock::now() - begin < patience);
    gate = sleep_until_job(mine, seen);
    // A nap that spinning could have saved calls for patience the next time, a long sleep for none.
    patience = std::chrono::steady_clock::now() - begin < long_spin ? long_spin : short_spin;
    return gate;
  }

  std::uint64_t sleep_until_job(slot& mine, std::uint64_t seen) noexcept {
    std::unique_lock<std::mutex> lock(mine.mutex);
    for (;;) {
      mine.asleep.store(true, std::memory_order_seq_cst);
      const std::uint64_t gate = gate_.load(std::memory_order_seq_cst);
      if (gate / one_job != seen) {
        mine.asleep.store(false, std::memory_order_relaxed);
        return gate;
      }
      mine.wake.wait(lock);
    }
  }

  alignas(64) std::atomic<std::uint64_t> gate_{0};
  alignas(64) std::atomic_flag busy_;  // held by the thread whose job is running
  std::atomic<int> wanted_{0};         // 0: the default
  std::atomic<bool> ending_{false};
  // Written only by the holder of busy_, before the gate opens:
  job job_;
  slot* slots_ = nullptr;
  int started_ = 1;  // threads that exist, the caller included
  int asked_ = 1;    // threads asked for at the last start; more than started_ when the system refused some
  bool stopped_ = false;
  long process_ = 0;  // that started the workers

  static inline thread_local bool inside_ = false;
};

}  // namespace detail

/// Threads that a job may use; the default is one per hardware thread. Never changes a result.
inline void set_num_threads(int count) noexcept { detail::thread_pool::instance().set_threads(count); }

/// Threads that a job may use.
[[nodiscard]] inline int num_threads() noexcept { return detail::thread_pool::instance().threads(); }

}  // namespace tinygrad::inline TINYGRAD_ABI
