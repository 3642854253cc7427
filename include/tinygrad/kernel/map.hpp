// Elementwise kernels: out = f(in...), and its gradient derived by running the same f on dual numbers.
//
// Forward and backward are one loop each, over packs, with broadcasting. The backward loop evaluates f on
// dual<V, K>, seeded so that direction k is the derivative by input k, and sends dy * d[k] where it belongs:
// stored, added, or summed over the axes along which the input was repeated.
#pragma once

#include <array>
#include <cstddef>
#include <tinygrad/dual/dual.hpp>
#include <tinygrad/kernel/broadcast.hpp>
#include <tinygrad/kernel/lanes.hpp>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {

template <class T, std::size_t K>
struct map_args {
  broadcast_plan<K> plan;
  std::array<const T*, K> in;
  T* out;  // plan's element count, row-major
};

/// `dy` may be the memory of one `dx` that is written and not repeated: each element is read before it is written.
template <class T, std::size_t K>
struct map_backward_args {
  broadcast_plan<K> plan;
  std::array<const T*, K> in;
  const T* dy;
  std::array<T*, K> dx;            // null where no gradient is wanted
  std::array<bool, K> accumulate;  // false: write (only for inputs that are not repeated)
};

namespace detail {

/// Elements in a piece of work that is worth a thread.
inline constexpr std::size_t map_grain = 16384;

/// A row of operands: position i of operand k is p[k] + i where it walks, or a pack's worth of copies where it repeats.
template <class V, std::size_t K>
struct row_operands {
  using T = scalar_of<V>;
  std::array<const T*, K> p;
  std::array<bool, K> walks;

  template <class Count>
  [[nodiscard]] TINYGRAD_ALWAYS_INLINE V at(std::size_t k, std::size_t i, Count count) const {
    return walks[k] ? load_lanes<V>(p[k] + i, count) : V(*p[k]);
  }
};

template <class V, class T, std::size_t K>
row_operands<V, K> operands_of_row(const broadcast_plan<K>& plan, const std::array<const T*, K>& in,
                                   std::size_t row) noexcept {
  row_operands<V, K> result;
  for (std::size_t k = 0; k < K; ++k) {
    result.p[k] = in[k] + plan.row_offset(k, row);
    result.walks[k] = plan.walks_columns(k);
  }
  return result;
}

template <class V, class F, class T, std::size_t K, std::size_t... Ks>
void map_row(const F& f, const row_operands<V, K>& x, T* out, std::size_t first, std::size_t last,
             std::index_sequence<Ks...>) noexcept {
  for_lanes<V>(first, last, [&](std::size_t i, auto count) TINYGRAD_INLINE_LAMBDA {
    store_lanes(out + i, V(f(x.at(Ks, i, count)...)), count);
  });
}

/// How one input's gradient leaves the loop.
enum class arrival : unsigned char { unwanted, written, added, summed };

/// f on dual numbers whose direction k is the derivative by argument k; always a dual, also for constant functions.
template <class V, class F, std::size_t... Ks>
[[nodiscard]] TINYGRAD_ALWAYS_INLINE dual<V, static_cast<int>(sizeof...(Ks))> differentiate(
    const F& f, const std::array<V, sizeof...(Ks)>& x, std::index_sequence<Ks...>) {
  return f(dual<V, static_cast<int>(sizeof...(Ks))>::variable(x[Ks], static_cast<int>(Ks))...);
}

template <class V, class F, class T, std::size_t K, std::size_t... Ks>
void map_backward_row(const F& f, const row_operands<V, K>& x, const T* dy, const std::array<T*, K>& dx,
                      const std::array<arrival, K>& how, std::size_t first, std::size_t last,
                      std::index_sequence<Ks...> all) noexcept {
  std::array<V, K> sum;
  sum.fill(V(T(0)));
  for_lanes<V>(first, last, [&](std::size_t i, auto count) TINYGRAD_INLINE_LAMBDA {
    const auto y = differentiate<V>(f, std::array<V, K>{x.at(Ks, i, count)...}, all);
    const V g = load_lanes<V>(dy + i, count);
    const auto send = [&](std::size_t k) TINYGRAD_INLINE_LAMBDA {
      const V share = g * y.d[k];
      switch (how[k]) {
        case arrival::unwanted:
          break;
        case arrival::written:
          store_lanes(dx[k] + i, share, count);
          break;
        case arrival::added:
          store_lanes(dx[k] + i, V(load_lanes<V>(dx[k] + i, count) + share), count);
          break;
        case arrival::summed:
          sum[k] = sum[k] + first_lanes(share, count);
          break;
      }
    };
    (send(Ks), ...);
  });
  for (std::size_t k = 0; k < K; ++k)
    if (how[k] == arrival::summed) *dx[k] += reduce_add(sum[k]);
}

/// Rows too short to fill packs, joined: `count` rows make one row of a wide plan, in which an operand that is the same
/// on every row (a bias) is laid out `count` times in `copies`. The rows that are left over keep the plan they had.
template <class T, std::size_t K>
struct joined_rows {
  static constexpr std::size_t width = 128;  // elements of a wide row at most

