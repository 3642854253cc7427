// Pair merging, the core of byte-pair encoding and of SentencePiece's BPE: of all neighbours that a rule joins, those
// of the lowest order are joined first, the leftmost of equals, until no rule applies (Sennrich et al. 2016).
//
// Short sequences, nearly all, are an array that is searched again after every merge. Long ones are a linked list with
// a heap of candidates: O(n log n).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/text/token.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

inline constexpr std::uint32_t no_rule = ~std::uint32_t{0};

/// The rules of a vocabulary, each with the number it was added under. Filled once, then read from any number of
/// threads. Their order is that number; with Ties, the order given to `add`, which must not fall and may repeat.
///
/// Asking for a pair that has no rule is what merging does most, so that must be cheap: the table is four bytes a slot
/// (half a megabyte for GPT-2: it stays in the second-level cache), a rule's number and as many bits of the pair's hash
/// as there is room for. Only where those agree is the rule itself compared.
template <bool Ties>
class MergeTable {
 public:
  explicit MergeTable(std::size_t most_rules)
      : slots_(std::bit_ceil(most_rules * 2 + 2), no_rule),
        index_shift_(64 - std::countr_zero(slots_.size())),
        number_bits_(64 - std::countl_zero(std::uint64_t{most_rules} + 1)) {
    if (most_rules >= std::size_t{1} << 30) throw value_error("[merge] more than 2^30 rules");
    rules_.reserve(most_rules);
  }

  /// A pair that has a rule keeps it: the first one wins.
  void add(token_id left, token_id right, token_id product, std::uint32_t order = 0) {
    if (find(left, right) != no_rule) return;
    const auto number = static_cast<std::uint32_t>(rules_.size());
    rules_.push_back({left, right, product});
    if constexpr (Ties) orders_.push_back(order);
    const std::uint64_t hash = hash_of(left, right);
    std::size_t at = index_of(hash);
    while (slots_[at] != no_rule) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = tag_of(hash) << number_bits_ | number;
  }

  /// The number of the rule for a pair, or no_rule.
  [[nodiscard]] std::uint32_t find(token_id left, token_id right) const noexcept {
    const std::uint64_t hash = hash_of(left, right);
    const std::uint32_t tag = tag_of(hash);
    for (std::size_t at = index_of(hash);; at = (at + 1) & (slots_.size() - 1)) {
      const std::uint32_t slot = slots_[at];
      if (slot == no_rule) return no_rule;
      if (slot >> number_bits_ != tag) continue;
      const std::uint32_t number = slot & ((std::uint32_t{1} << number_bits_) - 1);
      if (rules_[number].left == left && rules_[number].right == right) return number;
    }
  }
  [[nodiscard]] token_id product(std::uint32_t rule) const noexcept { return rules_[rule].product; }
  [[nodiscard]] std::uint32_t order(std::uint32_t rule) const noexcept {
    if constexpr (Ties) return rule == no_rule ? no_rule : orders_[rule];
    return rule;
  }

 private:
  struct entry {
    token_id left, right, product;
  };

  static std::uint64_t hash_of(token_id left, token_id right) noexcept {
    return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right)) *
           0x9E3779B97F4A7C15u;
  }
  std::size_t index_of(std::uint64_t hash) const noexcept { return static_cast<std::size_t>(hash >> index_shift_); }
  // The bits below those of the index. A number is never all ones in its number_bits_, so no slot looks free.
  std::uint32_t tag_of(std::uint64_t hash) const noexcept {
    return static_cast<std::uint32_t>(hash << (64 - index_shift_) >> (32 + number_bits_));
  }

  std::vector<entry> rules_;           // by number
  std::vector<std::uint32_t> orders_;  // by number; only with Ties
  std::vector<std::uint32_t> slots_;   // tag << number_bits_ | number, open addressing, at most half full
  int index_shift_, number_bits_;
};

inline constexpr std::size_t short_piece = 32;  // symbols; longer pieces go to the heap

