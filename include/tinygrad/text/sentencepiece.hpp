// SentencePiece: Llama 2's tokenizer and its kind. Two models over the same vocabulary of scored pieces:
//   BPE      joins the neighbours whose product has the highest score, until none has (merge.hpp);
//   unigram  takes the cut of the text whose scores, log-probabilities, have the largest sum (Viterbi's algorithm).
// What no piece covers becomes one token per byte ("<0x0A>") where the vocabulary has those, else <unk>; several <unk>
// in a row are one. Source: google/sentencepiece, Kudo and Richardson 2018.
//
// With byte tokens any bytes can be encoded and come back; without, what is no UTF-8 becomes U+FFFD.
// A tokenizer does not change after it is made: any number of threads may share it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/core/utf8.hpp>
#include <tinygrad/text/added_tokens.hpp>
#include <tinygrad/text/byte_index.hpp>
#include <tinygrad/text/byte_trie.hpp>
#include <tinygrad/text/detokenizer.hpp>
#include <tinygrad/text/flat_map.hpp>
#include <tinygrad/text/merge.hpp>
#include <tinygrad/text/normalizer.hpp>
#include <tinygrad/text/piece_cache.hpp>
#include <tinygrad/text/token.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

/// Numbers as in tokenizer.model and GGUF files.
enum class piece_type : std::uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

/// What a tokenizer is made from. The three vectors are by id and equally long.
struct sentencepiece_vocabulary {
  std::vector<std::string> pieces;  ///< with "▁" for a blank
  std::vector<float> scores;
  std::vector<piece_type> types;
  bool unigram = false;
  std::vector<std::string> merges;  ///< "left right": where not empty, these rules in this order and no others
  sentencepiece_normalizer normalizer;
  bool prefix_first_only = false;  ///< the blank goes before the whole text, not behind control tokens as well
  std::string unk_surface = " \xE2\x81\x87 ";  ///< what <unk> decodes to
  special_ids special;
};

