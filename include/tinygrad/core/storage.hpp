// storage: a counted block of memory that several tensors may look into, with a version that counts its changes.
//
// Header and elements share one pooled block. A storage may also borrow memory that someone else owns (a mapped
// file, a user's array): then it keeps that owner alive and frees nothing itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <tinygrad/core/buffer.hpp>
#include <tinygrad/core/intrusive.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

class storage {
 public:
  /// Uninitialised memory for `bytes`, 64-byte aligned. Throws std::bad_alloc.
  [[nodiscard]] static ref<storage> allocate(std::size_t bytes) {
    if (bytes > static_cast<std::size_t>(PTRDIFF_MAX) - header) throw std::bad_alloc();
    void* block = pool_allocate(header + bytes);
    return ref<storage>::adopt(::new (block) storage(static_cast<std::byte*>(block) + header, header + bytes));
  }
  /// A view of memory that `owner` keeps alive.
  [[nodiscard]] static ref<storage> borrow(void* data, std::shared_ptr<const void> owner) {
    void* block = pool_allocate(header);
    auto* result = ::new (block) storage(data, header);
    result->owner_ = std::move(owner);
    return ref<storage>::adopt(result);
  }

  [[nodiscard]] void* data() const noexcept { return data_; }
  /// Counts in-place changes; shared by all tensors that look into this storage.
  [[nodiscard]] std::uint32_t version() const noexcept { return version_; }
  void bump_version() noexcept { ++version_; }
  /// True when exactly one handle refers to this storage.
  [[nodiscard]] bool unique() const noexcept { return count_.load(std::memory_order_acquire) == 1; }

  void acquire() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const std::size_t bytes = block_bytes_;
    this->~storage();
    pool_free(this, bytes);
  }

 private:
  static constexpr std::size_t header = cache_line;  // keeps the elements aligned as the block is

  storage(void* data, std::size_t block_bytes) noexcept : data_(data), block_bytes_(block_bytes) {}
  ~storage() = default;

  std::atomic<std::uint32_t> count_{1};
  std::uint32_t version_ = 0;
  void* data_;
  std::size_t block_bytes_;
  std::shared_ptr<const void> owner_;
};
static_assert(sizeof(storage) <= cache_line);

}  // namespace tinygrad::inline TINYGRAD_ABI
