// How a loop over independent outputs is spread: `serial` or `pooled`. A kernel takes one of them as a parameter.
//
// run(n, grain, f) calls f(begin, end) over disjoint ranges that cover [0, n); every begin is a multiple of grain.
// Only outputs are split, never a sum, so that results do not depend on the number of threads. f must not throw.
#pragma once

#include <cstddef>
#include <tinygrad/core/config.hpp>
#include <tinygrad/parallel/thread_pool.hpp>
#include <type_traits>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {

/// Everything on the calling thread.
struct serial {
  [[nodiscard]] static constexpr int width() noexcept { return 1; }
  template <class F>
  static void run(std::size_t n, std::size_t /*grain*/, F&& f) {
    if (n != 0) std::forward<F>(f)(std::size_t{0}, n);
  }
};

/// On the process-wide pool; the calling thread takes part. Inside a run it is serial.
struct pooled {
  /// Threads a run may use from here.
  [[nodiscard]] static int width() noexcept {
    return detail::thread_pool::inside_job() ? 1 : detail::thread_pool::instance().threads();
  }
  /// `grain` is the least work worth handing to another thread, in elements; zero counts as one.
  template <class F>
  static void run(std::size_t n, std::size_t grain, F&& f) {
    if (grain == 0) grain = 1;
    if (n <= grain) return serial::run(n, grain, std::forward<F>(f));
    using body = std::remove_reference_t<F>;
    const auto call = [](void* context, std::size_t begin, std::size_t end) noexcept {
      (*static_cast<body*>(context))(begin, end);
    };
    // The pool hands the address on as void*; constness comes back with the cast to body.
    auto* const context = const_cast<std::remove_const_t<body>*>(&f);
    detail::thread_pool::instance().run(n, step_for(n, grain), call, context);
  }

 private:
  /// Chunk length: a multiple of grain, small enough that threads delayed by others can be relieved.
  static std::size_t step_for(std::size_t n, std::size_t grain) noexcept {
    constexpr std::size_t chunks_per_thread = 4;
    const auto parts = chunks_per_thread * static_cast<std::size_t>(width());
    const std::size_t grains = (n - 1) / grain + 1;
    return ((grains - 1) / parts + 1) * grain;
  }
};

}  // namespace tinygrad::inline TINYGRAD_ABI
