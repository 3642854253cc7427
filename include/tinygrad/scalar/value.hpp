// Value<T>: a number that remembers how it was computed, so that it can tell you its derivatives.
//
//   Value<double> a = 2.0, b = -3.0, c = 10.0;
//   Value<double> f = relu(a * b + c);   // computes 4, and records  a*b -> +c -> relu
//   f.backward();                        // walks the record from f back to a, b and c
//   a.grad();                            // df/da = b = -3
//
// HOW IT WORKS, in full:
//
//   1. An operation computes its result and, on the spot, its local derivatives: how fast the result changes with each
//      of its inputs. For z = x * y these are dz/dx = y and dz/dy = x. Result, inputs and slopes go to the end of a
//      list, the tape. See the operators below: each is one line.
//
//   2. The chain rule says: if the loss L changes by g for each unit of z, and z changes by s for each unit of x, then
//      L changes by s * g for each unit of x on account of z. If x is used in several places, the shares add up.
//
//   3. backward() sets dL/dL = 1 and walks the tape from its end to its beginning. A result always comes after its
//      inputs, so whenever the walk arrives at z, everything that uses z has been dealt with, and z.grad = dL/dz is
//      complete. The walk then hands the shares on:  x.grad += s_x * z.grad,  y.grad += s_y * z.grad.
//
// That is all of reverse mode, and the cost is that of one more evaluation, however many inputs there are. The loop
// of step 3 is scalar_tape::backward in tape.hpp, the memory behind it is explained there.
//
// WHAT A VALUE IS. A Value refers to a number on the tape; copying a Value copies the reference, so that a list of
// parameters and the network that owns them see the same numbers. A Value made from a number is a leaf: it may be
// changed with set_data, and its gradient accumulates over backward passes until zero_grad. A Value made by an
// operation is a result: it never changes, and its gradient is that of the latest backward pass. Leaves live as long
// as somebody refers to them; the memory of results is taken again once the Values of a step are gone, by themselves.
//
// A Value belongs to the thread that made it. Using it on another thread, after its thread has ended, or after it has
// been moved from throws graph_error; merely destroying it is always allowed.
//
// Where a derivative is a matter of choice: relu'(0) = 0, abs'(0) = 0; equal operands of maximum and minimum get one
// half each, but nothing when the other operand is a plain number; 0^p is flat in p for p >= 0. Same as dual/dual.hpp.
//
// Source: the shape of the interface is Andrej Karpathy's micrograd; the tape is that of R. E. Wengert, "A simple
// automatic derivative evaluation program", CACM 1964, walked backwards as in S. Linnainmaa 1970.
#pragma once

#include <cmath>
#include <compare>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <iosfwd>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/constant.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/scalar/tape.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

template <std::floating_point T>
class Value {
  using tape = scalar_tape<T>;
  using position = typename tape::position;

 public:
  /// A leaf: a parameter, an input, a constant.
  Value(T number = T(0))  // NOLINT: implicit, numbers are Values
      : data_(number), at_(here().make_leaf(number)), tape_(here().id) {}
  Value(const Value& other) : data_(other.data_), at_(other.checked()), tape_(other.tape_) { ++here().handles[at_]; }
  Value(Value&& other) noexcept : data_(other.data_), at_(other.at_), tape_(std::exchange(other.tape_, no_tape)) {}
  Value& operator=(Value other) noexcept {
    std::swap(data_, other.data_);
    std::swap(at_, other.at_);
    std::swap(tape_, other.tape_);
    return *this;
  }
  ~Value() {
    if (tape_ == here().id) here().release(at_);
  }

  // --- The number and its derivative --------------------------------------------------------------------------------

  /// The number. A result never changes and keeps a copy at hand; that of a leaf is where all its Values see it.
  [[nodiscard]] T data() const {
    const position at = checked();
    return at < 0 ? here().data[at] : data_;
  }
  /// dL/d(this), where L is what backward() was called on.
  [[nodiscard]] T grad() const { return here().grad[checked()]; }

  /// Computes the derivatives of this number by everything it was made of. `seed` is dL/d(this), 1 for a loss.
  void backward(T seed = T(1)) const { here().backward(checked(), seed); }

  /// Gives a leaf a new number, as a training step does with a parameter. Results recorded before keep theirs.
  void set_data(T number) const {
    const position at = checked();
    if (at >= 0) throw graph_error("[set_data] not a leaf: this Value was made by '" + std::string(op()) + "'");
    here().data[at] = number;
  }
  void zero_grad() const { here().grad[checked()] = T(0); }

