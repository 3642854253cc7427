// A hash table from 64-bit keys to small values, for tables that are filled once and then read very often: open
// addressing, linear probing, at most half full, one cache line a lookup as a rule. The key ~0 is reserved.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <tinygrad/core/config.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

template <class Value>
class flat_map {
 public:
  explicit flat_map(std::size_t expected = 0) { rehash(expected); }

  /// False, and nothing changes, when the key is there already.
  bool insert(std::uint64_t key, Value value) {
    if ((size_ + 1) * 2 > slots_.size()) rehash(size_ * 2 + 1);
    slot& place = slots_[locate(key)];
    if (place.key == key) return false;
    place = {key, value};
    ++size_;
    return true;
  }

  /// The value of `key`, or nullptr.
  [[nodiscard]] const Value* find(std::uint64_t key) const noexcept {
    const slot& place = slots_[locate(key)];
    return place.key == key ? &place.value : nullptr;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  static constexpr std::uint64_t no_key = ~std::uint64_t{0};

  struct slot {
    std::uint64_t key = no_key;
    Value value{};
  };

  // The slot that has the key, or the free one where it would go.
  std::size_t locate(std::uint64_t key) const noexcept {
    std::size_t at = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> shift_);
    while (slots_[at].key != key && slots_[at].key != no_key) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  void rehash(std::size_t expected) {
    std::vector<slot> old(std::bit_ceil(expected * 2 + 2));
    old.swap(slots_);
    shift_ = 64 - std::countr_zero(slots_.size());
    for (const slot& s : old) {
      if (s.key != no_key) slots_[locate(s.key)] = s;
    }
  }

  std::vector<slot> slots_;
  std::size_t size_ = 0;
  int shift_ = 0;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