namespace spm_detail {

/// The value of "<0xNN>", two hexadecimal digits exactly, or nothing.
constexpr std::optional<unsigned> byte_of_piece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return std::nullopt;
  unsigned value = 0;
  for (const char c : piece.substr(3, 2)) {
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<unsigned>(c - '0');
    } else if (c >= 'A' && c <= 'F') {
      value = value * 16 + static_cast<unsigned>(c - 'A' + 10);
    } else if (c >= 'a' && c <= 'f') {
      value = value * 16 + static_cast<unsigned>(c - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return value;
}

/// Bytes of the character at the front of a non-empty text; 1 for a byte that begins none.
inline std::size_t char_length(std::string_view text) noexcept {
  const utf8_char c = decode_utf8(text.data(), text.data() + text.size());
  return c.status == utf8_status::valid ? c.length : 1;
}

inline std::string blanks_for_signs(std::string_view piece) {
  std::string out;
  while (!piece.empty()) {
    const bool sign = piece.starts_with(sentencepiece_blank);
    out.push_back(sign ? ' ' : piece.front());
    piece.remove_prefix(sign ? sentencepiece_blank.size() : 1);
  }
  return out;
}

inline bool is_text(piece_type type) noexcept { return type == piece_type::normal || type == piece_type::unused; }

/// The BPE model. Its symbols are the ids of pieces, then one each for characters that occur in pieces but are none,
/// then one for all other characters.
class MergeModel {
 public:
  MergeModel() = default;

  MergeModel(const byte_index& pieces, const std::vector<float>& scores, const std::vector<piece_type>& types,
             const std::vector<std::string>& merges)
      : unknown_(static_cast<token_id>(pieces.size())) {
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      if (is_text(types[k])) add_characters(pieces[static_cast<token_id>(k)], pieces, types);
    }
    if (merges.empty()) {
      add_scored(pieces, scores, types);
    } else {
      add_listed(merges, pieces);
    }
  }

  /// Symbols of `piece`, merged. Characters without a piece stand as ids from pieces.size() up.
  void segment(std::string_view piece, std::vector<token_id>& ids) const {
    ids.clear();
    for (std::size_t at = 0; at < piece.size();) {
      const std::size_t n = char_length(piece.substr(at));
      ids.push_back(symbol(piece.substr(at, n)));
      at += n;
    }
    if (ids.size() > short_piece) return merge_long(table_, ids);
    std::uint32_t rules[short_piece];
    for (std::size_t k = 0; k + 1 < ids.size(); ++k) rules[k] = table_.find(ids[k], ids[k + 1]);
    ids.resize(merge_short(table_, ids.data(), rules, ids.size()));
  }

  /// The two symbols that merging joins last to make a piece, from its own text. Nothing when it is no product.
  [[nodiscard]] std::optional<std::pair<token_id, token_id>> halves(token_id id, std::string_view piece) const {
    std::vector<token_id> whole;
    for (std::size_t at = char_length(piece); at < piece.size(); at += char_length(piece.substr(at))) {
      std::vector<token_id> left, right;
      segment(piece.substr(0, at), left);
      segment(piece.substr(at), right);
      if (left.size() != 1 || right.size() != 1) continue;
      const std::uint32_t rule = table_.find(left[0], right[0]);
      if (rule != no_rule && table_.product(rule) == id) return std::pair(left[0], right[0]);
    }
    return std::nullopt;
  }

 private:
  token_id symbol(std::string_view character) const {
    const utf8_char c = decode_utf8(character.data(), character.data() + character.size());
    if (c.status != utf8_status::valid) return unknown_;
    const token_id* const found = characters_.find(c.code);
    return found ? *found : unknown_;
  }

  void add_characters(std::string_view piece, const byte_index& pieces, const std::vector<piece_type>& types) {
    while (!piece.empty()) {
      const std::string_view character = piece.substr(0, char_length(piece));
      const utf8_char c = decode_utf8(character.data(), character.data() + character.size());
      piece.remove_prefix(character.size());
      if (c.status != utf8_status::valid || characters_.find(c.code)) continue;
      const token_id id = pieces.find(character);
      const bool own = id != no_token && is_text(types[static_cast<std::size_t>(id)]);
      characters_.insert(c.code, own ? id : unknown_++);
    }
  }

  // Ids of pieces that text can be, the highest score first, equal scores by id.
  static std::vector<std::uint32_t> by_score(const std::vector<float>& scores, const std::vector<piece_type>& types) {
    std::vector<std::uint32_t> order, other;
    for (std::size_t k = 0; k < scores.size(); ++k) {
      if (is_text(types[k])) order.push_back(static_cast<std::uint32_t>(k));
    }
    other.resize(order.size());
    for (std::size_t width = 1; width < order.size(); width *= 2) {  // merge sort from the bottom, stable
      for (std::size_t start = 0; start < order.size(); start += 2 * width) {
        std::size_t a = start, b = (std::min)(start + width, order.size());
        const std::size_t middle = b, end = (std::min)(start + 2 * width, order.size());
        for (std::size_t k = start; k < end; ++k) {
          const bool from_a = a < middle && (b >= end || scores[order[a]] >= scores[order[b]]);
          other[k] = order[from_a ? a++ : b++];
        }
      }
      order.swap(other);
    }
    return order;
  }

  void add_listed(const std::vector<std::string>& merges, const byte_index& pieces) {
    table_ = MergeTable<true>(merges.size());
    const auto part = [&](const std::string& text) {
      return text.size() == char_length(text) ? symbol(text) : pieces.find(text);
    };
    for (std::size_t k = 0; k < merges.size(); ++k) {
      const std::size_t blank = merges[k].find(' ');
      if (blank == 0 || blank + 1 >= merges[k].size()) refuse_merge(k, merges[k], "is no pair of pieces");
      const std::string left = blanks_for_signs(std::string_view(merges[k]).substr(0, blank));
      const std::string right = blanks_for_signs(std::string_view(merges[k]).substr(blank + 1));
      const token_id a = part(left), b = part(right), product = pieces.find(left + right);
      if (a == no_token || a == unknown_ || b == no_token || b == unknown_) {
        refuse_merge(k, merges[k], "names a piece that the vocabulary lacks");
      }
      if (product == no_token) refuse_merge(k, merges[k], "makes a piece that the vocabulary lacks");
      table_.add(a, b, product, static_cast<std::uint32_t>(k));
    }
  }
  [[noreturn]] TINYGRAD_COLD static void refuse_merge(std::size_t k, const std::string& line, const char* why) {
    throw value_error("[sentencepiece] merge " + std::to_string(k) + " '" + line + "' " + why);
  }

  void add_scored(const byte_index& pieces, const std::vector<float>& scores, const std::vector<piece_type>& types) {
    const std::vector<std::uint32_t> order = by_score(scores, types);
    std::size_t most = 0;
    for (const std::uint32_t k : order) most += pieces[static_cast<token_id>(k)].size();
    table_ = MergeTable<true>(most);
    std::uint32_t rank = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (k > 0 && scores[order[k]] != scores[order[k - 1]]) ++rank;
      add_rules(static_cast<token_id>(order[k]), rank, pieces, types);
    }
  }

