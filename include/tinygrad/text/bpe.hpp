// Byte-level byte-pair encoding: GPT-2's tokenizer and those of its kind (Llama 3, Qwen 2, SmolLM, Falcon, StarCoder
// ...).
//
//   text -> tokens declared in the vocabulary (added_tokens.hpp) -> pieces (pretokenizer.hpp) -> merges (bpe_merge.hpp)
//
// Vocabulary files spell bytes in an alphabet of printable characters: the 188 bytes that are printable in Latin-1
// stand for themselves, the other 68 for U+0100 and up, so a blank is "Ġ" (Radford et al. 2019, encoder.py).
//
// Any bytes can be encoded; what is no UTF-8 keeps its bytes (FF is the token of the byte FF), so that
// decode_bytes(encode(x)) == x always. A tokenizer does not change after it is made: any number of threads may share
// it.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/text/added_tokens.hpp>
#include <tinygrad/text/bpe_merge.hpp>
#include <tinygrad/text/byte_index.hpp>
#include <tinygrad/text/pretokenizer.hpp>
#include <tinygrad/text/token.hpp>
#include <tinygrad/text/utf8.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

/// What a tokenizer is made from; the readers of load_tokenizer.hpp fill it.
struct bpe_vocabulary {
  std::vector<std::string> tokens;  ///< by id, in the byte alphabet; empty: no such token; added ones: as in the text
  std::vector<std::string> merges;  ///< "left right" in the byte alphabet, the first merges first
  std::vector<added_token> added;
  pre_tokenizer pre = pre_tokenizer::gpt2;
  bool ignore_merges = false;  ///< a piece that is a token is that token, whatever the merges say
  special_ids special;
};

namespace bpe_detail {

/// Code point of the alphabet for each byte.
constexpr std::array<char32_t, 256> byte_alphabet() {
  std::array<char32_t, 256> alphabet{};
  char32_t next = 0x100;
  for (char32_t b = 0; b < 256; ++b) {
    const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    alphabet[b] = printable ? b : next++;
  }
  return alphabet;
}

/// The bytes that `spelling` stands for, or nothing when a character is not of the alphabet.
inline std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
  constexpr auto reverse = [] {
    std::array<std::int16_t, 0x144> table{};
    for (std::int16_t& entry : table) entry = -1;
    constexpr auto alphabet = byte_alphabet();
    for (std::int16_t b = 0; b < 256; ++b) table[alphabet[static_cast<std::size_t>(b)]] = b;
    return table;
  }();
  std::string bytes;
  for (const char *p = spelling.data(), *const end = p + spelling.size(); p < end;) {
    const utf8_char c = decode_utf8(p, end);
    if (c.status != utf8_status::valid || c.code >= reverse.size() || reverse[c.code] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(static_cast<unsigned char>(reverse[c.code])));
    p += c.length;
  }
  return bytes;
}

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

  /// The line of a piece, or nullptr.
  [[nodiscard]] const line* find(const piece_key& key) const noexcept {
    const line* const set = &lines_[set_of(key)];
    if (set[0].key == key) return &set[0];
    return set[1].key == key ? &set[1] : nullptr;
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
    return {words[0], words[1] | std::uint64_t{n} << 56};
  }

 private:
  static constexpr int set_bits = 14;  // 2^14 sets of two lines: two megabytes

  static std::size_t set_of(const piece_key& key) noexcept {
    const std::uint64_t mixed = key.low ^ std::rotl(key.high * 0xFF51AFD7ED558CCDu, 31);
    return static_cast<std::size_t>(mixed * 0x9E3779B97F4A7C15u >> (64 - set_bits)) * 2;
  }

  std::vector<line> lines_ = std::vector<line>(std::size_t{2} << set_bits);
};

/// Lends a cache to one call at a time and keeps it, with what it has learned, for the next. A call that finds it lent
/// out gets a new one; of two that come back one stays. What a tokenizer answers never depends on it.
class CacheKeeper {
 public:
  CacheKeeper() = default;
  CacheKeeper(const CacheKeeper&) noexcept {}  // a copy starts with none
  CacheKeeper& operator=(const CacheKeeper&) noexcept { return *this; }
  ~CacheKeeper() { delete kept_.load(); }

