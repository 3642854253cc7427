// pack<T, N>: N numbers that compute together, one SIMD register where the machine has one of that size.
//
// The same free functions exist for plain float and double (one lane), so a kernel written on a type parameter V
// runs on pack<float>, pack<double>, float and double alike:
//
//   template <class V> void twice(const scalar_of<V>* x, scalar_of<V>* y, int n) {
//     int i = 0;
//     for (; i + lanes<V> <= n; i += lanes<V>) store(y + i, load<V>(x + i) * 2_c);
//     if (i < n) store(y + i, load<V>(x + i, n - i) * 2_c, n - i);   // partial: touches nothing beyond n
//   }
//
// Three back ends (core/config.hpp chooses): the compiler's vector extension, std::experimental::simd, and a plain
// array, which also serves every size no register has. Arithmetic is IEEE, lane by lane, in all of them.
#pragma once

#include <tinygrad/core/constant.hpp>
#include <tinygrad/simd/lanes_array.hpp>
#if TINYGRAD_PACK_BACKEND == 2
#include <tinygrad/simd/lanes_stdx.hpp>
#elif TINYGRAD_PACK_BACKEND == 1
#include <tinygrad/simd/lanes_vector.hpp>
#endif

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {

// Bytes of the widest vector register; 0 where packs are not to use any.
#if TINYGRAD_PACK_BACKEND == 0
inline constexpr int register_bytes = 0;
#elif defined(__AVX512F__)
inline constexpr int register_bytes = 64;
#elif defined(__AVX__)
inline constexpr int register_bytes = 32;
#else
inline constexpr int register_bytes = 16;
#endif

// Whether N lanes of T fill a register exactly: 16, 32 or 64 bytes, as far as the machine goes.
template <class T, int N>
inline constexpr bool fills_register = N * sizeof(T) <= register_bytes &&
                                       (N * sizeof(T) == 16 || N * sizeof(T) == 32 || N * sizeof(T) == 64);

template <class T, int N, bool Register = fills_register<T, N>>
struct choose_backend {
  using type = array_backend<T, N>;
};
#if TINYGRAD_PACK_BACKEND == 2
template <class T, int N>
struct choose_backend<T, N, true> {
  using type = stdx_backend<T, N>;
};
#elif TINYGRAD_PACK_BACKEND == 1
template <class T, int N>
struct choose_backend<T, N, true> {
  using type = vector_backend<T, N>;
};
#endif
template <class T, int N>
using backend_of = typename choose_backend<T, N>::type;

}  // namespace detail

// Lanes of the widest register: for float 16 on AVX-512, 8 on AVX, 4 on SSE and NEON, 1 under TINYGRAD_NO_SIMD.
template <class T>
inline constexpr int native_lanes = detail::register_bytes == 0 ? 1 : detail::register_bytes / int{sizeof(T)};

// One truth value per lane, for lanes of Bytes bytes: what comparing packs gives. Compare bits, select floats: packs
// of equal lane size and count share their mask type.
template <int Bytes, int N>
class mask {
  using backend = detail::backend_of<std::conditional_t<Bytes == 4, float, double>, N>;

 public:
  using reg = typename backend::mask_reg;
  static constexpr int size() { return N; }

  TINYGRAD_ALWAYS_INLINE mask() : m_(backend::mask_from(false)) {}
  TINYGRAD_ALWAYS_INLINE mask(bool all_lanes) : m_(backend::mask_from(all_lanes)) {}  // NOLINT: implicit, as bool is
  TINYGRAD_ALWAYS_INLINE explicit mask(const reg& m) requires(!std::is_same_v<reg, bool>) : m_(m) {}

  TINYGRAD_ALWAYS_INLINE bool operator[](int lane) const { return backend::mask_get(m_, lane); }
  TINYGRAD_ALWAYS_INLINE const reg& native() const { return m_; }

  friend TINYGRAD_ALWAYS_INLINE mask operator&&(const mask& a, const mask& b) {
    return mask(backend::mask_and(a.m_, b.m_));
  }
  friend TINYGRAD_ALWAYS_INLINE mask operator||(const mask& a, const mask& b) {
    return mask(backend::mask_or(a.m_, b.m_));
  }
  friend TINYGRAD_ALWAYS_INLINE mask operator!(const mask& a) { return mask(backend::mask_not(a.m_)); }

 private:
  reg m_;
};

template <class T, int N = native_lanes<T>>
class pack {
  using backend = detail::backend_of<T, N>;