  // A rule for every way to cut a piece in two symbols.
  void add_rules(token_id id, std::uint32_t rank, const byte_index& pieces, const std::vector<piece_type>& types) {
    const std::string_view piece = pieces[id];
    const auto part = [&](std::string_view text) {
      if (text.size() == char_length(text)) return symbol(text);
      const token_id found = pieces.find(text);
      return found != no_token && is_text(types[static_cast<std::size_t>(found)]) ? found : unknown_;
    };
    if (pieces.find(piece) != id) return;  // the same text again: the first one counts
    for (std::size_t at = char_length(piece); at < piece.size(); at += char_length(piece.substr(at))) {
      const token_id left = part(piece.substr(0, at)), right = part(piece.substr(at));
      if (left != unknown_ && right != unknown_) table_.add(left, right, id, rank);
    }
  }

  MergeTable<true> table_{0};
  flat_map<token_id> characters_;  // code point -> symbol
  token_id unknown_ = 0;
};

/// The unigram model.
class UnigramModel {
 public:
  UnigramModel() = default;

  UnigramModel(const byte_index& pieces, const std::vector<float>& scores, const std::vector<piece_type>& types)
      : scores_(scores), unknown_(static_cast<token_id>(pieces.size())) {
    float lowest = (std::numeric_limits<float>::max)(), highest = (std::numeric_limits<float>::lowest)();
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      if (types[k] != piece_type::normal) continue;
      lowest = (std::min)(lowest, scores[k]);
      highest = (std::max)(highest, scores[k]);
    }
    unknown_score_ = lowest - 10.0f;
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      const std::string_view piece = pieces[static_cast<token_id>(k)];
      if (types[k] == piece_type::user_defined) scores_[k] = bonus(piece, highest);
      if (types[k] == piece_type::normal || types[k] == piece_type::user_defined) {
        trie_.insert(piece, static_cast<std::uint32_t>(k));
      }
    }
  }

  /// The best cut of `piece`; characters without a piece stand as the id pieces.size().
  void segment(std::string_view piece, std::vector<token_id>& ids) const {
    struct node {
      float score = 0;
      std::size_t from = 0;
      token_id id = no_token;  // of the piece that ends here; no_token: not reached
    };
    std::vector<node> best(piece.size() + 1);
    const auto offer = [&](std::size_t from, std::size_t to, float score, token_id id) {
      if (best[to].id == no_token || score > best[to].score) best[to] = {score, from, id};
    };
    for (std::size_t at = 0; at < piece.size();) {
      const std::size_t n = char_length(piece.substr(at));
      bool covered = false;
      std::uint32_t place = byte_trie::root;
      for (std::size_t to = at; to < piece.size();) {
        place = trie_.step(place, piece[to++]);
        if (place == byte_trie::none) break;
        const std::uint32_t id = trie_.value(place);
        if (id == byte_trie::none) continue;
        offer(at, to, best[at].score + scores_[id], static_cast<token_id>(id));
        covered = covered || to == at + n;
      }
      if (!covered) offer(at, at + n, best[at].score + unknown_score_, unknown_);
      at += n;
    }
    std::size_t count = 0;
    for (std::size_t at = piece.size(); at > 0; at = best[at].from) ++count;
    ids.resize(count);
    for (std::size_t at = piece.size(); at > 0; at = best[at].from) ids[--count] = best[at].id;
  }

 private:
  // What the program user-defined pieces come from gives them, so that they are always taken. A blank counts as its
  // sign.
  static float bonus(std::string_view piece, float highest) noexcept {
    std::size_t length = piece.size();
    for (const char c : piece) length += c == ' ' ? sentencepiece_blank.size() - 1 : 0;
    return static_cast<float>(static_cast<double>(static_cast<float>(length) * highest) - 0.1);
  }

  byte_trie trie_;
  std::vector<float> scores_;
  float unknown_score_ = 0;
  token_id unknown_ = 0;
};

}  // namespace spm_detail

