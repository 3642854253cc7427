// Pack back end on the vector extension of g++ and clang: `T __attribute__((vector_size(N * sizeof(T))))`.
//
// Works with every standard library. Only register-sized vectors are made this way (see pack.hpp), because larger
// ones have no stable calling convention.
#pragma once

#include <bit>
#include <tinygrad/simd/lanes_scalar.hpp>

namespace tinygrad::inline TINYGRAD_ABI::detail {

template <class T, int N>
struct vector_backend {
  using bits = bits_of<T>;
  using reg [[gnu::vector_size(N * sizeof(T))]] = T;
  using mask_reg [[gnu::vector_size(N * sizeof(T))]] = bits;  // a lane is 0 or all ones

  static TINYGRAD_ALWAYS_INLINE reg broadcast(T x) { return x - reg{}; }
  static TINYGRAD_ALWAYS_INLINE reg load(const T* p) {
    reg r;
    __builtin_memcpy(&r, p, sizeof r);
    return r;
  }
  static TINYGRAD_ALWAYS_INLINE reg load(const T* p, int n) {
    reg r{};
    for (int i = 0; i < N && i < n; ++i) r[i] = p[i];
    return r;
  }
  static TINYGRAD_ALWAYS_INLINE void store(reg r, T* p) { __builtin_memcpy(p, &r, sizeof r); }
  static TINYGRAD_ALWAYS_INLINE void store(reg r, T* p, int n) {
    for (int i = 0; i < N && i < n; ++i) p[i] = r[i];
  }
  static TINYGRAD_ALWAYS_INLINE T get(reg r, int i) { return r[i]; }

  static TINYGRAD_ALWAYS_INLINE reg add(reg a, reg b) { return a + b; }
  static TINYGRAD_ALWAYS_INLINE reg sub(reg a, reg b) { return a - b; }
  static TINYGRAD_ALWAYS_INLINE reg mul(reg a, reg b) { return a * b; }
  static TINYGRAD_ALWAYS_INLINE reg div(reg a, reg b) { return a / b; }
  static TINYGRAD_ALWAYS_INLINE reg neg(reg a) { return -a; }
  static TINYGRAD_ALWAYS_INLINE reg fma(reg a, reg b, reg c) {
#if defined(__clang__)
#pragma clang fp contract(on)
#endif
    return a * b + c;
  }

  static TINYGRAD_ALWAYS_INLINE reg bit_and(reg a, reg b) { return a & b; }
  static TINYGRAD_ALWAYS_INLINE reg bit_or(reg a, reg b) { return a | b; }
  static TINYGRAD_ALWAYS_INLINE reg bit_xor(reg a, reg b) { return a ^ b; }
  static TINYGRAD_ALWAYS_INLINE reg shift_left(reg a, int n) { return a << static_cast<T>(n); }
  static TINYGRAD_ALWAYS_INLINE reg shift_right(reg a, int n) { return a >> static_cast<T>(n); }

  static TINYGRAD_ALWAYS_INLINE mask_reg equal(reg a, reg b) { return mask_reg(a == b); }
  static TINYGRAD_ALWAYS_INLINE mask_reg less(reg a, reg b) { return mask_reg(a < b); }
  static TINYGRAD_ALWAYS_INLINE mask_reg less_equal(reg a, reg b) { return mask_reg(a <= b); }
  static TINYGRAD_ALWAYS_INLINE mask_reg mask_from(bool x) { return mask_reg{} - bits{x}; }
  static TINYGRAD_ALWAYS_INLINE bool mask_get(mask_reg m, int i) { return m[i] != 0; }
  static TINYGRAD_ALWAYS_INLINE mask_reg mask_and(mask_reg a, mask_reg b) { return a & b; }
  static TINYGRAD_ALWAYS_INLINE mask_reg mask_or(mask_reg a, mask_reg b) { return a | b; }
  static TINYGRAD_ALWAYS_INLINE mask_reg mask_not(mask_reg a) { return ~a; }
  static TINYGRAD_ALWAYS_INLINE bool any(mask_reg m) {
    const auto words = std::bit_cast<mask_words>(m);
    std::int64_t r = 0;
    for (const std::int64_t w : words.w) r |= w;
    return r != 0;
  }
  static TINYGRAD_ALWAYS_INLINE bool all(mask_reg m) { return !any(~m); }
  static TINYGRAD_ALWAYS_INLINE reg select(mask_reg m, reg a, reg b) { return m ? a : b; }

  static TINYGRAD_ALWAYS_INLINE reg sqrt(reg a) {
    reg r{};
    for (int i = 0; i < N; ++i) r[i] = scalar_sqrt(a[i]);
    return r;
  }

 private:
  struct mask_words {
    std::int64_t w[N * sizeof(T) / 8];
  };
};

}  // namespace tinygrad::inline TINYGRAD_ABI::detail
