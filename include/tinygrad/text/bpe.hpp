// Byte-level byte-pair encoding: the tokenizer of GPT-2 and its kind (Llama 3, Qwen 2, SmolLM, Falcon, StarCoder ...).
//
//   text -> tokens declared in the vocabulary (added_tokens.hpp) -> pieces (pretokenizer.hpp) -> merges (merge.hpp)
//
// Vocabulary files spell bytes in an alphabet of printable characters: the 188 bytes that are printable in Latin-1
// stand for themselves, the other 68 for U+0100 and up, so a blank is "Ġ" (Radford et al. 2019, encoder.py).
//
// Any bytes can be encoded; what is no UTF-8 keeps its bytes (FF is the token of the byte FF), so that
// decode_bytes(encode(x)) == x (unless the model composes its text). A tokenizer does not change after it is made: any
// number of threads may share it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/text/added_tokens.hpp>
#include <tinygrad/text/byte_index.hpp>
#include <tinygrad/text/merge.hpp>
#include <tinygrad/text/nfc.hpp>
#include <tinygrad/text/piece_cache.hpp>
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
  bool nfc = false;            ///< text is composed first (nfc.hpp); decoding gives the composed text back
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

/// Where merging starts: the token of every byte, and the rule that two bytes have. Nearly every lookup of a search is
/// one of these, so they have a table of their own.
struct byte_tables {
  std::array<token_id, 256> ids{};
  std::vector<std::uint32_t> rules = std::vector<std::uint32_t>(256 * 256, no_rule);  // [left][right]

  [[nodiscard]] token_id id(char byte) const noexcept { return ids[static_cast<unsigned char>(byte)]; }
  [[nodiscard]] std::uint32_t rule(char left, char right) const noexcept {
    return rules[std::size_t{static_cast<unsigned char>(left)} << 8 | static_cast<unsigned char>(right)];
  }
};

}  // namespace bpe_detail

class BpeTokenizer {
 public:
  /// value_error when tokens, merges and added tokens do not fit together.
  explicit BpeTokenizer(bpe_vocabulary vocabulary)
      : tokens_(spell_out(vocabulary)),
        merges_(vocabulary.merges.size()),
        control_(tokens_.size()),
        pre_(vocabulary.pre),
        ignore_merges_(vocabulary.ignore_merges),
        nfc_(vocabulary.nfc),
        special_(vocabulary.special) {
    add_merges(vocabulary.merges);
    fill_byte_tables();
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
    added_.split(
        text, options.parse_special,
        [&](std::string_view part) {
          if (!every_byte_) check_bytes(part, static_cast<std::size_t>(part.data() - text.data()));
          if (nfc_) return encode_ordinary(to_nfc(part), ids);
          encode_ordinary(part, ids);
        },
        [&](token_id id) { ids.push_back(id); });
    if (options.add_special) add_special_ids(ids, special_);
    return ids;
  }

