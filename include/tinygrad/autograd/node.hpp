// node<T>: what a Tensor is a handle to. Values, gradient, and how the values were made.
//
// A node made by an operation owns a recorded_op, which owns handles to the operation's inputs: that is the graph.
// Handles only ever point from a result to its inputs, so there are no cycles and the last handle frees everything
// behind it. Freeing is a loop, never a recursion: a chain of a million nodes needs no more stack than one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/buffer.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/core/intrusive.hpp>
#include <tinygrad/core/shape.hpp>
#include <tinygrad/core/storage.hpp>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {

template <class T>
class node;

/// How a node came about: the operation, its inputs, and what it saved for the way back.
template <class T>
class recorded_op {
 public:
  recorded_op() noexcept = default;
  recorded_op(const recorded_op&) = delete;
  recorded_op& operator=(const recorded_op&) = delete;
  virtual ~recorded_op() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual std::span<const ref<node<T>>> inputs() const noexcept = 0;
  /// Throws graph_error when a saved value was changed in place since it was saved.
  virtual void check_saved(const node<T>& output) const = 0;
  /// Adds this operation's share of `output`'s gradient to the gradients of its inputs.
  virtual void backward(node<T>& output) = 0;

  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* memory, std::size_t bytes) noexcept { pool_free(memory, bytes); }
};

namespace detail {
/// Numbers nodes in the order of their making, over all threads.
inline std::uint64_t next_sequence() noexcept {
  static std::atomic<std::uint64_t> counter{0};
  return counter.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace detail

template <class T>
class node {
 public:
  /// A node over `data`, which lies in `memory` and has shape.count() elements.
  [[nodiscard]] static ref<node> make(const Shape& shape, ref<storage> memory, T* data) {
    return ref<node>::adopt(::new (pool_allocate(sizeof(node))) node(shape, std::move(memory), data));
  }
  /// A node over fresh, uninitialised memory. Throws std::bad_alloc.
  [[nodiscard]] static ref<node> make(const Shape& shape) {
    ref<storage> memory = storage::allocate(shape.count() * sizeof(T));
    T* data = static_cast<T*>(memory->data());
    return make(shape, std::move(memory), data);
  }

  Shape shape;
  T* data;
  ref<storage> memory;
  /// Accumulated gradient of a leaf (or of an interior node that retains it), same shape as the values.
  ref<storage> grad;
  /// Gradient of an interior node while a backward pass runs; empty outside of one.
  ref<storage> flow;
  std::unique_ptr<recorded_op<T>> op;  // null for leaves, and once a backward pass has consumed it
  std::unique_ptr<std::string> name;
  std::uint64_t sequence;
  std::uint64_t mark = 0;  // the last pass that visited this node
  bool requires_grad = false;
  bool retains_grad = false;
  bool consumed = false;  // a backward pass went through here and freed the recorded op

  [[nodiscard]] bool is_leaf() const noexcept { return op == nullptr && !consumed; }
  [[nodiscard]] std::size_t count() const noexcept { return shape.count(); }
  /// Where gradient contributions go.
  [[nodiscard]] ref<storage>& gradient() noexcept { return is_leaf() ? grad : flow; }

  void acquire() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) bury(this);
  }

 private:
  node(const Shape& node_shape, ref<storage> node_memory, T* values) noexcept
      : shape(node_shape), data(values), memory(std::move(node_memory)), sequence(detail::next_sequence()) {}
  ~node() = default;

  /// Destroys `dead` and everything that dies with it. The destructor of a node releases its inputs, which comes back
  /// here; such nested calls only enlist the node, and the outermost call works the list off.
  static void bury(node* dead) noexcept {
    struct graveyard {
      node* first;
      bool busy;
    };
    static thread_local graveyard yard{nullptr, false};
    dead->next_dead_ = std::exchange(yard.first, dead);
    if (std::exchange(yard.busy, true)) return;
    while (yard.first != nullptr) {
      node* current = std::exchange(yard.first, yard.first->next_dead_);
      current->~node();
      pool_free(current, sizeof(node));
    }
    yard.busy = false;
  }

  std::atomic<std::uint32_t> count_{1};
  node* next_dead_ = nullptr;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
