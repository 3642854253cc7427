// A trie over bytes: which of many strings begin at a place of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/text/flat_map.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

class byte_trie {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  static constexpr std::uint32_t root = 0;

  /// False, and nothing changes, when the string has a value already. An empty string is never found.
  bool insert(std::string_view string, std::uint32_t value) {
    std::uint32_t node = root;
    for (const char c : string) node = child_or_new(node, c);
    if (node == root || values_[node] != none) return false;
    values_[node] = value;
    return true;
  }

  /// The node one byte further, or `none`.
  [[nodiscard]] std::uint32_t step(std::uint32_t node, char byte) const noexcept {
    const std::uint32_t* const child = children_.find(key_of(node, byte));
    return child ? *child : none;
  }
  /// The value of the string that ends at a node, or `none`.
  [[nodiscard]] std::uint32_t value(std::uint32_t node) const noexcept { return values_[node]; }
  [[nodiscard]] bool empty() const noexcept { return values_.size() == 1; }

 private:
  static std::uint64_t key_of(std::uint32_t node, char byte) noexcept {
    return std::uint64_t{node} << 8 | static_cast<unsigned char>(byte);
  }
  std::uint32_t child_or_new(std::uint32_t node, char byte) {
    if (const std::uint32_t next = step(node, byte); next != none) return next;
    const auto child = static_cast<std::uint32_t>(values_.size());
    children_.insert(key_of(node, byte), child);
    values_.push_back(none);
    return child;
  }

  flat_map<std::uint32_t> children_;
  std::vector<std::uint32_t> values_{none};
};

}  // namespace tinygrad::inline TINYGRAD_ABI