  // --- The graph ----------------------------------------------------------------------------------------------------

  [[nodiscard]] bool is_leaf() const { return checked() < 0; }
  /// What made this number, as a person writes it; empty for a leaf.
  [[nodiscard]] std::string_view op() const { return here().op[checked()]; }
  /// The inputs it was made of, in their order; x * x has x twice. None for a leaf.
  [[nodiscard]] std::vector<Value> children() const {
    std::vector<Value> list;
    if (is_leaf()) return list;
    for (const position input : here().from[at_].input)
      if (input != tape::none) list.push_back(Value(already_there{}, input));
    return list;
  }
  /// Equal for two Values if and only if they refer to the same number.
  [[nodiscard]] std::int32_t position_on_tape() const { return checked(); }

  /// How full this thread's tape is: to watch that a program does not keep results it no longer needs.
  [[nodiscard]] static tape_usage usage() noexcept { return here().usage(); }

  // --- Arithmetic: the result, then each input with its slope --------------------------------------------------------
  // A plain number c takes part without entering the graph: nobody asks for its derivative.

  friend Value operator+(const Value& a, const Value& b) { return {"+", a.data() + b.data(), a, T(1), b, T(1)}; }
  friend Value operator+(const Value& a, T c) { return {"+ c", a.data() + c, a, T(1)}; }
  friend Value operator+(T c, const Value& a) { return {"+ c", c + a.data(), a, T(1)}; }

  friend Value operator-(const Value& a, const Value& b) { return {"-", a.data() - b.data(), a, T(1), b, T(-1)}; }
  friend Value operator-(const Value& a, T c) { return {"- c", a.data() - c, a, T(1)}; }
  friend Value operator-(T c, const Value& a) { return {"c -", c - a.data(), a, T(-1)}; }
  friend Value operator-(const Value& a) { return {"neg", -a.data(), a, T(-1)}; }
  friend Value operator+(const Value& a) { return a; }

  friend Value operator*(const Value& a, const Value& b) {
    return {"*", a.data() * b.data(), a, b.data(), b, a.data()};
  }
  friend Value operator*(const Value& a, T c) { return {"* c", a.data() * c, a, c}; }
  friend Value operator*(T c, const Value& a) { return {"* c", c * a.data(), a, c}; }

  friend Value operator/(const Value& a, const Value& b) {
    const T quotient = a.data() / b.data();
    return {"/", quotient, a, 1 / b.data(), b, -quotient / b.data()};
  }
  friend Value operator/(const Value& a, T c) { return {"/ c", a.data() / c, a, 1 / c}; }
  friend Value operator/(T c, const Value& a) {
    const T quotient = c / a.data();
    return {"c /", quotient, a, -quotient / a.data()};
  }

  Value& operator+=(const Value& b) { return *this = *this + b; }
  Value& operator+=(T c) { return *this = *this + c; }
  Value& operator-=(const Value& b) { return *this = *this - b; }
  Value& operator-=(T c) { return *this = *this - c; }
  Value& operator*=(const Value& b) { return *this = *this * b; }
  Value& operator*=(T c) { return *this = *this * c; }
  Value& operator/=(const Value& b) { return *this = *this / b; }
  Value& operator/=(T c) { return *this = *this / c; }

  /// Values compare as their numbers do.
  friend std::partial_ordering operator<=>(const Value& a, const Value& b) { return a.data() <=> b.data(); }
  friend std::partial_ordering operator<=>(const Value& a, T c) { return a.data() <=> c; }

  // --- Powers -------------------------------------------------------------------------------------------------------

  /// x^n, slope n x^(n-1). No logarithm: a negative x is fine for a whole n.
  friend Value pow(const Value& x, T n) {
    return {"** c", n == 2 ? x.data() * x.data() : std::pow(x.data(), n), x, power_slope(x.data(), n)};
  }
  /// c^p, slope c^p log c.
  friend Value pow(T c, const Value& p) {
    const T y = std::pow(c, p.data());
    return {"c **", y, p, exponent_slope(y, c, p.data())};
  }
  friend Value pow(const Value& x, const Value& p) {
    const T y = std::pow(x.data(), p.data());
    return {"**", y, x, power_slope(x.data(), p.data()), p, exponent_slope(y, x.data(), p.data())};
  }

