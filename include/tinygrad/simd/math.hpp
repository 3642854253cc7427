// Elementary functions on packs and on plain floats and doubles: exp log tanh erf sin cos sigmoid pow.
//
// One algorithm per function, written on a value type V, so that a pack and a scalar agree. No lane is ever handed to
// libm, with one exception (sine and cosine of huge arguments). Each function holds over the whole range, denormal
// arguments and results included, and at +-0, +-infinity and NaN; the largest errors found, in units in the last
// place, stand beside it. Nothing here needs FMA: products that must be exact are exact without it, and where it is
// there the results are a little better.
//
// Polynomials are minimax (Remez, made with Sollya's fpminimax and remez), their error bounds stand beside them.
// Reduction schemes: W. J. Cody and W. Waite, Software Manual for the Elementary Functions (1980); error-free sums and
// products: T. J. Dekker, A floating-point technique for extending the available precision (1971).
#pragma once

#include <tinygrad/simd/pack.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {

template <class V>
inline constexpr auto infinity = static_cast<scalar_of<V>>(__builtin_inf());
template <class V>
inline constexpr auto not_a_number = static_cast<scalar_of<V>>(__builtin_nan(""));

// c0 + c1 x + c2 x^2 + ...
template <class V>
TINYGRAD_ALWAYS_INLINE V horner(const V&, scalar_of<V> c) {
  return V(c);
}
template <class V, class... C>
TINYGRAD_ALWAYS_INLINE V horner(const V& x, scalar_of<V> c0, C... c) {
  return fma(horner(x, static_cast<scalar_of<V>>(c)...), x, c0);
}

// ---- exp ----

// q with e^r = 1 + r + r^2 q(r) for |r| <= log(2) / 2: off by 2^-28 (float) and 2^-57 (double), relatively.
template <class V>
TINYGRAD_ALWAYS_INLINE V exp_polynomial(const V& r) {
  if constexpr (is_single<V>) {
    return horner(r, 0x1.fffffap-2f, 0x1.555492p-3f, 0x1.555a26p-5f, 0x1.123988p-7f, 0x1.694cd2p-10f);
  } else {
    return horner(r, 0x1.000000000000ap-1, 0x1.55555555554fep-3, 0x1.55555555506b4p-5, 0x1.1111111126b32p-7,
                  0x1.6c16c18479ce6p-10, 0x1.a01a012ff465cp-13, 0x1.a01999558718ap-16, 0x1.71df18d48cc88p-19,
                  0x1.28ae06e3faecp-22, 0x1.ad932d5166d68p-26);
  }
}

// log(2) in two parts; the first is so short that n times it is exact for every exponent n.
template <class V>
inline constexpr auto ln2_high = scalar_of<V>(is_single<V> ? 0x1.63p-1 : 0x1.62e42ffp-1);
template <class V>
inline constexpr auto ln2_low = scalar_of<V>(is_single<V> ? -0x1.bd0106p-13 : -0x1.718432a1b0e26p-35);

// x + x_low = n log(2) + r with integral n and |r| <= log(2) / 2 (a hair more), and e^r - 1. x_low may be left out.
template <class V>
struct exp_parts {
  V n, expm1_r;
};
template <class V, class... Low>
TINYGRAD_ALWAYS_INLINE exp_parts<V> split_exp(const V& x, const Low&... x_low) {
  const V n = fma(x, scalar_of<V>(0x1.71547652b82fep0), shifter<V>) - shifter<V>;
  const V r = fma(n, -ln2_low<V>, (fma(n, -ln2_high<V>, x) + ... + x_low));
  return {n, fma(r * r, exp_polynomial(r), r)};
}

// Beyond these e^x is zero or infinite; a NaN passes.
template <class V>
TINYGRAD_ALWAYS_INLINE V clamp_to_exp_range(const V& x) {
  return minimum(maximum(x, scalar_of<V>(is_single<V> ? -104 : -746)), scalar_of<V>(is_single<V> ? 89 : 710));
}

// e^(x + x_low) for x within those bounds and x_low far smaller.
template <class V, class... Low>
TINYGRAD_ALWAYS_INLINE V exp_in_range(const V& x, const Low&... x_low) {
  const auto [n, expm1_r] = split_exp(x, x_low...);
  return scale_by_power(V(expm1_r + scalar_of<V>(1)), n);
}

// ---- log ----

