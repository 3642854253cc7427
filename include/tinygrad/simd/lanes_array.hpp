// Pack back end without any vector support: N lanes in an array, one loop per operation.
//
// It serves one-lane packs everywhere, every pack under TINYGRAD_NO_SIMD, and odd lane counts where the compiler's
// vector extension has no type for them. Compilers unroll these loops and often vectorise them.
#pragma once

#include <tinygrad/simd/lanes_scalar.hpp>

namespace tinygrad::inline TINYGRAD_ABI::detail {

template <class T, int N>
struct array_lanes {
  T v[N];
};

template <class T, int N>
struct array_backend {
  using reg = array_lanes<T, N>;
  using mask_reg = array_lanes<bool, N>;

  // r[i] = f(i) for every lane.
  template <class R, class F>
  static TINYGRAD_ALWAYS_INLINE array_lanes<R, N> each(F f) {
    array_lanes<R, N> r;
    for (int i = 0; i < N; ++i) r.v[i] = f(i);
    return r;
  }

  static TINYGRAD_ALWAYS_INLINE reg broadcast(T x) {
    return each<T>([&](int) TINYGRAD_INLINE_LAMBDA { return x; });
  }
  static TINYGRAD_ALWAYS_INLINE reg load(const T* p) {
    return each<T>([&](int i) TINYGRAD_INLINE_LAMBDA { return p[i]; });
  }
  static TINYGRAD_ALWAYS_INLINE reg load(const T* p, int n) {
    return each<T>([&](int i) TINYGRAD_INLINE_LAMBDA { return i < n ? p[i] : T{}; });
  }
  static TINYGRAD_ALWAYS_INLINE void store(const reg& r, T* p) {
    for (int i = 0; i < N; ++i) p[i] = r.v[i];
  }
  static TINYGRAD_ALWAYS_INLINE void store(const reg& r, T* p, int n) {
    for (int i = 0; i < n && i < N; ++i) p[i] = r.v[i];
  }
  static TINYGRAD_ALWAYS_INLINE T get(const reg& r, int i) { return r.v[i]; }

  static TINYGRAD_ALWAYS_INLINE reg add(const reg& a, const reg& b) {
    return each<T>([&](int i) TINYGRAD_INLINE_LAMBDA { return a.v[i] + b.v[i]; });
  }
  static TINYGRAD_ALWAYS_INLINE reg sub(const reg& a, const reg& b) {
    return each<T>([&](int i) TINYGRAD_INLINE_LAMBDA { return a.v[i] - b.v[i]; });
  }
  static TINYGRAD_ALWAYS_INLINE reg mul(const reg& a, const reg& b) {
    return each<T>([&](int i) TINYGRAD_INLINE_LAMBDA { return a.v[i] * b.v[i]; });
  }
  static TINYGRAD_ALWAYS_INLINE reg div(const reg& a, const reg& b) {
    return each<T>([&](int i) TINYGRAD_INLINE_LAMBDA { return a.v[i] / b.v[i]; });
  }
  static TINYGRAD_ALWAYS_INLINE reg neg(const reg& a) {
    return each<T>([&](int i) TINYGRAD_INLINE_LAMBDA { return -a.v[i]; });
  }
  static TINYGRAD_ALWAYS_INLINE reg fma(const reg& a, const reg& b, const reg& c) {
    return each<T>([&](int i) TINYGRAD_INLINE_LAMBDA { return scalar_fma(a.v[i], b.v[i], c.v[i]); });
  }

