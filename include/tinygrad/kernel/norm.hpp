// Row kernels of layer_norm (Centered) and rms_norm (not Centered): rows of n contiguous values.
//
//   forward    xhat = (x - mean) rstd,  rstd = 1 / sqrt(variance + eps),  y = w xhat + b
//   backward   g = w dy,  dx = rstd (g - mean(g) - xhat mean(g xhat)),  dw = sum over rows of dy xhat,  db = of dy
//
// rms_norm is the same with mean = 0 and without the term mean(g). The variance is the mean of (x - mean)^2 with the
// mean known before: the shorter E[x^2] - E[x]^2 loses all digits once the mean is large beside the spread.
// Sources: Ba, Kiros and Hinton, arXiv 1607.06450; Zhang and Sennrich, arXiv 1910.07467.
#pragma once

#include <cstddef>
#include <tinygrad/kernel/lanes.hpp>
#include <tinygrad/kernel/rows.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace rows {

/// What a row is normalised with.
template <class T>
struct moments {
  T mean, rstd;
};

/// The mean is that of the distances to the first value, so that it is exact for a constant row: summing n times x and
/// dividing by n need not give x, and that error over a spread of zero would come out as +-1.
template <class V, bool Centered, class T>
[[nodiscard]] moments<T> moments_of(const T* x, std::size_t n, T eps) noexcept {
  if (n == 0) return {T(0), T(0)};
  const auto count = static_cast<T>(n);
  const T mean = Centered ? x[0] + shifted_sum<V>(x, n, x[0]) / count : T(0);
  const T squares = total<V>(n, [&](std::size_t j, auto lanes_here) TINYGRAD_INLINE_LAMBDA {
    const V distance = load_lanes<V>(x + j, lanes_here) - V(mean);
    return distance * distance;
  });
  return {mean, T(1) / sqrt(squares / count + eps)};
}

/// y = w xhat + b; w and b may be null for ones and zeros.
template <class V, class T>
void normalize(const T* x, const T* w, const T* b, T* y, std::size_t n, const moments<T>& m) noexcept {
  for_lanes<V>(0, n, [&](std::size_t j, auto count) TINYGRAD_INLINE_LAMBDA {
    V value = (load_lanes<V>(x + j, count) - V(m.mean)) * V(m.rstd);
    if (w != nullptr) value = value * load_lanes<V>(w + j, count);
    if (b != nullptr) value = value + load_lanes<V>(b + j, count);
    store_lanes(y + j, value, count);
  });
}

/// Where the gradients of one row go; null where one is not wanted.
template <class T>
struct norm_gradients {
  T* dx;            // of this row, written or added to
  bool accumulate;  // dx: added to
  T *dw, *db;       // of all rows, always added to
};

/// dx (+)= the gradient by x of one row, dw += dy xhat, db += dy.
template <class V, bool Centered, class T>
void normalize_backward(const T* x, const T* w, const T* dy, std::size_t n, const moments<T>& m,
                        const norm_gradients<T>& to) noexcept {
  const auto xhat_at = [&](std::size_t j, auto count)
                           TINYGRAD_INLINE_LAMBDA { return V((load_lanes<V>(x + j, count) - V(m.mean)) * V(m.rstd)); };
  const auto weighted = [&](const V& g, std::size_t j, auto count)
                            TINYGRAD_INLINE_LAMBDA { return w == nullptr ? g : V(g * load_lanes<V>(w + j, count)); };
  V g_lanes(T(0)), g_xhat_lanes(T(0));
  if (to.dx != nullptr)
    for_lanes<V>(0, n, [&](std::size_t j, auto count) TINYGRAD_INLINE_LAMBDA {
      const V g = weighted(load_lanes<V>(dy + j, count), j, count);  // 0 in lanes beyond the row, since dy is
      g_lanes += g;
      g_xhat_lanes += g * xhat_at(j, count);
    });
  const auto length = static_cast<T>(n);
  const V mean_g(Centered ? reduce_add(g_lanes) / length : T(0));
  const V mean_g_xhat(reduce_add(g_xhat_lanes) / length);
  for_lanes<V>(0, n, [&](std::size_t j, auto count) TINYGRAD_INLINE_LAMBDA {
    const V g = load_lanes<V>(dy + j, count);
    const V xhat = xhat_at(j, count);
    if (to.dx != nullptr) {
      const V share = (weighted(g, j, count) - mean_g - xhat * mean_g_xhat) * V(m.rstd);
      detail::deposit(to.dx + j, share, to.accumulate, count);
    }
    if (to.dw != nullptr) detail::deposit(to.dw + j, V(g * xhat), true, count);
    if (to.db != nullptr) detail::deposit(to.db + j, g, true, count);
  });
}

}  // namespace rows
}  // namespace tinygrad::inline TINYGRAD_ABI
