// Byte-pair merging of one piece: of all neighbours that may merge, the pair with the lowest rank does, the leftmost of
// equals, until none may. Sennrich et al. 2016, as GPT-2 applies it to bytes.
//
// Short pieces, nearly all, are an array on the stack that is searched again after every merge. Long ones are a linked
// list with a heap of candidates: O(n log n) for n bytes.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/text/flat_map.hpp>
#include <tinygrad/text/token.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

/// The rules of a vocabulary, in the order of rank. Filled once, then read from any number of threads.
///
/// Looking up a pair that has no rule is what merging does most, so those must be cheap: the table is four bytes a slot
/// (half a megabyte for GPT-2, it stays in the second-level cache), the rank and as many bits of the pair's hash as are
/// free beside it. Only where those agree is the rule itself compared.
class MergeTable {
 public:
  static constexpr std::uint32_t no_rank = ~std::uint32_t{0};

  /// `byte_ids`: the token of every single byte, no_token where the vocabulary has none. `rule_limit`: how many rules
  /// will be added at most.
  MergeTable(const std::array<token_id, 256>& byte_ids, std::size_t rule_limit)
      : byte_ids_(byte_ids),
        byte_ranks_(256 * 256, no_rank),
        slots_(std::bit_ceil(rule_limit * 2 + 2), no_rank),
        index_shift_(64 - std::countr_zero(slots_.size())),
        rank_bits_(64 - std::countl_zero(std::uint64_t{rule_limit} + 1)) {
    if (rule_limit >= std::size_t{1} << 30) throw value_error("[bpe] more than 2^30 merges");
    rules_.reserve(rule_limit);
    for (std::size_t b = 0; b < 256; ++b) {
      if (byte_ids[b] != no_token)
        byte_of_.insert(static_cast<std::uint64_t>(byte_ids[b]), static_cast<std::uint8_t>(b));
    }
  }

  /// The next rule. A pair that has one already keeps it: the first, lower rank wins.
  void add(token_id left, token_id right, token_id product) {
    if (rank_of(left, right) != no_rank) return;
    const auto rank = static_cast<std::uint32_t>(rules_.size());
    rules_.push_back({left, right, product});
    const std::uint64_t hash = hash_of(left, right);
    std::size_t at = index_of(hash);
    while (slots_[at] != no_rank) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = tag_of(hash) << rank_bits_ | rank;
    const std::uint8_t* const a = byte_of_.find(static_cast<std::uint32_t>(left));
    const std::uint8_t* const b = byte_of_.find(static_cast<std::uint32_t>(right));
    if (a && b) byte_ranks_[std::size_t{*a} << 8 | *b] = rank;
  }

  [[nodiscard]] token_id byte_id(char byte) const noexcept { return byte_ids_[static_cast<unsigned char>(byte)]; }
  [[nodiscard]] token_id product(std::uint32_t rank) const noexcept { return rules_[rank].product; }
  /// The rank of the pair that two bytes make; every search begins with these, so they have a table of their own.
  [[nodiscard]] std::uint32_t rank_of_bytes(char left, char right) const noexcept {
    return byte_ranks_[std::size_t{static_cast<unsigned char>(left)} << 8 | static_cast<unsigned char>(right)];
  }
  [[nodiscard]] std::uint32_t rank_of(token_id left, token_id right) const noexcept {
    const std::uint64_t hash = hash_of(left, right);
    const std::uint32_t tag = tag_of(hash);
    for (std::size_t at = index_of(hash);; at = (at + 1) & (slots_.size() - 1)) {
      const std::uint32_t slot = slots_[at];
      if (slot == no_rank) return no_rank;
      if (slot >> rank_bits_ != tag) continue;
      const std::uint32_t rank = slot & ((std::uint32_t{1} << rank_bits_) - 1);
      if (rules_[rank].left == left && rules_[rank].right == right) return rank;
    }
  }

 private:
  struct rule {
    token_id left, right, product;
  };

  static std::uint64_t hash_of(token_id left, token_id right) noexcept {
    return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right)) *
           0x9E3779B97F4A7C15u;
  }
  std::size_t index_of(std::uint64_t hash) const noexcept { return static_cast<std::size_t>(hash >> index_shift_); }
  // The bits below those of the index. A rank has rank_bits_ bits and is never all ones, so no slot looks empty.
  std::uint32_t tag_of(std::uint64_t hash) const noexcept {
    return static_cast<std::uint32_t>(hash << (64 - index_shift_) >> (32 + rank_bits_));
  }

  std::array<token_id, 256> byte_ids_;
  std::vector<std::uint32_t> byte_ranks_;
  std::vector<rule> rules_;           // by rank
  std::vector<std::uint32_t> slots_;  // tag << rank_bits_ | rank, open addressing, at most half full
  int index_shift_, rank_bits_;
  flat_map<std::uint8_t> byte_of_;  // token -> byte
};

