// Copies between layouts: out = in or out += in over a box of elements, each side walked with its own steps.
//
// Permuting axes, cutting a piece out, putting pieces side by side, splitting attention heads: all of them are this
// one copy, and so are their gradients, with the sides swapped and `accumulate` where a gradient is already there.
//
// Neighbouring axes that both sides walk without a gap are merged. Where the innermost axis is contiguous on both
// sides (the usual case) whole rows are copied with packs; where the sides disagree, tiles of 16 x 16 are turned, so
// that memory is read and written in whole cache lines.
#pragma once

#include <array>
#include <cstddef>
#include <tinygrad/core/shape.hpp>
#include <tinygrad/kernel/lanes.hpp>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {

/// The box: per axis its size and the elements to step along it on either side.
struct copy_plan {
  struct axis {
    std::size_t size, in_step, out_step;
  };
  std::array<axis, static_cast<std::size_t>(max_rank)> axes{};
  std::size_t rank = 0;

  /// Adds an axis inside the ones before. At most max_rank axes.
  constexpr copy_plan& add(std::size_t size, std::size_t in_step, std::size_t out_step) noexcept {
    if (size == 1) return *this;
    if (rank > 0) {
      axis& before = axes[rank - 1];
      if (before.in_step == in_step * size && before.out_step == out_step * size) {
        before = {before.size * size, in_step, out_step};
        return *this;
      }
    }
    axes[rank++] = {size, in_step, out_step};
    return *this;
  }
  [[nodiscard]] constexpr std::size_t count(std::size_t first_axes) const noexcept {
    std::size_t product = 1;
    for (std::size_t k = 0; k < first_axes; ++k) product *= axes[k].size;
    return product;
  }
};

namespace detail {

/// Elements in a piece of work that is worth a thread.
inline constexpr std::size_t copy_grain = 16384;
/// Side of a tile: a cache line of floats.
inline constexpr std::size_t copy_tile = 16;

/// out[0, n) = in[0, n), or += when `accumulate`.
template <class V, class T>
TINYGRAD_ALWAYS_INLINE void copy_row(const T* in, T* out, std::size_t n, bool accumulate) noexcept {
  if (accumulate)
    for_lanes<V>(0, n, [&](std::size_t i, auto count) TINYGRAD_INLINE_LAMBDA {
      store_lanes(out + i, V(load_lanes<V>(out + i, count) + load_lanes<V>(in + i, count)), count);
    });
  else
    for_lanes<V>(0, n, [&](std::size_t i, auto count) TINYGRAD_INLINE_LAMBDA {
      store_lanes(out + i, load_lanes<V>(in + i, count), count);
    });
}

/// The offsets of both sides while the first `rank` axes count up like an odometer.
class copy_cursor {
 public:
  copy_cursor(const copy_plan& plan, std::size_t rank, std::size_t position) noexcept : plan_(plan), rank_(rank) {
    for (std::size_t k = rank; k-- > 0;) {
      const copy_plan::axis& axis = plan.axes[k];
      index_[k] = position % axis.size;
      position /= axis.size;
      in += index_[k] * axis.in_step;
      out += index_[k] * axis.out_step;
    }
  }
  void advance() noexcept {
    for (std::size_t k = rank_; k-- > 0;) {
      const copy_plan::axis& axis = plan_.axes[k];
      in += axis.in_step;
      out += axis.out_step;
      if (++index_[k] < axis.size) return;
      index_[k] = 0;
      in -= axis.size * axis.in_step;
      out -= axis.size * axis.out_step;
    }
  }

  std::size_t in = 0, out = 0;

