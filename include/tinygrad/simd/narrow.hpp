// Bytes and halves in packs: products of bytes summed four by four, and 16-bit floats widened as they are loaded.
//
//   dot_bytes(sum, a, b)     sum[i] + a[4i] b[4i] + ... + a[4i + 3] b[4i + 3], a unsigned, b signed, nothing saturates
//   add_pairs, add_words     the same in steps of two, for machines with AVX2 but not VNNI
//   bits_as_sixteens<N>(p)   32 fifth bits out of 4 bytes, where they belong
//   low_high_nibbles<N>(p)   32 values of 4 bits out of 16 bytes: the low halves of all bytes, then the high ones
//   load_f16<V>, load_bf16<V>, f16_at
//
// Where the machine has one instruction for it (VNNI, pmaddwd, F16C) the builtin behind the intrinsic is called, as in
// lanes_vector.hpp; every other build gets plain loops with the same results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tinygrad/core/half.hpp>
#include <tinygrad/simd/pack.hpp>
#include <type_traits>

namespace tinygrad::inline TINYGRAD_ABI {

/// N lanes of 32-bit integers, and the 4 N bytes that are added up in them.
template <int N>
using int_lanes = pack<std::int32_t, N>;
template <int N>
using level_bytes = pack<std::uint8_t, 4 * N>;
template <int N>
using signed_bytes = pack<std::int8_t, 4 * N>;

/// Lanes in which a V of floats adds up bytes: a register of bytes, at most 32 of them (the shortest block there is).
template <class V>
inline constexpr int byte_lanes = lanes<V> < 8 ? lanes<V> : 8;

namespace detail {

#if TINYGRAD_PACK_BACKEND != 0
/// The products as 16-bit pairs, for machines that have the multiply-and-add of SSE2 or AVX2 but not of bytes.
template <int N>
TINYGRAD_ALWAYS_INLINE vector_type<std::int32_t, 4 * N> dot_words(vector_type<std::int32_t, 4 * N> sum,
                                                                  vector_type<std::uint8_t, 4 * N> a,
                                                                  vector_type<std::int8_t, 4 * N> b) {
  // A lane takes a pair of neighbours out of 16-bit lanes: even bytes and odd bytes apart, then two sums of pairs.
  using words = vector_type<std::int16_t, 4 * N>;
  using unsigned_words = vector_type<std::uint16_t, 4 * N>;
  const words a_even = (words)((unsigned_words)a & std::uint16_t{0xff}), a_odd = (words)((unsigned_words)a >> 8);
  const words b_even = (words)((unsigned_words)b << 8) >> 8, b_odd = (words)b >> 8;
#if defined(__AVX2__)
  if constexpr (N == 8)
    return sum + __builtin_ia32_pmaddwd256(a_even, b_even) + __builtin_ia32_pmaddwd256(a_odd, b_odd);
#endif
#if defined(__SSE2__)
  if constexpr (N == 4)
    return sum + __builtin_ia32_pmaddwd128(a_even, b_even) + __builtin_ia32_pmaddwd128(a_odd, b_odd);
#endif
  // Every product fits 17 bits and is made in 32: the low and the high word of each lane, sign-extended.
  using ints = vector_type<std::int32_t, 4 * N>;
  const auto low = [](words w) { return (ints)((vector_type<std::uint32_t, 4 * N>)w << 16) >> 16; };
  const auto high = [](words w) { return (ints)w >> 16; };
  return sum + low(a_even) * low(b_even) + high(a_even) * high(b_even) + low(a_odd) * low(b_odd) +
         high(a_odd) * high(b_odd);
}

template <int N>
TINYGRAD_ALWAYS_INLINE vector_type<std::int32_t, 4 * N> dot_register(vector_type<std::int32_t, 4 * N> sum,
                                                                     vector_type<std::uint8_t, 4 * N> a,
                                                                     vector_type<std::int8_t, 4 * N> b) {
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
#if __has_builtin(__builtin_ia32_vpdpbusd_v8si)  // g++
  using ints = vector_type<std::int32_t, 4 * N>;
  if constexpr (N == 16) return __builtin_ia32_vpdpbusd_v16si(sum, (ints)a, (ints)b);
  if constexpr (N == 8) return __builtin_ia32_vpdpbusd_v8si(sum, (ints)a, (ints)b);
  if constexpr (N == 4) return __builtin_ia32_vpdpbusd_v4si(sum, (ints)a, (ints)b);
#elif __has_builtin(__builtin_ia32_vpdpbusd256)  // clang, whose newer versions take the bytes as bytes
  using ints = vector_type<std::int32_t, 4 * N>;
  if constexpr (N == 16) {
    if constexpr (requires { __builtin_ia32_vpdpbusd512(sum, (ints)a, (ints)b); })
      return __builtin_ia32_vpdpbusd512(sum, (ints)a, (ints)b);
    else
      return __builtin_ia32_vpdpbusd512(sum, (vector_type<char, 64>)a, (vector_type<char, 64>)b);
  }
  if constexpr (N == 8) {
    if constexpr (requires { __builtin_ia32_vpdpbusd256(sum, (ints)a, (ints)b); })
      return __builtin_ia32_vpdpbusd256(sum, (ints)a, (ints)b);
    else
      return __builtin_ia32_vpdpbusd256(sum, (vector_type<char, 32>)a, (vector_type<char, 32>)b);
  }
#endif
#endif
  return dot_words<N>(sum, a, b);
}
#endif

/// 16-bit unsigned integers, widened.
template <int N>
TINYGRAD_ALWAYS_INLINE pack<std::uint32_t, N> load_words(const std::byte* p) {
#if TINYGRAD_PACK_BACKEND != 0
  if constexpr (fills_register<float, N> && N >= 4) {
    vector_type<std::uint16_t, 2 * N> narrow;
    __builtin_memcpy(&narrow, p, sizeof narrow);
    return __builtin_bit_cast(pack<std::uint32_t, N>,
                              __builtin_convertvector(narrow, vector_type<std::uint32_t, 4 * N>));
  }
#endif
  std::uint16_t narrow[N];
  __builtin_memcpy(narrow, p, sizeof narrow);
  std::uint32_t wide[N];
  for (int i = 0; i < N; ++i) wide[i] = narrow[i];
  return pack<std::uint32_t, N>::load(wide);
}

/// {a, a, ..., b, b, ...}, half of the lanes each.
template <int N>
TINYGRAD_ALWAYS_INLINE pack<float, N> two_values(float a, float b) {
#if TINYGRAD_PACK_BACKEND != 0
  if constexpr (N == 8) {  // through registers: two stores and one load of both would have to wait for each other
    const vector_type<float, 16> low{a, a, a, a}, high{b, b, b, b};
    return __builtin_bit_cast(pack<float, 8>, __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7));
  }
#endif
  float all[N];
  for (int i = 0; i < N; ++i) all[i] = i < N / 2 ? a : b;
  return pack<float, N>::load(all);
}

/// f16_to_float of core/half.hpp, on packs.
template <int N>
TINYGRAD_ALWAYS_INLINE pack<float, N> widen_f16(const pack<std::uint32_t, N>& bits) {
  using B = pack<std::uint32_t, N>;
  const B sign = (bits & B(0x8000)) << 16, size = bits & B(0x7fff);
  const auto subnormal = convert<float>(__builtin_bit_cast(int_lanes<N>, size)) * pack<float, N>(0x1p-24f);
  const B normal = (size << 13) + B(half_bias_shift);
  const B finite = select(size < B(0x0400), to_bits(subnormal), normal);
  return from_bits<pack<float, N>>(sign | select(size >= B(0x7c00), normal + B(half_bias_shift), finite));
}

}  // namespace detail

