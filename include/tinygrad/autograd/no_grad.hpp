// Whether operations record the graph: on by default, switched off for a scope by `no_grad`.
#pragma once

#include <tinygrad/core/config.hpp>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {
inline bool& recording() noexcept {
  static thread_local bool enabled = true;
  return enabled;
}
}  // namespace detail

/// True when operations of this thread record the graph.
[[nodiscard]] inline bool grad_enabled() noexcept { return detail::recording(); }

/// While one lives, operations of this thread record nothing: for evaluation, generation and parameter updates.
class [[nodiscard]] no_grad {
 public:
  no_grad() noexcept : before_(std::exchange(detail::recording(), false)) {}
  no_grad(const no_grad&) = delete;
  no_grad& operator=(const no_grad&) = delete;
  ~no_grad() { detail::recording() = before_; }

 private:
  bool before_;
};

/// The reverse: records inside a `no_grad` scope.
class [[nodiscard]] enable_grad {
 public:
  enable_grad() noexcept : before_(std::exchange(detail::recording(), true)) {}
  enable_grad(const enable_grad&) = delete;
  enable_grad& operator=(const enable_grad&) = delete;
  ~enable_grad() { detail::recording() = before_; }

 private:
  bool before_;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
