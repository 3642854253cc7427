// Runs a function in a thread whose stack has 512 KiB: what recursion would overflow.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <exception>
#include <stdexcept>

namespace test_support {

/// Calls f on a small stack and rethrows what it throws.
template <class F>
void on_small_stack(F f, std::size_t bytes = 512 * 1024) {
  struct call {
    F& function;
    std::exception_ptr error;
  } state{f, nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, bytes);
  pthread_t thread{};
  const int failed = pthread_create(
      &thread, &attributes,
      [](void* argument) -> void* {
        auto& mine = *static_cast<call*>(argument);
        try {
          mine.function();
        } catch (...) {
          mine.error = std::current_exception();
        }
        return nullptr;
      },
      &state);
  pthread_attr_destroy(&attributes);
  if (failed != 0) throw std::runtime_error("could not start a thread");
  pthread_join(thread, nullptr);
  if (state.error) std::rethrow_exception(state.error);
}

}  // namespace test_support