/// sum[i] + the four products a[4 i + j] b[4 i + j].
template <int N>
TINYGRAD_ALWAYS_INLINE int_lanes<N> dot_bytes(const int_lanes<N>& sum, const level_bytes<N>& a,
                                              const signed_bytes<N>& b) {
#if TINYGRAD_PACK_BACKEND != 0
  if constexpr (detail::fills_register<float, N>) {
    return __builtin_bit_cast(int_lanes<N>,
                              detail::dot_register<N>(__builtin_bit_cast(detail::vector_type<std::int32_t, 4 * N>, sum),
                                                      __builtin_bit_cast(detail::vector_type<std::uint8_t, 4 * N>, a),
                                                      __builtin_bit_cast(detail::vector_type<std::int8_t, 4 * N>, b)));
  }
#endif
  std::int32_t lane[N];
  for (int i = 0; i < N; ++i) {
    lane[i] = sum[i];
    for (int j = 4 * i; j < 4 * i + 4; ++j) lane[i] += a[j] * b[j];
  }
  return int_lanes<N>::load(lane);
}

#if TINYGRAD_PACK_BACKEND != 0 && defined(__AVX512VNNI__) && defined(__AVX512VL__)
inline constexpr bool has_byte_dots = true, has_pair_sums = false;
#elif TINYGRAD_PACK_BACKEND != 0 && defined(__AVX2__) && !defined(__AVX512F__)
inline constexpr bool has_byte_dots = false, has_pair_sums = true;
#else
/// Whether dot_bytes is one instruction in registers of full width, and whether add_pairs and add_words are what such
/// a machine would use instead.
inline constexpr bool has_byte_dots = false, has_pair_sums = false;
#endif