class SentencePieceTokenizer {
 public:
  /// value_error when the vectors do not fit together.
  explicit SentencePieceTokenizer(sentencepiece_vocabulary vocabulary)
      : types_(checked_types(vocabulary)),
        pieces_(index_of(vocabulary)),
        normalizer_(std::move(vocabulary.normalizer)),
        special_(vocabulary.special),
        prefix_first_only_(vocabulary.prefix_first_only),
        unigram_(vocabulary.unigram),
        words_stand_alone_(!unigram_) {
    find_special_pieces(vocabulary);
    normalizer_.keep_bytes = has_bytes_;
    if (unigram_) {
      viterbi_ = spm_detail::UnigramModel(pieces_, vocabulary.scores, types_);
    } else {
      merges_ = spm_detail::MergeModel(pieces_, vocabulary.scores, types_, vocabulary.merges);
    }
    texts_ = decoded_texts(vocabulary);
  }

  [[nodiscard]] std::size_t vocab_size() const noexcept { return types_.size(); }
  [[nodiscard]] const special_ids& special() const noexcept { return special_; }
  [[nodiscard]] bool is_unigram() const noexcept { return unigram_; }

  /// Tokens of `text`. Control tokens written in it are ordinary text unless the options say otherwise; where they are
  /// not, each stretch of text between them is normalised by itself. value_error when there is neither a piece nor a
  /// byte token nor <unk> for something.
  [[nodiscard]] std::vector<token_id> encode(std::string_view text, const encode_options& options = {}) const {
    std::vector<token_id> ids;
    ids.reserve(text.size() / 3 + 8);
    control_.split(
        text, options.parse_special,
        [&](std::string_view part) {
          const bool prefix = normalizer_.add_dummy_prefix && (!prefix_first_only_ || part.data() == text.data());
          encode_part(normalizer_(part, prefix), ids);
        },
        [&](token_id id) { ids.push_back(id); });
    if (!has_bytes_) join_unknown(ids);
    if (options.add_special) add_special_ids(ids, special_);
    return ids;
  }

  /// The bytes the tokens stand for, without the blank that encoding put before the text.
  [[nodiscard]] std::string decode_bytes(std::span<const token_id> ids, bool hide_control = false) const {
    std::string bytes;
    bool first = strips_leading_space();
    for (const token_id id : ids) {
      std::string_view part = token_bytes(id);
      if (!is_control(id)) {
        if (first && part.starts_with(' ')) part.remove_prefix(1);
        first = false;
      } else if (hide_control) {
        continue;
      }
      bytes += part;
    }
    return bytes;
  }
  /// The same as text: U+FFFD for what is no UTF-8.
  [[nodiscard]] std::string decode(std::span<const token_id> ids, bool hide_control = false) const {
    return replace_invalid_utf8(decode_bytes(ids, hide_control));
  }

  /// index_error for an id that is none.
  [[nodiscard]] std::string_view token_bytes(token_id id) const {
    check_token(id, vocab_size(), "sentencepiece");
    return texts_[id];
  }
  /// The piece, "▁" written as a blank, or no_token.
  [[nodiscard]] token_id find_token(std::string_view piece) const noexcept { return pieces_.find(piece); }
  [[nodiscard]] bool is_control(token_id id) const {
    check_token(id, vocab_size(), "sentencepiece");
    return types_[static_cast<std::size_t>(id)] == piece_type::control;
  }
  [[nodiscard]] bool strips_leading_space() const noexcept {
    return normalizer_.add_dummy_prefix || normalizer_.remove_extra_whitespaces;
  }

 private:
  // --- encoding ---