  // --- Functions: where it can be, the slope is taken from the result -----------------------------------------------

  friend Value exp(const Value& x) {
    const T y = std::exp(x.data());
    return {"exp", y, x, y};
  }
  friend Value log(const Value& x) { return {"log", std::log(x.data()), x, 1 / x.data()}; }
  friend Value sqrt(const Value& x) {
    const T y = std::sqrt(x.data());
    return {"sqrt", y, x, T(0.5) / y};
  }
  friend Value tanh(const Value& x) {
    const T y = std::tanh(x.data());
    return {"tanh", y, x, 1 - y * y};
  }
  /// 1 / (1 + e^-x), written so that exp never overflows.
  friend Value sigmoid(const Value& x) {
    const T e = std::exp(-std::fabs(x.data()));
    const T y = (x.data() < 0 ? e : T(1)) / (1 + e);
    return {"sigmoid", y, x, y * (1 - y)};
  }
  friend Value sin(const Value& x) { return {"sin", std::sin(x.data()), x, std::cos(x.data())}; }
  friend Value cos(const Value& x) { return {"cos", std::cos(x.data()), x, -std::sin(x.data())}; }
  friend Value erf(const Value& x) {
    constexpr T two_over_root_pi = T(1.1283791670955126);
    return {"erf", std::erf(x.data()), x, two_over_root_pi * std::exp(-x.data() * x.data())};
  }

  // --- Choices: the slope is 1 for the operand that was taken -------------------------------------------------------

  friend Value relu(const Value& x) {
    const bool on = x.data() > 0;
    return {"relu", on ? x.data() : T(0), x, on ? T(1) : T(0)};
  }
  friend Value(abs)(const Value& x) { return {"abs", std::fabs(x.data()), x, sign(x.data())}; }
  friend Value maximum(const Value& a, const Value& b) {
    const T wins = first_share(a.data() - b.data());
    return {"max", a.data() < b.data() ? b.data() : a.data(), a, wins, b, 1 - wins};
  }
  friend Value maximum(const Value& a, T c) {
    return {"max c", a.data() < c ? c : a.data(), a, a.data() > c ? T(1) : T(0)};
  }
  friend Value maximum(T c, const Value& a) { return maximum(a, c); }
  friend Value minimum(const Value& a, const Value& b) {
    const T wins = first_share(b.data() - a.data());
    return {"min", b.data() < a.data() ? b.data() : a.data(), a, wins, b, 1 - wins};
  }
  friend Value minimum(const Value& a, T c) {
    return {"min c", c < a.data() ? c : a.data(), a, a.data() < c ? T(1) : T(0)};
  }
  friend Value minimum(T c, const Value& a) { return minimum(a, c); }

  // --- Printing -----------------------------------------------------------------------------------------------------

  /// Value(data=7.0000, grad=1.0000)
  friend std::string to_string(const Value& x) {
    char text[700];  // two doubles of up to 309 digits each
    const int length = std::snprintf(text, sizeof text, "Value(data=%.4f, grad=%.4f)", static_cast<double>(x.data()),
                                     static_cast<double>(x.grad()));
    return std::string(text, static_cast<std::size_t>(length));
  }
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const Value& x) {
    return out << to_string(x).c_str();
  }

 private:
  static constexpr std::uint32_t no_tape = 0;
  static tape& here() noexcept { return this_thread_tape<T>; }

  /// A result of one input, of two inputs, and one more reference to a number that is on the tape.
  Value(const char* op, T y, const Value& x, T slope)
      : data_(y), at_(here().record(op, y, x.checked(), slope, tape::none, T(0))), tape_(here().id) {}
  Value(const char* op, T y, const Value& a, T slope_a, const Value& b, T slope_b)
      : data_(y), at_(here().record(op, y, a.checked(), slope_a, b.checked(), slope_b)), tape_(here().id) {}
  struct already_there {};
  Value(already_there, position at) : data_(here().data[at]), at_(at), tape_(here().id) { ++here().handles[at]; }

  /// The position, once it is certain that it is one of this thread's tape.
  position checked() const {
    if (tape_ != here().id) [[unlikely]]
      throw_lost();
    return at_;
  }
  [[noreturn]] TINYGRAD_COLD static void throw_lost() {
    throw graph_error(
        "[value] this Value refers to nothing here: it was moved from, or it belongs to another thread; a Value is "
        "used on the thread that made it");
  }

  static T sign(T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : T(0); }
  /// The slope of the operand that is ahead by `lead`: all, nothing, or half of it at a tie.
  static T first_share(T lead) { return lead > 0 ? T(1) : lead < 0 ? T(0) : T(0.5); }
  /// d x^n / dx. For n = 0 it is 0, also at x = 0 where x^(n-1) has a pole.
  static T power_slope(T x, T n) { return n == 0 ? T(0) : n == 2 ? 2 * x : n * std::pow(x, n - 1); }
  /// d x^p / dp = y log x; no logarithm of zero, where the power is flat.
  static T exponent_slope(T y, T x, T p) { return x == 0 && p >= 0 ? T(0) : y * std::log(x); }

  T data_;
  position at_;
  std::uint32_t tape_;
};