  /// The bytes the tokens stand for, one after the other.
  [[nodiscard]] std::string decode_bytes(std::span<const token_id> ids, bool hide_control = false) const {
    std::string bytes;
    for (const token_id id : ids) {
      const std::string_view part = token_bytes(id);
      if (!hide_control || !is_control(id)) bytes += part;
    }
    return bytes;
  }
  /// The same as text: U+FFFD for what is no UTF-8. Spaces stay as they are.
  [[nodiscard]] std::string decode(std::span<const token_id> ids, bool hide_control = false) const {
    return replace_invalid_utf8(decode_bytes(ids, hide_control));
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
  // Pieces are collected by the dozen: while the last of them are cut out, memory fetches what the first need.
  struct waiting {
    std::string_view piece;
    PieceCache::piece_key key;  // unless the piece is too long for the cache
  };
  static constexpr std::size_t batch_size = 16;

  void encode_ordinary(std::string_view text, std::vector<token_id>& ids) const {
    token_sink sink(ids);
    auto cache = cache_.take(text.size());
    const char* const end = text.data() + text.size();
    waiting batch[batch_size];
    std::size_t count = 0;
    for_each_piece(pre_, text, [&](const char* p, const char* q) {
      waiting& w = batch[count];
      w.piece = std::string_view(p, static_cast<std::size_t>(q - p));
      if (w.piece.size() <= PieceCache::most_bytes) {
        w.key = PieceCache::key_of(p, w.piece.size(), end);
        cache->prefetch(w.key);
      }
      if (++count < batch_size) return;
      count = 0;
      for (const waiting& next : batch) encode_piece(next, *cache, sink);
    });
    for (std::size_t k = 0; k < count; ++k) encode_piece(batch[k], *cache, sink);
    cache_.give_back(std::move(cache));
    sink.flush();
  }

  token_id whole_token(std::string_view piece) const noexcept {
    return ignore_merges_ ? tokens_.find(piece) : no_token;
  }

  void encode_piece(const waiting& next, PieceCache& cache, token_sink& sink) const {
    if (next.piece.size() > PieceCache::most_bytes) return encode_long(next.piece, sink);
    token_id* const room = sink.room<short_piece>();
    if (const PieceCache::line* const line = cache.find(next.key)) {
      std::memcpy(room, line->ids, sizeof line->ids);
      return sink.advance(line->count);
    }
    const std::size_t count = merge_bytes(next.piece, room);
    sink.advance(count);
    if (count <= PieceCache::most_tokens) cache.put(next.key, room, count);
  }

  // At most short_piece bytes, into as many ids; how many are left.
  std::size_t merge_bytes(std::string_view piece, token_id* ids) const noexcept {
    ids[0] = whole_token(piece);
    if (ids[0] != no_token) return 1;
    std::uint32_t rules[short_piece];
    for (std::size_t k = 0; k < piece.size(); ++k) ids[k] = bytes_.id(piece[k]);
    for (std::size_t k = 0; k + 1 < piece.size(); ++k) rules[k] = bytes_.rule(piece[k], piece[k + 1]);
    return merge_short(merges_, ids, rules, piece.size());
  }

  void encode_long(std::string_view piece, token_sink& sink) const {
    if (piece.size() <= short_piece) return sink.advance(merge_bytes(piece, sink.room<short_piece>()));
    if (const token_id id = whole_token(piece); id != no_token) return sink(id);
    std::vector<token_id> ids(piece.size());
    for (std::size_t k = 0; k < piece.size(); ++k) ids[k] = bytes_.id(piece[k]);
    merge_long(merges_, ids);
    for (const token_id id : ids) sink(id);
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

  void fill_byte_tables() {
    for (std::size_t b = 0; b < 256; ++b) {
      const char byte = static_cast<char>(b);
      bytes_.ids[b] = tokens_.find({&byte, 1});
      if (bytes_.ids[b] == no_token) every_byte_ = false;
    }
    for (std::size_t pair = 0; pair < 256 * 256; ++pair) {
      const token_id left = bytes_.ids[pair >> 8], right = bytes_.ids[pair & 255];
      if (left != no_token && right != no_token) bytes_.rules[pair] = merges_.find(left, right);
    }
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

  void check_bytes(std::string_view part, std::size_t offset) const {
    for (std::size_t k = 0; k < part.size(); ++k) {
      if (bytes_.id(part[k]) != no_token) continue;
      throw value_error("[bpe] no token for byte " + std::to_string(static_cast<unsigned char>(part[k])) +
                        " at offset " + std::to_string(offset + k) + "; this vocabulary does not have all 256 bytes");
    }
  }

  byte_index tokens_;
  MergeTable<false> merges_;
  bpe_detail::byte_tables bytes_;
  AddedTokens added_;
  std::vector<bool> control_;
  pre_tokenizer pre_;
  bool ignore_merges_, nfc_;
  bool every_byte_ = true;
  special_ids special_;
  CacheKeeper cache_;
};

static_assert(tokenizer<BpeTokenizer>);

}  // namespace tinygrad::inline TINYGRAD_ABI
