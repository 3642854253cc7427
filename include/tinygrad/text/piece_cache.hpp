// What encoders keep between pieces: the tokens of pieces seen before, and a buffer for the tokens on their way out.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <tinygrad/core/config.hpp>
#include <tinygrad/text/token.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

/// Ids on their way into a vector: a buffer in the first-level cache, handed over by the thousand.
class token_sink {
 public:
  explicit token_sink(std::vector<token_id>& out) : out_(out) {}
  token_sink(const token_sink&) = delete;
  token_sink& operator=(const token_sink&) = delete;

  void operator()(token_id id) {
    if (used_ == capacity) flush();
    buffer_[used_++] = id;
  }
  /// Room for `Most` ids at once; the caller writes there and says how many with `advance`.
  template <std::size_t Most>
  token_id* room() {
    if (used_ + Most > capacity) flush();
    return buffer_ + used_;
  }
  void advance(std::size_t count) { used_ += count; }
  void flush() {
    out_.insert(out_.end(), buffer_, buffer_ + used_);
    used_ = 0;
  }

 private:
  static constexpr std::size_t capacity = 2048;
  std::vector<token_id>& out_;
  std::size_t used_ = 0;
  token_id buffer_[capacity];
};

/// Remembers the tokens of pieces seen lately: sets of two lines, a newcomer takes the place of the older one.
class PieceCache {
 public:
  static constexpr std::size_t most_bytes = 15, most_tokens = 11;

  struct piece_key {
    std::uint64_t low = 0, high = 0;  // the bytes, zeros behind them, the length in the last byte; 0: no piece
    bool operator==(const piece_key&) const = default;
  };
  struct alignas(64) line {
    piece_key key;
    std::uint32_t count = 0;
    token_id ids[most_tokens] = {};
  };

  /// Large enough for a text of that many bytes, up to two megabytes.
  explicit PieceCache(std::size_t text_bytes)
      : shift_(64 - set_bits_for(text_bytes)), lines_(std::size_t{2} << set_bits_for(text_bytes)) {}

  [[nodiscard]] bool serves(std::size_t text_bytes) const noexcept { return shift_ <= 64 - set_bits_for(text_bytes); }

  /// The line of a piece, or nullptr.
  [[nodiscard]] const line* find(const piece_key& key) const noexcept {
    const line* const set = &lines_[set_of(key)];
    if (set[0].key == key) return &set[0];
    return set[1].key == key ? &set[1] : nullptr;
  }

  /// Asks for the memory that `find` will look at.
  void prefetch([[maybe_unused]] const piece_key& key) const noexcept {
#if defined(__GNUC__)
    __builtin_prefetch(&lines_[set_of(key)]);
#endif
  }

  /// `count` at most `most_tokens`.
  void put(const piece_key& key, const token_id* ids, std::size_t count) noexcept {
    line* const set = &lines_[set_of(key)];
    set[1] = set[0];
    set[0].key = key;
    set[0].count = static_cast<std::uint32_t>(count);
    std::memcpy(set[0].ids, ids, count * sizeof(token_id));
  }

  /// The key of the n bytes at p, n from 1 to most_bytes. `end` is how far may be read.
  [[nodiscard]] static piece_key key_of(const char* p, std::size_t n, const char* end) noexcept {
    std::uint64_t words[2] = {};
    if (std::endian::native == std::endian::little && end - p >= 16) {
      std::memcpy(words, p, 16);
      words[0] &= n >= 8 ? ~std::uint64_t{0} : ~(~std::uint64_t{0} << (8 * n));
      words[1] &= n <= 8 ? 0 : ~(~std::uint64_t{0} << (8 * (n - 8)));
    } else {
      std::memcpy(words, p, n);
    }
    constexpr int last_byte = std::endian::native == std::endian::little ? 56 : 0;
    return {words[0], words[1] | std::uint64_t{n} << last_byte};
  }

 private:
  // One set of two lines for 32 bytes of text, from 2^8 sets (32 KiB) to 2^14 (2 MiB).
  static int set_bits_for(std::size_t text_bytes) noexcept {
    int bits = 8;
    while (bits < 14 && std::size_t{32} << bits < text_bytes) ++bits;
    return bits;
  }
  std::size_t set_of(const piece_key& key) const noexcept {
    const std::uint64_t mixed = key.low ^ std::rotl(key.high * 0xFF51AFD7ED558CCDu, 31);
    return static_cast<std::size_t>(mixed * 0x9E3779B97F4A7C15u >> shift_) * 2;
  }

  int shift_;
  std::vector<line> lines_;
};

/// Lends a cache to one call at a time and keeps it, with what it has learned, for the next. A call that finds it lent
/// out or too small gets a new one; of two that come back one stays. What a tokenizer answers never depends on it.
class CacheKeeper {
 public:
  CacheKeeper() = default;
  CacheKeeper(const CacheKeeper&) noexcept {}  // a copy starts with none
  CacheKeeper& operator=(const CacheKeeper&) noexcept { return *this; }
  ~CacheKeeper() { delete kept_.load(); }

  [[nodiscard]] std::unique_ptr<PieceCache> take(std::size_t text_bytes) const {
    std::unique_ptr<PieceCache> cache(kept_.exchange(nullptr));
    if (!cache || !cache->serves(text_bytes)) cache = std::make_unique<PieceCache>(text_bytes);
    return cache;
  }
  void give_back(std::unique_ptr<PieceCache> cache) const noexcept { cache.reset(kept_.exchange(cache.release())); }

 private:
  mutable std::atomic<PieceCache*> kept_{nullptr};
};

}  // namespace tinygrad::inline TINYGRAD_ABI
