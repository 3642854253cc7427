// Dual numbers: forward-mode derivatives over any scalar or pack.
//
// A dual is a value together with N directional derivatives, a + sum_k d_k e_k, where every product e_i e_j is zero.
// Arithmetic on it is arithmetic on first-order Taylor polynomials, so that whatever is computed with duals comes with
// its exact derivative (no step size, no cancellation):
//   (a, a') + (b, b') = (a + b, a' + b')
//   (a, a') * (b, b') = (a b, a' b + a b')
//   f(a, a')          = (f(a), f'(a) a')
//
//   dual<double, 1> x(2.0, 1.0);            // x = 2, dx/dx = 1
//   const auto y = sin(x * x);              // y.value = sin(4), y.d[0] = 4 cos(4)
//
// The scalar may be double or float, a pack (every lane a point of its own: the backward pass of all elementwise tensor
// operations is a loop over dual<pack<T>, N>), or a dual again: dual<dual<double, 1>, 1> carries second derivatives.
// Plain numbers and constants (0.5_c) may stand on either side; no derivative is computed for them.
//
// Every function is evaluated once and its derivative is taken from the result where a closed form allows it
// (exp' = y, tanh' = 1 - y^2, sigmoid' = y (1 - y), sqrt' = 1 / 2y).
//
// Rules at the points where a derivative does not exist or is a matter of choice:
//   abs'(0) = 0; relu'(0) = 0.
//   maximum and minimum of two duals that are equal give each one half. Against a plain number the number wins the tie,
//   so that maximum(x, 0) is relu, minimum(maximum(x, 0), 6) has slope 0 at 6, and hard-swish has slope 1 at 3.
//   sqrt, log and pow have poles at zero. A direction that is zero stays zero there (0 times infinity is not asked).
//   pow never evaluates a logarithm into a direction in which the exponent does not move: pow(-2, 3)' is 12, and
//   0^p has slope 0 in p for p >= 0.
//
// Source: the forward mode of Griewank and Walther, Evaluating Derivatives, 2nd ed., chapter 3; W. K. Clifford 1873.
#pragma once

#include <cstddef>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/constant.hpp>
#include <tinygrad/simd/math.hpp>
#include <tinygrad/simd/pack.hpp>
#include <type_traits>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {

template <class S, int N = 1>
struct dual;

// A dual's plain scalar is that of its parts, so that constants (0.5_c) meet it as one float or double.
template <has_scalar S, int N>
struct scalar_type<dual<S, N>> {
  using type = scalar_of<S>;
};

namespace dual_detail {

template <class S>
inline constexpr bool is_dual = false;
template <class S, int N>
inline constexpr bool is_dual<dual<S, N>> = true;

// Is one of the three a dual, and not all of them the same?
template <class A, class B, class C>
concept mixed_with_dual = (is_dual<A> || is_dual<B> || is_dual<C>)&&!(std::is_same_v<A, B> && std::is_same_v<B, C>);

// May C stand beside a dual over S as a constant? Numbers may, S itself, and whatever may stand beside S.
template <class C, class S>
constexpr bool is_plain_beside() {
  if constexpr (std::is_arithmetic_v<C> || std::is_same_v<C, S> || std::is_same_v<C, scalar_of<S>>) {
    return true;
  } else if constexpr (is_dual<S>) {
    return is_plain_beside<C, typename S::scalar>();
  } else {
    return false;
  }
}

}  // namespace dual_detail

template <class C, class S>
concept plain_beside = dual_detail::is_plain_beside<C, S>();
template <class B, class D>
concept dual_or_plain = std::is_same_v<B, D> || dual_detail::is_plain_beside<B, typename D::scalar>();
template <class C>
concept number_or_constant = std::is_arithmetic_v<C> || std::is_same_v<C, constant>;
template <class C, class S>
concept plain_lanes_beside = !std::is_arithmetic_v<C> && dual_detail::is_plain_beside<C, S>();
template <class C, class S>
concept plain_or_constant = std::is_same_v<C, constant> || dual_detail::is_plain_beside<C, S>();

