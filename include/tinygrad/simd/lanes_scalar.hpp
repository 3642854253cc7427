// The scalar operations packs are built on, so that one lane of a pack and a plain float do exactly the same.
//
// Compiler builtins instead of <cmath>: they become one instruction each, and the header costs nothing.
#pragma once

#include <cstdint>
#include <tinygrad/core/config.hpp>
#include <type_traits>

namespace tinygrad::inline TINYGRAD_ABI::detail {

// The integer of the same size. Unsigned, so that arithmetic on the bits of a float wraps and shifts in zeros.
template <class T>
using bits_of = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

TINYGRAD_ALWAYS_INLINE float scalar_sqrt(float x) { return __builtin_sqrtf(x); }
TINYGRAD_ALWAYS_INLINE double scalar_sqrt(double x) { return __builtin_sqrt(x); }

// Whether the compiler may fuse a * b + c (AVX-512 brings fused vectors even where -mfma is not set).
#if defined(__FMA__) || defined(__AVX512F__) || defined(__ARM_FEATURE_FMA)
#define TINYGRAD_FUSES_PRODUCTS 1
#else
#define TINYGRAD_FUSES_PRODUCTS 0
#endif
inline constexpr bool has_fma = TINYGRAD_FUSES_PRODUCTS != 0;

// a * b + c, in one rounding where the build has the instruction. Never a call into libm, which would emulate it.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
TINYGRAD_ALWAYS_INLINE float scalar_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
TINYGRAD_ALWAYS_INLINE double scalar_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
template <class T>
TINYGRAD_ALWAYS_INLINE T scalar_fma(T a, T b, T c) {
  return a * b + c;
}
#endif

// x as it was rounded. g++ contracts a product into a later sum even across statements, which ruins an error-free
// product; it cannot look through this.
template <class R>
TINYGRAD_ALWAYS_INLINE R rounded_register(R x) {
#if TINYGRAD_FUSES_PRODUCTS && defined(__GNUC__) && !defined(__clang__)
#if defined(__AVX512F__)
  asm("" : "+v"(x));
#elif defined(__x86_64__)
  asm("" : "+x"(x));
#else
  asm("" : "+w"(x));
#endif
#endif
  return x;
}

}  // namespace tinygrad::inline TINYGRAD_ABI::detail