#if TINYGRAD_PACK_BACKEND != 0 && defined(__AVX2__)
/// sum[i] + a[2 i] b[2 i] + a[2 i + 1] b[2 i + 1], a unsigned: the caller sees to it that 16 bits are enough.
TINYGRAD_ALWAYS_INLINE pack<std::int16_t, 16> add_pairs(const pack<std::int16_t, 16>& sum, const level_bytes<8>& a,
                                                        const signed_bytes<8>& b) {
  using bytes = detail::vector_type<char, 32>;
  return sum + __builtin_bit_cast(pack<std::int16_t, 16>, __builtin_ia32_pmaddubsw256(__builtin_bit_cast(bytes, a),
                                                                                      __builtin_bit_cast(bytes, b)));
}
/// sum[i] + a[2 i] b[2 i] + a[2 i + 1] b[2 i + 1].
TINYGRAD_ALWAYS_INLINE int_lanes<8> add_words(const int_lanes<8>& sum, const pack<std::int16_t, 16>& a,
                                              const pack<std::int16_t, 16>& b) {
  using words = detail::vector_type<std::int16_t, 32>;
  return sum + __builtin_bit_cast(
                   int_lanes<8>, __builtin_ia32_pmaddwd256(__builtin_bit_cast(words, a), __builtin_bit_cast(words, b)));
}
#endif

/// 32 small numbers in as many packs of 4 N bytes as they need.
template <int N>
struct block_levels {
  static constexpr int parts = 8 / N;
  level_bytes<N> part[parts];
};

