// Tensor<T, P>: an array of up to six axes that remembers how it was computed.
//
// A Tensor is a handle: copying it copies a pointer, `clone()` copies the values. Values are row-major and contiguous,
// so reshaping and slicing the leading axis are free: they look into the same memory. The policy P only says how
// operations on this tensor are computed; `with_policy<Q>()` is the same tensor under another policy, at no cost.
//
//   Tensor<float> w = Tensor<float>::randn({784, 10}, rng).requires_grad();
//   Tensor<float> loss = cross_entropy(matmul(x, w), labels);
//   loss.backward();
//   w.grad();            // dloss/dw, shape (784, 10)
//
// Words and semantics are PyTorch's: gradients of leaves accumulate until zero_grad(), a graph is consumed by
// backward() unless it is retained, no_grad stops recording, detach() leaves the graph. `y += x` rebinds y to the sum,
// it does not change memory that other handles see; `mutable_data()` does.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/autograd/backward.hpp>
#include <tinygrad/autograd/no_grad.hpp>
#include <tinygrad/autograd/node.hpp>
#include <tinygrad/core/random.hpp>
#include <tinygrad/core/shape.hpp>
#include <tinygrad/fwd.hpp>
#include <tinygrad/kernel/policy.hpp>
#include <type_traits>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {

template <class T, class P>
class Tensor {
  static_assert(
      std::same_as<T, float> || std::same_as<T, double>,
      "tinygrad::Tensor<T>: T must be float or double; integer data (ids, labels) goes in std::span<const int>");
  static_assert(kernel_policy<P>, "tinygrad::Tensor<T, P>: P must model tinygrad::kernel_policy");

 public:
  using value_type = T;
  using policy = P;

  /// No tensor at all: only `defined()`, assignment and destruction are meaningful.
  Tensor() noexcept = default;
  /// The handle to a node; for operations.
  explicit Tensor(ref<node<T>> target) noexcept : node_(std::move(target)) {}

  // --- factories -------------------------------------------------------------------------------------------------

  /// Uninitialised values, for code that writes all of them next.
  [[nodiscard]] static Tensor empty(const Shape& shape) { return Tensor(node<T>::make(shape)); }
  [[nodiscard]] static Tensor full(const Shape& shape, T value) {
    Tensor result = empty(shape);
    std::fill_n(result.node_->data, result.count(), value);
    return result;
  }
  [[nodiscard]] static Tensor zeros(const Shape& shape) { return full(shape, T(0)); }
  [[nodiscard]] static Tensor ones(const Shape& shape) { return full(shape, T(1)); }
  /// A rank 0 tensor.
  [[nodiscard]] static Tensor scalar(T value) { return full(Shape{}, value); }
  /// A copy of `values`, row-major. Throws shape_error when their number is not the shape's.
  [[nodiscard]] static Tensor from(std::span<const T> values, const Shape& shape) {
    if (values.size() != shape.count())
      throw shape_error("[from] " + std::to_string(values.size()) + " values for shape " + to_string(shape) +
                        "; the shape has " + std::to_string(shape.count()));
    Tensor result = empty(shape);
    if (!values.empty()) std::memcpy(result.node_->data, values.data(), values.size() * sizeof(T));
    return result;
  }
  [[nodiscard]] static Tensor from(std::initializer_list<T> values, const Shape& shape) {
    return from(std::span<const T>(values.begin(), values.size()), shape);
  }
  /// A rank 1 tensor of the values listed.
  [[nodiscard]] static Tensor from(std::initializer_list<T> values) { return from(values, Shape{values.size()}); }
  /// start, start + step, ... (`count` values).
  [[nodiscard]] static Tensor arange(std::size_t count, T start = T(0), T step = T(1)) {
    Tensor result = empty(Shape{count});
    for (std::size_t i = 0; i < count; ++i) result.node_->data[i] = start + static_cast<T>(i) * step;
    return result;
  }
  /// Independent draws from the normal distribution with mean 0 and standard deviation `stddev`.
  template <class Generator>
  [[nodiscard]] static Tensor randn(const Shape& shape, Generator& generator, T stddev = T(1)) {
    Tensor result = empty(shape);
    for (T& value : result.mutable_data()) value = static_cast<T>(generator.normal()) * stddev;
    return result;
  }
  /// Independent draws from the uniform distribution over [low, high).
  template <class Generator>
  [[nodiscard]] static Tensor uniform(const Shape& shape, Generator& generator, T low = T(0), T high = T(1)) {
    Tensor result = empty(shape);
    for (T& value : result.mutable_data()) value = low + static_cast<T>(generator.uniform()) * (high - low);
    return result;
  }
  /// A tensor over memory that `owner` keeps alive (a mapped file, a user's array); nothing is copied.
  [[nodiscard]] static Tensor borrow(T* data, const Shape& shape, std::shared_ptr<const void> owner) {
    return Tensor(node<T>::make(shape, storage::borrow(data, std::move(owner)), data));
  }

