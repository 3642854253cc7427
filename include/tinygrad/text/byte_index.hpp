// The byte strings of a vocabulary, one after the other in memory, found by id and by content.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/text/token.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

class byte_index {
 public:
  byte_index() : byte_index({}, {}) {}

  /// Of equal strings the first is found. Those marked in `last_resort` are found only where no other has their bytes;
  /// empty ones never.
  byte_index(const std::vector<std::string>& strings, const std::vector<bool>& last_resort)
      : slots_(std::bit_ceil(strings.size() * 2 + 2), no_token) {
    std::size_t total = 0;
    for (const std::string& s : strings) total += s.size();
    bytes_.reserve(total);
    starts_.reserve(strings.size() + 1);
    starts_.push_back(0);
    for (const std::string& s : strings) {
      bytes_ += s;
      starts_.push_back(bytes_.size());
    }
    for (const bool late : {false, true}) {
      for (std::size_t k = 0; k < strings.size(); ++k) {
        if (last_resort[k] == late && !strings[k].empty()) insert(static_cast<token_id>(k));
      }
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return starts_.size() - 1; }
  /// The string of a valid id.
  [[nodiscard]] std::string_view operator[](token_id id) const noexcept {
    const auto k = static_cast<std::size_t>(id);
    return {bytes_.data() + starts_[k], starts_[k + 1] - starts_[k]};
  }
  /// The id of a string, or no_token.
  [[nodiscard]] token_id find(std::string_view bytes) const noexcept { return slots_[locate(bytes)]; }

 private:
  static std::uint64_t hash(std::string_view bytes) noexcept {
    std::uint64_t h = bytes.size();
    while (!bytes.empty()) {
      std::uint64_t word = 0;
      const std::size_t n = bytes.size() < 8 ? bytes.size() : 8;
      std::memcpy(&word, bytes.data(), n);
      h = std::rotl((h ^ word) * 0x9E3779B97F4A7C15u, 29);
      bytes.remove_prefix(n);
    }
    return h * 0xFF51AFD7ED558CCDu;
  }

  std::size_t locate(std::string_view bytes) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(hash(bytes) >> 20) & mask;
    while (slots_[at] != no_token && (*this)[slots_[at]] != bytes) at = (at + 1) & mask;
    return at;
  }

  void insert(token_id id) {
    const std::size_t at = locate((*this)[id]);
    if (slots_[at] == no_token) slots_[at] = id;
  }

  std::string bytes_;
  std::vector<std::size_t> starts_;  // where each string begins in bytes_, and the end
  std::vector<token_id> slots_;      // open addressing, at most half full
};

}  // namespace tinygrad::inline TINYGRAD_ABI