namespace dual_detail {

// A plain operand as it meets a component of type S: a number is rounded to the scalar at the bottom of S, once.
template <class S, class C>
TINYGRAD_ALWAYS_INLINE constexpr auto plain(const C& c) {
  if constexpr (std::is_same_v<C, constant>) {
    return static_cast<scalar_of<S>>(c.value);
  } else if constexpr (std::is_arithmetic_v<C>) {
    return static_cast<scalar_of<S>>(c);
  } else {
    return c;
  }
}

// The same as an S whose derivatives, if S has any, are zero.
template <class S, class C>
TINYGRAD_ALWAYS_INLINE constexpr S lift(const C& c) {
  return S(plain<S>(c));
}

}  // namespace dual_detail

template <class S, int N>
struct dual {
  static_assert(N >= 1, "a dual number has at least one direction");
  using scalar = S;
  static constexpr int directions = N;

  S value{};
  S d[static_cast<std::size_t>(N)]{};

  constexpr dual() = default;
  // A constant: no direction moves it.
  template <plain_beside<S> C>
  TINYGRAD_ALWAYS_INLINE constexpr dual(const C& c) : value(dual_detail::lift<S>(c)) {}
  // The value and all N directional derivatives.
  template <plain_beside<S> V, plain_beside<S>... D>
  requires(sizeof...(D) == N) TINYGRAD_ALWAYS_INLINE constexpr dual(const V& v, const D&... ds)
      : value(dual_detail::lift<S>(v)), d{dual_detail::lift<S>(ds)...} {}

  // The k-th independent variable: its derivative is one along direction k.
  TINYGRAD_ALWAYS_INLINE static constexpr dual variable(const S& v, int k = 0) {
    dual x(v);
    x.d[k] = dual_detail::lift<S>(1);
    return x;
  }

  template <dual_or_plain<dual> B>
  TINYGRAD_ALWAYS_INLINE constexpr dual& operator+=(const B& b) {
    return *this = *this + b;
  }
  template <dual_or_plain<dual> B>
  TINYGRAD_ALWAYS_INLINE constexpr dual& operator-=(const B& b) {
    return *this = *this - b;
  }
  template <dual_or_plain<dual> B>
  TINYGRAD_ALWAYS_INLINE constexpr dual& operator*=(const B& b) {
    return *this = *this * b;
  }
  template <dual_or_plain<dual> B>
  TINYGRAD_ALWAYS_INLINE constexpr dual& operator/=(const B& b) {
    return *this = *this / b;
  }
};

// --- The chain rule. Every function below goes through these helpers, which expand to straight-line code. -----------

namespace dual_detail {

// A dual with the given value whose k-th direction is direction(k); no loop, so that no unroller is needed.
template <class S, class F, std::size_t... k>
TINYGRAD_ALWAYS_INLINE constexpr auto make_dual(const S& value, const F& direction, std::index_sequence<k...>) {
  dual<S, static_cast<int>(sizeof...(k))> y;
  y.value = value;
  ((y.d[k] = direction(k)), ...);
  return y;
}
template <int N, class S, class F>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> make_dual(const S& value, const F& direction) {
  return make_dual(value, direction, std::make_index_sequence<static_cast<std::size_t>(N)>{});
}

// y = f(x) with slope f'(x).
template <class S, class Slope, int N>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> chain(const S& y, const Slope& slope, const dual<S, N>& x) {
  return make_dual<N>(y, [&](std::size_t k) TINYGRAD_INLINE_LAMBDA { return slope * x.d[k]; });
}

// y = f(a, b) with slopes df/da and df/db.
template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> chain(const S& y, const S& slope_a, const dual<S, N>& a, const S& slope_b,
                                                  const dual<S, N>& b) {
  return make_dual<N>(y, [&](std::size_t k) TINYGRAD_INLINE_LAMBDA { return slope_a * a.d[k] + slope_b * b.d[k]; });
}

// Is x zero at every depth, derivatives included? The answer is a mask of the bottom type.
template <class S>
TINYGRAD_ALWAYS_INLINE constexpr auto is_zero(const S& x) {
  return x == lift<S>(0);
}
template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr auto is_zero(const dual<S, N>& x);
template <class S, int N, std::size_t... k>
TINYGRAD_ALWAYS_INLINE constexpr auto is_zero(const dual<S, N>& x, std::index_sequence<k...>) {
  return (is_zero(x.value) && ... && is_zero(x.d[k]));
}
template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr auto is_zero(const dual<S, N>& x) {
  return is_zero(x, std::make_index_sequence<static_cast<std::size_t>(N)>{});
}

// slope * direction where a direction that is zero stays zero, whatever the slope (infinite at a pole, or undefined).
template <class S>
TINYGRAD_ALWAYS_INLINE constexpr S guarded(const S& slope, const S& direction) {
  return select(is_zero(direction), lift<S>(0), S(slope * direction));
}
template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> guarded_chain(const S& y, const S& slope, const dual<S, N>& x) {
  return make_dual<N>(y, [&](std::size_t k) TINYGRAD_INLINE_LAMBDA { return guarded(slope, x.d[k]); });
}

}  // namespace dual_detail

