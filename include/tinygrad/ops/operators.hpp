// + - * / between tensors (broadcast) and with plain numbers on either side; += and friends rebind the left name.
#pragma once

#include <concepts>
#include <tinygrad/ops/arithmetic.hpp>
#include <type_traits>

namespace tinygrad::inline TINYGRAD_ABI {

template <class N>
concept plain_number = std::is_arithmetic_v<N>;

template <class T, class P, class U, class Q>
[[nodiscard]] Tensor<T, P> operator+(const Tensor<T, P>& a, const Tensor<U, Q>& b) {
  return add(a, b);
}
template <class T, class P, class U, class Q>
[[nodiscard]] Tensor<T, P> operator-(const Tensor<T, P>& a, const Tensor<U, Q>& b) {
  return sub(a, b);
}
template <class T, class P, class U, class Q>
[[nodiscard]] Tensor<T, P> operator*(const Tensor<T, P>& a, const Tensor<U, Q>& b) {
  return mul(a, b);
}
template <class T, class P, class U, class Q>
[[nodiscard]] Tensor<T, P> operator/(const Tensor<T, P>& a, const Tensor<U, Q>& b) {
  return div(a, b);
}
template <class T, class P>
[[nodiscard]] Tensor<T, P> operator-(const Tensor<T, P>& x) {
  return neg(x);
}

template <class T, class P, plain_number N>
[[nodiscard]] Tensor<T, P> operator+(const Tensor<T, P>& x, N number) {
  return map(fn::shift{{static_cast<double>(number)}}, x);
}
template <class T, class P, plain_number N>
[[nodiscard]] Tensor<T, P> operator+(N number, const Tensor<T, P>& x) {
  return x + number;
}
template <class T, class P, plain_number N>
[[nodiscard]] Tensor<T, P> operator-(const Tensor<T, P>& x, N number) {
  return map(fn::shift{{-static_cast<double>(number)}}, x);
}
template <class T, class P, plain_number N>
[[nodiscard]] Tensor<T, P> operator-(N number, const Tensor<T, P>& x) {
  return map(fn::subtract_from{{static_cast<double>(number)}}, x);
}
template <class T, class P, plain_number N>
[[nodiscard]] Tensor<T, P> operator*(const Tensor<T, P>& x, N number) {
  return map(fn::scale{{static_cast<double>(number)}}, x);
}
template <class T, class P, plain_number N>
[[nodiscard]] Tensor<T, P> operator*(N number, const Tensor<T, P>& x) {
  return x * number;
}
template <class T, class P, plain_number N>
[[nodiscard]] Tensor<T, P> operator/(const Tensor<T, P>& x, N number) {
  return map(fn::divide_by{{static_cast<double>(number)}}, x);
}
template <class T, class P, plain_number N>
[[nodiscard]] Tensor<T, P> operator/(N number, const Tensor<T, P>& x) {
  return map(fn::divide_into{{static_cast<double>(number)}}, x);
}

template <class T, class P, class B>
Tensor<T, P>& operator+=(Tensor<T, P>& x, const B& b) {
  return x = x + b;
}
template <class T, class P, class B>
Tensor<T, P>& operator-=(Tensor<T, P>& x, const B& b) {
  return x = x - b;
}
template <class T, class P, class B>
Tensor<T, P>& operator*=(Tensor<T, P>& x, const B& b) {
  return x = x * b;
}
template <class T, class P, class B>
Tensor<T, P>& operator/=(Tensor<T, P>& x, const B& b) {
  return x = x / b;
}

}  // namespace tinygrad::inline TINYGRAD_ABI
