// Pack back end on the vector extension of g++ and clang: `T __attribute__((vector_size(N * sizeof(T))))`.
//
// Works with every standard library. Only register-sized vectors are made this way (see pack.hpp), because larger
// ones have no stable calling convention. Where the extension has no spelling for something the machine does in one
// instruction (masked memory, square root, sign bits), the x86 builtins behind the intrinsics are called directly:
// <immintrin.h> would cost more time to include than this library.
#pragma once

#include <tinygrad/simd/lanes_scalar.hpp>

namespace tinygrad::inline TINYGRAD_ABI::detail {

// Registers of `Bytes` bytes holding T.
template <class T, int Bytes>
struct vector_of {
  using type [[gnu::vector_size(Bytes)]] = T;
};
template <class T, int Bytes>
using vector_type = typename vector_of<T, Bytes>::type;

template <class T, int N>
struct vector_backend {
  static constexpr int bytes = N * int{sizeof(T)};
  using truth = std::make_signed_t<bits_of<T>>;
  using reg = vector_type<T, bytes>;
  using mask_reg = vector_type<truth, bytes>;  // a lane is 0 or all ones

  static TINYGRAD_ALWAYS_INLINE reg broadcast(T x) { return x - reg{}; }
  static TINYGRAD_ALWAYS_INLINE reg load(const T* p) {
    reg r;
    __builtin_memcpy(&r, p, sizeof r);
    return r;
  }
  static TINYGRAD_ALWAYS_INLINE void store(reg r, T* p) { __builtin_memcpy(p, &r, sizeof r); }
  static TINYGRAD_ALWAYS_INLINE T get(reg r, int i) { return r[i]; }

  // The first n lanes only; nothing beyond them is read or written (masked lanes cannot fault).
  static TINYGRAD_ALWAYS_INLINE reg load(const T* p, int n) {
#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_loadups512_mask)
    if constexpr (bytes == 64 && sizeof(T) == 4) {
      return (reg)__builtin_ia32_loadups512_mask(reinterpret_cast<const float*>(p), vector_type<float, 64>{},
                                                 first_bits<std::uint16_t>(n));
    } else if constexpr (bytes == 64) {
      return (reg)__builtin_ia32_loadupd512_mask(reinterpret_cast<const double*>(p), vector_type<double, 64>{},
                                                 first_bits<std::uint8_t>(n));
    }
#endif
#if defined(__AVX__) && __has_builtin(__builtin_ia32_maskloadps256)
    if constexpr (bytes == 32 && sizeof(T) == 4) {
      return (reg)__builtin_ia32_maskloadps256((const vector_type<float, 32>*)p, first(n));
    } else if constexpr (bytes == 32) {
      return (reg)__builtin_ia32_maskloadpd256((const vector_type<double, 32>*)p, (vector_type<long long, 32>)first(n));
    }
#endif
    reg r{};
    for (int i = 0; i < N && i < n; ++i) r[i] = p[i];
    return r;
  }
  static TINYGRAD_ALWAYS_INLINE void store(reg r, T* p, int n) {
#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_storeups512_mask)
    if constexpr (bytes == 64 && sizeof(T) == 4) {
      __builtin_ia32_storeups512_mask(reinterpret_cast<float*>(p), (vector_type<float, 64>)r,
                                      first_bits<std::uint16_t>(n));
      return;
    } else if constexpr (bytes == 64) {
      __builtin_ia32_storeupd512_mask(reinterpret_cast<double*>(p), (vector_type<double, 64>)r,
                                      first_bits<std::uint8_t>(n));
      return;
    }
#endif
#if defined(__AVX__) && __has_builtin(__builtin_ia32_maskstoreps256)
    if constexpr (bytes == 32 && sizeof(T) == 4) {
      __builtin_ia32_maskstoreps256((vector_type<float, 32>*)p, first(n), (vector_type<float, 32>)r);
      return;
    } else if constexpr (bytes == 32) {
      __builtin_ia32_maskstorepd256((vector_type<double, 32>*)p, (vector_type<long long, 32>)first(n),
                                    (vector_type<double, 32>)r);
      return;
    }
#endif
    for (int i = 0; i < N && i < n; ++i) p[i] = r[i];
  }

  static TINYGRAD_ALWAYS_INLINE reg add(reg a, reg b) { return a + b; }
  static TINYGRAD_ALWAYS_INLINE reg sub(reg a, reg b) { return a - b; }
  static TINYGRAD_ALWAYS_INLINE reg mul(reg a, reg b) { return a * b; }
  static TINYGRAD_ALWAYS_INLINE reg div(reg a, reg b) { return a / b; }
  static TINYGRAD_ALWAYS_INLINE reg neg(reg a) { return -a; }
  // g++ contracts this by itself; clang does within one expression, and is told to.
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