 public:
  using value_type = T;
  using mask_type = mask<int{sizeof(T)}, N>;
  using reg = typename backend::reg;
  static constexpr int size() { return N; }

  TINYGRAD_ALWAYS_INLINE pack() : r_(backend::broadcast(T{})) {}
  TINYGRAD_ALWAYS_INLINE pack(T x) : r_(backend::broadcast(x)) {}  // NOLINT: implicit, scalars mix with packs
  TINYGRAD_ALWAYS_INLINE explicit pack(const reg& r) requires(!std::is_same_v<reg, T>) : r_(r) {}

  static TINYGRAD_ALWAYS_INLINE pack load(const T* p) { return pack(backend::load(p)); }
  // The first n lanes from p, zeros in the others; reads nothing beyond p + n. 0 <= n; n >= N loads all.
  static TINYGRAD_ALWAYS_INLINE pack load(const T* p, int n) { return pack(backend::load(p, n)); }
  TINYGRAD_ALWAYS_INLINE void store(T* p) const { backend::store(r_, p); }
  TINYGRAD_ALWAYS_INLINE void store(T* p, int n) const { backend::store(r_, p, n); }

  TINYGRAD_ALWAYS_INLINE T operator[](int lane) const { return backend::get(r_, lane); }
  TINYGRAD_ALWAYS_INLINE const reg& native() const { return r_; }

  TINYGRAD_ALWAYS_INLINE pack operator+() const { return *this; }
  TINYGRAD_ALWAYS_INLINE pack operator-() const { return pack(backend::neg(r_)); }
  friend TINYGRAD_ALWAYS_INLINE pack operator+(const pack& a, const pack& b) { return pack(backend::add(a.r_, b.r_)); }
  friend TINYGRAD_ALWAYS_INLINE pack operator-(const pack& a, const pack& b) { return pack(backend::sub(a.r_, b.r_)); }
  friend TINYGRAD_ALWAYS_INLINE pack operator*(const pack& a, const pack& b) { return pack(backend::mul(a.r_, b.r_)); }
  friend TINYGRAD_ALWAYS_INLINE pack operator/(const pack& a, const pack& b) { return pack(backend::div(a.r_, b.r_)); }
  TINYGRAD_ALWAYS_INLINE pack& operator+=(const pack& b) { return *this = *this + b; }
  TINYGRAD_ALWAYS_INLINE pack& operator-=(const pack& b) { return *this = *this - b; }
  TINYGRAD_ALWAYS_INLINE pack& operator*=(const pack& b) { return *this = *this * b; }
  TINYGRAD_ALWAYS_INLINE pack& operator/=(const pack& b) { return *this = *this / b; }

  friend TINYGRAD_ALWAYS_INLINE mask_type operator==(const pack& a, const pack& b) {
    return mask_type(backend::equal(a.r_, b.r_));
  }
  friend TINYGRAD_ALWAYS_INLINE mask_type operator!=(const pack& a, const pack& b) { return !(a == b); }
  friend TINYGRAD_ALWAYS_INLINE mask_type operator<(const pack& a, const pack& b) {
    return mask_type(backend::less(a.r_, b.r_));
  }
  friend TINYGRAD_ALWAYS_INLINE mask_type operator<=(const pack& a, const pack& b) {
    return mask_type(backend::less_equal(a.r_, b.r_));
  }
  friend TINYGRAD_ALWAYS_INLINE mask_type operator>(const pack& a, const pack& b) { return b < a; }
  friend TINYGRAD_ALWAYS_INLINE mask_type operator>=(const pack& a, const pack& b) { return b <= a; }

  // Packs of integers only. A shift goes by 0 to bits - 1 places.
  friend TINYGRAD_ALWAYS_INLINE pack operator&(const pack& a, const pack& b) requires std::is_integral_v<T> {
    return pack(backend::bit_and(a.r_, b.r_));
  }
  friend TINYGRAD_ALWAYS_INLINE pack operator|(const pack& a, const pack& b) requires std::is_integral_v<T> {
    return pack(backend::bit_or(a.r_, b.r_));
  }
  friend TINYGRAD_ALWAYS_INLINE pack operator^(const pack& a, const pack& b) requires std::is_integral_v<T> {
    return pack(backend::bit_xor(a.r_, b.r_));
  }
  friend TINYGRAD_ALWAYS_INLINE pack operator<<(const pack& a, int n) requires std::is_integral_v<T> {
    return pack(backend::shift_left(a.r_, n));
  }
  friend TINYGRAD_ALWAYS_INLINE pack operator>>(const pack& a, int n) requires std::is_integral_v<T> {
    return pack(backend::shift_right(a.r_, n));
  }