  std::size_t count = 1;  // 1: nothing is joined
  std::size_t whole = 0;  // rows in the wide plan
  broadcast_plan<K> wide, rest;
  std::array<std::array<T, width>, K> copies;

  explicit joined_rows(const broadcast_plan<K>& plan) noexcept : rest(plan) {
    const std::size_t columns = plan.columns();
    if (plan.axes != 2 || columns == 0 || columns > width / 2 || plan.size[0] < width / columns) return;
    for (std::size_t k = 0; k < K; ++k)
      if (plan.stride[k][1] != 1 || (plan.stride[k][0] != 0 && plan.stride[k][0] != columns)) return;
    count = width / columns;
    whole = plan.size[0] / count * count;
    rest.size[0] -= whole;
    wide = plan;
    wide.size[0] = whole / count;
    wide.size[1] = columns * count;
    for (std::size_t k = 0; k < K; ++k) wide.stride[k][0] *= count;
  }
  [[nodiscard]] bool same_on_every_row(std::size_t k) const noexcept { return wide.stride[k][0] == 0; }
  /// Operand k of the wide plan: x itself, or its copies.
  [[nodiscard]] const T* operand(std::size_t k, const T* x) noexcept {
    if (!same_on_every_row(k)) return x;
    for (std::size_t i = 0; i < wide.size[1]; ++i) copies[k][i] = x[i % rest.size[1]];
    return copies[k].data();
  }
  /// Where the rows that are left over begin in the memory of operand k.
  template <class X>
  [[nodiscard]] X* remaining(std::size_t k, X* x) const noexcept {
    return x == nullptr || same_on_every_row(k) ? x : x + whole * rest.size[1];
  }
};

}  // namespace detail

/// out = f(in...) over the plan.
template <class V, class Split, class F, class T, std::size_t K>
void map_kernel(const F& f, const map_args<T, K>& args, Split split) noexcept {
  constexpr auto all = std::make_index_sequence<K>{};
  if constexpr (K > 1 && 1 < lanes<V>) {
    if (detail::joined_rows<T, K> joined(args.plan); joined.count > 1) {
      map_args<T, K> wide{joined.wide, {}, args.out};
      map_args<T, K> rest{joined.rest, {}, args.out + joined.whole * args.plan.columns()};
      for (std::size_t k = 0; k < K; ++k) {
        wide.in[k] = joined.operand(k, args.in[k]);
        rest.in[k] = joined.remaining(k, args.in[k]);
      }
      map_kernel<V>(f, wide, split);
      map_kernel<V>(f, rest, split);
      return;
    }
  }
  const std::size_t rows = args.plan.rows();
  const std::size_t columns = args.plan.columns();
  if (rows == 0 || columns == 0) return;
  if (columns >= 2 * detail::map_grain) {  // long rows: split each
    for (std::size_t row = 0; row < rows; ++row) {
      const auto x = detail::operands_of_row<V>(args.plan, args.in, row);
      Split::run(columns, detail::map_grain, [&](std::size_t first, std::size_t last) {
        detail::map_row<V>(f, x, args.out + row * columns, first, last, all);
      });
    }
    return;
  }
  Split::run(rows, detail::map_grain / columns + 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t row = first; row < last; ++row)
      detail::map_row<V>(f, detail::operands_of_row<V>(args.plan, args.in, row), args.out + row * columns, 0, columns,
                         all);
  });
}