  // --- shape and values ------------------------------------------------------------------------------------------

  [[nodiscard]] bool defined() const noexcept { return static_cast<bool>(node_); }
  [[nodiscard]] const Shape& shape() const noexcept { return node_->shape; }
  [[nodiscard]] int rank() const noexcept { return node_->shape.rank(); }
  /// Number of elements: 1 for rank 0, 0 when an axis is empty.
  [[nodiscard]] std::size_t count() const noexcept { return node_->count(); }
  /// Size of an axis; negative axes count from the end. Throws index_error.
  [[nodiscard]] std::size_t size(int axis) const { return shape()[axis_of("size", shape(), axis)]; }

  /// The values, row-major.
  [[nodiscard]] std::span<const T> data() const noexcept { return {node_->data, count()}; }
  /// The values, to be changed in place. Counts as a change: a graph that saved them refuses to run backward.
  [[nodiscard]] std::span<T> mutable_data() const noexcept {
    node_->memory->bump_version();
    return {node_->data, count()};
  }
  /// The value of a tensor with one element. Throws shape_error otherwise.
  [[nodiscard]] T item() const {
    if (count() != 1) throw_shape("item", "not a single element", shape(), "item() needs exactly one");
    return node_->data[0];
  }
  /// The value at an index per axis. Throws index_error.
  [[nodiscard]] T at(std::initializer_list<std::size_t> index) const { return node_->data[offset_of(index)]; }
  /// Element `index` of the leading axis, [N, ...] -> [...], recorded like any operation; a view. Negative numbers
  /// count from the end. Throws index_error. Defined in ops/shape_ops.hpp, as `row(x, index)`.
  [[nodiscard]] Tensor operator[](std::ptrdiff_t index) const;

  // --- graph -----------------------------------------------------------------------------------------------------

  [[nodiscard]] bool needs_grad() const noexcept { return node_->requires_grad; }
  /// Marks a leaf as a parameter (or unmarks it) and returns it. Throws graph_error for results of operations.
  Tensor requires_grad(bool wanted = true) const {
    if (!is_leaf() && wanted != node_->requires_grad)
      throw graph_error("[requires_grad] only leaves can be marked, this is the result of " + std::string(op_name()) +
                        "; use detach() for a leaf of the same values");
    node_->requires_grad = wanted;
    return *this;
  }
  [[nodiscard]] bool is_leaf() const noexcept { return node_->is_leaf(); }
  /// Name of the operation that made it, "leaf" for leaves, "consumed" once a backward pass freed its record.
  [[nodiscard]] std::string_view op_name() const noexcept {
    return node_->op ? node_->op->name() : node_->consumed ? "consumed" : "leaf";
  }

