// Arithmetic on sizes that cannot wrap. Used wherever a count comes from a user or a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <tinygrad/core/config.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

/// a + b, or nothing when the sum does not fit.
[[nodiscard]] constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) noexcept {
  if (b > (std::numeric_limits<std::uint64_t>::max)() - a) return std::nullopt;
  return a + b;
}

/// a * b, or nothing when the product does not fit.
[[nodiscard]] constexpr std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) noexcept {
  if (a != 0 && b > (std::numeric_limits<std::uint64_t>::max)() / a) return std::nullopt;
  return a * b;
}

/// True when [offset, offset + length) lies inside [0, size): compared by subtraction, so nothing can wrap.
[[nodiscard]] constexpr bool range_fits(std::uint64_t offset, std::uint64_t length, std::uint64_t size) noexcept {
  return offset <= size && length <= size - offset;
}

/// `value` rounded up to a multiple of `step` (a power of two), or nothing when it does not fit.
[[nodiscard]] constexpr std::optional<std::uint64_t> checked_round_up(std::uint64_t value,
                                                                      std::uint64_t step) noexcept {
  const auto sum = checked_add(value, step - 1);
  if (!sum) return std::nullopt;
  return *sum & ~(step - 1);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