/// Merges n symbols in place, n from 1 to short_piece; returns how many are left. rules[k] is the rule of the symbols k
/// and k + 1 on entry, for k + 1 < n.
template <bool Ties>
std::size_t merge_short(const MergeTable<Ties>& table, token_id* ids, std::uint32_t* rules, std::size_t n) noexcept {
  while (n > 1) {
    std::size_t best = 0;
    std::uint32_t order = table.order(rules[0]);
    for (std::size_t k = 1; k + 1 < n; ++k) {
      const std::uint32_t candidate = table.order(rules[k]);
      best = candidate < order ? k : best;
      order = candidate < order ? candidate : order;
    }
    if (order == no_rule) break;
    ids[best] = table.product(rules[best]);
    --n;
    for (std::size_t k = best + 1; k < n; ++k) {
      ids[k] = ids[k + 1];
      rules[k - 1] = rules[k];
    }
    if (best + 1 < n) rules[best] = table.find(ids[best], ids[best + 1]);
    if (best > 0) rules[best - 1] = table.find(ids[best - 1], ids[best]);
  }
  return n;
}

namespace merge_detail {

// A long piece. Symbols are named by their first place, so that left to right is the order of names.
template <bool Ties>
class LongMerge {
 public:
  LongMerge(const MergeTable<Ties>& table, std::vector<token_id>& ids)
      : table_(table), ids_(ids), next_(ids.size()), prev_(ids.size()) {
    for (std::size_t k = 0; k < ids_.size(); ++k) {
      next_[k] = k + 1;
      prev_[k] = k - 1;  // wraps to `nowhere` at the start
    }
    heap_.reserve(ids_.size());
    for (std::size_t k = 0; k + 1 < ids_.size(); ++k) push(k);
  }

  void run() {
    while (!heap_.empty()) {
      const candidate c = pop();
      const std::size_t right = ids_[c.at] == c.left ? next_[c.at] : nowhere;
      if (right >= ids_.size() || ids_[right] != c.right) continue;  // one of the two has merged since
      join(c.at, right, table_.product(c.rule));
    }
    std::size_t kept = 0;
    for (std::size_t k = 0; k < ids_.size(); k = next_[k]) ids_[kept++] = ids_[k];
    ids_.resize(kept);
  }

 private:
  static constexpr std::size_t nowhere = ~std::size_t{0};

  struct candidate {
    std::size_t at;
    std::uint32_t order, rule;
    token_id left, right;  // what stood there when the candidate was made

    bool before(const candidate& other) const noexcept {
      return order != other.order ? order < other.order : at < other.at;
    }
  };

  void join(std::size_t left, std::size_t right, token_id product) {
    ids_[left] = product;
    ids_[right] = no_token;
    next_[left] = next_[right];
    if (next_[left] < ids_.size()) {
      prev_[next_[left]] = left;
      push(left);
    }
    if (prev_[left] != nowhere) push(prev_[left]);
  }

  // The symbol at `at` and its neighbour become a candidate, if there is a rule for them.
  void push(std::size_t at) {
    const token_id left = ids_[at], right = ids_[next_[at]];
    const std::uint32_t rule = table_.find(left, right);
    if (rule == no_rule) return;
    const candidate c{at, table_.order(rule), rule, left, right};
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

  const MergeTable<Ties>& table_;
  std::vector<token_id>& ids_;  // by place; no_token where a symbol was taken into the one before it
  std::vector<std::size_t> next_, prev_;
  std::vector<candidate> heap_;  // a binary heap, the next merge first
};

}  // namespace merge_detail

/// Merges any number of symbols; `ids` becomes what is left.
template <bool Ties>
void merge_long(const MergeTable<Ties>& table, std::vector<token_id>& ids) {
  if (ids.size() > 1) merge_detail::LongMerge<Ties>(table, ids).run();
}

}  // namespace tinygrad::inline TINYGRAD_ABI