// x = 2^k m with m in [sqrt(1/2), sqrt(2)), for positive finite x.
template <class V>
struct log_parts {
  V k, m;
};
template <class V>
TINYGRAD_ALWAYS_INLINE log_parts<V> split_log(const V& x) {
  using T = scalar_of<V>;
  constexpr T min_normal = is_single<V> ? T(0x1p-126) : T(0x1p-1022);
  constexpr T up = is_single<V> ? T(0x1p23) : T(0x1p52);
  constexpr auto sqrt_half = __builtin_bit_cast(bits_of<T>, is_single<V> ? T(0x1.6a09e6p-1) : T(0x1.6a09e667f3bcdp-1));
  constexpr auto bias = static_cast<bits_of<T>>(is_single<V> ? 126 : 1022);

  const mask_of<V> denormal = x < V(min_normal);
  const auto b = to_bits(select(denormal, x * up, x));
  // The exponent after a shift of the binade to [sqrt(1/2), sqrt(2)); biased, so that it is not negative.
  const auto e = (b + static_cast<bits_of<T>>((bias << mantissa_bits<V>)-sqrt_half)) >> mantissa_bits<V>;
  const V biased = from_bits<V>(e + __builtin_bit_cast(bits_of<T>, shifter<V>)) - (shifter<V> + T(bias));
  const V m = from_bits<V>(b - ((e - bias) << mantissa_bits<V>));
  return {select(denormal, biased - T(mantissa_bits<V>), biased), m};
}

// log(1 + f) - (f - f^2/2) for 1 + f in [sqrt(1/2), sqrt(2)); f^3 times a polynomial off by 2^-27 of the logarithm.
TINYGRAD_ALWAYS_INLINE auto log1p_tail(const auto& f) {
  return f * (f * f) *
         horner(f, 0x1.555554p-2f, -0x1.000228p-2f, 0x1.99a028p-3f, -0x1.54720cp-3f, 0x1.22d788p-3f, -0x1.0d853ap-3f,
                0x1.056c98p-3f, -0x1.38de36p-4f);
}

// R with log(1 + f) = 2 s + s R(s^2), s = f / (2 + f): off by 2^-59.
template <class V>
TINYGRAD_ALWAYS_INLINE V log_polynomial(const V& z) {
  return z * horner(z, 0x1.5555555555593p-1, 0x1.999999997fa39p-2, 0x1.2492494224e8ap-2, 0x1.c71c51dcf779fp-3,
                    0x1.74664887e8a77p-3, 0x1.39a0b4d9004e4p-3, 0x1.2f103aeb694e9p-3);
}

// log x for positive finite x.
template <class V>
TINYGRAD_ALWAYS_INLINE V log_of_positive(const V& x) {
  using T = scalar_of<V>;
  const auto [k, m] = split_log(x);
  const V f = m - T(1);
  const V half_square = f * f * T(0.5);
  if constexpr (is_single<V>) {
    const V tail = fma(k, ln2_low<V>, log1p_tail(f)) - half_square;
    return fma(k, ln2_high<V>, f + tail);
  } else {
    const V s = f / (f + T(2));
    const V tail = fma(s, half_square + log_polynomial(V(s * s)), k * ln2_low<V>);
    return fma(k, ln2_high<V>, f - (half_square - tail));
  }
}

// log of 0, infinity and NaN, given a magnitude and its logarithm as if it were positive and finite.
template <class V>
TINYGRAD_ALWAYS_INLINE V log_at_ends(const V& x, const V& log_x) {
  return select(x == V(0), -infinity<V>, select(x < V(infinity<V>), log_x, x));
}

// ---- A float pack computed in double ----

// Calls f on the double packs that the float packs x... widen to, a register at a time, and narrows what it returns.
template <class V, class F, class... X>
TINYGRAD_ALWAYS_INLINE V through_double(const F& f, const V& x, const X&... more) {
  if constexpr (plain_scalar<V>) {
    return static_cast<float>(f(static_cast<double>(x), static_cast<double>(more)...));
  } else if constexpr (lanes<V> % 2 == 0 && !fills_register<double, lanes<V>>) {
    using part = pack<float, lanes<V> / 2>;
    struct halves {
      part low, high;
    };
    const auto split = [](const V& v) TINYGRAD_INLINE_LAMBDA { return __builtin_bit_cast(halves, v); };
    return __builtin_bit_cast(V, halves{through_double(f, split(x).low, split(more).low...),
                                        through_double(f, split(x).high, split(more).high...)});
  } else {
    return convert<float>(f(convert<double>(x), convert<double>(more)...));
  }
}