// --- Arithmetic. A plain operand c takes part in the value only, or scales the directions. -------------------------

template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> operator+(const dual<S, N>& a) {
  return a;
}
template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> operator-(const dual<S, N>& a) {
  return dual_detail::make_dual<N>(S(-a.value), [&](std::size_t k) TINYGRAD_INLINE_LAMBDA { return -a.d[k]; });
}

template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> operator+(const dual<S, N>& a, const dual<S, N>& b) {
  return dual_detail::make_dual<N>(S(a.value + b.value),
                                   [&](std::size_t k) TINYGRAD_INLINE_LAMBDA { return a.d[k] + b.d[k]; });
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> operator+(const dual<S, N>& a, const C& c) {
  dual<S, N> y = a;
  y.value = a.value + dual_detail::plain<S>(c);
  return y;
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> operator+(const C& c, const dual<S, N>& a) {
  dual<S, N> y = a;
  y.value = dual_detail::plain<S>(c) + a.value;
  return y;
}

template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> operator-(const dual<S, N>& a, const dual<S, N>& b) {
  return dual_detail::make_dual<N>(S(a.value - b.value),
                                   [&](std::size_t k) TINYGRAD_INLINE_LAMBDA { return a.d[k] - b.d[k]; });
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> operator-(const dual<S, N>& a, const C& c) {
  dual<S, N> y = a;
  y.value = a.value - dual_detail::plain<S>(c);
  return y;
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> operator-(const C& c, const dual<S, N>& a) {
  return dual_detail::make_dual<N>(S(dual_detail::plain<S>(c) - a.value),
                                   [&](std::size_t k) TINYGRAD_INLINE_LAMBDA { return -a.d[k]; });
}

template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> operator*(const dual<S, N>& a, const dual<S, N>& b) {
  return dual_detail::chain(S(a.value * b.value), b.value, a, a.value, b);
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> operator*(const dual<S, N>& a, const C& c) {
  const auto factor = dual_detail::plain<S>(c);
  return dual_detail::chain(S(a.value * factor), factor, a);
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> operator*(const C& c, const dual<S, N>& a) {
  const auto factor = dual_detail::plain<S>(c);
  return dual_detail::chain(S(factor * a.value), factor, a);
}

// (a / b)' = (a' - (a / b) b') / b. The value keeps its own division: it is the quotient the plain code computes.
template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> operator/(const dual<S, N>& a, const dual<S, N>& b) {
  const S quotient = a.value / b.value;
  const S inverse = dual_detail::plain<S>(1) / b.value;
  return dual_detail::make_dual<N>(
      quotient, [&](std::size_t k) TINYGRAD_INLINE_LAMBDA { return (a.d[k] - quotient * b.d[k]) * inverse; });
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> operator/(const dual<S, N>& a, const C& c) {
  const auto divisor = dual_detail::plain<S>(c);
  return dual_detail::make_dual<N>(S(a.value / divisor),
                                   [&](std::size_t k) TINYGRAD_INLINE_LAMBDA { return a.d[k] / divisor; });
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> operator/(const C& c, const dual<S, N>& b) {
  const S quotient = dual_detail::plain<S>(c) / b.value;
  return dual_detail::chain(quotient, S(-quotient / b.value), b);
}

// --- Comparisons look at the values; the result is bool, or a mask where the scalar is a pack. ---------------------

template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr auto operator<(const dual<S, N>& a, const dual<S, N>& b) {
  return a.value < b.value;
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr auto operator<(const dual<S, N>& a, const C& c) {
  return a.value < dual_detail::plain<S>(c);
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr auto operator<(const C& c, const dual<S, N>& a) {
  return dual_detail::plain<S>(c) < a.value;
}

template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr auto operator<=(const dual<S, N>& a, const dual<S, N>& b) {
  return a.value <= b.value;
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr auto operator<=(const dual<S, N>& a, const C& c) {
  return a.value <= dual_detail::plain<S>(c);
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr auto operator<=(const C& c, const dual<S, N>& a) {
  return dual_detail::plain<S>(c) <= a.value;
}

template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr auto operator>(const dual<S, N>& a, const dual<S, N>& b) {
  return a.value > b.value;
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr auto operator>(const dual<S, N>& a, const C& c) {
  return a.value > dual_detail::plain<S>(c);
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr auto operator>(const C& c, const dual<S, N>& a) {
  return dual_detail::plain<S>(c) > a.value;
}

template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr auto operator>=(const dual<S, N>& a, const dual<S, N>& b) {
  return a.value >= b.value;
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr auto operator>=(const dual<S, N>& a, const C& c) {
  return a.value >= dual_detail::plain<S>(c);
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr auto operator>=(const C& c, const dual<S, N>& a) {
  return dual_detail::plain<S>(c) >= a.value;
}

template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr auto operator==(const dual<S, N>& a, const dual<S, N>& b) {
  return a.value == b.value;
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr auto operator==(const dual<S, N>& a, const C& c) {
  return a.value == dual_detail::plain<S>(c);
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr auto operator==(const C& c, const dual<S, N>& a) {
  return dual_detail::plain<S>(c) == a.value;
}

template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr auto operator!=(const dual<S, N>& a, const dual<S, N>& b) {
  return a.value != b.value;
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr auto operator!=(const dual<S, N>& a, const C& c) {
  return a.value != dual_detail::plain<S>(c);
}
template <class S, int N, plain_beside<S> C>
TINYGRAD_ALWAYS_INLINE constexpr auto operator!=(const C& c, const dual<S, N>& a) {
  return dual_detail::plain<S>(c) != a.value;
}

// --- Choices -------------------------------------------------------------------------------------------------------

// Lane by lane: mask ? a : b, value and directions alike.
template <class M, class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> select(const M& mask, const dual<S, N>& a, const dual<S, N>& b) {
  return dual_detail::make_dual<N>(S(select(mask, a.value, b.value)),
                                   [&](std::size_t k) TINYGRAD_INLINE_LAMBDA { return select(mask, a.d[k], b.d[k]); });
}
template <class M, class S, int N, plain_or_constant<S> C>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> select(const M& mask, const dual<S, N>& a, const C& c) {
  return select(mask, a, dual<S, N>(dual_detail::lift<S>(c)));
}
template <class M, class S, int N, plain_or_constant<S> C>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> select(const M& mask, const C& c, const dual<S, N>& b) {
  return select(mask, dual<S, N>(dual_detail::lift<S>(c)), b);
}

// Equal operands share the slope, one half each.
template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> maximum(const dual<S, N>& a, const dual<S, N>& b) {
  const auto half = dual_detail::plain<S>(0.5);
  const auto tied = dual<S, N>(half * (a + b));
  auto y = select(a > b, a, select(a < b, b, tied));
  y.value = maximum(a.value, b.value);
  return y;
}
template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> minimum(const dual<S, N>& a, const dual<S, N>& b) {
  const auto half = dual_detail::plain<S>(0.5);
  const auto tied = dual<S, N>(half * (a + b));
  auto y = select(a < b, a, select(a > b, b, tied));
  y.value = minimum(a.value, b.value);
  return y;
}

// Against a plain number the number wins the tie: maximum(x, 0) has slope 0 at 0, like relu.
template <class S, int N, plain_or_constant<S> C>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> maximum(const dual<S, N>& a, const C& c) {
  const S bound = dual_detail::lift<S>(c);
  const auto mask = a.value > bound;
  return dual_detail::make_dual<N>(S(maximum(a.value, bound)), [&](std::size_t k) TINYGRAD_INLINE_LAMBDA {
    return select(mask, a.d[k], dual_detail::lift<S>(0));
  });
}
template <class S, int N, plain_or_constant<S> C>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> maximum(const C& c, const dual<S, N>& a) {
  return maximum(a, c);
}
template <class S, int N, plain_or_constant<S> C>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> minimum(const dual<S, N>& a, const C& c) {
  const S bound = dual_detail::lift<S>(c);
  const auto mask = a.value < bound;
  return dual_detail::make_dual<N>(S(minimum(a.value, bound)), [&](std::size_t k) TINYGRAD_INLINE_LAMBDA {
    return select(mask, a.d[k], dual_detail::lift<S>(0));
  });
}
template <class S, int N, plain_or_constant<S> C>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> minimum(const C& c, const dual<S, N>& a) {
  return minimum(a, c);
}

template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> relu(const dual<S, N>& x) {
  return maximum(x, 0);
}

template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N>(abs)(const dual<S, N>& x) {
  const S zero = dual_detail::lift<S>(0);
  const S one = dual_detail::lift<S>(1);
  const S sign = select(x.value > zero, one, select(x.value < zero, S(-one), zero));
  return dual_detail::chain(S((abs)(x.value)), sign, x);
}

// a * b + c, rounded as the scalar's own fma rounds it.
template <class S, int N>
TINYGRAD_ALWAYS_INLINE constexpr dual<S, N> fma(const dual<S, N>& a, const dual<S, N>& b, const dual<S, N>& c) {
  return dual_detail::make_dual<N>(S(fma(a.value, b.value, c.value)), [&](std::size_t k) TINYGRAD_INLINE_LAMBDA {
    return S(fma(b.value, a.d[k], S(fma(a.value, b.d[k], c.d[k]))));
  });
}

// The same where some of the three are plain: two roundings, and no work for what is plain.
template <class A, class B, class C>
requires dual_detail::mixed_with_dual<A, B, C> TINYGRAD_ALWAYS_INLINE constexpr auto fma(const A& a, const B& b,
                                                                                         const C& c) {
  return a * b + c;
}

// The magnitude of x with the sign of s. Only x moves it.
template <class S, int N>
TINYGRAD_ALWAYS_INLINE dual<S, N> copysign(const dual<S, N>& x, const dual<S, N>& s) {
  const S one = dual_detail::lift<S>(1);
  const S y = copysign(x.value, s.value);
  return dual_detail::chain(y, S(copysign(one, x.value) * copysign(one, s.value)), x);
}

// Steps: flat wherever they have a derivative.
template <class S, int N>
TINYGRAD_ALWAYS_INLINE dual<S, N>(round)(const dual<S, N>& x) {
  return dual<S, N>(S((round)(x.value)));
}
template <class S, int N>
TINYGRAD_ALWAYS_INLINE dual<S, N> floor(const dual<S, N>& x) {
  return dual<S, N>(S(floor(x.value)));
}

template <class S, int N>
TINYGRAD_ALWAYS_INLINE auto is_nan(const dual<S, N>& x) {
  return is_nan(x.value);
}
template <class S, int N>
TINYGRAD_ALWAYS_INLINE auto is_finite(const dual<S, N>& x) {
  return is_finite(x.value);
}

// --- Functions: each is evaluated once, its slope comes from the result where a closed form allows it. --------------

template <class S, int N>
TINYGRAD_ALWAYS_INLINE dual<S, N> sqrt(const dual<S, N>& x) {
  const S y = sqrt(x.value);
  return dual_detail::guarded_chain(y, S(dual_detail::plain<S>(0.5) / y), x);
}

template <class S, int N>
TINYGRAD_ALWAYS_INLINE dual<S, N> exp(const dual<S, N>& x) {
  const S y = exp(x.value);
  return dual_detail::chain(y, y, x);
}

template <class S, int N>
TINYGRAD_ALWAYS_INLINE dual<S, N> log(const dual<S, N>& x) {
  return dual_detail::guarded_chain(S(log(x.value)), S(dual_detail::plain<S>(1) / x.value), x);
}

template <class S, int N>
TINYGRAD_ALWAYS_INLINE dual<S, N> tanh(const dual<S, N>& x) {
  const S y = tanh(x.value);
  return dual_detail::chain(y, S(dual_detail::plain<S>(1) - y * y), x);
}

template <class S, int N>
TINYGRAD_ALWAYS_INLINE dual<S, N> sigmoid(const dual<S, N>& x) {
  const S y = sigmoid(x.value);
  return dual_detail::chain(y, S(y * (dual_detail::plain<S>(1) - y)), x);
}

// erf' = 2 / sqrt(pi) exp(-x^2)
template <class S, int N>
TINYGRAD_ALWAYS_INLINE dual<S, N> erf(const dual<S, N>& x) {
  const S slope = dual_detail::plain<S>(1.1283791670955126) * exp(S(-(x.value * x.value)));
  return dual_detail::chain(S(erf(x.value)), slope, x);
}

template <class S, int N>
TINYGRAD_ALWAYS_INLINE dual<S, N> sin(const dual<S, N>& x) {
  return dual_detail::chain(S(sin(x.value)), S(cos(x.value)), x);
}

template <class S, int N>
TINYGRAD_ALWAYS_INLINE dual<S, N> cos(const dual<S, N>& x) {
  return dual_detail::chain(S(cos(x.value)), S(-sin(x.value)), x);
}

// --- pow: number exponent, number base, both dual -------------------------------------------------------------------
// Unlike everything above these are ordinary functions: a power is so much code that a call costs nothing beside it.

namespace dual_detail {

// S to a whole power by repeated squaring: exact at zero and for negative bases, and no transcendental function.
template <class S>
constexpr S whole_power(const S& base, long long exponent) {
  S square = base;
  S y = lift<S>(1);
  for (auto bits = static_cast<unsigned long long>(exponent < 0 ? -exponent : exponent); bits != 0; bits >>= 1) {
    if (bits & 1) y = y * square;
    if (bits > 1) square = square * square;
  }
  return exponent < 0 ? S(plain<S>(1) / y) : y;
}

template <class S>
inline S power(const S& base, const S& exponent) {
  return pow(base, exponent);
}

// base^exponent where the exponent is one number for all lanes.
template <class S>
inline S pow_number(const S& base, double exponent) {
  constexpr double small_enough = 64;
  const auto whole = static_cast<long long>(exponent >= -small_enough && exponent <= small_enough ? exponent : 0.5);
  if (static_cast<double>(whole) == exponent) return whole_power(base, whole);
  if constexpr (is_dual<S>) {
    return pow(base, exponent);
  } else {
    return power(base, lift<S>(exponent));
  }
}

// d base^p / dp = y log(base). Where the base is zero and p >= 0 the power is flat in p: no logarithm of zero.
template <class S>
inline S pow_exponent_slope(const S& y, const S& base, const S& exponent) {
  const S zero = lift<S>(0);
  const S one = lift<S>(1);
  const auto flat = base == zero && exponent >= zero;
  return select(flat, zero, S(y * log(select(flat, one, base))));
}

}  // namespace dual_detail

// x^n: slope n x^(n-1), which is 0 for n = 0 and needs no logarithm.
template <class S, int N, number_or_constant C>
inline dual<S, N> pow(const dual<S, N>& x, const C& exponent) {
  const auto n = static_cast<double>(dual_detail::plain<double>(exponent));
  const S y = dual_detail::pow_number(x.value, n);
  if (n == 0) return dual<S, N>(y);
  return dual_detail::guarded_chain(y, S(dual_detail::plain<S>(n) * dual_detail::pow_number(x.value, n - 1)), x);
}

// c^p with a plain base.
template <class S, int N, plain_or_constant<S> C>
inline dual<S, N> pow(const C& base, const dual<S, N>& p) {
  const S b = dual_detail::lift<S>(base);
  const S y = dual_detail::power(b, p.value);
  return dual_detail::guarded_chain(y, dual_detail::pow_exponent_slope(y, b, p.value), p);
}

template <class S, int N>
inline dual<S, N> pow(const dual<S, N>& x, const dual<S, N>& p) {
  const S zero = dual_detail::lift<S>(0);
  const S one = dual_detail::lift<S>(1);
  const S y = dual_detail::power(x.value, p.value);
  const auto constant_power = p.value == zero;  // x^0 = 1 everywhere: slope 0 in x, although x^(0-1) has a pole
  const S slope_x = select(constant_power, zero,
                           S(p.value * dual_detail::power(x.value, S(select(constant_power, one, S(p.value - one))))));
  const S slope_p = dual_detail::pow_exponent_slope(y, x.value, p.value);
  return dual_detail::make_dual<N>(y, [&](std::size_t k) TINYGRAD_INLINE_LAMBDA {
    return dual_detail::guarded(slope_x, x.d[k]) + dual_detail::guarded(slope_p, p.d[k]);
  });
}

// An exponent that is plain but differs from lane to lane.
template <class S, int N, plain_lanes_beside<S> C>
inline dual<S, N> pow(const dual<S, N>& x, const C& exponent) {
  return pow(x, dual<S, N>(exponent));
}

}  // namespace tinygrad::inline TINYGRAD_ABI
