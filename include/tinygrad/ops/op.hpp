// What an operation is, and the one place that runs one: check, allocate, compute, record.
//
// An operation is a struct with its parameters as members:
//
//   struct square_op {
//     static constexpr std::string_view name = "square";
//     Shape shape_of(const Shape& x) const { return x; }                      // checks; throws shape_error
//     template <class P, class T>                                             // P: policy, T: float or double
//     void forward(view<T> y, view<const T> x);                               // writes all of y; may save state
//     template <class P, class T>
//     void backward(const result<T>& y, view<const T> x, grad_slot<T> dx);    // adds to dx where (dx) is wanted
//   };
//   Tensor<float> y = apply(square_op{}, x);
//
// with one view and one slot per input. An operation whose number of inputs is known at run time takes spans of them
// (see concat.hpp). `static constexpr saved_values saves` says which values the backward reads, so that changing those
// in place is caught: inputs (the default), output, both, or none.
//
// An operation of the library also says on what to try it, so that tests, gradient checks and benchmarks can walk the
// list of all of them (all.hpp):
//     template <class Try> static void examples(Try&& attempt) {              // small and odd shapes, edge cases
//       attempt({{2, 3}, {3}}, [](const auto& x) { return some_op(x[0], x[1]); });
//       attempt({{4, 1}}, [](const auto& x) { return some_op(x[0], 2); }, value_range{0.1, 2.0});
//     }
//     template <class Try> static void typical(Try&& attempt);                // one realistic size, for benchmarks
// The first argument lists the input shapes; the callable gets that many tensors of any element type and policy.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/autograd/gradient.hpp>
#include <tinygrad/autograd/no_grad.hpp>
#include <tinygrad/tensor/tensor.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

/// Values of a tensor and their shape, as an operation sees them.
template <class T>
struct view {
  T* data;             // row-major
  const Shape& shape;  // lives as long as the call
};

/// The result of an operation during backward: values, and the gradient that arrived.
template <class T>
struct result {
  const T* data;
  const T* grad;  // same shape
  const Shape& shape;
  ref<storage>& flow;  // owns `grad`; may be handed to an input with grad_slot::adopt when `may_give`
  bool may_give;
};

/// The interval that an operation's example inputs are drawn from.
struct value_range {
  double low = -1.5;
  double high = 1.5;
};

/// Which values an operation's backward reads.
enum class saved_values : unsigned char { none = 0, inputs = 1, output = 2, both = 3 };

namespace detail {

template <class Op>
constexpr saved_values saves_of() {
  if constexpr (requires { Op::saves; })
    return Op::saves;
  else
    return saved_values::inputs;
}
constexpr bool saves(saved_values which, saved_values part) {
  return (static_cast<int>(which) & static_cast<int>(part)) != 0;
}

[[noreturn]] TINYGRAD_COLD inline void throw_changed(std::string_view op, std::string_view what, const Shape& shape,
                                                     std::uint32_t saved, std::uint32_t now) {
  throw graph_error("[" + std::string(op) + "] " + std::string(what) + " " + to_string(shape) +
                    " was changed in place after it was saved for backward: version " + std::to_string(saved) +
                    " was saved, version " + std::to_string(now) + " is there now; change a clone() instead");
}

/// Inputs and versions of a recorded operation; `Inputs` is an array or a vector of node handles.
template <class T, class P, class Op, class Inputs>
class op_record final : public recorded_op<T> {
 public:
  op_record(Op op, Inputs inputs, const node<T>& output)
      : op_(std::move(op)), inputs_(std::move(inputs)), output_version_(output.memory->version()) {
    if constexpr (!std::is_array_v<decltype(versions_)> && requires { versions_.resize(std::size_t{}); })
      versions_.resize(inputs_.size());
    for (std::size_t k = 0; k < inputs_.size(); ++k) versions_[k] = inputs_[k]->memory->version();
  }

  [[nodiscard]] std::string_view name() const noexcept override { return op_.name; }
  [[nodiscard]] std::span<const ref<node<T>>> inputs() const noexcept override { return inputs_; }

  void check_saved(const node<T>& output) const override {
    constexpr saved_values which = saves_of<Op>();
    if constexpr (saves(which, saved_values::inputs))
      for (std::size_t k = 0; k < inputs_.size(); ++k)
        if (const std::uint32_t now = inputs_[k]->memory->version(); now != versions_[k])
          throw_changed(op_.name, "input " + std::to_string(k), inputs_[k]->shape, versions_[k], now);
    if constexpr (saves(which, saved_values::output))
      if (const std::uint32_t now = output.memory->version(); now != output_version_)
        throw_changed(op_.name, "the output", output.shape, output_version_, now);
  }

  void backward(node<T>& output) override {
    const result<T> y{output.data, static_cast<const T*>(output.flow->data()), output.shape, output.flow,
                      !output.retains_grad};
    run(y, inputs_);
    if constexpr (requires { P::inspect(name(), std::span<const T>{}, std::string_view{}); })
      for (const ref<node<T>>& input : inputs_)
        if (const ref<storage>& dx = input->gradient(); input->requires_grad && dx)
          P::inspect(name(), std::span<const T>(static_cast<const T*>(dx->data()), input->count()),
                     "the gradient of an input");
  }