/// Lets the literal constants (0.5_c) meet a Value, and with them every generic formula.
template <std::floating_point T>
struct scalar_type<Value<T>> {
  using type = T;
};

// --- A network of Values ---------------------------------------------------------------------------------------------

namespace scalar {

/// tanh(b + w1 x1 + w2 x2 + ...)
template <std::floating_point T>
class Neuron {
 public:
  /// Weights from random.uniform(-1, 1), bias 0.
  template <class Random>
  Neuron(std::size_t inputs, Random& random) {
    weights_.reserve(inputs);
    for (std::size_t k = 0; k < inputs; ++k) weights_.emplace_back(static_cast<T>(random.uniform(-1.0, 1.0)));
  }

  /// The inputs are numbers or Values.
  template <class X>
  Value<T> operator()(const std::vector<X>& x) const {
    if (x.size() != weights_.size())
      throw shape_error("[neuron] wrong number of inputs: x (" + std::to_string(x.size()) + "), weights (" +
                        std::to_string(weights_.size()) + "); they must be equal");
    Value<T> sum = bias_;
    for (std::size_t k = 0; k < x.size(); ++k) sum += weights_[k] * x[k];
    return tanh(sum);
  }

  [[nodiscard]] std::vector<Value<T>> parameters() const {
    std::vector<Value<T>> all = weights_;
    all.push_back(bias_);
    return all;
  }

 private:
  std::vector<Value<T>> weights_;
  Value<T> bias_;
};

namespace detail {
template <class Parts>
auto parameters_of(const Parts& parts) {
  decltype(parts.front().parameters()) all;
  for (const auto& part : parts)
    for (auto& parameter : part.parameters()) all.push_back(std::move(parameter));
  return all;
}
}  // namespace detail

/// Several neurons that look at the same inputs.
template <std::floating_point T>
class Layer {
 public:
  template <class Random>
  Layer(std::size_t inputs, std::size_t outputs, Random& random) {
    for (std::size_t k = 0; k < outputs; ++k) neurons_.emplace_back(inputs, random);
  }

  template <class X>
  std::vector<Value<T>> operator()(const std::vector<X>& x) const {
    std::vector<Value<T>> y;
    y.reserve(neurons_.size());
    for (const auto& neuron : neurons_) y.push_back(neuron(x));
    return y;
  }
  [[nodiscard]] std::vector<Value<T>> parameters() const { return detail::parameters_of(neurons_); }

 private:
  std::vector<Neuron<T>> neurons_;
};

/// A multi-layer perceptron: MLP({2, 4, 1}, random) has 2 inputs, one hidden layer of 4 neurons, and 1 output.
template <std::floating_point T>
class MLP {
 public:
  template <class Random>
  MLP(const std::vector<std::size_t>& sizes, Random& random) {
    if (sizes.size() < 2) throw value_error("[mlp] a network has at least two sizes: its inputs and its outputs");
    for (std::size_t k = 0; k + 1 < sizes.size(); ++k) layers_.emplace_back(sizes[k], sizes[k + 1], random);
  }

  template <class X>
  std::vector<Value<T>> operator()(const std::vector<X>& x) const {
    std::vector<Value<T>> y = layers_.front()(x);
    for (std::size_t k = 1; k < layers_.size(); ++k) y = layers_[k](y);
    return y;
  }
  [[nodiscard]] std::vector<Value<T>> parameters() const { return detail::parameters_of(layers_); }

 private:
  std::vector<Layer<T>> layers_;
};

}  // namespace scalar

}  // namespace tinygrad::inline TINYGRAD_ABI