 private:
  reg r_;
};

// ---- What a value is ------------------------------------------------------------------------------------------

template <class V>
inline constexpr bool is_pack = false;
template <class T, int N>
inline constexpr bool is_pack<pack<T, N>> = true;

template <class V>
concept any_pack = is_pack<V>;
template <class V>
concept plain_scalar = std::is_same_v<V, float> || std::is_same_v<V, double>;

template <class T, int N>
struct scalar_type<pack<T, N>> {
  using type = T;
};

// How many numbers a V holds.
template <class V>
inline constexpr int lanes = 1;
template <class T, int N>
inline constexpr int lanes<pack<T, N>> = N;

// What comparing two V gives.
template <class V>
struct mask_type_of {
  using type = bool;
};
template <class T, int N>
struct mask_type_of<pack<T, N>> {
  using type = typename pack<T, N>::mask_type;
};
template <class V>
using mask_of = typename mask_type_of<V>::type;

namespace detail {
// V again, in a place where template argument deduction does not look: scalars and constants convert there.
template <class V>
using also = std::type_identity_t<V>;
}  // namespace detail

// ---- Memory ---------------------------------------------------------------------------------------------------

template <class V>
TINYGRAD_ALWAYS_INLINE V load(const scalar_of<V>* p) {
  if constexpr (is_pack<V>)
    return V::load(p);
  else
    return *p;
}
template <class V>
TINYGRAD_ALWAYS_INLINE V load(const scalar_of<V>* p, int n) {
  if constexpr (is_pack<V>)
    return V::load(p, n);
  else
    return n > 0 ? *p : V{};
}
template <any_pack V>
TINYGRAD_ALWAYS_INLINE void store(scalar_of<V>* p, const V& v) {
  v.store(p);
}
template <any_pack V>
TINYGRAD_ALWAYS_INLINE void store(scalar_of<V>* p, const V& v, int n) {
  v.store(p, n);
}
template <plain_scalar V>
TINYGRAD_ALWAYS_INLINE void store(V* p, V v) {
  *p = v;
}
template <plain_scalar V>
TINYGRAD_ALWAYS_INLINE void store(V* p, V v, int n) {
  if (n > 0) *p = v;
}

// ---- Bits and conversions -------------------------------------------------------------------------------------

// The unsigned integer (pack) that holds the bits of a floating-point (pack), and back.
template <class V>
struct bits_type_of {
  using type = detail::bits_of<V>;
};
template <class T, int N>
struct bits_type_of<pack<T, N>> {
  using type = pack<detail::bits_of<T>, N>;
};
template <class V>
using bits_pack = typename bits_type_of<V>::type;

template <class V>
TINYGRAD_ALWAYS_INLINE bits_pack<V> to_bits(const V& v) {
  return __builtin_bit_cast(bits_pack<V>, v);
}
template <class V>
TINYGRAD_ALWAYS_INLINE V from_bits(const bits_pack<V>& b) {
  return __builtin_bit_cast(V, b);
}
// The same numbers in the other precision, lane by lane; float <-> double.
template <plain_scalar To, class T, int N>
TINYGRAD_ALWAYS_INLINE pack<To, N> convert(const pack<T, N>& v) {
  return pack<To, N>(detail::backend_of<To, N>::template convert<detail::backend_of<T, N>>(v.native()));
}

// ---- Masks ----------------------------------------------------------------------------------------------------

template <int B, int N>
TINYGRAD_ALWAYS_INLINE bool any_of(const mask<B, N>& m) {
  return detail::backend_of<std::conditional_t<B == 4, float, double>, N>::any(m.native());
}
template <int B, int N>
TINYGRAD_ALWAYS_INLINE bool all_of(const mask<B, N>& m) {
  return detail::backend_of<std::conditional_t<B == 4, float, double>, N>::all(m.native());
}
TINYGRAD_ALWAYS_INLINE bool any_of(bool m) { return m; }
TINYGRAD_ALWAYS_INLINE bool all_of(bool m) { return m; }

// a where m, b elsewhere.
template <any_pack V>
TINYGRAD_ALWAYS_INLINE V select(const detail::also<mask_of<V>>& m, const V& a, const detail::also<V>& b) {
  return V(detail::backend_of<scalar_of<V>, lanes<V>>::select(m.native(), a.native(), b.native()));
}
template <any_pack V>
TINYGRAD_ALWAYS_INLINE V select(const detail::also<mask_of<V>>& m, const scalar_of<V>& a, const V& b) {
  return select(m, V(a), b);
}
template <plain_scalar V>
TINYGRAD_ALWAYS_INLINE V select(bool m, V a, detail::also<V> b) {
  return m ? a : b;
}
template <plain_scalar V>
TINYGRAD_ALWAYS_INLINE V select(bool m, constant a, V b) {
  return m ? scalar_for<V>(a) : b;
}

