// The backward pass: walk the recorded graph from the loss to the leaves, each node once.
//
// Nodes are numbered in the order they were recorded, so the reverse of that order is a valid order for the chain
// rule: when a node's turn comes, everything that used it has already sent its share. No recursion, no hash set.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tinygrad/autograd/no_grad.hpp>
#include <tinygrad/autograd/node.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {

[[noreturn]] TINYGRAD_COLD inline void throw_consumed() {
  throw graph_error(
      "[backward] the graph was already consumed by an earlier backward; "
      "call backward(retain_graph) the first time, or run the forward again");
}

/// One backward pass over the interior nodes behind `root`.
template <class T>
class backward_pass {
 public:
  explicit backward_pass(node<T>& root) {
    collect(root);
    std::sort(order_.begin(), order_.end(), [](const auto& a, const auto& b) { return a->sequence > b->sequence; });
    for (const auto& current : order_) current->op->check_saved(*current);
  }
  backward_pass(const backward_pass&) = delete;
  backward_pass& operator=(const backward_pass&) = delete;
  /// Interior gradients are scratch of one pass: none survives it, not even when an operation throws.
  ~backward_pass() {
    for (const auto& current : order_)
      if (current) current->flow.reset();
  }

  void run(bool retain_graph) {
    for (ref<node<T>>& current : order_) {
      if (current->flow) current->op->backward(*current);
      if (current->retains_grad) retain(*current);
      current->flow.reset();
      if (!retain_graph) {
        current->consumed = true;
        current->op.reset();
      }
      current.reset();
    }
  }

 private:
  void collect(node<T>& root) {
    static std::atomic<std::uint64_t> passes{0};
    const std::uint64_t pass = passes.fetch_add(1, std::memory_order_relaxed) + 1;
    enlist(&root, pass);
    for (std::size_t next = 0; next < order_.size(); ++next) {  // order_ is the queue of the walk
      const node<T>& current = *order_[next];
      for (const auto& input : current.op->inputs())
        if (input->requires_grad) enlist(input.get(), pass);
    }
  }
  void enlist(node<T>* candidate, std::uint64_t pass) {
    if (candidate->consumed) throw_consumed();
    if (candidate->op == nullptr || candidate->mark == pass) return;
    candidate->mark = pass;
    order_.emplace_back(candidate);
  }
  static void retain(node<T>& current) {
    if (!current.flow) return;
    if (!current.grad) {
      current.grad = std::move(current.flow);
      return;
    }
    T* total = static_cast<T*>(current.grad->data());
    const T* arrived = static_cast<const T*>(current.flow->data());
    for (std::size_t i = 0; i < current.count(); ++i) total[i] += arrived[i];
  }

  std::vector<ref<node<T>>, pool_allocator<ref<node<T>>>> order_;
};

}  // namespace detail

/// Adds d(root)/d(leaf) times `seed` to the gradient of every leaf behind `root`.
/// `seed` has root's element count. Throws graph_error when root needs no gradient, when the graph was consumed, or
/// when a saved value was changed in place; then no gradient has been touched.
template <class T>
void run_backward(node<T>& root, ref<storage> seed, bool retain_graph) {
  if (!root.requires_grad)
    throw graph_error("[backward] the result does not require a gradient: no input of it was marked requires_grad");
  const no_grad guard;
  detail::backward_pass<T> pass(root);
  ref<storage>& gradient = root.gradient();
  if (gradient) {  // a leaf that already has a gradient
    T* total = static_cast<T*>(gradient->data());
    const T* more = static_cast<const T*>(seed->data());
    for (std::size_t i = 0; i < root.count(); ++i) total[i] += more[i];
  } else {
    gradient = std::move(seed);
  }
  pass.run(retain_graph);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
