// KvCache: the keys and values of every layer for the positions already seen, so that a new token costs one step.
//
// One allocation for the whole model: [layers][keys, values][batch][capacity][width], width = key/value heads times
// head size. Positions are explicit: a forward pass writes at `length()` and calls `advance` once, after its last
// layer.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <tinygrad/core/storage.hpp>
#include <tinygrad/kernel/attention.hpp>
#include <tinygrad/tensor/tensor.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

template <class T>
class KvCache {
 public:
  /// Throws std::bad_alloc, and shape_error when the sizes do not fit in memory.
  KvCache(std::size_t layers, std::size_t batch, std::size_t capacity, std::size_t width)
      : shape_{layers, 2, batch, capacity, width}, memory_(storage::allocate(shape_.count() * sizeof(T))) {}

  [[nodiscard]] std::size_t batch() const noexcept { return shape_[2]; }
  /// Positions there is room for.
  [[nodiscard]] std::size_t capacity() const noexcept { return shape_[3]; }
  /// Positions filled: the position of the next token.
  [[nodiscard]] std::size_t length() const noexcept { return length_; }
  [[nodiscard]] std::size_t room() const noexcept { return capacity() - length_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return shape_.count() * sizeof(T); }

  /// Forgets everything from position `length` on. Throws index_error when that much is not there.
  void truncate(std::size_t length) {
    if (length > length_)
      throw index_error("[kv_cache] cannot shorten " + std::to_string(length_) + " positions to " +
                        std::to_string(length));
    length_ = length;
  }
  void clear() noexcept { length_ = 0; }

  /// Throws index_error unless `count` more positions fit a batch of `batch` sequences.
  void require_room(std::size_t batch_wanted, std::size_t count) const {
    if (batch_wanted != batch())
      throw shape_error("[kv_cache] made for a batch of " + std::to_string(batch()) + ", used with " +
                        std::to_string(batch_wanted));
    if (count > room())
      throw index_error("[kv_cache] " + std::to_string(count) + " tokens after " + std::to_string(length_) +
                        " do not fit " + std::to_string(capacity()) + " positions");
  }
  /// Marks `count` positions, which every layer has written, as filled.
  void advance(std::size_t count) noexcept { length_ += count; }

  /// Keys (or values) of a layer as attention reads them.
  [[nodiscard]] head_array<const T> keys(std::size_t layer) const noexcept { return array(layer, 0); }
  [[nodiscard]] head_array<const T> values(std::size_t layer) const noexcept { return array(layer, 1); }

  /// Writes `count` positions from `position` on: rows of `width` numbers, `row` apart, sequences `sequence` apart.
  /// The caller has made sure of the room.
  void write_keys(std::size_t layer, std::size_t position, std::size_t count, const T* from, std::size_t sequence,
                  std::size_t row) noexcept {
    write(array(layer, 0), position, count, from, sequence, row);
  }
  void write_values(std::size_t layer, std::size_t position, std::size_t count, const T* from, std::size_t sequence,
                    std::size_t row) noexcept {
    write(array(layer, 1), position, count, from, sequence, row);
  }

 private:
  [[nodiscard]] head_array<T> array(std::size_t layer, std::size_t which) const noexcept {
    const std::size_t sequence = shape_[3] * shape_[4];
    return {static_cast<T*>(memory_->data()) + (layer * 2 + which) * shape_[2] * sequence, sequence, shape_[4]};
  }
  void write(head_array<T> to, std::size_t position, std::size_t count, const T* from, std::size_t sequence,
             std::size_t row) noexcept {
    for (std::size_t b = 0; b < batch(); ++b)
      for (std::size_t t = 0; t < count; ++t)
        std::memcpy(to.at(b, position + t, 0, 0), from + b * sequence + t * row, shape_[4] * sizeof(T));
  }

  Shape shape_;
  ref<storage> memory_;
  std::size_t length_ = 0;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