// ---- sin, cos ----

// The polynomials on |r| <= pi/4 (float: 0.81, for a quotient that is off by one rounding). Sine is off by 2^-27.6 and
// 2^-57.9, cosine by 2^-32 and 2^-63. r_low is what r lacks to the reduced argument.
template <class V>
TINYGRAD_ALWAYS_INLINE V sin_polynomial(const V& r, const V& r_low) {
  const V z = r * r;
  if constexpr (is_single<V>) {
    return fma(r * z, horner(z, -0x1.555542p-3f, 0x1.1105fap-7f, -0x1.98d742p-13f), r);
  } else {
    const V p = horner(z, -0x1.5555555555548p-3, 0x1.111111110f75dp-7, -0x1.a01a019bf222ep-13, 0x1.71de355f05599p-19,
                       -0x1.ae5e5471f5503p-26, 0x1.5d8e3511cdcf2p-33);
    return r + fma(r * z, p, r_low * fma(z, -0.5, V(1.0)));
  }
}
template <class V>
TINYGRAD_ALWAYS_INLINE V cos_polynomial(const V& r, const V& r_low) {
  const V z = r * r;
  const V half = z * scalar_of<V>(0.5);
  if constexpr (is_single<V>) {
    return fma(z * z, horner(z, 0x1.555548p-5f, -0x1.6c0aecp-10f, 0x1.998d66p-16f), V(1.0f) - half);
  } else {
    const V p = horner(z, 0x1.555555555554bp-5, -0x1.6c16c16c15016p-10, 0x1.a01a019c8f3eep-16, -0x1.27e4f7f19d4b2p-22,
                       0x1.1ee9dbd0d86a7p-29, -0x1.8fa681e3853d1p-37);
    const V head = V(1.0) - half;
    return head + (((V(1.0) - head) - half) + fma(z * z, p, -(r * r_low)));
  }
}

// a + b as s + e exactly (Dekker; Knuth's form, for any order of magnitudes).
template <class V>
struct exact_pair {
  V s, e;
};
template <class V>
TINYGRAD_ALWAYS_INLINE exact_pair<V> exact_sum(const V& a, const V& b) {
  const V s = a + b;
  const V b_part = s - a;
  return {s, (a - (s - b_part)) + (b - b_part)};
}

// The largest |x| for which the quotient by pi/2 is short enough for the products below to be exact.
template <class V>
inline constexpr auto reducible = scalar_of<V>(is_single<V> ? 0x1p17 : 0x1p20);

// n = x / (pi/2) to an integer, r + r_low = x - n pi/2. pi/2 is cut into 33-bit pieces: n has at most 20 bits.
template <class V>
struct quarter_turns {
  V n, r, r_low;
};
template <class V>
TINYGRAD_ALWAYS_INLINE quarter_turns<V> reduce_angle(const V& x) {
  const V n = fma(x, scalar_of<V>(0x1.45f306dc9c883p-1), shifter<V>) - shifter<V>;
  if constexpr (is_single<V>) {
    const V r = through_double<V>(
        [](const auto& wide_x, const auto& wide_n) TINYGRAD_INLINE_LAMBDA {
          return fma(wide_n, -0x1.0b4611a626331p-34, fma(wide_n, -0x1.921fb544p0, wide_x));
        },
        x, n);
    return {n, r, V(0)};
  } else {
    // A double may lie so near to a multiple of pi/2 that 53 bits and more cancel: keep what is lost.
    const V r0 = fma(n, -0x1.921fb544p0, x);
    const auto [r1, e1] = exact_sum(r0, V(n * -0x1.0b4611a6p-34));
    const auto [r2, e2] = exact_sum(r1, V(n * -0x1.3198a2ep-69));
    const V low = fma(n, -0x1.b839a252049c1p-104, e1 + e2);
    const V r = r2 + low;
    return {n, r, (r2 - r) + low};
  }
}