  // User-defined pieces are cut out first; nothing merges with them.
  void encode_part(const std::string& text, std::vector<token_id>& ids) const {
    token_sink sink(ids);
    auto cache = cache_.take(text.size());
    const char* const end = text.data() + text.size();
    user_defined_.split(
        text, false, [&](std::string_view part) { encode_words(part, end, *cache, sink); },
        [&](token_id id) { sink(id); });
    cache_.give_back(std::move(cache));
    sink.flush();
  }

  // Where no piece has a blank behind another character, nothing can reach over the start of a run of blanks: what
  // lies between is encoded, and remembered, by itself.
  void encode_words(std::string_view text, const char* end, PieceCache& cache, token_sink& sink) const {
    std::vector<token_id> scratch;
    while (!text.empty()) {
      std::size_t n = text.size();
      if (words_stand_alone_) {
        n = 0;
        while (n < text.size() && text[n] == ' ') ++n;
        while (n < text.size() && text[n] != ' ') ++n;
      }
      encode_word(text.substr(0, n), end, cache, sink, scratch);
      text.remove_prefix(n);
    }
  }

  void encode_word(std::string_view word, const char* end, PieceCache& cache, token_sink& sink,
                   std::vector<token_id>& scratch) const {
    PieceCache::piece_key key;
    if (word.size() <= PieceCache::most_bytes) {
      key = PieceCache::key_of(word.data(), word.size(), end);
      if (const PieceCache::line* const line = cache.find(key)) {
        for (std::size_t k = 0; k < line->count; ++k) sink(line->ids[k]);
        return;
      }
    }
    std::vector<token_id> ids;
    if (unigram_) {
      viterbi_.segment(word, scratch);
    } else {
      merges_.segment(word, scratch);
    }
    for (const token_id id : scratch) word.remove_prefix(write_symbol(id, word, ids));
    for (const token_id id : ids) sink(id);
    if (key != PieceCache::piece_key{} && ids.size() <= PieceCache::most_tokens) cache.put(key, ids.data(), ids.size());
  }

  // A symbol that stands at the front of `rest` becomes tokens; returns how many bytes it covers.
  std::size_t write_symbol(token_id id, std::string_view rest, std::vector<token_id>& out) const {
    if (!valid_token(id, vocab_size())) {
      const std::size_t n = spm_detail::char_length(rest);
      write_unknown(rest.substr(0, n), out);
      return n;
    }
    const std::size_t length = pieces_[id].size();
    if (types_[static_cast<std::size_t>(id)] != piece_type::unused || unigram_) {
      out.push_back(id);
    } else {
      write_unused(id, rest.substr(0, length), out);
    }
    return length;
  }

  // A piece that merging may pass through but that must not come out is taken apart again.
  void write_unused(token_id id, std::string_view text, std::vector<token_id>& out) const {
    std::vector<std::pair<token_id, std::string_view>> open{{id, text}};
    while (!open.empty()) {
      const auto [symbol, part] = open.back();
      open.pop_back();
      const bool unused =
          valid_token(symbol, vocab_size()) && types_[static_cast<std::size_t>(symbol)] == piece_type::unused;
      const auto halves = unused ? merges_.halves(symbol, part) : std::nullopt;
      if (halves) {
        const std::size_t left =
            valid_token(halves->first, vocab_size()) ? pieces_[halves->first].size() : spm_detail::char_length(part);
        open.emplace_back(halves->second, part.substr(left));
        open.emplace_back(halves->first, part.substr(0, left));
      } else if (unused || !valid_token(symbol, vocab_size())) {
        write_unknown(part, out);
      } else {
        out.push_back(symbol);
      }
    }
  }

  void write_unknown(std::string_view bytes, std::vector<token_id>& out) const {
    if (has_bytes_) {
      for (const char c : bytes) out.push_back(byte_ids_[static_cast<unsigned char>(c)]);
    } else if (special_.unk != no_token) {
      out.push_back(special_.unk);
    } else {
      throw value_error("[sentencepiece] no piece for '" + std::string(bytes) +
                        "', and the vocabulary has neither byte tokens nor <unk>");
    }
  }

  void join_unknown(std::vector<token_id>& ids) const {
    std::size_t kept = 0;
    for (const token_id id : ids) {
      if (id != special_.unk || kept == 0 || ids[kept - 1] != id) ids[kept++] = id;
    }
    ids.resize(kept);
  }

  // --- making one ---