  [[nodiscard]] std::unique_ptr<PieceCache> take() const {
    std::unique_ptr<PieceCache> cache(kept_.exchange(nullptr));
    return cache ? std::move(cache) : std::make_unique<PieceCache>();
  }
  void give_back(std::unique_ptr<PieceCache> cache) const noexcept { cache.reset(kept_.exchange(cache.release())); }

 private:
  mutable std::atomic<PieceCache*> kept_{nullptr};
};

}  // namespace bpe_detail

class BpeTokenizer {
 public:
  /// value_error when tokens, merges and added tokens do not fit together.
  explicit BpeTokenizer(bpe_vocabulary vocabulary)
      : tokens_(spell_out(vocabulary)),
        merges_(byte_ids(tokens_), vocabulary.merges.size()),
        pre_(vocabulary.pre),
        ignore_merges_(vocabulary.ignore_merges),
        special_(vocabulary.special) {
    for (std::size_t b = 0; b < 256; ++b) {
      if (merges_.byte_id(static_cast<char>(b)) == no_token) every_byte_ = false;
    }
    add_merges(vocabulary.merges);
    control_.resize(tokens_.size());
    for (added_token& token : vocabulary.added) {
      control_[static_cast<std::size_t>(token.id)] = token.control;
      added_.add(std::move(token));
    }
  }

  [[nodiscard]] std::size_t vocab_size() const noexcept { return tokens_.size(); }
  [[nodiscard]] const special_ids& special() const noexcept { return special_; }
  [[nodiscard]] pre_tokenizer kind() const noexcept { return pre_; }

  /// Tokens of `text`. Control tokens written in it are ordinary text unless the options say otherwise.
  /// value_error only when the vocabulary lacks a byte that the text has.
  [[nodiscard]] std::vector<token_id> encode(std::string_view text, const encode_options& options = {}) const {
    std::vector<token_id> ids;
    ids.reserve(text.size() / 3 + 8);
    if (!every_byte_) check_bytes(text);
    std::size_t at = 0;
    while (added_.any(options.parse_special) && at < text.size()) {
      const AddedTokens::match m = added_.find(text, at, options.parse_special);
      encode_ordinary(text.substr(at, m.begin - at), ids);
      if (m.id != no_token) ids.push_back(m.id);
      at = m.end;
    }
    if (at < text.size()) encode_ordinary(text.substr(at), ids);
    if (options.add_special) add_special_ids(ids, special_);
    return ids;
  }

  /// The bytes the tokens stand for, one after the other.
  [[nodiscard]] std::string decode_bytes(std::span<const token_id> ids) const {
    std::string bytes;
    for (const token_id id : ids) bytes += token_bytes(id);
    return bytes;
  }
  /// The same as text: U+FFFD for what is no UTF-8. Spaces stay as they are.
  [[nodiscard]] std::string decode(std::span<const token_id> ids) const {
    return replace_invalid_utf8(decode_bytes(ids));
  }

  /// index_error for an id that is none.
  [[nodiscard]] std::string_view token_bytes(token_id id) const {
    check_token(id, tokens_.size(), "bpe");
    return tokens_[id];
  }
  /// The token that is exactly these bytes, or no_token.
  [[nodiscard]] token_id find_token(std::string_view bytes) const noexcept { return tokens_.find(bytes); }
  [[nodiscard]] bool is_control(token_id id) const {
    check_token(id, tokens_.size(), "bpe");
    return control_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] bool strips_leading_space() const noexcept { return false; }
  [[nodiscard]] const AddedTokens& added_tokens() const noexcept { return added_; }

 private:
  void encode_ordinary(std::string_view text, std::vector<token_id>& ids) const {
    if (text.empty()) return;
    bpe_detail::token_sink sink(ids);
    auto cache = cache_.take();
    const char* const end = text.data() + text.size();
    for_each_piece(pre_, text, [&](const char* p, const char* q) {
      const std::string_view piece(p, static_cast<std::size_t>(q - p));
      if (piece.size() <= bpe_detail::PieceCache::most_bytes) {
        encode_short(piece, end, *cache, sink);
      } else if (const token_id id = whole_token(piece); id != no_token) {
        sink(id);
      } else {
        merge_piece(merges_, piece, sink);
      }
    });
    cache_.give_back(std::move(cache));
    sink.flush();
  }

  token_id whole_token(std::string_view piece) const noexcept {
    return ignore_merges_ ? tokens_.find(piece) : no_token;
  }