/// dx[k] (+)= sum over the repeats of dy * df/dx[k].
///
/// Work is split along rows or along columns, whichever no wanted gradient is summed over; where both are, one
/// thread does it all. A gradient is therefore summed in the same order whatever the number of threads.
template <class V, class Split, class F, class T, std::size_t K>
void map_backward_kernel(const F& f, const map_backward_args<T, K>& args, Split split) noexcept {
  constexpr auto all = std::make_index_sequence<K>{};
  const broadcast_plan<K>& plan = args.plan;
  if constexpr (K > 1 && 1 < lanes<V>) {
    if (detail::joined_rows<T, K> joined(plan); joined.count > 1) {
      map_backward_args<T, K> wide = args;
      map_backward_args<T, K> rest = args;
      wide.plan = joined.wide;
      rest.plan = joined.rest;
      rest.dy += joined.whole * plan.columns();
      std::array<std::array<T, joined.width>, K> sums{};
      for (std::size_t k = 0; k < K; ++k) {
        wide.in[k] = joined.operand(k, args.in[k]);
        rest.in[k] = joined.remaining(k, args.in[k]);
        rest.dx[k] = joined.remaining(k, args.dx[k]);
        if (joined.same_on_every_row(k) && args.dx[k] != nullptr) wide.dx[k] = sums[k].data();
      }
      map_backward_kernel<V>(f, wide, split);
      map_backward_kernel<V>(f, rest, split);
      for (std::size_t k = 0; k < K; ++k)
        if (joined.same_on_every_row(k) && args.dx[k] != nullptr)
          for (std::size_t i = 0; i < joined.wide.size[1]; ++i) args.dx[k][i % plan.columns()] += sums[k][i];
      return;
    }
  }
  const std::size_t rows = plan.rows();
  const std::size_t columns = plan.columns();
  std::array<detail::arrival, K> how;
  bool sums_rows = false;
  bool sums_columns = false;
  for (std::size_t k = 0; k < K; ++k) {
    const bool wanted = args.dx[k] != nullptr;
    const bool walks = plan.walks_columns(k) || columns == 1;
    how[k] = !wanted              ? detail::arrival::unwanted
             : !walks             ? detail::arrival::summed
             : args.accumulate[k] ? detail::arrival::added
                                  : detail::arrival::written;
    if (!wanted) continue;
    sums_columns |= !walks;
    for (std::size_t axis = 0; axis + 1 < plan.axes; ++axis)
      sums_rows |= plan.stride[k][axis] == 0 && plan.size[axis] != 1;
  }
  const auto block = [&](std::size_t row_first, std::size_t row_last, std::size_t first, std::size_t last) {
    for (std::size_t row = row_first; row < row_last; ++row) {
      std::array<T*, K> dx;
      for (std::size_t k = 0; k < K; ++k)
        dx[k] = args.dx[k] == nullptr ? nullptr : args.dx[k] + plan.row_offset(k, row);
      detail::map_backward_row<V>(f, detail::operands_of_row<V>(plan, args.in, row), args.dy + row * columns, dx, how,
                                  first, last, all);
    }
  };
  if (rows == 0 || columns == 0) return;
  if (!sums_rows && rows > 1) {
    Split::run(rows, detail::map_grain / columns + 1,
               [&](std::size_t first, std::size_t last) { block(first, last, 0, columns); });
  } else if (!sums_columns) {
    const std::size_t least = 64;  // columns of a piece: whole cache lines, whole packs
    const std::size_t grain = detail::map_grain / rows / least * least + least;
    Split::run(columns, grain, [&](std::size_t first, std::size_t last) { block(0, rows, first, last); });
  } else {
    block(0, rows, 0, columns);
  }
}

}  // namespace tinygrad::inline TINYGRAD_ABI