// ---- Arithmetic -----------------------------------------------------------------------------------------------

// a * b + c: one rounding where the build has FMA (g++: from -O2 on), two elsewhere; never a call.
template <any_pack V>
TINYGRAD_ALWAYS_INLINE V fma(const V& a, const detail::also<V>& b, const detail::also<V>& c) {
  return V(detail::backend_of<scalar_of<V>, lanes<V>>::fma(a.native(), b.native(), c.native()));
}
template <any_pack V>
TINYGRAD_ALWAYS_INLINE V fma(const scalar_of<V>& a, const V& b, const detail::also<V>& c) {
  return fma(V(a), b, c);
}
template <plain_scalar V>
TINYGRAD_ALWAYS_INLINE V fma(V a, detail::also<V> b, detail::also<V> c) {
  return detail::scalar_fma(a, b, c);
}
template <plain_scalar V>
TINYGRAD_ALWAYS_INLINE V fma(constant a, V b, detail::also<V> c) {
  return detail::scalar_fma(scalar_for<V>(a), b, c);
}

template <any_pack V>
TINYGRAD_ALWAYS_INLINE V sqrt(const V& x) {
  return V(detail::backend_of<scalar_of<V>, lanes<V>>::sqrt(x.native()));
}
template <plain_scalar V>
TINYGRAD_ALWAYS_INLINE V sqrt(V x) {
  return detail::scalar_sqrt(x);
}

namespace detail {
template <class V>
concept pack_or_scalar = plain_scalar<V> ||(any_pack<V>&& plain_scalar<scalar_of<V>>);

template <class V>
inline constexpr bool is_single = sizeof(scalar_of<V>) == 4;
template <class V>
inline constexpr int mantissa_bits = is_single<V> ? 23 : 52;
template <class V>
inline constexpr auto sign_bit = static_cast<bits_of<scalar_of<V>>>(bits_of<scalar_of<V>>{1}
                                                                    << (8 * sizeof(scalar_of<V>) - 1));
template <class V>
inline constexpr auto one_bits = __builtin_bit_cast(bits_of<scalar_of<V>>, scalar_of<V>(1));

// Adding 1.5 * 2^mantissa_bits leaves no fraction: the sum is the nearest integer, in the low bits of the mantissa.
template <class V>
inline constexpr auto shifter = scalar_of<V>(is_single<V> ? 0x1.8p23 : 0x1.8p52);

// 2^n for an integral n within the normal exponents.
template <class V>
TINYGRAD_ALWAYS_INLINE V power_of_two(const V& n) {
  return from_bits<V>((to_bits(V(n + shifter<V>)) << mantissa_bits<V>)+one_bits<V>);
}

template <class V>
TINYGRAD_ALWAYS_INLINE V magnitude(const V& x) {
  return from_bits<V>(to_bits(x) & static_cast<bits_of<scalar_of<V>>>(~sign_bit<V>));
}

template <class V>
TINYGRAD_ALWAYS_INLINE V nearest_integer(const V& x) {
  constexpr auto big = scalar_of<V>(is_single<V> ? 0x1p23 : 0x1p52);  // from here on every number is an integer
  const V a = magnitude(x);
  const V r = (a + big) - big;
  return select(a < V(big), from_bits<V>(to_bits(r) | (to_bits(x) & sign_bit<V>)), x);
}
}  // namespace detail

// The smaller and the larger of two: `b < a ? b : a` and `a < b ? b : a`. A NaN in a stays, one in b is dropped; of
// equal values (+0 and -0) the result is a.
template <detail::pack_or_scalar V>
TINYGRAD_ALWAYS_INLINE V minimum(const V& a, const detail::also<V>& b) {
  return select(b < a, b, a);
}
template <any_pack V>
TINYGRAD_ALWAYS_INLINE V minimum(const scalar_of<V>& a, const V& b) {
  return minimum(V(a), b);
}
template <plain_scalar V>
TINYGRAD_ALWAYS_INLINE V minimum(constant a, V b) {
  return minimum(scalar_for<V>(a), b);
}
template <detail::pack_or_scalar V>
TINYGRAD_ALWAYS_INLINE V maximum(const V& a, const detail::also<V>& b) {
  return select(a < b, b, a);
}
template <any_pack V>
TINYGRAD_ALWAYS_INLINE V maximum(const scalar_of<V>& a, const V& b) {
  return maximum(V(a), b);
}
template <plain_scalar V>
TINYGRAD_ALWAYS_INLINE V maximum(constant a, V b) {
  return maximum(scalar_for<V>(a), b);
}

