// Learning rate schedules: pure functions from the step (counted from 0) to the rate.
//
// They hold no state, so a resumed run has the right rate as soon as it knows its step:
//   optimizer.set_learning_rate(schedule(step));
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <tinygrad/core/config.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

struct constant_schedule {
  double rate = 1e-3;
  [[nodiscard]] double operator()(std::uint64_t) const noexcept { return rate; }
};

/// rate * factor^(step / every): drops at every multiple of `every`.
struct step_schedule {
  double rate = 1e-3;
  std::uint64_t every = 1000;
  double factor = 0.1;
  [[nodiscard]] double operator()(std::uint64_t step) const noexcept {
    return rate * std::pow(factor, static_cast<double>(every == 0 ? 0 : step / every));
  }
};

/// Rises in a straight line over `warmup` steps (the first step already moves), then falls as half a cosine to
/// `final_rate` at step `total`, and stays there. Source: Loshchilov and Hutter 2017, arXiv:1608.03983.
struct cosine_schedule {
  double rate = 1e-3;
  std::uint64_t warmup = 0;
  std::uint64_t total = 1000;
  double final_rate = 0;
  [[nodiscard]] double operator()(std::uint64_t step) const noexcept {
    if (step < warmup) return rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
    if (step >= total) return final_rate;
    const double progress = static_cast<double>(step - warmup) / static_cast<double>(total - warmup);
    return final_rate + 0.5 * (rate - final_rate) * (1 + std::cos(std::numbers::pi * progress));
  }
};

}  // namespace tinygrad::inline TINYGRAD_ABI
