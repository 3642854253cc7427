// ref<X>: a counted handle to an object that carries its own reference count.
//
// X offers `acquire() noexcept` and `release() noexcept`; release frees the object when the count reaches zero.
// One pointer wide, no control block.
#pragma once

#include <tinygrad/core/config.hpp>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {

template <class X>
class ref {
 public:
  ref() noexcept = default;
  /// Shares `object`, which may be null.
  explicit ref(X* object) noexcept : object_(object) {
    if (object_ != nullptr) object_->acquire();
  }
  /// Takes over a count that `object` already has.
  [[nodiscard]] static ref adopt(X* object) noexcept {
    ref result;
    result.object_ = object;
    return result;
  }
  ref(const ref& other) noexcept : ref(other.object_) {}
  ref(ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  ref& operator=(ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~ref() { reset(); }

  void reset() noexcept {
    if (object_ != nullptr) std::exchange(object_, nullptr)->release();
  }
  [[nodiscard]] X* get() const noexcept { return object_; }
  X* operator->() const noexcept { return object_; }
  X& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const ref& a, const ref& b) noexcept { return a.object_ == b.object_; }

 private:
  X* object_ = nullptr;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
