// Row kernels: what softmax and cross-entropy do along n values, contiguous or a stride apart.
//
// Softmax is exp(x_j - m) / sum_k exp(x_k - m) with m the largest value, so that no exponential overflows. Values of
// -inf are masked: they get no weight, and where all are masked the weights are all zero (not NaN). A NaN or +inf
// makes every result of its row NaN.
//
// Written once over V, the register type of the policy: with one lane every for_lanes is the loop of a textbook. A
// call works on one row (or one block of columns) on one thread, so the order of a sum depends on n alone.
#pragma once

#include <cstddef>
#include <limits>
#include <tinygrad/kernel/fold.hpp>
#include <tinygrad/kernel/lanes.hpp>
#include <tinygrad/simd/math.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {

/// Rows of n values in a piece of work that is worth a thread.
[[nodiscard]] constexpr std::size_t rows_grain(std::size_t n) noexcept { return 8192 / (n + 1) + 1; }

template <class V>
[[nodiscard]] TINYGRAD_ALWAYS_INLINE V minus_infinity() {
  return V(-std::numeric_limits<scalar_of<V>>::infinity());
}
/// The value to subtract from a row: its largest, or 0 where all are -inf, so that x - top is -inf and not NaN.
template <class V>
[[nodiscard]] TINYGRAD_ALWAYS_INLINE V usable_top(const V& top) {
  return select(top == minus_infinity<V>(), V(scalar_of<V>(0)), top);
}
/// 1 / total, and 0 for a row without any weight.
template <class V>
[[nodiscard]] TINYGRAD_ALWAYS_INLINE V inverse_or_zero(const V& total) {
  const V zero(scalar_of<V>(0));
  return select(total == zero, zero, V(V(scalar_of<V>(1)) / total));
}
/// log(total), and 0 for a row without any weight: log_softmax is then -inf everywhere.
template <class V>
[[nodiscard]] TINYGRAD_ALWAYS_INLINE V log_or_zero(const V& total) {
  const V zero(scalar_of<V>(0));
  return select(total == zero, zero, V(log(total)));
}

/// The larger of two where a NaN need not stay: every exponential of its row sees it again. Half the work of fold_max.
struct fold_largest {
  template <class T>
  [[nodiscard]] static constexpr T neutral() noexcept {
    return -std::numeric_limits<T>::infinity();
  }
  template <class V>
  [[nodiscard]] static V combine(const V& a, const V& b) noexcept {
    return maximum(a, b);
  }
  template <class V>
  [[nodiscard]] static scalar_of<V> reduce(const V& v) noexcept {
    return reduce_max(v);
  }
};

/// p[0, count) = v, or += v.
template <class V, class T, class Count>
TINYGRAD_ALWAYS_INLINE void deposit(T* p, const V& v, bool accumulate, Count count) {
  store_lanes(p, accumulate ? V(load_lanes<V>(p, count) + v) : v, count);
}

}  // namespace detail