/// The low four bits of bytes p[0 .. 16), then their high four bits.
template <int N>
TINYGRAD_ALWAYS_INLINE block_levels<N> low_high_nibbles(const std::uint8_t* p) {
  block_levels<N> result;
#if TINYGRAD_PACK_BACKEND != 0
  if constexpr (N == 8) {
    using bytes = detail::vector_type<std::uint8_t, 16>;
    bytes raw;
    __builtin_memcpy(&raw, p, 16);
    const bytes high = (bytes)((detail::vector_type<std::uint16_t, 16>)raw >> 4);
    const auto both = __builtin_shufflevector(raw, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
                                              18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    result.part[0] = __builtin_bit_cast(level_bytes<8>, both & std::uint8_t{15});
    return result;
  }
#endif
  using packed_bytes = level_bytes<N>;
  if constexpr (N <= 4) {
    for (int part = 0; part < 4 / N; ++part) {
      const auto raw = packed_bytes::load(p + part * 4 * N);
      result.part[part] = raw & packed_bytes(15);
      result.part[part + 4 / N] = raw >> 4;
    }
  } else {
    std::uint8_t all[32];
    for (int i = 0; i < 16; ++i) all[i] = p[i] & 15, all[i + 16] = p[i] >> 4;
    for (int part = 0; part < block_levels<N>::parts; ++part)
      result.part[part] = packed_bytes::load(all + part * 4 * N);
  }
  return result;
}

/// 32 bytes, one for each bit of p[0 .. 4) from the lowest on: 16 where it is set, else 0.
template <int N>
TINYGRAD_ALWAYS_INLINE block_levels<N> bits_as_sixteens(const std::uint8_t* p) {
  block_levels<N> result;
#if TINYGRAD_PACK_BACKEND != 0
  if constexpr (N == 4 || N == 8) {
    using bytes = detail::vector_type<std::uint8_t, 16>;
    constexpr bytes bit{1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    std::uint32_t word;
    __builtin_memcpy(&word, p, 4);
    const auto all = (bytes)(detail::vector_type<std::uint32_t, 16>{word, word, word, word});
    const bytes low = __builtin_shufflevector(all, all, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const bytes high = __builtin_shufflevector(all, all, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
    const bytes low_set = (bytes)((low & bit) == bit) & std::uint8_t{16};
    const bytes high_set = (bytes)((high & bit) == bit) & std::uint8_t{16};
    if constexpr (N == 4) {
      result.part[0] = __builtin_bit_cast(level_bytes<4>, low_set);
      result.part[1] = __builtin_bit_cast(level_bytes<4>, high_set);
    } else {
      result.part[0] = __builtin_bit_cast(
          level_bytes<8>, __builtin_shufflevector(low_set, high_set, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                                                  15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31));
    }
    return result;
  }
#endif
  std::uint8_t all[32];
  for (int i = 0; i < 32; ++i) all[i] = static_cast<std::uint8_t>(((p[i / 8] >> (i % 8)) & 1) << 4);
  for (int part = 0; part < block_levels<N>::parts; ++part)
    result.part[part] = level_bytes<N>::load(all + part * 4 * N);
  return result;
}

/// Both, lane by lane: 5-bit levels out of nibbles and fifth bits.
template <int N>
TINYGRAD_ALWAYS_INLINE block_levels<N> operator|(const block_levels<N>& a, const block_levels<N>& b) {
  block_levels<N> result;
  for (int part = 0; part < block_levels<N>::parts; ++part) result.part[part] = a.part[part] | b.part[part];
  return result;
}

/// One binary16 number, by the machine's own conversion where there is one.
TINYGRAD_ALWAYS_INLINE float f16_at(const std::byte* p) {
  std::uint16_t bits;
  __builtin_memcpy(&bits, p, sizeof bits);
#if defined(__F16C__) && TINYGRAD_PACK_BACKEND != 0
#if __has_builtin(__builtin_ia32_vcvtph2ps)
  const detail::vector_type<std::int16_t, 16> lane{static_cast<std::int16_t>(bits)};
  return __builtin_ia32_vcvtph2ps(lane)[0];
#else  // clang 22 spells it as a conversion
  return static_cast<float>(__builtin_bit_cast(_Float16, bits));
#endif
#else
  return f16_to_float(bits);
#endif
}

/// lanes<V> numbers stored as binary16, as floats. A signalling NaN may come out quiet.
template <class V>
TINYGRAD_ALWAYS_INLINE V load_f16(const std::byte* p) {
  if constexpr (!is_pack<V>) {
    return f16_at(p);
  } else {
    constexpr int n = lanes<V>;
#if TINYGRAD_PACK_BACKEND != 0
#if defined(__AVX512F__)
    if constexpr (n == 16) {
      detail::vector_type<std::int16_t, 32> narrow;
      __builtin_memcpy(&narrow, p, sizeof narrow);
      constexpr int current_rounding = 4;
      return __builtin_bit_cast(V, __builtin_ia32_vcvtph2ps512_mask(narrow, detail::vector_type<float, 64>{},
                                                                    static_cast<std::uint16_t>(-1), current_rounding));
    }
#endif
#if defined(__F16C__)
    if constexpr (n == 8) {
      detail::vector_type<std::int16_t, 16> narrow;
      __builtin_memcpy(&narrow, p, sizeof narrow);
#if __has_builtin(__builtin_ia32_vcvtph2ps256)
      return __builtin_bit_cast(V, __builtin_ia32_vcvtph2ps256(narrow));
#else
      using halves = detail::vector_type<_Float16, 16>;
      return __builtin_bit_cast(
          V, __builtin_convertvector(__builtin_bit_cast(halves, narrow), detail::vector_type<float, 32>));
#endif
    }
#endif
#endif
    return detail::widen_f16<n>(detail::load_words<n>(p));
  }
}

/// lanes<V> numbers stored as bfloat16, as floats.
template <class V>
TINYGRAD_ALWAYS_INLINE V load_bf16(const std::byte* p) {
  if constexpr (!is_pack<V>) {
    std::uint16_t bits;
    __builtin_memcpy(&bits, p, sizeof bits);
    return bf16_to_float(bits);
  } else {
    return from_bits<V>(detail::load_words<lanes<V>>(p) << 16);
  }
}

/// lanes<V> bytes less `offset`, as floats.
template <class V>
TINYGRAD_ALWAYS_INLINE V load_levels(const std::uint8_t* p, int offset) {
  if constexpr (!is_pack<V>) {
    return static_cast<float>(int{*p} - offset);
  } else {
    constexpr int n = lanes<V>;
#if TINYGRAD_PACK_BACKEND != 0
    if constexpr (detail::fills_register<float, n>) {
      detail::vector_type<std::uint8_t, n> narrow;
      __builtin_memcpy(&narrow, p, sizeof narrow);
      const auto words = __builtin_convertvector(narrow, detail::vector_type<std::int16_t, 2 * n>);
      const auto wide = __builtin_convertvector(words, detail::vector_type<std::int32_t, 4 * n>) - offset;
      return __builtin_bit_cast(V, __builtin_convertvector(wide, detail::vector_type<float, 4 * n>));
    }
#endif
    float all[n];
    for (int i = 0; i < n; ++i) all[i] = static_cast<float>(int{p[i]} - offset);
    return V::load(all);
  }
}

/// lanes<V> floats at any address.
template <class V>
TINYGRAD_ALWAYS_INLINE V load_f32(const std::byte* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

}  // namespace tinygrad::inline TINYGRAD_ABI