// libm, for lanes beyond `reducible`, infinities among them. NaN lanes do not come here.
template <class T>
TINYGRAD_COLD void sin_or_cos_of_huge(const T* x, T* y, int n, bool cosine) {
  for (int i = 0; i < n; ++i) {
    if (detail::magnitude(x[i]) <= reducible<T>) continue;
    const auto wide = static_cast<double>(x[i]);
    y[i] = static_cast<T>(cosine ? __builtin_cos(wide) : __builtin_sin(wide));
  }
}

template <bool cosine, class V>
TINYGRAD_ALWAYS_INLINE V sin_or_cos(const V& x) {
  using T = scalar_of<V>;
  const V a = magnitude(x);
  const auto [n, r, r_low] = reduce_angle(a);
  // Quadrant q: sin r, cos r, -sin r, -cos r; cosine is one quadrant ahead, and even.
  const auto q = to_bits(V(n + (shifter<V> + T(cosine ? 1 : 0))));
  const auto odd = (q & bits_of<T>{1}) != bits_pack<V>(0);
  const V y = select(odd, cos_polynomial(r, r_low), sin_polynomial(r, r_low));
  auto flip = (q & bits_of<T>{2}) << (8 * int{sizeof(T)} - 2);
  if constexpr (!cosine) flip = flip ^ (to_bits(x) & sign_bit<V>);
  const V result = from_bits<V>(to_bits(y) ^ flip);

  const mask_of<V> huge = a > V(reducible<V>);
  if (any_of(huge)) [[unlikely]] {
    T from[lanes<V>], to[lanes<V>];
    store(from, x);
    store(to, result);
    sin_or_cos_of_huge(from, to, lanes<V>, cosine);
    return load<V>(to);
  }
  return result;
}

// ---- erf ----

// erf(t) = t + t S(t^2) for t below `erf_split`, off by 2^-30.8 and 2^-56.7.
template <class V>
inline constexpr auto erf_split = scalar_of<V>(is_single<V> ? 0.93 : 1.0);
template <class V>
TINYGRAD_ALWAYS_INLINE V erf_near_zero(const V& t) {
  const V z = t * t;
  if constexpr (is_single<V>) {
    return fma(t,
               horner(z, 0x1.06eba8p-3f, -0x1.812744p-2f, 0x1.ce2e1cp-4f, -0x1.b80ff2p-6f, 0x1.54d42ap-8f,
                      -0x1.aaa2dap-11f, 0x1.5e0634p-14f),
               t);
  } else {
    return fma(t,
               horner(z, 0x1.06eba8214db68p-3, -0x1.812746b0379c2p-2, 0x1.ce2f21a041017p-4, -0x1.b82ce31206286p-6,
                      0x1.565bccfa9a2c2p-8, -0x1.c02db072ea09dp-11, 0x1.f9a2bf733e40ap-14, -0x1.f4ca94915bad9p-17,
                      0x1.b9827ae5ef594p-20, -0x1.5c16e25deaf6dp-23, 0x1.d78491a5b0e36p-27, -0x1.acdffba42dde7p-31),
               t);
  }
}

// log(erfc(t)) from `erf_split` to where erf is 1 (4 and 6); erfc is off by 2^-29 and 2^-57, absolutely.
template <class V>
TINYGRAD_ALWAYS_INLINE V log_erfc(const V& t) {
  if constexpr (is_single<V>) {
    return horner(minimum(t, 4.0f), -0x1.b225eap-13f, -0x1.20ac3p0f, -0x1.4647b4p-1f, -0x1.a9653ap-4f, 0x1.6b8e86p-6f,
                  -0x1.8da182p-9f, 0x1.98d4bp-13f);
  } else {
    return horner(V(minimum(t, 6.0) - 1.0), -0x1.d97fbf27aa2a1p0, -0x1.51c9b0006c236p1, -0x1.afabc11a295f4p-1,
                  -0x1.5477f09c036dcp-5, 0x1.48c9d3eb1efeap-7, -0x1.033f65b026324p-9, 0x1.f1b389839cf1dp-13,
                  0x1.b8de9c9e19b87p-16, -0x1.c7a77eb56b703p-16, 0x1.426bd16f27b92p-17, -0x1.147536a6c9b2ep-19,
                  0x1.32d2895a7ed4bp-23, 0x1.a2f66929eee96p-24, -0x1.bf0068361e132p-25, 0x1.002d31e2d6264p-26,
                  -0x1.89a16646f75b6p-29, 0x1.94e4ae2bc212fp-32, -0x1.faee22dd05bdap-36, 0x1.247b85ffb267fp-40);
  }
}