  // A piece that may be in the cache. `end` is how far may be read.
  void encode_short(std::string_view piece, const char* end, bpe_detail::PieceCache& cache,
                    bpe_detail::token_sink& sink) const {
    using bpe_detail::PieceCache;
    const PieceCache::piece_key key = PieceCache::key_of(piece.data(), piece.size(), end);
    token_id* const room = sink.room<bpe_detail::short_piece>();
    if (const PieceCache::line* const line = cache.find(key)) {
      std::memcpy(room, line->ids, sizeof line->ids);
      return sink.advance(line->count);
    }
    room[0] = whole_token(piece);
    const std::size_t count =
        room[0] != no_token ? 1 : bpe_detail::merge_short(merges_, piece.data(), piece.size(), room);
    sink.advance(count);
    if (count <= PieceCache::most_tokens) cache.put(key, room, count);
  }

  // --- making one ---

  static byte_index spell_out(bpe_vocabulary& vocabulary) {
    std::vector<bool> is_added(vocabulary.tokens.size());
    for (const added_token& token : vocabulary.added) {
      if (!valid_token(token.id, vocabulary.tokens.size())) {
        throw value_error("[bpe] added token '" + token.text + "' has id " + std::to_string(token.id) +
                          "; the vocabulary has " + std::to_string(vocabulary.tokens.size()) + " ids");
      }
      is_added[static_cast<std::size_t>(token.id)] = true;
      vocabulary.tokens[static_cast<std::size_t>(token.id)] = token.text;
    }
    for (std::size_t k = 0; k < vocabulary.tokens.size(); ++k) {
      if (is_added[k]) continue;
      auto bytes = bpe_detail::bytes_of_spelling(vocabulary.tokens[k]);
      if (!bytes) {
        throw value_error("[bpe] token " + std::to_string(k) + " '" + vocabulary.tokens[k] +
                          "' has a character outside the byte alphabet");
      }
      vocabulary.tokens[k] = std::move(*bytes);
    }
    return byte_index(vocabulary.tokens, is_added);
  }

  static std::array<token_id, 256> byte_ids(const byte_index& tokens) {
    std::array<token_id, 256> ids;
    for (std::size_t b = 0; b < 256; ++b) {
      const char byte = static_cast<char>(b);
      ids[b] = tokens.find({&byte, 1});
    }
    return ids;
  }

  void add_merges(const std::vector<std::string>& lines) {
    for (std::size_t k = 0; k < lines.size(); ++k) {
      const std::size_t blank = lines[k].find(' ');
      const auto left = bpe_detail::bytes_of_spelling(std::string_view(lines[k]).substr(0, blank));
      const auto right = blank == std::string::npos
                             ? std::nullopt
                             : bpe_detail::bytes_of_spelling(std::string_view(lines[k]).substr(blank + 1));
      if (!left || !right || left->empty() || right->empty()) refuse_merge(k, lines[k], "is no pair of tokens");
      const token_id a = tokens_.find(*left), b = tokens_.find(*right), product = tokens_.find(*left + *right);
      if (a == no_token || b == no_token) refuse_merge(k, lines[k], "names a token that the vocabulary lacks");
      if (product == no_token) refuse_merge(k, lines[k], "makes a token that the vocabulary lacks");
      merges_.add(a, b, product);
    }
  }

  [[noreturn]] TINYGRAD_COLD static void refuse_merge(std::size_t k, const std::string& line, const char* why) {
    throw value_error("[bpe] merge " + std::to_string(k) + " '" + line + "' " + why);
  }

  void check_bytes(std::string_view text) const {
    for (std::size_t k = 0; k < text.size(); ++k) {
      if (merges_.byte_id(text[k]) != no_token) continue;
      throw value_error("[bpe] no token for byte " + std::to_string(static_cast<unsigned char>(text[k])) +
                        " at offset " + std::to_string(k) + "; this vocabulary does not have all 256 bytes");
    }
  }

  byte_index tokens_;
  MergeTable merges_;
  AddedTokens added_;
  std::vector<bool> control_;
  pre_tokenizer pre_;
  bool ignore_merges_;
  bool every_byte_ = true;
  special_ids special_;
  bpe_detail::CacheKeeper cache_;
};

static_assert(tokenizer<BpeTokenizer>);

}  // namespace tinygrad::inline TINYGRAD_ABI