namespace bpe_detail {

inline constexpr std::size_t short_piece = 32;

// Merges a piece of 1 to `short_piece` bytes into `ids`, room for as many; returns how many tokens are left.
inline std::size_t merge_short(const MergeTable& table, const char* p, std::size_t n, token_id* ids) noexcept {
  std::uint32_t ranks[short_piece];  // ranks[k]: of the tokens k and k + 1, for k + 1 < n
  for (std::size_t k = 0; k < n; ++k) ids[k] = table.byte_id(p[k]);
  for (std::size_t k = 0; k + 1 < n; ++k) ranks[k] = table.rank_of_bytes(p[k], p[k + 1]);
  while (n > 1) {
    std::size_t best = 0;
    std::uint32_t rank = ranks[0];
    for (std::size_t k = 1; k + 1 < n; ++k) {
      best = ranks[k] < rank ? k : best;
      rank = ranks[k] < rank ? ranks[k] : rank;
    }
    if (rank == MergeTable::no_rank) break;
    ids[best] = table.product(rank);
    --n;
    for (std::size_t k = best + 1; k < n; ++k) {
      ids[k] = ids[k + 1];
      ranks[k - 1] = ranks[k];
    }
    if (best + 1 < n) ranks[best] = table.rank_of(ids[best], ids[best + 1]);
    if (best > 0) ranks[best - 1] = table.rank_of(ids[best - 1], ids[best]);
  }
  return n;
}

// A long piece. Tokens are named by the position of their first byte, so that left to right is the order of names.
class LongMerge {
 public:
  LongMerge(const MergeTable& table, const char* p, std::size_t n) : table_(&table), ids_(n), next_(n), prev_(n) {
    for (std::size_t k = 0; k < n; ++k) {
      ids_[k] = table.byte_id(p[k]);
      next_[k] = k + 1;
      prev_[k] = k - 1;  // wraps to `nowhere` at the start
    }
    heap_.reserve(n);
    for (std::size_t k = 0; k + 1 < n; ++k) push(k, table.rank_of_bytes(p[k], p[k + 1]));
  }

  void run() {
    while (!heap_.empty()) {
      const candidate c = pop();
      const std::size_t right = ids_[c.at] == c.left ? next_[c.at] : nowhere;
      if (right >= ids_.size() || ids_[right] != c.right) continue;  // one of the two has merged since
      join(c.at, right, table_->product(c.rank));
    }
  }

  template <class Sink>
  void emit(Sink&& sink) const {
    for (std::size_t k = 0; k < ids_.size(); k = next_[k]) sink(ids_[k]);
  }

 private:
  static constexpr std::size_t nowhere = ~std::size_t{0};

  struct candidate {
    std::size_t at;
    std::uint32_t rank;
    token_id left, right;  // what stood there when the candidate was made

    bool before(const candidate& other) const noexcept {
      return rank != other.rank ? rank < other.rank : at < other.at;
    }
  };

  void join(std::size_t left, std::size_t right, token_id product) {
    ids_[left] = product;
    ids_[right] = no_token;
    next_[left] = next_[right];
    if (next_[left] < ids_.size()) {
      prev_[next_[left]] = left;
      push(left, table_->rank_of(product, ids_[next_[left]]));
    }
    if (prev_[left] != nowhere) push(prev_[left], table_->rank_of(ids_[prev_[left]], product));
  }

  void push(std::size_t at, std::uint32_t rank) {
    if (rank == MergeTable::no_rank) return;
    const candidate c{at, rank, ids_[at], ids_[next_[at]]};
    std::size_t k = heap_.size();
    heap_.push_back(c);
    for (; k > 0 && c.before(heap_[(k - 1) / 2]); k = (k - 1) / 2) heap_[k] = heap_[(k - 1) / 2];
    heap_[k] = c;
  }

  candidate pop() {
    const candidate top = heap_.front(), last = heap_.back();
    heap_.pop_back();
    const std::size_t n = heap_.size();
    std::size_t k = 0;
    for (std::size_t child = 1; child < n; child = 2 * k + 1) {
      if (child + 1 < n && heap_[child + 1].before(heap_[child])) ++child;
      if (!heap_[child].before(last)) break;
      heap_[k] = heap_[child];
      k = child;
    }
    if (n > 0) heap_[k] = last;
    return top;
  }

  const MergeTable* table_;
  std::vector<token_id> ids_;  // by position; no_token where a token was taken into the one before it
  std::vector<std::size_t> next_, prev_;
  std::vector<candidate> heap_;  // a binary heap, the next merge first
};

}  // namespace bpe_detail

/// Calls sink(token_id) for the tokens of `piece`, in order. Bytes without a token give no_token.
template <class Sink>
void merge_piece(const MergeTable& table, std::string_view piece, Sink&& sink) {
  if (piece.size() > bpe_detail::short_piece) {
    bpe_detail::LongMerge merge(table, piece.data(), piece.size());
    merge.run();
    merge.emit(sink);
  } else if (!piece.empty()) {
    token_id ids[bpe_detail::short_piece];
    const std::size_t count = bpe_detail::merge_short(table, piece.data(), piece.size(), ids);
    for (std::size_t k = 0; k < count; ++k) sink(ids[k]);
  }
}

}  // namespace tinygrad::inline TINYGRAD_ABI