// ---- pow ----

// x, kept from being contracted into a later sum (see rounded_register).
template <class V>
TINYGRAD_ALWAYS_INLINE V rounded(const V& x) {
  if constexpr (is_pack<V>) {
    return V(backend_of<scalar_of<V>, lanes<V>>::rounded(x.native()));
  } else {
    return rounded_register(x);
  }
}

// a * b as s + e, without FMA: halves of 26 and 27 bits multiply exactly.
template <class V>
TINYGRAD_ALWAYS_INLINE V upper_half(const V& a) {
  return from_bits<V>(to_bits(a) & ~((std::uint64_t{1} << 27) - 1));
}
template <class V>
TINYGRAD_ALWAYS_INLINE exact_pair<V> exact_product(const V& a, const V& b) {
  const V s = rounded(V(a * b));
  const V a1 = upper_half(a), a2 = a - a1;
  const V b1 = upper_half(b), b2 = b - b1;
  return {s, (((a1 * b1 - s) + a1 * b2) + a2 * b1) + a2 * b2};
}
// The same for pairs, to about 2^-100.
template <class V>
TINYGRAD_ALWAYS_INLINE exact_pair<V> pair_product(const exact_pair<V>& a, const exact_pair<V>& b) {
  const auto p = exact_product(a.s, b.s);
  return exact_sum(p.s, V(p.e + (a.s * b.e + a.e * b.s)));
}
template <class V>
TINYGRAD_ALWAYS_INLINE exact_pair<V> pair_sum(const exact_pair<V>& a, const exact_pair<V>& b) {
  const auto s = exact_sum(a.s, b.s);
  return exact_sum(s.s, V(s.e + (a.e + b.e)));
}

// log x to about 2^-65, for positive finite x (double): 2 s + 2/3 s^3 + s^5 T(s^2) with s = (m - 1) / (m + 1).
template <class V>
TINYGRAD_ALWAYS_INLINE exact_pair<V> log_pair(const V& x) {
  using pair = exact_pair<V>;
  const auto [k, m] = split_log(x);
  const V f = m - 1.0;
  const auto d = exact_sum(m, V(1.0));
  const V s_high = rounded(V(f / d.s));
  const auto back = exact_product(s_high, d.s);
  const V s_low = (((f - back.s) - back.e) - s_high * d.e) / d.s;
  const pair s{s_high, s_low};
  const auto z = pair_product(s, s);
  const auto cube = pair_product(z, s);
  const auto third = pair_product(cube, pair{V(0x1.5555555555555p-1), V(0x1.5555555555555p-55)});
  const V tail = cube.s * z.s *
                 horner(z.s, 0x1.999999999999ap-2, 0x1.2492492492524p-2, 0x1.c71c71c6e9cd2p-3, 0x1.745d177b48396p-3,
                        0x1.3b13958af07acp-3, 0x1.1118d670c84fap-3, 0x1.df79d7ab16e72p-4, 0x1.e04c4c3b0b7d6p-4);
  const auto log_m = pair_sum(pair{s.s * 2.0, s.e * 2.0}, pair{third.s, third.e + tail});
  const auto log_k = exact_sum(V(k * 0x1.62e42ffp-1), V(k * -0x1.718432a2p-35));  // both products are exact
  return pair_sum(pair{log_k.s, fma(k, 0x1.3c7673007e5edp-69, log_k.e)}, log_m);
}

// x^y for x >= 0, without the cases that log and exp do not give by themselves (y = 0, x = 1).
template <class V>
TINYGRAD_ALWAYS_INLINE V pow_of_magnitude(const V& x, const V& y) {
  if constexpr (is_single<V>) {
    return through_double<V>(
        [](const auto& wide_x, const auto& wide_y) TINYGRAD_INLINE_LAMBDA {
          using W = std::remove_cvref_t<decltype(wide_x)>;
          return exp_in_range(clamp_to_exp_range(W(wide_y * log_at_ends(wide_x, log_of_positive(wide_x)))));
        },
        x, y);
  } else {
    const auto log_x = log_pair(x);
    const V log_high = log_at_ends(x, log_x.s);
    const auto p = exact_product(log_high, y);
    const V low = fma(y, log_x.e, p.e);
    // Out of range the product may overflow and its error be infinite or NaN: there only the product counts.
    const mask_of<V> in_range = magnitude(p.s) < V(1000.0);
    return exp_in_range(clamp_to_exp_range(p.s), select(in_range, low, V(0.0)));
  }
}

}  // namespace detail

