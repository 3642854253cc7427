// Counts calls to the general allocator, and refuses large ones on request. Include in exactly one source file of a
// test program: it replaces the global operator new and delete of that program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // new is replaced here, by what free undoes
#endif

namespace test_support {

inline std::atomic<std::size_t>& allocation_counter() {
  static std::atomic<std::size_t> counter{0};
  return counter;
}
/// Calls to operator new so far, in all threads.
inline std::size_t allocations() { return allocation_counter().load(); }

inline std::atomic<std::size_t>& allocation_limit() {
  static std::atomic<std::size_t> limit{SIZE_MAX};
  return limit;
}
inline std::atomic<std::size_t>& refused_counter() {
  static std::atomic<std::size_t> counter{0};
  return counter;
}
/// While it lives, requests for more than `bytes` find no memory.
class out_of_memory_beyond {
 public:
  explicit out_of_memory_beyond(std::size_t bytes) : before_(refused_counter().load()) { allocation_limit() = bytes; }
  out_of_memory_beyond(const out_of_memory_beyond&) = delete;
  out_of_memory_beyond& operator=(const out_of_memory_beyond&) = delete;
  ~out_of_memory_beyond() { allocation_limit() = SIZE_MAX; }
  /// Requests refused so far, in all threads.
  [[nodiscard]] std::size_t refused() const { return refused_counter().load() - before_; }

 private:
  std::size_t before_;
};

inline void* counted_or_null(std::size_t bytes, std::size_t alignment) noexcept {
  ++allocation_counter();
  if (bytes > allocation_limit().load()) {
    ++refused_counter();
    return nullptr;
  }
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
}
inline void* counted(std::size_t bytes, std::size_t alignment) {
  void* memory = counted_or_null(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace test_support

void* operator new(std::size_t bytes) { return test_support::counted(bytes, alignof(std::max_align_t)); }
void* operator new[](std::size_t bytes) { return test_support::counted(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return test_support::counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return test_support::counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return test_support::counted_or_null(bytes, alignof(std::max_align_t));
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return test_support::counted_or_null(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return test_support::counted_or_null(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return test_support::counted_or_null(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
