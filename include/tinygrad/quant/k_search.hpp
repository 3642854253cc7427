// How values become a block of a K format: scales, minima and levels that make the sum of squared errors small.
//
//   scaled blocks    x = d s[g] level                   Q3_K, Q6_K: levels and s of both signs
//   shifted blocks   x = d s[g] level - e m[g]          Q2_K, Q4_K, Q5_K: levels, s and m not negative
//
// First each group is fitted alone, with any scale: for some spreads of the levels over the values, the levels are
// rounded, scale (and shift) follow by least squares, and so again; the best of all is kept. Then d and e are chosen so
// that the largest scale and shift can be reached, each group takes the best of the whole numbers next to its own, and
// d and e follow by least squares with all of them fixed, twice. Every error that is compared is that of the block as
// it would be stored. What is minimised is the plain sum of squares: no value weighs more than another. Source of the
// formulas: the normal equations of linear regression. The formats: ggml's ggml-common.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tinygrad/quant/block.hpp>
#include <tinygrad/simd/pack.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace quant {
namespace detail {

using search_pack = pack<float>;
static_assert(lanes<search_pack> <= 16, "a group is a whole number of packs");

/// Levels are whole numbers from `least` to `most`.
struct level_range {
  float least, most;
};
/// Sums over a group that a fit is made of, for levels l of values x: l, l^2, l x.
struct level_sums {
  float level = 0, square = 0, product = 0;
};

[[nodiscard]] inline float as_f16(float x) noexcept { return f16_to_float(float_to_f16(x)); }

[[nodiscard]] TINYGRAD_ALWAYS_INLINE search_pack nearest_levels(const search_pack& x, float inverse, float shift,
                                                                level_range range) {
  const search_pack exact = (x - search_pack(shift)) * search_pack(inverse);
  return minimum(maximum(search_pack(range.least), (round)(exact)), search_pack(range.most));
}

/// The sums for the levels nearest to (x - shift) inverse.
template <std::size_t Group>
[[nodiscard]] level_sums sums_of(const float* x, float inverse, float shift, level_range range) noexcept {
  search_pack level(0.0f), square(0.0f), product(0.0f);
  for (std::size_t i = 0; i < Group; i += static_cast<std::size_t>(lanes<search_pack>)) {
    const auto value = search_pack::load(x + i), l = nearest_levels(value, inverse, shift, range);
    level += l;
    square = fma(l, l, square);
    product = fma(l, value, product);
  }
  return {reduce_add(level), reduce_add(square), reduce_add(product)};
}
/// The sum of squared errors of scale * level + shift with the nearest levels.
template <std::size_t Group>
[[nodiscard]] float error_of(const float* x, float scale, float shift, level_range range) noexcept {
  const float inverse_scale = inverse(scale);
  search_pack error(0.0f);
  for (std::size_t i = 0; i < Group; i += static_cast<std::size_t>(lanes<search_pack>)) {
    const auto value = search_pack::load(x + i), l = nearest_levels(value, inverse_scale, shift, range);
    const search_pack difference = value - fma(l, search_pack(scale), search_pack(shift));
    error = fma(difference, difference, error);
  }
  return reduce_add(error);
}
template <std::size_t Group>
[[nodiscard]] float sum_of(const float* x) noexcept {
  search_pack sum(0.0f);
  for (std::size_t i = 0; i < Group; i += static_cast<std::size_t>(lanes<search_pack>)) sum += search_pack::load(x + i);
  return reduce_add(sum);
}
/// level[Group] + offset, the nearest to x.
template <std::size_t Group>
void put_levels(const float* x, float scale, float shift, level_range range, int offset, std::uint8_t* level) noexcept {
  const float inverse_scale = inverse(scale);
  for (std::size_t i = 0; i < Group; i += static_cast<std::size_t>(lanes<search_pack>)) {
    float nearest[lanes<search_pack>];
    nearest_levels(search_pack::load(x + i), inverse_scale, shift, range).store(nearest);
    for (const float& each : nearest)
      level[i + static_cast<std::size_t>(&each - nearest)] = static_cast<std::uint8_t>(static_cast<int>(each) + offset);
  }
}
[[nodiscard]] inline int clamped_whole(float x, int least, int most) noexcept {
  const float inside = minimum(maximum(static_cast<float>(least), (round)(x)), static_cast<float>(most));
  return static_cast<int>(inside);
}

// --- scaled blocks -------------------------------------------------------------------------------------------------

/// The scale for one group, of either sign.
template <std::size_t Group>
[[nodiscard]] float best_scale(const float* x, level_range range) noexcept {
  const float extreme = farthest_from_zero(x, Group), unit = inverse(extreme);
  float best = 0, best_gain = 0;
  if (unit == 0) return 0;
  const auto attempt = [&](float inverse_scale) {
    const level_sums s = sums_of<Group>(x, inverse_scale, 0, range);
    if (s.square == 0) return;
    const float gain = s.product / s.square * s.product;  // by how much the scale lowers the sum of squares
    if (gain > best_gain) best_gain = gain, best = s.product / s.square;
  };
  // The value farthest from zero at either end, or somewhat inside or outside of it.
  for (int step = -9; step <= 9; ++step) {
    const float beyond = range.most > 8 ? 0.1f * static_cast<float>(step) : 0.125f * static_cast<float>(step);
    attempt(unit * (range.least + beyond));
    attempt(unit * (range.most + beyond));
  }
  for (int again = 0; again < 2 && best != 0; ++again) attempt(inverse(best));
  return best;
}

/// x[Groups * Group] = d s[g] level.
template <std::size_t Groups, std::size_t Group>
struct scaled_block {
  float d = 0;
  std::array<int, Groups> s{};
  float error = std::numeric_limits<float>::infinity();

