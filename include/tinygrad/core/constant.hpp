// Literal constants that take the scalar type of whatever they meet: `0.5_c * x`.
//
// One generic callable then serves float, double, packs and (nested) dual numbers, each exactly: no double sneaks
// into float code, and no `T(0.5)` noise into formulas. A constant is held as a double and rounded once, when it
// meets its partner; constants that meet each other fold in double.
//
// A partner is any type with a specialisation of scalar_type: here float and double; simd/pack.hpp and
// dual/dual.hpp add theirs. It must accept its plain scalar as an operand (`scalar_of<X> * x`) and as the argument
// of an explicit conversion (`X(scalar)`).
#pragma once

#include <tinygrad/core/config.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

// The plain floating-point type at the bottom of V: float for pack<float>, dual<pack<float>, 2>, and float itself.
template <class V>
struct scalar_type {};
template <>
struct scalar_type<float> {
  using type = float;
};
template <>
struct scalar_type<double> {
  using type = double;
};
template <class V>
using scalar_of = typename scalar_type<V>::type;

template <class X>
concept has_scalar = requires {
  typename scalar_type<X>::type;
};

struct constant {
  double value = 0;

  template <has_scalar X>
  constexpr operator X() const {  // NOLINT: implicit on purpose, `const V zero = 0_c;` reads as it should
    return X(static_cast<scalar_of<X>>(value));
  }
};

inline namespace literals {
constexpr constant operator""_c(long double v) { return {static_cast<double>(v)}; }
constexpr constant operator""_c(unsigned long long v) { return {static_cast<double>(v)}; }
}  // namespace literals

// constant with constant folds.
constexpr constant operator+(constant a) { return a; }
constexpr constant operator-(constant a) { return {-a.value}; }
constexpr constant operator+(constant a, constant b) { return {a.value + b.value}; }
constexpr constant operator-(constant a, constant b) { return {a.value - b.value}; }
constexpr constant operator*(constant a, constant b) { return {a.value * b.value}; }
constexpr constant operator/(constant a, constant b) { return {a.value / b.value}; }
constexpr bool operator==(constant a, constant b) { return a.value == b.value; }
constexpr bool operator<(constant a, constant b) { return a.value < b.value; }
constexpr bool operator<=(constant a, constant b) { return a.value <= b.value; }
constexpr bool operator>(constant a, constant b) { return a.value > b.value; }
constexpr bool operator>=(constant a, constant b) { return a.value >= b.value; }

// The constant as the plain scalar of X.
template <has_scalar X>
constexpr scalar_of<X> scalar_for(constant c) {
  return static_cast<scalar_of<X>>(c.value);
}

// constant with anything that has a scalar: the work is done by X's own operator with a plain scalar.
template <has_scalar X>
constexpr auto operator+(constant c, const X& x) {
  return scalar_for<X>(c) + x;
}
template <has_scalar X>
constexpr auto operator+(const X& x, constant c) {
  return x + scalar_for<X>(c);
}
template <has_scalar X>
constexpr auto operator-(constant c, const X& x) {
  return scalar_for<X>(c) - x;
}
template <has_scalar X>
constexpr auto operator-(const X& x, constant c) {
  return x - scalar_for<X>(c);
}
template <has_scalar X>
constexpr auto operator*(constant c, const X& x) {
  return scalar_for<X>(c) * x;
}
template <has_scalar X>
constexpr auto operator*(const X& x, constant c) {
  return x * scalar_for<X>(c);
}
template <has_scalar X>
constexpr auto operator/(constant c, const X& x) {
  return scalar_for<X>(c) / x;
}
template <has_scalar X>
constexpr auto operator/(const X& x, constant c) {
  return x / scalar_for<X>(c);
}
template <has_scalar X>
constexpr X& operator+=(X& x, constant c) {
  return x = x + c;
}
template <has_scalar X>
constexpr X& operator-=(X& x, constant c) {
  return x = x - c;
}
template <has_scalar X>
constexpr X& operator*=(X& x, constant c) {
  return x = x * c;
}
template <has_scalar X>
constexpr X& operator/=(X& x, constant c) {
  return x = x / c;
}

// Comparisons; the result is X's own: bool, or a mask for packs.
template <has_scalar X>
constexpr auto operator<(const X& x, constant c) {
  return x < scalar_for<X>(c);
}
template <has_scalar X>
constexpr auto operator<=(const X& x, constant c) {
  return x <= scalar_for<X>(c);
}
template <has_scalar X>
constexpr auto operator>(const X& x, constant c) {
  return x > scalar_for<X>(c);
}
template <has_scalar X>
constexpr auto operator>=(const X& x, constant c) {
  return x >= scalar_for<X>(c);
}
template <has_scalar X>
constexpr auto operator==(const X& x, constant c) {
  return x == scalar_for<X>(c);
}
template <has_scalar X>
constexpr auto operator!=(const X& x, constant c) {
  return x != scalar_for<X>(c);
}
template <has_scalar X>
constexpr auto operator==(constant c, const X& x) {
  return scalar_for<X>(c) == x;
}
template <has_scalar X>
constexpr auto operator!=(constant c, const X& x) {
  return scalar_for<X>(c) != x;
}
template <has_scalar X>
constexpr auto operator<(constant c, const X& x) {
  return scalar_for<X>(c) < x;
}
template <has_scalar X>
constexpr auto operator<=(constant c, const X& x) {
  return scalar_for<X>(c) <= x;
}
template <has_scalar X>
constexpr auto operator>(constant c, const X& x) {
  return scalar_for<X>(c) > x;
}
template <has_scalar X>
constexpr auto operator>=(constant c, const X& x) {
  return scalar_for<X>(c) >= x;
}

}  // namespace tinygrad::inline TINYGRAD_ABI