 private:
  const copy_plan& plan_;
  std::size_t rank_;
  std::array<std::size_t, static_cast<std::size_t>(max_rank)> index_{};
};

/// Puts the axis with the largest step outermost, so that one side is walked in the order of its memory.
inline void order_axes(copy_plan& plan, std::size_t copy_plan::axis::*step) noexcept {
  for (std::size_t k = 1; k < plan.rank; ++k)
    for (std::size_t j = k; j > 0 && plan.axes[j - 1].*step < plan.axes[j].*step; --j)
      std::swap(plan.axes[j - 1], plan.axes[j]);
}

/// The order in which to copy rows: one side's, which runs through memory once, while the other jumps between as many
/// places as the second axis from the end is long. Fewer places are faster, so that number decides the side.
[[nodiscard]] inline copy_plan fewest_streams(const copy_plan& by_output) noexcept {
  copy_plan by_input = by_output;
  order_axes(by_input, &copy_plan::axis::in_step);
  const std::size_t rank = by_output.rank;
  return rank > 1 && by_input.axes[rank - 2].size < by_output.axes[rank - 2].size ? by_input : by_output;
}

/// Rows along the last axis: contiguous on both sides, or a column picked element by element.
template <class P, class T>
void copy_rows(const copy_plan& plan, const T* in, T* out, bool accumulate) noexcept {
  using V = typename P::template lanes_t<T>;
  const copy_plan::axis row = plan.axes[plan.rank - 1];
  const std::size_t rows = plan.count(plan.rank - 1);
  const bool contiguous = row.in_step == 1 && row.out_step == 1;
  const auto part = [&](const copy_cursor& at, std::size_t first, std::size_t last) {
    const T* from = in + at.in + first * row.in_step;
    T* to = out + at.out + first * row.out_step;
    if (contiguous) return copy_row<V>(from, to, last - first, accumulate);
    for (std::size_t i = first; i < last; ++i, from += row.in_step, to += row.out_step)
      *to = accumulate ? *to + *from : *from;
  };
  if (row.size >= 2 * copy_grain) {  // long rows: split each
    copy_cursor at(plan, plan.rank - 1, 0);
    for (std::size_t r = 0; r < rows; ++r, at.advance())
      P::for_range(row.size, copy_grain, [&](std::size_t first, std::size_t last) { part(at, first, last); });
    return;
  }
  P::for_range(rows, copy_grain / row.size + 1, [&](std::size_t first, std::size_t last) {
    copy_cursor at(plan, plan.rank - 1, first);
    for (std::size_t r = first; r < last; ++r, at.advance()) part(at, 0, row.size);
  });
}

/// out (+)= in over two axes of at most 16 elements each, `down` and `across`.
template <bool Accumulate, class T>
void copy_partial_tile(const T* in, T* out, const copy_plan::axis& down, const copy_plan::axis& across) noexcept {
  for (std::size_t r = 0; r < down.size; ++r)
    for (std::size_t c = 0; c < across.size; ++c) {
      T& target = out[r * down.out_step + c * across.out_step];
      const T value = in[r * down.in_step + c * across.in_step];
      target = Accumulate ? target + value : value;
    }
}

/// The same for 16 x 16 elements: contiguous downwards in the input, across in the output. Fixed bounds for the
/// compiler, which keeps the whole tile in registers or in the cache's first level.
template <bool Accumulate, class T>
void copy_whole_tile(const T* TINYGRAD_RESTRICT in, T* TINYGRAD_RESTRICT out, std::size_t in_step,
                     std::size_t out_step) noexcept {
  for (std::size_t r = 0; r < copy_tile; ++r)
    for (std::size_t c = 0; c < copy_tile; ++c) {
      T& target = out[r * out_step + c];
      const T value = in[c * in_step + r];
      target = Accumulate ? target + value : value;
    }
}

/// A strip: up to 16 elements across, any number down. Reads walk along 16 rows of the input.
template <bool Accumulate, class T>
void copy_strip(const T* in, T* out, const copy_plan::axis& down, const copy_plan::axis& across) noexcept {
  const bool regular = down.in_step == 1 && across.out_step == 1 && across.size == copy_tile;
  for (std::size_t top = 0; top < down.size; top += copy_tile) {
    const T* from = in + top * down.in_step;
    T* to = out + top * down.out_step;
    const std::size_t rest = down.size - top;
    if (regular && rest >= copy_tile)
      copy_whole_tile<Accumulate>(from, to, across.in_step, down.out_step);
    else
      copy_partial_tile<Accumulate>(from, to, {rest < copy_tile ? rest : copy_tile, down.in_step, down.out_step},
                                    across);
  }
}

/// The last two axes turned: the input walks the first of them fastest, the output the second. A unit of work is one
/// strip of at most `longest` elements downwards.
template <bool Accumulate, class P, class T>
void copy_turned(const copy_plan& plan, const T* in, T* out) noexcept {
  constexpr std::size_t longest = 1024;
  const copy_plan::axis down = plan.axes[plan.rank - 2];
  const copy_plan::axis across = plan.axes[plan.rank - 1];
  const std::size_t lengths = (down.size - 1) / longest + 1;
  const std::size_t strips = (across.size - 1) / copy_tile + 1;
  const auto piece = [](const copy_plan::axis& axis, std::size_t first, std::size_t most) {
    const std::size_t rest = axis.size - first;
    return copy_plan::axis{rest < most ? rest : most, axis.in_step, axis.out_step};
  };
  const std::size_t unit_size = copy_tile * (lengths > 1 ? longest : down.size);
  P::for_range(plan.count(plan.rank - 2) * lengths * strips, copy_grain / unit_size + 1,
               [&](std::size_t first, std::size_t last) {
                 for (std::size_t unit = first; unit < last; ++unit) {
                   const copy_cursor at(plan, plan.rank - 2, unit / (lengths * strips));
                   const std::size_t top = unit / strips % lengths * longest, left = unit % strips * copy_tile;
                   copy_strip<Accumulate>(in + at.in + top * down.in_step + left * across.in_step,
                                          out + at.out + top * down.out_step + left * across.out_step,
                                          piece(down, top, longest), piece(across, left, copy_tile));
                 }
               });
}

}  // namespace detail

/// out = in over the box of `plan`, or out += in. No two elements of the box share a place in `out`.
template <class P, class T>
void copy_box(copy_plan plan, const T* in, T* out, bool accumulate) noexcept {
  if (plan.count(plan.rank) == 0) return;
  if (plan.rank == 0) plan.axes[plan.rank++] = {1, 1, 1};
  detail::order_axes(plan, &copy_plan::axis::out_step);
  std::size_t fastest_in = plan.rank - 1;
  for (std::size_t k = 0; k < plan.rank; ++k)
    if (plan.axes[k].in_step < plan.axes[fastest_in].in_step) fastest_in = k;
  if (fastest_in == plan.rank - 1) return detail::copy_rows<P>(detail::fewest_streams(plan), in, out, accumulate);
  for (std::size_t k = fastest_in; k + 2 < plan.rank; ++k) std::swap(plan.axes[k], plan.axes[k + 1]);
  if (accumulate)
    detail::copy_turned<true, P>(plan, in, out);
  else
    detail::copy_turned<false, P>(plan, in, out);
}

/// out[0, n) = in[0, n), or += when `accumulate`.
template <class P, class T>
void copy_values(const T* in, T* out, std::size_t n, bool accumulate) noexcept {
  copy_box<P>(copy_plan{}.add(n, 1, 1), in, out, accumulate);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