  /// least_s is -most_s - 1.
  static scaled_block of(const float* x, level_range range, int most_s) noexcept {
    std::array<float, Groups> scale;
    for (std::size_t g = 0; g < Groups; ++g) scale[g] = best_scale<Group>(x + g * Group, range);
    const float extreme = farthest_from_zero(scale.data(), Groups);
    scaled_block best;
    const int fewest = most_s > 64 ? 1 : 5;
    for (int reach = 0; reach < fewest; ++reach) {
      scaled_block block = with(x, range, most_s, scale, as_f16(extreme / static_cast<float>(reach - most_s - 1)));
      for (int again = 0; again < 2; ++again) {
        if (block.error < best.error) best = block;
        for (std::size_t g = 0; g < Groups; ++g) scale[g] = block.d * static_cast<float>(block.s[g]);
        block = with(x, range, most_s, scale, as_f16(block.refitted(x, range)));
      }
      if (block.error < best.error) best = block;
    }
    return best;
  }
  void put_levels_of(const float* x, level_range range, int offset, std::uint8_t* level) const noexcept {
    for (std::size_t g = 0; g < Groups; ++g)
      put_levels<Group>(x + g * Group, d * static_cast<float>(s[g]), 0, range, offset, level + g * Group);
  }

 private:
  /// The best whole numbers next to scale / d.
  static scaled_block with(const float* x, level_range range, int most_s, const std::array<float, Groups>& scale,
                           float d) noexcept {
    scaled_block block;
    block.d = d;
    block.error = 0;
    const float unit = inverse(d);
    for (std::size_t g = 0; g < Groups; ++g) {
      const int middle = clamped_whole(scale[g] * unit, -most_s - 1, most_s);
      float least_error = std::numeric_limits<float>::infinity();
      for (int s = (std::max)(middle - 1, -most_s - 1); s <= (std::min)(middle + 1, most_s); ++s) {
        const float error = error_of<Group>(x + g * Group, d * static_cast<float>(s), 0, range);
        if (error < least_error) least_error = error, block.s[g] = s;
      }
      block.error += least_error;
    }
    return block;
  }
  /// d by least squares, everything else fixed.
  [[nodiscard]] float refitted(const float* x, level_range range) const noexcept {
    float square = 0, product = 0;
    for (std::size_t g = 0; g < Groups; ++g) {
      const auto whole = static_cast<float>(s[g]);
      const level_sums sums = sums_of<Group>(x + g * Group, inverse(d * whole), 0, range);
      square += whole * whole * sums.square;
      product += whole * sums.product;
    }
    return square == 0 ? d : product / square;
  }
};

// --- shifted blocks ------------------------------------------------------------------------------------------------

/// value = scale * level + shift, shift not positive.
struct shifted_scale {
  float scale, shift;
};

/// Scale and shift for one group; levels from 0 to range.most.
template <std::size_t Group>
[[nodiscard]] shifted_scale best_shifted_scale(const float* x, level_range range) noexcept {
  const value_range values = range_of(x, Group);
  const float low = (std::min)(values.low, 0.0f), width = values.high - low, unit = inverse(width);
  shifted_scale best{0, low};
  if (unit == 0) return best;
  const float sum = sum_of<Group>(x);
  constexpr auto count = static_cast<float>(Group);
  float least_error = error_of<Group>(x, 0, low, range);
  for (int step = -10; step <= 10; ++step) {
    float inverse_scale = unit * (range.most + (range.most > 8 ? 0.1f : 0.05f) * static_cast<float>(step)), shift = low;
    for (int again = 0; again < 3; ++again) {
      const level_sums s = sums_of<Group>(x, inverse_scale, shift, range);
      const float determinant = count * s.square - s.level * s.level;
      if (s.square == 0) break;
      shifted_scale fit{s.product / s.square, 0};  // where all levels are alike, or the shift would be positive
      if (determinant > 0) {
        const float shift_by_squares = (sum * s.square - s.level * s.product) / determinant;
        if (shift_by_squares <= 0) fit = {(count * s.product - s.level * sum) / determinant, shift_by_squares};
      }
      const float error = error_of<Group>(x, fit.scale, fit.shift, range);
      if (error < least_error) least_error = error, best = fit;
      inverse_scale = inverse(fit.scale);
      shift = fit.shift;
    }
  }
  return best;
}

/// x[Groups * Group] = d s[g] level - e m[g], s and m from 0 to `most_s`.
template <std::size_t Groups, std::size_t Group>
struct shifted_block {
  float d = 0, e = 0;
  std::array<int, Groups> s{}, m{};
  float error = std::numeric_limits<float>::infinity();

