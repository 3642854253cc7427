// Reductions: out = fold of `op` over the middle axis of in[outer, length, inner].
//
// Sums are split over outputs only, and each output is added up in an order that depends on its length alone, so a
// result never depends on the number of threads. Along a contiguous axis four packs accumulate side by side, which
// also makes the rounding error grow like length / (4 lanes) instead of length.
#pragma once

#include <cstddef>
#include <limits>
#include <tinygrad/kernel/lanes.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

template <class T>
struct fold_args {
  std::size_t outer, length, inner;
  const T* in;  // [outer, length, inner]
  T* out;       // [outer, inner]
};

/// The monoids that folds run on: a neutral value, a combination, and the reduction of one pack.
struct fold_add {
  template <class T>
  [[nodiscard]] static constexpr T neutral() noexcept {
    return T(0);
  }
  template <class V>
  [[nodiscard]] static V combine(const V& a, const V& b) noexcept {
    return a + b;
  }
  template <class V>
  [[nodiscard]] static scalar_of<V> reduce(const V& v) noexcept {
    return reduce_add(v);
  }
};
struct fold_max {
  template <class T>
  [[nodiscard]] static constexpr T neutral() noexcept {
    return -std::numeric_limits<T>::infinity();
  }
  template <class V>
  [[nodiscard]] static V combine(const V& a, const V& b) noexcept {
    return select(a != a, a, maximum(b, a));  // a NaN on either side stays: maximum keeps that of its first operand
  }
  template <class V>
  [[nodiscard]] static scalar_of<V> reduce(const V& v) noexcept {
    return any_of(v != v) ? std::numeric_limits<scalar_of<V>>::quiet_NaN() : reduce_max(v);
  }
};

namespace detail {

/// Folds n contiguous values.
template <class V, class Op, class T>
[[nodiscard]] T fold_row(Op, const T* x, std::size_t n) noexcept {
  constexpr auto step = static_cast<std::size_t>(lanes<V>);
  V a(Op::template neutral<T>()), b = a, c = a, d = a;
  std::size_t i = 0;
  for (const std::size_t wide = n / (4 * step) * (4 * step); i < wide; i += 4 * step) {
    a = Op::combine(a, load<V>(x + i));
    b = Op::combine(b, load<V>(x + i + step));
    c = Op::combine(c, load<V>(x + i + 2 * step));
    d = Op::combine(d, load<V>(x + i + 3 * step));
  }
  for (const std::size_t whole_packs = n / step * step; i < whole_packs; i += step) a = Op::combine(a, load<V>(x + i));
  T result = Op::reduce(Op::combine(Op::combine(a, b), Op::combine(c, d)));
  if constexpr (step > 1)
    for (; i < n; ++i) result = Op::combine(result, x[i]);
  return result;
}

/// Folds columns [first, last) of in[length, inner] downwards, four packs of columns side by side: a row then gives
/// whole cache lines in a row, which memory delivers faster than single ones.
template <class V, class Op, class T>
void fold_columns(Op, const T* in, T* out, std::size_t length, std::size_t inner, std::size_t first,
                  std::size_t last) noexcept {
  constexpr auto step = static_cast<std::size_t>(lanes<V>);
  std::size_t j = first;
  for (; j + 4 * step <= last; j += 4 * step) {
    V a(Op::template neutral<T>()), b = a, c = a, d = a;
    for (std::size_t r = 0; r < length; ++r) {
      const T* const x = in + r * inner + j;
      a = Op::combine(a, load<V>(x));
      b = Op::combine(b, load<V>(x + step));
      c = Op::combine(c, load<V>(x + 2 * step));
      d = Op::combine(d, load<V>(x + 3 * step));
    }
    store(out + j, a);
    store(out + j + step, b);
    store(out + j + 2 * step, c);
    store(out + j + 3 * step, d);
  }
  for_lanes<V>(j, last, [&](std::size_t i, auto count) {
    V total(Op::template neutral<T>());
    for (std::size_t r = 0; r < length; ++r) total = Op::combine(total, load_lanes<V>(in + r * inner + i, count));
    store_lanes(out + i, total, count);
  });
}

}  // namespace detail

template <class V, class Split, class Op, class T>
void fold_kernel(Op op, const fold_args<T>& args, Split) noexcept {
  const std::size_t work = 16384;  // elements in a piece that is worth a thread
  if (args.inner == 1) {
    Split::run(args.outer, work / (args.length + 1) + 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t o = first; o < last; ++o)
        args.out[o] = detail::fold_row<V>(op, args.in + o * args.length, args.length);
    });
    return;
  }
  const std::size_t least = 64;
  const std::size_t grain = work / (args.length + 1) / least * least + least;
  for (std::size_t o = 0; o < args.outer; ++o)
    Split::run(args.inner, grain, [&](std::size_t first, std::size_t last) {
      detail::fold_columns<V>(op, args.in + o * args.length * args.inner, args.out + o * args.inner, args.length,
                              args.inner, first, last);
    });
}

}  // namespace tinygrad::inline TINYGRAD_ABI