// e^x. Largest errors found: float 1.1 ulp, double 1.0 ulp.
template <detail::pack_or_scalar V>
TINYGRAD_ALWAYS_INLINE V exp(const V& x) {
  return detail::exp_in_range(detail::clamp_to_exp_range(x));
}

// The natural logarithm; -infinity at 0, NaN below. 0.9 ulp, 0.8 ulp.
template <detail::pack_or_scalar V>
TINYGRAD_ALWAYS_INLINE V log(const V& x) {
  const V y = detail::log_at_ends(x, detail::log_of_positive(x));
  return select(x < V(0), detail::not_a_number<V>, y);
}

// tanh |x| = t / (t + 2) with t = e^(2 |x|) - 1, which loses nothing for small x. 2.6 ulp, 2.5 ulp.
template <detail::pack_or_scalar V>
TINYGRAD_ALWAYS_INLINE V tanh(const V& x) {
  using T = scalar_of<V>;
  const V a = minimum(detail::magnitude(x), T(detail::is_single<V> ? 10 : 20));  // tanh is 1 from here on
  const auto [n, expm1_r] = detail::split_exp(V(a + a));
  const V power = detail::power_of_two(n);
  const V t = fma(power, expm1_r, power - T(1));
  return copysign(t / (t + T(2)), x);
}

// The logistic function 1 / (1 + e^-x), also where the result is denormal. 2.4 ulp, 2.4 ulp.
template <detail::pack_or_scalar V>
TINYGRAD_ALWAYS_INLINE V sigmoid(const V& x) {
  using T = scalar_of<V>;
  const V e = detail::exp_in_range(maximum(-detail::magnitude(x), T(detail::is_single<V> ? -104 : -746)));
  return select(x < V(0), e, V(1)) / (e + T(1));
}

// The error function. 1.2 ulp, 1.2 ulp.
template <detail::pack_or_scalar V>
TINYGRAD_ALWAYS_INLINE V erf(const V& x) {
  const V t = detail::magnitude(x);
  const auto [n, expm1_r] = detail::split_exp(detail::log_erfc(t));
  const V power = detail::power_of_two(n);
  const V far_from_zero = scalar_of<V>(1) - fma(power, expm1_r, power);
  return copysign(select(t < V(detail::erf_split<V>), detail::erf_near_zero(t), far_from_zero), x);
}

// Sine and cosine, for every finite angle; NaN at infinity. 1.6 ulp, 0.8 ulp.
template <detail::pack_or_scalar V>
TINYGRAD_ALWAYS_INLINE V sin(const V& x) {
  return detail::sin_or_cos<false>(x);
}
template <detail::pack_or_scalar V>
TINYGRAD_ALWAYS_INLINE V cos(const V& x) {
  return detail::sin_or_cos<true>(x);
}

// x^y with the special cases of IEEE 754 (and C's pow): x^0 = 1^y = 1 even for NaN, a negative x to a fractional y is
// NaN, and its sign comes back for odd y. 0.51 ulp (float, computed in double), 1.2 ulp.
template <detail::pack_or_scalar V>
TINYGRAD_ALWAYS_INLINE V pow(const V& x, const detail::also<V>& y) {
  using T = scalar_of<V>;
  const V a = detail::magnitude(x);
  const V half_y = y * T(0.5);
  const mask_of<V> integral = detail::nearest_integer(y) == y;
  const mask_of<V> odd = integral && detail::nearest_integer(half_y) != half_y;
  const V size = select(a == V(1) && !is_nan(y), V(1), detail::pow_of_magnitude(a, y));
  const V with_sign = select(odd, copysign(size, x), size);
  const V real =
      select(x < V(0) && a < V(detail::infinity<V>) && !integral && y == y, detail::not_a_number<V>, with_sign);
  return select(y == V(0) || x == V(1), V(1), real);
}
template <any_pack V>
TINYGRAD_ALWAYS_INLINE V pow(const scalar_of<V>& x, const V& y) {
  return pow(V(x), y);
}
template <plain_scalar V>
TINYGRAD_ALWAYS_INLINE V pow(constant x, V y) {
  return pow(scalar_for<V>(x), y);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