  static TINYGRAD_ALWAYS_INLINE mask_reg equal(reg a, reg b) { return (mask_reg)(a == b); }
  static TINYGRAD_ALWAYS_INLINE mask_reg less(reg a, reg b) { return (mask_reg)(a < b); }
  static TINYGRAD_ALWAYS_INLINE mask_reg less_equal(reg a, reg b) { return (mask_reg)(a <= b); }
  static TINYGRAD_ALWAYS_INLINE mask_reg mask_from(bool x) { return mask_reg{} - truth{x}; }
  static TINYGRAD_ALWAYS_INLINE bool mask_get(mask_reg m, int i) { return m[i] != 0; }
  static TINYGRAD_ALWAYS_INLINE mask_reg mask_and(mask_reg a, mask_reg b) { return a & b; }
  static TINYGRAD_ALWAYS_INLINE mask_reg mask_or(mask_reg a, mask_reg b) { return a | b; }
  static TINYGRAD_ALWAYS_INLINE mask_reg mask_not(mask_reg a) { return ~a; }
  static TINYGRAD_ALWAYS_INLINE bool any(mask_reg m) {
#if defined(__AVX512F__) && !defined(__clang__)  // clang finds the mask register by itself
    if constexpr (bytes == 64) {
      const auto m32 = (vector_type<std::int32_t, 64>)m;
      return __builtin_ia32_ptestmd512(m32, m32, static_cast<std::uint16_t>(-1)) != 0;
    }
#endif
#if defined(__AVX__) && __has_builtin(__builtin_ia32_movmskps256)
    if constexpr (bytes == 32) return __builtin_ia32_movmskps256((vector_type<float, 32>)m) != 0;
#endif
#if defined(__SSE2__) && __has_builtin(__builtin_ia32_movmskps)
    if constexpr (bytes == 16) return __builtin_ia32_movmskps((vector_type<float, 16>)m) != 0;
#endif
    struct words {
      std::int64_t word[bytes / 8];
    };
    const auto w = __builtin_bit_cast(words, m);
    std::int64_t r = 0;
    for (const std::int64_t word : w.word) r |= word;
    return r != 0;
  }
  static TINYGRAD_ALWAYS_INLINE bool all(mask_reg m) { return !any(~m); }
  static TINYGRAD_ALWAYS_INLINE reg select(mask_reg m, reg a, reg b) { return m ? a : b; }

  // Newer clangs have one builtin for all vectors, older ones and g++ the one of each instruction.
  static TINYGRAD_ALWAYS_INLINE reg sqrt(reg a) {
#if __has_builtin(__builtin_elementwise_sqrt)
    return __builtin_elementwise_sqrt(a);
#else
#if defined(__AVX512F__) && defined(__clang__)
    if constexpr (bytes == 64 && sizeof(T) == 4) return __builtin_ia32_sqrtps512(a, current_rounding);
    if constexpr (bytes == 64 && sizeof(T) == 8) return __builtin_ia32_sqrtpd512(a, current_rounding);
#elif defined(__AVX512F__)
    if constexpr (bytes == 64 && sizeof(T) == 4) {
      return __builtin_ia32_sqrtps512_mask(a, reg{}, static_cast<std::uint16_t>(-1), current_rounding);
    } else if constexpr (bytes == 64) {
      return __builtin_ia32_sqrtpd512_mask(a, reg{}, static_cast<std::uint8_t>(-1), current_rounding);
    }
#endif
#if defined(__AVX__)
    if constexpr (bytes == 32 && sizeof(T) == 4) return __builtin_ia32_sqrtps256(a);
    if constexpr (bytes == 32 && sizeof(T) == 8) return __builtin_ia32_sqrtpd256(a);
#endif
#if defined(__SSE2__)
    if constexpr (bytes == 16 && sizeof(T) == 4) return __builtin_ia32_sqrtps(a);
    if constexpr (bytes == 16 && sizeof(T) == 8) return __builtin_ia32_sqrtpd(a);
#endif
    reg r{};
    for (int i = 0; i < N; ++i) r[i] = scalar_sqrt(a[i]);
    return r;
#endif
  }

  static TINYGRAD_ALWAYS_INLINE reg rounded(reg a) { return rounded_register(a); }

  // a * 2^n for integral n, rounded once. AVX-512 has an instruction for it; elsewhere pack.hpp computes it.
#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_scalefps512_mask)
  static constexpr bool has_scale = bytes == 64;
  static TINYGRAD_ALWAYS_INLINE reg scale(reg a, reg n) {
    if constexpr (sizeof(T) == 4) {
      return __builtin_ia32_scalefps512_mask(a, n, reg{}, static_cast<std::uint16_t>(-1), current_rounding);
    } else {
      return __builtin_ia32_scalefpd512_mask(a, n, reg{}, static_cast<std::uint8_t>(-1), current_rounding);
    }
  }
#else
  static constexpr bool has_scale = false;
#endif

  // From the lanes of another back end and type.
  template <class From>
  static TINYGRAD_ALWAYS_INLINE reg convert(const typename From::reg& a) {
    if constexpr (requires { typename From::vector_lanes; }) {
      return __builtin_convertvector(a, reg);
    } else {
      reg r{};
      for (int i = 0; i < N; ++i) r[i] = static_cast<T>(From::get(a, i));
      return r;
    }
  }
  using vector_lanes = reg;

 private:
  static constexpr int current_rounding = 4;  // _MM_FROUND_CUR_DIRECTION

  // The mask of the first n lanes, as a vector and as the bits of an AVX-512 mask register.
  static TINYGRAD_ALWAYS_INLINE mask_reg first(int n) {
    mask_reg lane{};
    for (int i = 0; i < N; ++i) lane[i] = static_cast<truth>(i);
    return (mask_reg)(lane < static_cast<truth>(n));
  }
  template <class Word>
  static TINYGRAD_ALWAYS_INLINE Word first_bits(int n) {
    return static_cast<Word>(n >= N ? ~0U : (1U << n) - 1U);
  }
};

}  // namespace tinygrad::inline TINYGRAD_ABI::detail
