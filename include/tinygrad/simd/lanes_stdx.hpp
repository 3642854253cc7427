// Pack back end on std::experimental::simd (the Parallelism TS 2, shipped with libstdc++).
#pragma once

#include <bit>
#include <experimental/simd>
#include <tinygrad/simd/lanes_scalar.hpp>

namespace tinygrad::inline TINYGRAD_ABI::detail {

namespace stdx = std::experimental;

template <class T, int N>
using stdx_reg = stdx::simd<T, stdx::simd_abi::deduce_t<T, N>>;

template <class T, int N>
struct stdx_backend {
  using reg = stdx_reg<T, N>;
  // One mask type for all packs of equal lane size and count, so that a comparison of bits can select floats.
  using mask_reg = typename stdx_reg<std::conditional_t<sizeof(T) == 4, float, double>, N>::mask_type;

  static TINYGRAD_ALWAYS_INLINE reg broadcast(T x) { return reg(x); }
  static TINYGRAD_ALWAYS_INLINE reg load(const T* p) { return reg(p, stdx::element_aligned); }
  static TINYGRAD_ALWAYS_INLINE reg load(const T* p, int n) {
    reg r(T{});
    stdx::where(first(n), r).copy_from(p, stdx::element_aligned);
    return r;
  }
  static TINYGRAD_ALWAYS_INLINE void store(const reg& r, T* p) { r.copy_to(p, stdx::element_aligned); }
  static TINYGRAD_ALWAYS_INLINE void store(const reg& r, T* p, int n) {
    stdx::where(first(n), r).copy_to(p, stdx::element_aligned);
  }
  static TINYGRAD_ALWAYS_INLINE T get(const reg& r, int i) { return r[static_cast<std::size_t>(i)]; }

  static TINYGRAD_ALWAYS_INLINE reg add(const reg& a, const reg& b) { return a + b; }
  static TINYGRAD_ALWAYS_INLINE reg sub(const reg& a, const reg& b) { return a - b; }
  static TINYGRAD_ALWAYS_INLINE reg mul(const reg& a, const reg& b) { return a * b; }
  static TINYGRAD_ALWAYS_INLINE reg div(const reg& a, const reg& b) { return a / b; }
  static TINYGRAD_ALWAYS_INLINE reg neg(const reg& a) { return -a; }
  static TINYGRAD_ALWAYS_INLINE reg fma(const reg& a, const reg& b, const reg& c) {
#if defined(__clang__) && defined(__FMA__)
    return stdx::fma(a, b, c);
#else
    return a * b + c;
#endif
  }

  static TINYGRAD_ALWAYS_INLINE reg bit_and(const reg& a, const reg& b) { return a & b; }
  static TINYGRAD_ALWAYS_INLINE reg bit_or(const reg& a, const reg& b) { return a | b; }
  static TINYGRAD_ALWAYS_INLINE reg bit_xor(const reg& a, const reg& b) { return a ^ b; }
  static TINYGRAD_ALWAYS_INLINE reg shift_left(const reg& a, int n) { return a << n; }
  static TINYGRAD_ALWAYS_INLINE reg shift_right(const reg& a, int n) { return a >> n; }

  static TINYGRAD_ALWAYS_INLINE mask_reg equal(const reg& a, const reg& b) { return to_mask(a == b); }
  static TINYGRAD_ALWAYS_INLINE mask_reg less(const reg& a, const reg& b) { return to_mask(a < b); }
  static TINYGRAD_ALWAYS_INLINE mask_reg less_equal(const reg& a, const reg& b) { return to_mask(a <= b); }
  static TINYGRAD_ALWAYS_INLINE mask_reg mask_from(bool x) { return mask_reg(x); }
  static TINYGRAD_ALWAYS_INLINE bool mask_get(const mask_reg& m, int i) { return m[static_cast<std::size_t>(i)]; }
  static TINYGRAD_ALWAYS_INLINE mask_reg mask_and(const mask_reg& a, const mask_reg& b) { return a && b; }
  static TINYGRAD_ALWAYS_INLINE mask_reg mask_or(const mask_reg& a, const mask_reg& b) { return a || b; }
  static TINYGRAD_ALWAYS_INLINE mask_reg mask_not(const mask_reg& a) { return !a; }
  static TINYGRAD_ALWAYS_INLINE bool any(const mask_reg& m) { return stdx::any_of(m); }
  static TINYGRAD_ALWAYS_INLINE bool all(const mask_reg& m) { return stdx::all_of(m); }
  static TINYGRAD_ALWAYS_INLINE reg select(const mask_reg& m, const reg& a, const reg& b) {
    reg r = b;
    stdx::where(from_mask(m), r) = a;
    return r;
  }

  static TINYGRAD_ALWAYS_INLINE reg sqrt(const reg& a) {
    // stdx::sqrt goes through an intrinsic of g++ that reads an undefined register and warns about itself.
#if defined(__AVX512F__) && !defined(__clang__)
    if constexpr (sizeof(reg) == 64 && sizeof(T) == 4)
      return reg(_mm512_maskz_sqrt_ps(0xffff, static_cast<__m512>(a)));
    else if constexpr (sizeof(reg) == 64)
      return reg(_mm512_maskz_sqrt_pd(0xff, static_cast<__m512d>(a)));
    else
#endif
      return stdx::sqrt(a);
  }

 private:
  using own_mask = typename reg::mask_type;

  static TINYGRAD_ALWAYS_INLINE own_mask first(int n) {
    return reg([](auto i) { return static_cast<T>(i); }) < static_cast<T>(n);
  }
  static TINYGRAD_ALWAYS_INLINE mask_reg to_mask(const own_mask& m) {
    if constexpr (std::is_same_v<own_mask, mask_reg>)
      return m;
    else
      return stdx::__proposed::static_simd_cast<mask_reg>(m);
  }
  static TINYGRAD_ALWAYS_INLINE own_mask from_mask(const mask_reg& m) {
    if constexpr (std::is_same_v<own_mask, mask_reg>)
      return m;
    else
      return stdx::__proposed::static_simd_cast<own_mask>(m);
  }
};

}  // namespace tinygrad::inline TINYGRAD_ABI::detail