  /// False: no gradient has arrived since the start or the last zero_grad.
  [[nodiscard]] bool has_grad() const noexcept { return static_cast<bool>(node_->grad); }
  /// The accumulated gradient, a tensor of the same shape over the same memory. Throws graph_error when there is none.
  [[nodiscard]] Tensor grad() const {
    if (!has_grad())
      throw graph_error("[grad] no gradient: " + label() +
                        " is not required to have one, was not used in the loss, or backward() has not run");
    return Tensor(node<T>::make(shape(), node_->grad, static_cast<T*>(node_->grad->data())));
  }
  /// Forgets the gradient; the next backward starts anew.
  void zero_grad() const noexcept { node_->grad.reset(); }
  /// Keeps the gradient of this interior tensor, as if it were a leaf. Throws graph_error when it needs none.
  void retain_grad() const {
    if (!needs_grad()) throw graph_error("[retain_grad] " + label() + " needs no gradient, none will arrive");
    node_->retains_grad = true;
  }
  /// Adds dthis/dleaf to the gradient of every leaf behind this tensor, which must hold one element.
  /// Throws shape_error when it holds more (then say with what weights: backward(weights)) and graph_error when nothing
  /// here needs a gradient, the graph is consumed, or a value that the graph saved was changed.
  void backward(bool retain_graph = false) const {
    if (count() != 1)
      throw_shape("backward", "not a scalar", shape(), "start from a loss of one element or pass its gradient");
    backward(ones(shape()), retain_graph);
  }
  /// The same from a tensor of any shape, whose gradient is given (the "vector" of a vector-Jacobian product).
  void backward(const Tensor& gradient, bool retain_graph = false) const {
    if (gradient.shape() != shape())
      throw_shape("backward", "the gradient has another shape", shape(), gradient.shape(), "both must be equal");
    ref<storage> seed = storage::allocate(count() * sizeof(T));
    if (count() != 0) std::memcpy(seed->data(), gradient.node_->data, count() * sizeof(T));
    run_backward(*node_, std::move(seed), retain_graph);
  }
  /// The same values as a leaf outside the graph; memory is shared.
  [[nodiscard]] Tensor detach() const { return Tensor(node<T>::make(shape(), node_->memory, node_->data)); }
  /// A copy of the values as a leaf outside the graph.
  [[nodiscard]] Tensor clone() const { return from(data(), shape()); }
  /// The same tensor, graph and all, computed with another policy from here on.
  template <class Q>
  [[nodiscard]] Tensor<T, Q> with_policy() const {
    return Tensor<T, Q>(node_);
  }
  /// The values converted to another element type, outside the graph.
  template <class U>
  [[nodiscard]] Tensor<U, P> to() const {
    Tensor<U, P> result = Tensor<U, P>::empty(shape());
    U* out = result.mutable_data().data();
    for (std::size_t i = 0; i < count(); ++i) out[i] = static_cast<U>(node_->data[i]);
    return result;
  }

  /// A name for error messages, files and pictures.
  [[nodiscard]] std::string_view name() const noexcept {
    return node_->name ? std::string_view(*node_->name) : std::string_view{};
  }
  Tensor named(std::string_view name) const {
    node_->name = std::make_unique<std::string>(name);
    return *this;
  }
  [[nodiscard]] std::uint32_t version() const noexcept { return node_->memory->version(); }
  /// The node itself; for operations and for tools that walk the graph.
  [[nodiscard]] const ref<node<T>>& handle() const noexcept { return node_; }

 private:
  [[nodiscard]] std::string label() const {
    return node_->name ? "'" + *node_->name + "' " + to_string(shape()) : "this tensor " + to_string(shape());
  }
  [[nodiscard]] std::size_t offset_of(std::initializer_list<std::size_t> index) const {
    if (index.size() != static_cast<std::size_t>(rank()))
      throw index_error("[at] " + std::to_string(index.size()) + " indices for shape " + to_string(shape()));
    std::size_t offset = 0;
    int axis = 0;
    for (const std::size_t i : index) {
      const std::size_t size = shape()[axis++];
      if (i >= size)
        throw index_error("[at] index " + std::to_string(i) + " out of range on axis " + std::to_string(axis - 1) +
                          ": input " + to_string(shape()));
      offset = offset * size + i;
    }
    return offset;
  }

  ref<node<T>> node_;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