  static std::vector<piece_type> checked_types(const sentencepiece_vocabulary& v) {
    const std::size_t n = v.pieces.size();
    if (v.scores.size() != n || v.types.size() != n) {
      throw value_error("[sentencepiece] " + std::to_string(n) + " pieces, " + std::to_string(v.scores.size()) +
                        " scores, " + std::to_string(v.types.size()) + " types; there must be as many of each");
    }
    for (std::size_t k = 0; k < n; ++k) {
      if (v.types[k] < piece_type::normal || v.types[k] > piece_type::byte) {
        throw value_error("[sentencepiece] piece " + std::to_string(k) + " has an unknown type");
      }
      if (!(v.scores[k] - v.scores[k] == 0)) {
        throw value_error("[sentencepiece] the score of piece " + std::to_string(k) + " is no finite number");
      }
    }
    return v.types;
  }

  static byte_index index_of(const sentencepiece_vocabulary& v) {
    std::vector<std::string> pieces;
    std::vector<bool> no_text;
    for (std::size_t k = 0; k < v.pieces.size(); ++k) {
      pieces.push_back(spm_detail::blanks_for_signs(v.pieces[k]));
      no_text.push_back(!spm_detail::is_text(v.types[k]));
    }
    return {pieces, no_text};
  }

  void find_special_pieces(const sentencepiece_vocabulary& v) {
    byte_ids_.fill(no_token);
    for (std::size_t k = 0; k < types_.size(); ++k) {
      const auto id = static_cast<token_id>(k);
      const std::string_view piece = pieces_[id];
      if (types_[k] == piece_type::control) control_.add({.id = id, .text = v.pieces[k]});
      if (types_[k] == piece_type::user_defined) {
        user_defined_.add({.id = id, .text = std::string(piece), .control = false});
      }
      if (types_[k] == piece_type::unknown && special_.unk == no_token) special_.unk = id;
      if (types_[k] == piece_type::byte) {
        const auto byte = spm_detail::byte_of_piece(piece);
        if (!byte) {
          throw value_error("[sentencepiece] byte piece " + std::to_string(k) + " is '" + std::string(piece) +
                            "'; it must be <0x00> to <0xFF>");
        }
        if (byte_ids_[*byte] == no_token) byte_ids_[*byte] = id;
      }
      if (spm_detail::is_text(types_[k]) && blank_inside(piece)) words_stand_alone_ = false;
    }
    has_bytes_ = true;
    for (const token_id id : byte_ids_) has_bytes_ = has_bytes_ && id != no_token;
  }

  static bool blank_inside(std::string_view piece) noexcept {
    const std::size_t start = piece.find_first_not_of(' ');
    return start != std::string_view::npos && piece.find(' ', start) != std::string_view::npos;
  }

  // What each id decodes to.
  byte_index decoded_texts(const sentencepiece_vocabulary& v) const {
    std::vector<std::string> texts;
    for (std::size_t k = 0; k < types_.size(); ++k) {
      const std::string_view piece = pieces_[static_cast<token_id>(k)];
      switch (types_[k]) {
        case piece_type::byte:
          texts.emplace_back(1, static_cast<char>(*spm_detail::byte_of_piece(piece)));
          break;
        case piece_type::unknown:
          texts.push_back(v.unk_surface);
          break;
        case piece_type::control:
          texts.push_back(v.pieces[k]);
          break;
        default:
          texts.emplace_back(piece);
      }
    }
    return {texts, std::vector<bool>(texts.size())};
  }

  std::vector<piece_type> types_;
  byte_index pieces_;  // by id and by content, blanks for "▁"
  byte_index texts_;   // by id: what it decodes to
  sentencepiece_normalizer normalizer_;
  AddedTokens control_, user_defined_;
  std::array<token_id, 256> byte_ids_{};
  special_ids special_;
  bool prefix_first_only_;
  bool unigram_;
  bool words_stand_alone_;  // not where scores are added up: sums round as they do over the whole text
  bool has_bytes_ = false;
  spm_detail::MergeModel merges_;
  spm_detail::UnigramModel viterbi_;
  CacheKeeper cache_;
};

static_assert(tokenizer<SentencePieceTokenizer>);

}  // namespace tinygrad::inline TINYGRAD_ABI
