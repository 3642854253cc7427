// Memory for tensors, graph nodes and scratch: blocks aligned to a cache line, kept in a pool when freed.
//
// A training step allocates the same sizes again and again. Freed blocks go to a free list of their size class, one
// set of lists per thread, so that after the first step no call reaches the general allocator. Size classes grow by
// a quarter (four to each power of two): at most a fifth of a block is waste.
// `release_cached_memory()` gives the calling thread's free blocks back to the system.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <tinygrad/core/config.hpp>
#include <type_traits>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {

inline constexpr std::size_t cache_line = 64;

namespace detail {

/// The free lists of one thread.
class block_pool {
 public:
  static constexpr std::size_t class_count = 4 * 60;

  /// Number of the smallest size class that holds `bytes` (at least one cache line).
  [[nodiscard]] static constexpr std::size_t class_of(std::size_t bytes) noexcept {
    if (bytes <= cache_line) return 0;
    const auto last = bytes - 1;
    const auto exponent = static_cast<std::size_t>(std::bit_width(last)) - 1;  // 2^exponent <= last
    const std::size_t quarter = (last >> (exponent - 2)) & 3;
    return (exponent - 6) * 4 + quarter + 1;
  }
  /// Bytes of a class, the inverse of class_of: 64, 80, 96, 112, 128, 160, ...
  [[nodiscard]] static constexpr std::size_t class_bytes(std::size_t index) noexcept {
    return (4 + index % 4) << (index / 4 + 4);
  }

  block_pool() = default;
  block_pool(const block_pool&) = delete;
  block_pool& operator=(const block_pool&) = delete;
  ~block_pool() { release(); }

  [[nodiscard]] void* take(std::size_t index) {
    if (free_block* block = lists_[index]) {
      lists_[index] = block->next;
      cached_bytes_ -= class_bytes(index);
      return block;
    }
    return ::operator new (class_bytes(index), std::align_val_t{cache_line});
  }
  void give(void* memory, std::size_t index) noexcept {
    lists_[index] = ::new (memory) free_block{lists_[index]};
    cached_bytes_ += class_bytes(index);
  }
  void release() noexcept {
    for (free_block*& list : lists_)
      while (list != nullptr) ::operator delete (std::exchange(list, list->next), std::align_val_t{cache_line});
    cached_bytes_ = 0;
  }
  [[nodiscard]] std::size_t cached_bytes() const noexcept { return cached_bytes_; }

 private:
  struct free_block {
    free_block* next;
  };
  std::array<free_block*, class_count> lists_{};
  std::size_t cached_bytes_ = 0;
};

/// The calling thread's pool, or null once the thread is past destroying it (a tensor of static storage duration
/// may outlive it; its memory then goes straight back to the system).
[[nodiscard]] inline block_pool* this_thread_pool() noexcept {
  enum class state : unsigned char { unborn, alive, dead };
  static thread_local state life = state::unborn;  // trivial: stays readable until the thread is gone
  struct owner {
    block_pool pool;
    owner() noexcept { life = state::alive; }
    ~owner() { life = state::dead; }
  };
  if (life == state::dead) return nullptr;
  static thread_local owner mine;
  return &mine.pool;
}

}  // namespace detail

/// `bytes` of memory, 64-byte aligned. Throws std::bad_alloc.
[[nodiscard]] inline void* pool_allocate(std::size_t bytes) {
  const std::size_t index = detail::block_pool::class_of(bytes);
  if (index >= detail::block_pool::class_count) throw std::bad_alloc();
  if (detail::block_pool* pool = detail::this_thread_pool()) return pool->take(index);
  return ::operator new (detail::block_pool::class_bytes(index), std::align_val_t{cache_line});
}

/// Frees what pool_allocate gave, with the same `bytes`. Any thread may free; the block joins that thread's pool.
inline void pool_free(void* memory, std::size_t bytes) noexcept {
  const std::size_t index = detail::block_pool::class_of(bytes);
  if (detail::block_pool* pool = detail::this_thread_pool()) return pool->give(memory, index);
  ::operator delete (memory, std::align_val_t{cache_line});
}

/// Gives the calling thread's cached free blocks back to the system.
inline void release_cached_memory() noexcept {
  if (detail::block_pool* pool = detail::this_thread_pool()) pool->release();
}

/// Bytes the calling thread keeps for reuse.
[[nodiscard]] inline std::size_t cached_memory() noexcept {
  const detail::block_pool* pool = detail::this_thread_pool();
  return pool != nullptr ? pool->cached_bytes() : 0;
}

/// The pool as a standard allocator, for std::vector and friends inside the library.
template <class T>
struct pool_allocator {
  using value_type = T;
  pool_allocator() noexcept = default;
  template <class U>
  pool_allocator(const pool_allocator<U>&) noexcept {}
  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(pool_allocate(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) noexcept { pool_free(memory, count * sizeof(T)); }
  template <class U>
  friend bool operator==(const pool_allocator&, const pool_allocator<U>&) noexcept {
    return true;
  }
};

/// Uninitialised array of trivial elements from the pool, freed at the end of its scope.
template <class T>
class scratch {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  /// Throws std::bad_alloc.
  explicit scratch(std::size_t count) : data_(pool_allocator<T>{}.allocate(count)), count_(count) {}
  scratch(scratch&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  scratch& operator=(scratch&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~scratch() {
    if (data_ != nullptr) pool_allocator<T>{}.deallocate(data_, count_);
  }
  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return data_[i]; }

 private:
  T* data_;
  std::size_t count_;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