 private:
  template <std::size_t K>
  void run(const result<T>& y, std::array<ref<node<T>>, K>& inputs) {
    [&]<std::size_t... Ks>(std::index_sequence<Ks...>) {
      op_.template backward<P>(y, view<const T>{inputs[Ks]->data, inputs[Ks]->shape}...,
                               grad_slot<T>(inputs[Ks].get())...);
    }
    (std::make_index_sequence<K>{});
  }
  template <class Allocator>
  void run(const result<T>& y, std::vector<ref<node<T>>, Allocator>& inputs) {
    std::vector<view<const T>, pool_allocator<view<const T>>> x;
    std::vector<grad_slot<T>, pool_allocator<grad_slot<T>>> dx;
    for (const auto& input : inputs) {
      x.push_back(view<const T>{input->data, input->shape});
      dx.emplace_back(input.get());
    }
    op_.template backward<P>(y, std::span<const view<const T>>(x), std::span<const grad_slot<T>>(dx));
  }

  template <class Container>
  struct versions_for {
    using type = std::vector<std::uint32_t, pool_allocator<std::uint32_t>>;
  };
  template <class X, std::size_t K>
  struct versions_for<std::array<X, K>> {
    using type = std::array<std::uint32_t, K>;
  };

  Op op_;
  Inputs inputs_;
  typename versions_for<Inputs>::type versions_;
  std::uint32_t output_version_;
};

/// Gives `output` its place in the graph when recording is on and some input needs a gradient.
template <class P, class T, class Op, class Inputs>
void record(node<T>& output, Op&& op, Inputs&& inputs) {
  if (!grad_enabled()) return;
  bool wanted = false;
  for (const ref<node<T>>& input : inputs) wanted |= input->requires_grad;
  if (!wanted) return;
  output.requires_grad = true;
  output.op.reset(new op_record<T, P, std::remove_cvref_t<Op>, std::remove_cvref_t<Inputs>>(
      std::forward<Op>(op), std::forward<Inputs>(inputs), output));
}

template <class T, class P>
void require_defined(std::string_view op, const Tensor<T, P>& input) {
  if (!input.defined()) throw graph_error("[" + std::string(op) + "] an input is an undefined Tensor{}");
}

template <class P, class T>
void inspect_output(std::string_view op, const node<T>& output) {
  if constexpr (requires { P::inspect(op, std::span<const T>{}, std::string_view{}); })
    P::inspect(op, std::span<const T>(output.data, output.count()), "the output");
}

}  // namespace detail

/// Runs `op` on the inputs and records it. All inputs have one element type and one policy.
/// Throws what op.shape_of throws, graph_error for undefined inputs, std::bad_alloc.
template <class Op, class T, class P, class... Rest>
[[nodiscard]] Tensor<T, P> apply(Op op, const Tensor<T, P>& first, const Rest&... rest) {
  static_assert((std::same_as<Rest, Tensor<T, P>> && ...),
                "tinygrad: all tensors of an operation must have the same element type and policy; "
                "convert with to<T>() or with_policy<P>()");
  (detail::require_defined(op.name, first), ..., detail::require_defined(op.name, rest));
  ref<node<T>> output = node<T>::make(op.shape_of(first.shape(), rest.shape()...));
  op.template forward<P>(view<T>{output->data, output->shape}, view<const T>{first.data().data(), first.shape()},
                         view<const T>{rest.data().data(), rest.shape()}...);
  detail::inspect_output<P>(op.name, *output);
  detail::record<P>(*output, std::move(op),
                    std::array<ref<node<T>>, 1 + sizeof...(Rest)>{first.handle(), rest.handle()...});
  return Tensor<T, P>(std::move(output));
}

/// The same for an operation on any number of inputs (at least one).
template <class Op, class T, class P>
[[nodiscard]] Tensor<T, P> apply(Op op, std::span<const Tensor<T, P>> inputs) {
  if (inputs.empty()) throw shape_error("[" + std::string(op.name) + "] no inputs; at least one is needed");
  std::vector<Shape, pool_allocator<Shape>> shapes;
  std::vector<ref<node<T>>, pool_allocator<ref<node<T>>>> nodes;
  std::vector<view<const T>, pool_allocator<view<const T>>> views;
  for (const Tensor<T, P>& input : inputs) {
    detail::require_defined(op.name, input);
    shapes.push_back(input.shape());
    nodes.push_back(input.handle());
    views.push_back(view<const T>{input.data().data(), input.shape()});
  }
  ref<node<T>> output = node<T>::make(op.shape_of(std::span<const Shape>(shapes)));
  op.template forward<P>(view<T>{output->data, output->shape}, std::span<const view<const T>>(views));
  detail::inspect_output<P>(op.name, *output);
  detail::record<P>(*output, std::move(op), std::move(nodes));
  return Tensor<T, P>(std::move(output));
}

/// Records an operation whose output looks into the input's memory: `offset` elements in, with another shape.
template <class Op, class T, class P>
[[nodiscard]] Tensor<T, P> apply_view(Op op, const Tensor<T, P>& input, const Shape& shape, std::size_t offset) {
  detail::require_defined(op.name, input);
  const ref<node<T>>& source = input.handle();
  ref<node<T>> output = node<T>::make(shape, source->memory, source->data + offset);
  detail::record<P>(*output, std::move(op), std::array<ref<node<T>>, 1>{source});
  return Tensor<T, P>(std::move(output));
}

}  // namespace tinygrad::inline TINYGRAD_ABI