  // Integers only.
  static TINYGRAD_ALWAYS_INLINE reg bit_and(const reg& a, const reg& b) {
    return each<T>([&](int i) TINYGRAD_INLINE_LAMBDA { return static_cast<T>(a.v[i] & b.v[i]); });
  }
  static TINYGRAD_ALWAYS_INLINE reg bit_or(const reg& a, const reg& b) {
    return each<T>([&](int i) TINYGRAD_INLINE_LAMBDA { return static_cast<T>(a.v[i] | b.v[i]); });
  }
  static TINYGRAD_ALWAYS_INLINE reg bit_xor(const reg& a, const reg& b) {
    return each<T>([&](int i) TINYGRAD_INLINE_LAMBDA { return static_cast<T>(a.v[i] ^ b.v[i]); });
  }
  static TINYGRAD_ALWAYS_INLINE reg shift_left(const reg& a, int n) {
    return each<T>([&](int i) TINYGRAD_INLINE_LAMBDA { return static_cast<T>(a.v[i] << n); });
  }
  static TINYGRAD_ALWAYS_INLINE reg shift_right(const reg& a, int n) {
    return each<T>([&](int i) TINYGRAD_INLINE_LAMBDA { return static_cast<T>(a.v[i] >> n); });
  }

  static TINYGRAD_ALWAYS_INLINE mask_reg equal(const reg& a, const reg& b) {
    return each<bool>([&](int i) TINYGRAD_INLINE_LAMBDA { return a.v[i] == b.v[i]; });
  }
  static TINYGRAD_ALWAYS_INLINE mask_reg less(const reg& a, const reg& b) {
    return each<bool>([&](int i) TINYGRAD_INLINE_LAMBDA { return a.v[i] < b.v[i]; });
  }
  static TINYGRAD_ALWAYS_INLINE mask_reg less_equal(const reg& a, const reg& b) {
    return each<bool>([&](int i) TINYGRAD_INLINE_LAMBDA { return a.v[i] <= b.v[i]; });
  }
  static TINYGRAD_ALWAYS_INLINE mask_reg mask_from(bool x) {
    return each<bool>([&](int) TINYGRAD_INLINE_LAMBDA { return x; });
  }
  static TINYGRAD_ALWAYS_INLINE bool mask_get(const mask_reg& m, int i) { return m.v[i]; }
  static TINYGRAD_ALWAYS_INLINE mask_reg mask_and(const mask_reg& a, const mask_reg& b) {
    return each<bool>([&](int i) TINYGRAD_INLINE_LAMBDA { return a.v[i] && b.v[i]; });
  }
  static TINYGRAD_ALWAYS_INLINE mask_reg mask_or(const mask_reg& a, const mask_reg& b) {
    return each<bool>([&](int i) TINYGRAD_INLINE_LAMBDA { return a.v[i] || b.v[i]; });
  }
  static TINYGRAD_ALWAYS_INLINE mask_reg mask_not(const mask_reg& a) {
    return each<bool>([&](int i) TINYGRAD_INLINE_LAMBDA { return !a.v[i]; });
  }
  static TINYGRAD_ALWAYS_INLINE bool any(const mask_reg& m) {
    bool r = false;
    for (int i = 0; i < N; ++i) r = r || m.v[i];
    return r;
  }
  static TINYGRAD_ALWAYS_INLINE bool all(const mask_reg& m) {
    bool r = true;
    for (int i = 0; i < N; ++i) r = r && m.v[i];
    return r;
  }
  static TINYGRAD_ALWAYS_INLINE reg select(const mask_reg& m, const reg& a, const reg& b) {
    return each<T>([&](int i) TINYGRAD_INLINE_LAMBDA { return m.v[i] ? a.v[i] : b.v[i]; });
  }

  static TINYGRAD_ALWAYS_INLINE reg sqrt(const reg& a) {
    return each<T>([&](int i) TINYGRAD_INLINE_LAMBDA { return scalar_sqrt(a.v[i]); });
  }
  static TINYGRAD_ALWAYS_INLINE reg rounded(const reg& a) {
    return each<T>([&](int i) TINYGRAD_INLINE_LAMBDA { return rounded_register(a.v[i]); });
  }
  static constexpr bool has_scale = false;

  // From the lanes of another back end and type.
  template <class From>
  static TINYGRAD_ALWAYS_INLINE reg convert(const typename From::reg& a) {
    return each<T>([&](int i) TINYGRAD_INLINE_LAMBDA { return static_cast<T>(From::get(a, i)); });
  }
};

}  // namespace tinygrad::inline TINYGRAD_ABI::detail