namespace rows {

// ---- n contiguous values ---------------------------------------------------------------------------------------

/// Sum of term(i) over packs starting at i = 0, lanes, ...; four sums side by side, since an addition takes longer
/// than the loads it waits for.
template <class V, class Term>
[[nodiscard]] TINYGRAD_ALWAYS_INLINE scalar_of<V> total(std::size_t n, Term&& term) {
  constexpr auto step = static_cast<std::size_t>(lanes<V>);
  constexpr whole<V> all{};
  V a(scalar_of<V>(0)), b = a, c = a, d = a;
  std::size_t i = 0;
  for (; i + 4 * step <= n; i += 4 * step) {
    a += term(i, all);
    b += term(i + step, all);
    c += term(i + 2 * step, all);
    d += term(i + 3 * step, all);
  }
  for_lanes<V>(i, n,
               [&](std::size_t at, auto count) TINYGRAD_INLINE_LAMBDA { a += first_lanes(V(term(at, count)), count); });
  return reduce_add(V((a + b) + (c + d)));
}

template <class V, class T>
[[nodiscard]] T sum(const T* x, std::size_t n) noexcept {
  return detail::fold_row<V>(fold_add{}, x, n);
}
/// The largest value that is not NaN; -inf of nothing.
template <class V, class T>
[[nodiscard]] T largest(const T* x, std::size_t n) noexcept {
  return detail::fold_row<V>(detail::fold_largest{}, x, n);
}
template <class V, class T>
[[nodiscard]] T dot(const T* a, const T* b, std::size_t n) noexcept {
  return total<V>(n, [&](std::size_t i, auto count)
                         TINYGRAD_INLINE_LAMBDA { return load_lanes<V>(a + i, count) * load_lanes<V>(b + i, count); });
}
/// Sum of x - shift: what is left of a sum when its large common part is taken away first.
template <class V, class T>
[[nodiscard]] T shifted_sum(const T* x, std::size_t n, T shift) noexcept {
  return total<V>(
      n, [&](std::size_t i, auto count) TINYGRAD_INLINE_LAMBDA { return load_lanes<V>(x + i, count) - V(shift); });
}
/// Sum of exp(x - shift).
template <class V, class T>
[[nodiscard]] T exp_sum(const T* x, std::size_t n, T shift) noexcept {
  V sum_of_lanes(T(0));
  for_lanes<V>(0, n, [&](std::size_t i, auto count) TINYGRAD_INLINE_LAMBDA {
    sum_of_lanes += first_lanes(V(exp(load_lanes<V>(x + i, count) - V(shift))), count);
  });
  return reduce_add(sum_of_lanes);
}

/// y = softmax(x).
template <class V, class T>
void softmax(const T* x, T* y, std::size_t n) noexcept {
  const T top = detail::usable_top(largest<V>(x, n));
  V weights(T(0));
  for_lanes<V>(0, n, [&](std::size_t j, auto count) TINYGRAD_INLINE_LAMBDA {
    const V weight = exp(load_lanes<V>(x + j, count) - V(top));
    store_lanes(y + j, weight, count);
    weights += first_lanes(weight, count);
  });
  const V factor(detail::inverse_or_zero(reduce_add(weights)));
  for_lanes<V>(0, n, [&](std::size_t j, auto count) TINYGRAD_INLINE_LAMBDA {
    store_lanes(y + j, V(load_lanes<V>(y + j, count) * factor), count);
  });
}
/// dx (+)= y (dy - sum_k y_k dy_k).
template <class V, class T>
void softmax_backward(const T* y, const T* dy, T* dx, std::size_t n, bool accumulate) noexcept {
  const V mean(dot<V>(y, dy, n));  // of dy, under the weights y
  for_lanes<V>(0, n, [&](std::size_t j, auto count) TINYGRAD_INLINE_LAMBDA {
    const V share = load_lanes<V>(y + j, count) * (load_lanes<V>(dy + j, count) - mean);
    detail::deposit(dx + j, share, accumulate, count);
  });
}

/// y = log(softmax(x)) = (x - top) - log(sum_k exp(x_k - top)).
template <class V, class T>
void log_softmax(const T* x, T* y, std::size_t n) noexcept {
  const T top = detail::usable_top(largest<V>(x, n));
  const V log_total(detail::log_or_zero(exp_sum<V>(x, n, top)));
  for_lanes<V>(0, n, [&](std::size_t j, auto count) TINYGRAD_INLINE_LAMBDA {
    store_lanes(y + j, V((load_lanes<V>(x + j, count) - V(top)) - log_total), count);
  });
}
/// True when all n values are -inf; found out at the first value in all other rows.
template <class T>
[[nodiscard]] bool all_masked(const T* y, std::size_t n) noexcept {
  std::size_t j = 0;
  while (j < n && y[j] == detail::minus_infinity<T>()) ++j;
  return j == n;
}
/// dx (+)= dy - exp(y) sum_k dy_k; nothing flows into a row that is masked altogether.
template <class V, class T>
void log_softmax_backward(const T* y, const T* dy, T* dx, std::size_t n, bool accumulate) noexcept {
  const bool masked = all_masked(y, n);
  const V arrived(sum<V>(dy, n));
  for_lanes<V>(0, n, [&](std::size_t j, auto count) TINYGRAD_INLINE_LAMBDA {
    const V share = load_lanes<V>(dy + j, count) - exp(load_lanes<V>(y + j, count)) * arrived;
    detail::deposit(dx + j, masked ? V(T(0)) : share, accumulate, count);
  });
}

// ---- The same down the columns of a matrix: every lane is a problem of its own -----------------------------------

/// Columns [first, last) of a matrix [n, width]; the same for every operand of a kernel.
struct columns {
  std::size_t n, width, first, last;