  static shifted_block of(const float* x, level_range range, int most_s) noexcept {
    std::array<shifted_scale, Groups> wanted;
    float largest_scale = 0, largest_shift = 0;
    for (std::size_t g = 0; g < Groups; ++g) {
      wanted[g] = best_shifted_scale<Group>(x + g * Group, range);
      largest_scale = (std::max)(largest_scale, wanted[g].scale);
      largest_shift = (std::max)(largest_shift, -wanted[g].shift);
    }
    shifted_block best;
    const float most = static_cast<float>(most_s);
    for (int reach = 0; reach < (most_s > 15 ? 2 : 4); ++reach) {  // the largest scale may be cut off
      const float beyond = most + static_cast<float>(reach);
      shifted_block block =
          with(x, range, most_s, wanted, as_f16(largest_scale / beyond), as_f16(largest_shift / beyond));
      for (int again = 0; again < 2; ++again) {
        if (block.error < best.error) best = block;
        const auto [d, e] = block.refitted(x, range);
        block = with(x, range, most_s, wanted, as_f16(d), as_f16(e));
      }
      if (block.error < best.error) best = block;
    }
    return best;
  }
  void put_levels_of(const float* x, level_range range, std::uint8_t* level) const noexcept {
    for (std::size_t g = 0; g < Groups; ++g)
      put_levels<Group>(x + g * Group, d * static_cast<float>(s[g]), -(e * static_cast<float>(m[g])), range, 0,
                        level + g * Group);
  }

 private:
  struct two_scales {
    float d, e;
  };
  /// The best whole numbers next to the wanted scales: for each s the m next to its own best shift.
  static shifted_block with(const float* x, level_range range, int most_s,
                            const std::array<shifted_scale, Groups>& wanted, float d, float e) noexcept {
    shifted_block block;
    block.d = d;
    block.e = e;
    block.error = 0;
    const float scale_unit = inverse(d), shift_unit = inverse(e);
    for (std::size_t g = 0; g < Groups; ++g) {
      const int middle_s = clamped_whole(wanted[g].scale * scale_unit, 0, most_s);
      const int middle_m = clamped_whole(-wanted[g].shift * shift_unit, 0, most_s);
      float least_error = std::numeric_limits<float>::infinity();
      for (int s = (std::max)(middle_s - 1, 0); s <= (std::min)(middle_s + 1, most_s); ++s) {
        for (int m = (std::max)(middle_m - 1, 0); m <= (std::min)(middle_m + 1, most_s); ++m) {
          const float error =
              error_of<Group>(x + g * Group, d * static_cast<float>(s), -(e * static_cast<float>(m)), range);
          if (error < least_error) least_error = error, block.s[g] = s, block.m[g] = m;
        }
      }
      block.error += least_error;
    }
    return block;
  }
  /// d and e by least squares, everything else fixed.
  [[nodiscard]] two_scales refitted(const float* x, level_range range) const noexcept {
    float ss = 0, sm = 0, mm = 0, xs = 0, xm = 0;
    for (std::size_t g = 0; g < Groups; ++g) {
      const float whole_s = static_cast<float>(s[g]), whole_m = static_cast<float>(m[g]);
      const level_sums sums = sums_of<Group>(x + g * Group, inverse(d * whole_s), -(e * whole_m), range);
      ss += whole_s * whole_s * sums.square;
      sm += whole_s * whole_m * sums.level;
      mm += whole_m * whole_m * static_cast<float>(Group);
      xs += whole_s * sums.product;
      xm += whole_m * sum_of<Group>(x + g * Group);
    }
    const float determinant = ss * mm - sm * sm;
    if (determinant <= 0) return {ss == 0 ? d : xs / ss, e};
    return {(xs * mm - sm * xm) / determinant, (xs * sm - ss * xm) / determinant};
  }
};

}  // namespace detail
}  // namespace quant
}  // namespace tinygrad::inline TINYGRAD_ABI