// Their names are in parentheses because C programs define `abs` and `round` as macros.
template <detail::pack_or_scalar V>
TINYGRAD_ALWAYS_INLINE V(abs)(const V& x) {
  return detail::magnitude(x);
}
// The magnitude of x with the sign of s.
template <detail::pack_or_scalar V>
TINYGRAD_ALWAYS_INLINE V copysign(const V& x, const detail::also<V>& s) {
  return from_bits<V>(to_bits(detail::magnitude(x)) | (to_bits(s) & detail::sign_bit<V>));
}

// To the nearest integer, halves to even (as numpy and torch round); the sign of zero is kept.
template <detail::pack_or_scalar V>
TINYGRAD_ALWAYS_INLINE V(round)(const V& x) {
  return detail::nearest_integer(x);
}
template <detail::pack_or_scalar V>
TINYGRAD_ALWAYS_INLINE V floor(const V& x) {
  const V r = detail::nearest_integer(x);
  return select(r > x, r - scalar_of<V>(1), r);
}

// x * 2^n for an integral n, |n| at most 252 (float) or 2044 (double), rounded once even where the result is denormal.
template <detail::pack_or_scalar V>
TINYGRAD_ALWAYS_INLINE V scale_by_power(const V& x, const detail::also<V>& n) {
  if constexpr (is_pack<V>) {
    using backend = detail::backend_of<scalar_of<V>, lanes<V>>;
    if constexpr (backend::has_scale) return V(backend::scale(x.native(), n.native()));
  }
  // Two factors, each a normal number: only the second product rounds.
  const V half = (n * scalar_of<V>(0.5) + detail::shifter<V>)-detail::shifter<V>;
  return x * detail::power_of_two<V>(half) * detail::power_of_two<V>(n - half);
}

template <detail::pack_or_scalar V>
TINYGRAD_ALWAYS_INLINE mask_of<V> is_nan(const V& x) {
  return x != x;
}
template <detail::pack_or_scalar V>
TINYGRAD_ALWAYS_INLINE mask_of<V> is_finite(const V& x) {
  return detail::magnitude(x) < V(static_cast<scalar_of<V>>(__builtin_inf()));
}

// ---- Reductions: a fixed tree, lane i with lane i + N/2, so that every back end gives the same bits -----------

namespace detail {
template <class T, int N, class F>
TINYGRAD_ALWAYS_INLINE T reduce(const pack<T, N>& v, F f) {
  if constexpr (N == 1) {
    return v[0];
  } else if constexpr (N % 2 == 0) {
    struct halves {
      pack<T, N / 2> low, high;
    };
    const auto h = __builtin_bit_cast(halves, v);
    return reduce(f(h.low, h.high), f);
  } else {
    T r = v[0];
    for (int i = 1; i < N; ++i) r = f(r, v[i]);
    return r;
  }
}
}  // namespace detail

template <class T, int N>
TINYGRAD_ALWAYS_INLINE T reduce_add(const pack<T, N>& v) {
  return detail::reduce(v, [](const auto& a, const auto& b) TINYGRAD_INLINE_LAMBDA { return a + b; });
}
template <class T, int N>
TINYGRAD_ALWAYS_INLINE T reduce_max(const pack<T, N>& v) {
  return detail::reduce(v, [](const auto& a, const auto& b) TINYGRAD_INLINE_LAMBDA { return maximum(a, b); });
}
template <class T, int N>
TINYGRAD_ALWAYS_INLINE T reduce_min(const pack<T, N>& v) {
  return detail::reduce(v, [](const auto& a, const auto& b) TINYGRAD_INLINE_LAMBDA { return minimum(a, b); });
}
template <plain_scalar V>
TINYGRAD_ALWAYS_INLINE V reduce_add(V v) {
  return v;
}
template <plain_scalar V>
TINYGRAD_ALWAYS_INLINE V reduce_max(V v) {
  return v;
}
template <plain_scalar V>
TINYGRAD_ALWAYS_INLINE V reduce_min(V v) {
  return v;
}

}  // namespace tinygrad::inline TINYGRAD_ABI
