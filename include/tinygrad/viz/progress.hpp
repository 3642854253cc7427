// Progress of a long run as text: a bar that redraws itself on a terminal, plain lines elsewhere.
//
// The class only makes strings; whoever uses it prints them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

/// "3:07", "1:02:45".
[[nodiscard]] inline std::string clock_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(seconds > 0 ? seconds + 0.5 : 0);
  char text[40];
  if (whole < 3600)
    std::snprintf(text, sizeof text, "%u:%02u", static_cast<unsigned>(whole / 60), static_cast<unsigned>(whole % 60));
  else
    std::snprintf(text, sizeof text, "%llu:%02u:%02u", static_cast<unsigned long long>(whole / 3600),
                  static_cast<unsigned>(whole / 60 % 60), static_cast<unsigned>(whole % 60));
  return text;
}

class Progress {
 public:
  /// A run of `total` steps of which `done` are behind us already (a resumed run).
  Progress(std::uint64_t total, std::uint64_t done, std::size_t tokens_per_step)
      : total_(total), start_step_(done), tokens_per_step_(tokens_per_step), start_(clock::now()) {}

  /// Tokens a second since the start of this session, `step` steps being done.
  [[nodiscard]] double tokens_per_second(std::uint64_t step) const {
    const double elapsed = seconds();
    const double tokens = static_cast<double>(step - start_step_) * static_cast<double>(tokens_per_step_);
    return elapsed > 0 ? tokens / elapsed : 0;
  }
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }

  /// "step  120/2000  loss 2.3456  51234 tokens/s  1:23 left".
  [[nodiscard]] std::string line(std::uint64_t step, double loss) const {
    const double rate = tokens_per_second(step);
    const double left =
        rate > 0 ? static_cast<double>(total_ > step ? total_ - step : 0) * static_cast<double>(tokens_per_step_) / rate
                 : 0;
    char text[160];
    std::snprintf(text, sizeof text, "step %5llu/%llu  loss %.4f  %.0f tokens/s  %s left",
                  static_cast<unsigned long long>(step), static_cast<unsigned long long>(total_), loss, rate,
                  clock_text(left).c_str());
    return text;
  }
  /// The same behind a bar, to be printed over the line before: starts with a carriage return, clears to the end.
  [[nodiscard]] std::string bar(std::uint64_t step, double loss, std::size_t width = 24) const {
    const std::size_t filled = total_ == 0 ? width : static_cast<std::size_t>(step * width / total_);
    std::string result = "\r[";
    for (std::size_t i = 0; i < width; ++i) result += i < filled ? '#' : '.';
    return result + "] " + line(step, loss) + "\x1b[K";
  }

 private:
  using clock = std::chrono::steady_clock;
  std::uint64_t total_, start_step_;
  std::size_t tokens_per_step_;
  clock::time_point start_;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
