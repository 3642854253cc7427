// grad_slot<T>: where an operation's backward puts the gradient of one input.
//
// The first contribution to a gradient is written, later ones are added. A slot hides which of the two it is:
//   dx.zeroed()   a buffer to add to (zero-filled when this is the first contribution)
//   dx.open()     {data, accumulate}: for kernels that can either write or add
//   dx.adopt(dy)  hands a whole gradient buffer over when this is the first contribution
#pragma once

#include <cstddef>
#include <cstring>
#include <tinygrad/autograd/node.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

template <class T>
struct grad_target {
  T* data;          // same element count as the input
  bool accumulate;  // false: contents undefined, every element must be written
};

template <class T>
class grad_slot {
 public:
  /// A slot for `input`, or an unwanted one when the input needs no gradient.
  explicit grad_slot(node<T>* input) noexcept : input_(input != nullptr && input->requires_grad ? input : nullptr) {}

  /// True when the input wants a gradient; nothing else may be called otherwise.
  explicit operator bool() const noexcept { return input_ != nullptr; }

  [[nodiscard]] grad_target<T> open() const {
    ref<storage>& memory = input_->gradient();
    const bool accumulate = static_cast<bool>(memory);
    if (!accumulate) memory = storage::allocate(input_->count() * sizeof(T));
    return {static_cast<T*>(memory->data()), accumulate};
  }
  [[nodiscard]] T* zeroed() const {
    const grad_target<T> target = open();
    if (!target.accumulate) std::memset(target.data, 0, input_->count() * sizeof(T));
    return target.data;
  }
  /// Moves `dy` in when nothing has arrived yet and returns true; else leaves it and returns false.
  [[nodiscard]] bool adopt(ref<storage>& dy) const noexcept {
    ref<storage>& memory = input_->gradient();
    if (memory || !dy || !dy->unique()) return false;
    memory = std::move(dy);
    return true;
  }

 private:
  node<T>* input_;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
