// Pack back end on std::experimental::simd (the Parallelism TS 2, shipped with libstdc++).
#pragma once

#include <tinygrad/core/config.hpp>

#if TINYGRAD_PACK_BACKEND == 2  // elsewhere the header may exist, but not what it promises (libc++)

#include <experimental/simd>
#include <tinygrad/simd/lanes_vector.hpp>

namespace tinygrad::inline TINYGRAD_ABI::detail {

namespace stdx = std::experimental;

template <class T, int N>
using stdx_reg = stdx::simd<T, stdx::simd_abi::deduce_t<T, N>>;

template <class T, int N>
struct stdx_backend {
  using vectors = vector_backend<T, N>;
  using reg = stdx_reg<T, N>;
  // One mask type for all packs of equal lane size and count, so that a comparison of bits can select floats.
  using mask_reg = typename stdx_reg<std::conditional_t<sizeof(T) == 4, float, double>, N>::mask_type;

  static TINYGRAD_ALWAYS_INLINE reg broadcast(T x) { return reg(x); }
  static TINYGRAD_ALWAYS_INLINE reg load(const T* p) { return reg(p, stdx::element_aligned); }
  // Partial memory through the vector extension: without AVX, libstdc++ 12's masked copies touch whole registers.
  static TINYGRAD_ALWAYS_INLINE reg load(const T* p, int n) { return from_vector(vectors::load(p, n)); }
  static TINYGRAD_ALWAYS_INLINE void store(const reg& r, T* p) { r.copy_to(p, stdx::element_aligned); }
  static TINYGRAD_ALWAYS_INLINE void store(const reg& r, T* p, int n) { vectors::store(to_vector(r), p, n); }
  static TINYGRAD_ALWAYS_INLINE T get(const reg& r, int i) { return r[static_cast<std::size_t>(i)]; }

  static TINYGRAD_ALWAYS_INLINE reg add(const reg& a, const reg& b) { return a + b; }
  static TINYGRAD_ALWAYS_INLINE reg sub(const reg& a, const reg& b) { return a - b; }
  static TINYGRAD_ALWAYS_INLINE reg mul(const reg& a, const reg& b) { return a * b; }
  static TINYGRAD_ALWAYS_INLINE reg div(const reg& a, const reg& b) { return a / b; }
  static TINYGRAD_ALWAYS_INLINE reg neg(const reg& a) { return -a; }
  // g++ contracts this by itself, while it leaves stdx::fma an outlined call in large kernels.
  static TINYGRAD_ALWAYS_INLINE reg fma(const reg& a, const reg& b, const reg& c) { return a * b + c; }

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

  // Through the vector extension: stdx::sqrt reaches an intrinsic of g++ that warns about itself, and the TS has no
  // scaling by powers of two.
  static TINYGRAD_ALWAYS_INLINE reg sqrt(const reg& a) { return from_vector(vectors::sqrt(to_vector(a))); }
  static TINYGRAD_ALWAYS_INLINE reg rounded(const reg& a) { return from_vector(rounded_register(to_vector(a))); }
  static constexpr bool has_scale = vectors::has_scale;
  static TINYGRAD_ALWAYS_INLINE reg scale(const reg& a, const reg& n) {
    return from_vector(vectors::scale(to_vector(a), to_vector(n)));
  }

  // From the lanes of another back end and type.
  template <class From>
  static TINYGRAD_ALWAYS_INLINE reg convert(const typename From::reg& a) {
    if constexpr (requires { typename From::vectors; }) {
      return from_vector(vectors::template convert<typename From::vectors>(From::to_vector(a)));
    } else {
      return from_vector(vectors::template convert<From>(a));
    }
  }
  static TINYGRAD_ALWAYS_INLINE typename vectors::reg to_vector(const reg& r) {
    return __builtin_bit_cast(typename vectors::reg, r);
  }

 private:
  static TINYGRAD_ALWAYS_INLINE reg from_vector(typename vectors::reg r) { return __builtin_bit_cast(reg, r); }
  using own_mask = typename reg::mask_type;

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

#endif