  /// f(at, count) for packs of columns, with at(r) the position of row r.
  template <class V, class F>
  TINYGRAD_ALWAYS_INLINE void each(F&& f) const {
    for_lanes<V>(first, last, [&](std::size_t j, auto count) TINYGRAD_INLINE_LAMBDA {
      f([this, j](std::size_t r) { return r * width + j; }, count);
    });
  }
};

/// The largest value of each column that is not NaN.
template <class V, class T, class At, class Count>
[[nodiscard]] TINYGRAD_ALWAYS_INLINE V largest(const T* x, std::size_t n, At at, Count count) {
  V top = detail::minus_infinity<V>();
  for (std::size_t r = 0; r < n; ++r) top = maximum(top, load_lanes<V>(x + at(r), count));
  return top;
}

template <class V, class T>
void softmax(const T* x, T* y, const columns& where) noexcept {
  where.each<V>([&](auto at, auto count) TINYGRAD_INLINE_LAMBDA {
    const V top = detail::usable_top(largest<V>(x, where.n, at, count));
    V weights(T(0));
    for (std::size_t r = 0; r < where.n; ++r) {
      const V weight = exp(load_lanes<V>(x + at(r), count) - top);
      store_lanes(y + at(r), weight, count);
      weights += weight;
    }
    const V factor = detail::inverse_or_zero(weights);
    for (std::size_t r = 0; r < where.n; ++r)
      store_lanes(y + at(r), V(load_lanes<V>(y + at(r), count) * factor), count);
  });
}
template <class V, class T>
void softmax_backward(const T* y, const T* dy, T* dx, const columns& where, bool accumulate) noexcept {
  where.each<V>([&](auto at, auto count) TINYGRAD_INLINE_LAMBDA {
    V mean(T(0));
    for (std::size_t r = 0; r < where.n; ++r)
      mean += load_lanes<V>(y + at(r), count) * load_lanes<V>(dy + at(r), count);
    for (std::size_t r = 0; r < where.n; ++r) {
      const V share = load_lanes<V>(y + at(r), count) * (load_lanes<V>(dy + at(r), count) - mean);
      detail::deposit(dx + at(r), share, accumulate, count);
    }
  });
}

template <class V, class T>
void log_softmax(const T* x, T* y, const columns& where) noexcept {
  where.each<V>([&](auto at, auto count) TINYGRAD_INLINE_LAMBDA {
    const V top = detail::usable_top(largest<V>(x, where.n, at, count));
    V weights(T(0));
    for (std::size_t r = 0; r < where.n; ++r) weights += exp(load_lanes<V>(x + at(r), count) - top);
    const V log_total = detail::log_or_zero(weights);
    for (std::size_t r = 0; r < where.n; ++r)
      store_lanes(y + at(r), V((load_lanes<V>(x + at(r), count) - top) - log_total), count);
  });
}
template <class V, class T>
void log_softmax_backward(const T* y, const T* dy, T* dx, const columns& where, bool accumulate) noexcept {
  where.each<V>([&](auto at, auto count) TINYGRAD_INLINE_LAMBDA {
    mask_of<V> masked = true;
    V arrived(T(0));
    for (std::size_t r = 0; r < where.n; ++r) {
      masked = masked && load_lanes<V>(y + at(r), count) == detail::minus_infinity<V>();
      arrived += load_lanes<V>(dy + at(r), count);
    }
    for (std::size_t r = 0; r < where.n; ++r) {
      const V share = load_lanes<V>(dy + at(r), count) - exp(load_lanes<V>(y + at(r), count)) * arrived;
      detail::deposit(dx + at(r), select(masked, V(T(0)), share), accumulate, count);
    }
  });
}

}  // namespace rows

}  // namespace tinygrad::inline TINYGRAD_ABI
