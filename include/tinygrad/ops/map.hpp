// map(f, x, b, ...): any chain of elementwise work as one operation, one loop forward and one backward.
//
//   auto y = map([](auto x, auto b) { return tanh(x + b); }, x, bias);   // x (N, C), bias (C): fused, broadcast
//
// f is called with packs, with plain numbers and with dual numbers, so it must be generic: write it with operators and
// the functions exp log tanh erf sin cos sigmoid pow sqrt abs minimum maximum select, and constants like 0.5_c. The
// derivative is not written by anyone: it is f on dual numbers.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tinygrad/kernel/map.hpp>
#include <tinygrad/ops/op.hpp>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {

/// The operation behind `map`. F may name itself (`static constexpr std::string_view name`) and say that its derivative
/// does not depend on its arguments (`static constexpr bool linear = true`): then it saves nothing. For the arguments
/// by which its derivative is 1 (`static constexpr std::array passes{true, false}`) the gradient is handed on as it is.
/// Where the derivative is easier told from the result, `F::by_output` takes the result instead of the one argument and
/// gives a dual number with that derivative; then the output is saved, and the argument need not be.
template <class F, std::size_t K>
struct map_op {
  static constexpr std::string_view name = [] {
    if constexpr (requires { F::name; })
      return std::string_view(F::name);
    else
      return std::string_view("map");
  }();
  static constexpr saved_values saves = [] {
    if constexpr (requires { F::linear; })
      return F::linear ? saved_values::none : saved_values::inputs;
    else
      return requires { typename F::by_output; }
    ? saved_values::output : saved_values::inputs;
  }();

  F f;

  template <class... Shapes>
  [[nodiscard]] Shape shape_of(const Shape& first, const Shapes&... rest) const {
    Shape shape = first;
    ((shape = broadcast_shapes(name, shape, rest)), ...);
    return shape;
  }

  template <class P, class T, class... Views>
  void forward(view<T> y, view<const T> first, Views... rest) const {
    P::map(f, map_args<T, K>{
                  plan_broadcast<K>(y.shape, {first.shape, rest.shape...}), {first.data, rest.data...}, y.data});
  }

  /// See all.hpp: what to try this operation on. F may give the range its inputs are drawn from as `domain`.
  template <class Try>
  static void examples(Try&& attempt) {
    const auto call = [](const auto& x) { return call_with(x, std::make_index_sequence<K>{}); };
    const auto same = [&](const Shape& shape) { attempt(repeat(shape), call, domain()); };
    for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{1}, Shape{0, 4}, Shape{37}, Shape{3, 1, 5}}) same(shape);
    if constexpr (K >= 2) {  // the first and the last input take turns at being repeated
      const auto mixed = [&](const Shape& first, const Shape& last) {
        std::vector<Shape> shapes = repeat(first);
        shapes.back() = last;
        attempt(shapes, call, domain());
      };
      mixed({4, 3}, {3});
      mixed({3}, {4, 3});
      mixed({4, 1}, {1, 35});
      mixed({131, 3}, {3});
      mixed({16}, {9, 16});
      mixed({2, 1, 4, 3}, {2, 1, 4, 1});
      mixed({5, 1, 7}, {4, 5, 6, 7});
      mixed({2, 5}, {});
      mixed({0, 3}, {3});
    }
  }
  template <class Try>
  static void typical(Try&& attempt) {
    attempt(
        repeat({1024, 1024}), [](const auto& x) { return call_with(x, std::make_index_sequence<K>{}); }, domain());
  }

  // Called as backward(y, x..., dx...), K of each: gathered here into one tuple-like pack and split by position.
  template <class P, class T, class... Args>
  void backward(const result<T>& y, const Args&... args) const {
    static_assert(sizeof...(Args) == 2 * K);
    std::array<const T*, K> x;
    std::array<Shape, K> shapes;
    std::array<grad_slot<T>, K> slots = fill_slots<T>(std::make_index_sequence<K>{});
    std::size_t position = 0;
    (place(position++, args, x, shapes, slots), ...);

    map_backward_args<T, K> work{plan_broadcast<K>(y.shape, shapes), x, y.grad, {}, {}};
    bool nothing_left = true;
    for (std::size_t k = 0; k < K; ++k) {
      if (!slots[k]) continue;
      if (work.plan.repeats(k)) {  // sums need a defined start
        work.dx[k] = slots[k].zeroed();
        work.accumulate[k] = true;
      } else {  // an input given twice: the first argument writes, the second finds a gradient and adds
        const bool given = y.may_give && slots[k].adopt(y.flow);  // then dy turns into dx where it lies
        if (given && passes(k)) continue;
        const grad_target<T> target = slots[k].open();
        work.dx[k] = target.data;
        work.accumulate[k] = !given && target.accumulate;
      }
      nothing_left = false;
    }
    if (nothing_left) return;
    if constexpr (requires { typename F::by_output; }) {
      work.in[0] = y.data;
      P::map_backward(typename F::by_output{}, work);
    } else {
      P::map_backward(f, work);
    }
  }

 private:
  static constexpr bool passes([[maybe_unused]] std::size_t k) {
    if constexpr (requires { F::passes; })
      return F::passes[k];
    else
      return false;
  }
  static std::vector<Shape> repeat(const Shape& shape) { return std::vector<Shape>(K, shape); }
  static constexpr value_range domain() {
    if constexpr (requires { F::domain; })
      return F::domain;
    else
      return {};
  }
  template <class Inputs, std::size_t... Ks>
  static auto call_with(const Inputs& x, std::index_sequence<Ks...>) {
    return apply(map_op{}, x[Ks]...);
  }
  template <class T, std::size_t... Ks>
  static std::array<grad_slot<T>, K> fill_slots(std::index_sequence<Ks...>) {
    return {((void)Ks, grad_slot<T>(nullptr))...};
  }
  template <class T>
  static void place(std::size_t position, const view<const T>& x, std::array<const T*, K>& data,
                    std::array<Shape, K>& shapes, std::array<grad_slot<T>, K>&) {
    data[position] = x.data;
    shapes[position] = x.shape;
  }
  template <class T>
  static void place(std::size_t position, const grad_slot<T>& dx, std::array<const T*, K>&, std::array<Shape, K>&,
                    std::array<grad_slot<T>, K>& slots) {
    slots[position - K] = dx;
  }
};

/// f over the inputs, element by element, with NumPy broadcasting. Throws shape_error when shapes do not broadcast.
template <class F, class T, class P, class... Rest>
[[nodiscard]] Tensor<T, P> map(F f, const Tensor<T, P>& first, const Rest&... rest) {
  return apply(map_op<F, 1 + sizeof...(Rest)>{std::move(f)}, first, rest...);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
