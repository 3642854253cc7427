// Scaled dot-product attention with a causal mask, forward and backward, without the [T, T] matrix of weights.
//
//   y[i] = sum_j softmax_j(scale q[i] . k[j]) v[j],   j <= i + offset,   offset = keys - queries
//
// Keys are visited in blocks. Each query row keeps the largest score m and the sum l of exp(score - m) seen so far,
// and rescales what it has when m grows ("streaming softmax"), so memory is linear in T. The backward pass recomputes
// the weights block by block from the saved log-sum-exp of each row.
// Source: Milakov and Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135.
//
// Several query heads may share one key/value head (grouped-query attention): head h reads group h / (heads / groups).
// Each (batch, group) is worked on by one thread in a fixed order: results do not depend on the number of threads.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <tinygrad/kernel/gemm_args.hpp>
#include <tinygrad/kernel/lanes.hpp>
#include <tinygrad/simd/math.hpp>
#include <type_traits>

namespace tinygrad::inline TINYGRAD_ABI {

/// A matrix of heads inside a larger array: element (b, t, h, d) is data[b * batch + t * row + h * depth + d].
template <class T>
struct head_array {
  T* data;
  std::size_t batch, row;

  /// The same array, read only.
  operator head_array<const T>() const noexcept requires(!std::is_const_v<T>) { return {data, batch, row}; }
  [[nodiscard]] T* at(std::size_t b, std::size_t t, std::size_t head, std::size_t depth) const noexcept {
    return data + b * batch + t * row + head * depth;
  }
};

struct attention_sizes {
  std::size_t batch, queries, keys;  // keys >= queries: the last query sees the last key
  std::size_t heads, groups, depth;  // groups divides heads
  std::size_t window = 0;            // how many keys back a query sees, itself included; 0: all

  [[nodiscard]] std::size_t group_of(std::size_t head) const noexcept { return head / (heads / groups); }
  /// Keys that query i sees.
  [[nodiscard]] std::size_t visible(std::size_t i) const noexcept { return i + 1 + keys - queries; }
  /// The first of them.
  [[nodiscard]] std::size_t first_visible(std::size_t i) const noexcept {
    return window == 0 || visible(i) <= window ? 0 : visible(i) - window;
  }
};

namespace detail {

inline constexpr std::size_t attention_block = 64;  // queries and keys in a block of scores

/// A block of scores lives on the stack: no allocation, and it stays in the first cache.
template <class T>
struct score_block {
  alignas(64) T values[attention_block * attention_block];
  T* row(std::size_t i) noexcept { return values + i * attention_block; }
};

template <class V, class T>
[[nodiscard]] T dot_rows(const T* a, const T* b, std::size_t n) noexcept {
  V sum(T(0));
  for_lanes<V>(
      0, n, [&](std::size_t i, auto count) { sum = sum + load_lanes<V>(a + i, count) * load_lanes<V>(b + i, count); });
  return reduce_add(sum);
}

/// scores = q k^T for a block of rows of two strided matrices. One query, as in generation, needs no blocking.
template <class P, class T>
void block_scores(const T* q, std::size_t q_row, std::size_t queries, const T* k, std::size_t k_row, std::size_t keys,
                  std::size_t depth, T* scores) noexcept {
  if (queries == 1) {
    using V = typename P::template lanes_t<T>;
    for (std::size_t j = 0; j < keys; ++j) scores[j] = dot_rows<V>(q, k + j * k_row, depth);
    return;
  }
  P::gemm(gemm_args<T>{queries, keys, depth, q, static_cast<std::ptrdiff_t>(q_row), 1, k, 1,
                       static_cast<std::ptrdiff_t>(k_row), scores, static_cast<std::ptrdiff_t>(attention_block),
                       false});
}
/// c (+)= weights b, or weights^T b.
template <class P, class T>
void block_product(const T* weights, bool transposed, std::size_t rows, std::size_t inner, const T* b,
                   std::size_t b_row, std::size_t depth, T* c, std::size_t c_row, bool accumulate) noexcept {
  if (rows == 1 && !transposed) {
    using V = typename P::template lanes_t<T>;
    for_lanes<V>(0, depth, [&](std::size_t d, auto count) {
      V sum = accumulate ? load_lanes<V>(c + d, count) : V(T(0));
      for (std::size_t j = 0; j < inner; ++j) sum = sum + V(weights[j]) * load_lanes<V>(b + j * b_row + d, count);
      store_lanes(c + d, sum, count);
    });
    return;
  }
  constexpr auto step = static_cast<std::ptrdiff_t>(attention_block);
  P::gemm(gemm_args<T>{rows, depth, inner, weights, transposed ? 1 : step, transposed ? step : 1, b,
                       static_cast<std::ptrdiff_t>(b_row), 1, c, static_cast<std::ptrdiff_t>(c_row), accumulate});
}

/// Largest of n values, not below `floor`.
template <class V, class T>
[[nodiscard]] T block_max(const T* x, std::size_t n, T floor) noexcept {
  V largest(floor);
  for_lanes<V>(0, n, [&](std::size_t i, auto count) {
    const V v = load_lanes<V>(x + i, count);
    if constexpr (std::is_same_v<decltype(count), int>)  // a partial load fills with zeros, which may exceed the rest
      for (int lane = 0; lane < count; ++lane) floor = lane_of(v, lane) > floor ? lane_of(v, lane) : floor;
    else
      largest = maximum(largest, v);
  });
  const T in_packs = reduce_max(largest);
  return in_packs > floor ? in_packs : floor;
}

/// The keys [from, to) of a block that a query sees, as positions in the block.
struct seen_range {
  std::size_t from, to;
};

/// x[i] = exp(scale x[i] - shift) for the seen i, 0 for the rest of `n`; returns the sum.
template <class V, class T>
[[nodiscard]] T exponentiate(T* x, seen_range seen, std::size_t n, T scale, T shift) noexcept {
  V sum(T(0));
  for (std::size_t i = 0; i < seen.from; ++i) x[i] = T(0);
  for_lanes<V>(seen.from, seen.to, [&](std::size_t i, auto count) {
    const V e = exp(V(load_lanes<V>(x + i, count) * V(scale) - V(shift)));
    store_lanes(x + i, e, count);
    sum = sum + first_lanes(e, count);
  });
  for (std::size_t i = seen.to; i < n; ++i) x[i] = T(0);
  return reduce_add(sum);
}

template <class V, class T>
void scale_row(T* x, std::size_t n, T factor) noexcept {
  for_lanes<V>(
      0, n, [&](std::size_t i, auto count) { store_lanes(x + i, V(load_lanes<V>(x + i, count) * V(factor)), count); });
}

/// What query i sees of the block of keys [first, last).
inline seen_range seen_in_block(const attention_sizes& s, std::size_t i, std::size_t first, std::size_t last) noexcept {
  const auto inside = [&](std::size_t key) { return key <= first ? 0 : key < last ? key - first : last - first; };
  return {inside(s.first_visible(i)), inside(s.visible(i))};
}

/// The first key of the blocks that queries from `i` on have to look at.
inline std::size_t first_block(const attention_sizes& s, std::size_t i) noexcept {
  return s.first_visible(i) / attention_block * attention_block;
}

/// One head, one block of queries [from, to): all keys in turn.
template <class P, class T>
void attend_block(const attention_sizes& s, std::size_t b, std::size_t head, std::size_t from, std::size_t to, T scale,
                  head_array<const T> q, head_array<const T> k, head_array<const T> v, head_array<T> y,
                  T* log_sum) noexcept {
  using V = typename P::template lanes_t<T>;
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  score_block<T> scores;
  T largest[attention_block], sum[attention_block];
  for (std::size_t r = 0; r < to - from; ++r) largest[r] = lowest, sum[r] = T(0);
  const std::size_t group = s.group_of(head);
  const std::size_t visible = s.visible(to - 1), start = first_block(s, from);
  for (std::size_t first = start; first < visible; first += attention_block) {
    const std::size_t last = first + attention_block < visible ? first + attention_block : visible;
    block_scores<P>(q.at(b, from, head, s.depth), q.row, to - from, k.at(b, first, group, s.depth), k.row, last - first,
                    s.depth, scores.values);
    for (std::size_t r = 0; r < to - from; ++r) {
      const seen_range seen = seen_in_block(s, from + r, first, last);
      const T before = largest[r];
      const T now = block_max<V>(scores.row(r) + seen.from, seen.to - seen.from, before);
      const T shrink = now == before ? T(1) : static_cast<T>(std::exp(scale * (before - now)));
      const T added = now == lowest ? T(0) : exponentiate<V>(scores.row(r), seen, last - first, scale, scale * now);
      if (now == lowest)  // every score so far is -inf: nothing to attend to
        for (std::size_t j = 0; j < last - first; ++j) scores.row(r)[j] = T(0);
      largest[r] = now;
      sum[r] = sum[r] * shrink + added;
      if (first > start && shrink != T(1)) scale_row<V>(y.at(b, from + r, head, s.depth), s.depth, shrink);
    }
    block_product<P>(scores.values, false, to - from, last - first, v.at(b, first, group, s.depth), v.row, s.depth,
                     y.at(b, from, head, s.depth), y.row, first > start);
  }
  for (std::size_t r = 0; r < to - from; ++r) {
    scale_row<V>(y.at(b, from + r, head, s.depth), s.depth, sum[r] > T(0) ? T(1) / sum[r] : T(0));
    if (log_sum != nullptr)
      log_sum[(b * s.heads + head) * s.queries + from + r] =
          sum[r] > T(0) ? scale * largest[r] + static_cast<T>(std::log(sum[r])) : std::numeric_limits<T>::infinity();
  }
}

}  // namespace detail

/// y = attention(q, k, v). `log_sum` [batch, heads, queries] receives what the backward pass needs, unless null.
/// A query that sees only scores of -inf gets zeros.
template <class P, class T>
void attention_forward(const attention_sizes& s, T scale, head_array<const T> q, head_array<const T> k,
                       head_array<const T> v, head_array<T> y, T* log_sum) noexcept {
  if (s.batch == 0 || s.queries == 0 || s.heads == 0 || s.depth == 0) return;
  const std::size_t blocks = (s.queries + detail::attention_block - 1) / detail::attention_block;
  P::for_range(s.batch * s.heads * blocks, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t task = begin; task < end; ++task) {
      const std::size_t from = task % blocks * detail::attention_block;
      const std::size_t to = from + detail::attention_block < s.queries ? from + detail::attention_block : s.queries;
      const std::size_t head = task / blocks % s.heads;
      detail::attend_block<P>(s, task / blocks / s.heads, head, from, to, scale, q, k, v, y, log_sum);
    }
  });
}

/// What the backward pass of attention reads and writes. With `accumulate` false a gradient is written, else added to.
template <class T>
struct attention_gradients {
  head_array<T> dq, dk, dv;  // data null where not wanted
  bool accumulate_q, accumulate_k, accumulate_v;
};

namespace detail {

/// The scores of one block turned into weights p, and dp turned into the gradient of the scores, in place:
/// p = exp(scale s - log_sum), ds = p (dp - dy.y) scale.
template <class V, class T>
void score_gradient(T* p, T* dp, seen_range seen, std::size_t n, T scale, T log_sum, T correction) noexcept {
  static_cast<void>(exponentiate<V>(p, seen, n, scale, log_sum));
  for_lanes<V>(0, n, [&](std::size_t i, auto count) {
    const V ds = load_lanes<V>(p + i, count) * (load_lanes<V>(dp + i, count) - V(correction)) * V(scale);
    store_lanes(dp + i, ds, count);
  });
}

/// Gradients of one query head. `first_of_group` says whether dk and dv of its group have been written yet.
template <class P, class T>
void attend_backward(const attention_sizes& s, std::size_t b, std::size_t head, T scale, head_array<const T> q,
                     head_array<const T> k, head_array<const T> v, head_array<const T> y, head_array<const T> dy,
                     const T* log_sum, const attention_gradients<T>& g, bool first_of_group) noexcept {
  using V = typename P::template lanes_t<T>;
  score_block<T> weights, dweights;
  const std::size_t group = s.group_of(head);
  for (std::size_t from = 0; from < s.queries; from += attention_block) {
    const std::size_t to = from + attention_block < s.queries ? from + attention_block : s.queries;
    T correction[attention_block];
    for (std::size_t r = 0; r < to - from; ++r)
      correction[r] = dot_rows<V>(dy.at(b, from + r, head, s.depth), y.at(b, from + r, head, s.depth), s.depth);
    const std::size_t visible = s.visible(to - 1), start = first_block(s, from);
    for (std::size_t first = start; first < visible; first += attention_block) {
      const std::size_t last = first + attention_block < visible ? first + attention_block : visible;
      const std::size_t keys = last - first;
      const T* dy_block = dy.at(b, from, head, s.depth);
      block_scores<P>(q.at(b, from, head, s.depth), q.row, to - from, k.at(b, first, group, s.depth), k.row, keys,
                      s.depth, weights.values);
      block_scores<P>(dy_block, dy.row, to - from, v.at(b, first, group, s.depth), v.row, keys, s.depth,
                      dweights.values);
      for (std::size_t r = 0; r < to - from; ++r)
        score_gradient<V>(weights.row(r), dweights.row(r), seen_in_block(s, from + r, first, last), keys, scale,
                          log_sum[(b * s.heads + head) * s.queries + from + r], correction[r]);
      // Block (from, first) is the first to touch these keys when no earlier query block saw any of them.
      const std::size_t fresh_from = from == 0 ? 0 : s.visible(from - 1);  // keys before this were touched
      const auto add_to_keys = [&](head_array<T> target, bool accumulate, const T* block, head_array<const T> rows) {
        if (target.data == nullptr) return;
        const bool fresh = first_of_group && !accumulate;
        const std::size_t old = !fresh ? keys : fresh_from <= first ? 0 : fresh_from < last ? fresh_from - first : keys;
        if (old > 0)
          block_product<P>(block, true, old, to - from, rows.at(b, from, head, s.depth), rows.row, s.depth,
                           target.at(b, first, group, s.depth), target.row, true);
        if (old < keys)
          block_product<P>(block + old, true, keys - old, to - from, rows.at(b, from, head, s.depth), rows.row, s.depth,
                           target.at(b, first + old, group, s.depth), target.row, false);
      };
      add_to_keys(g.dv, g.accumulate_v, weights.values, dy);
      add_to_keys(g.dk, g.accumulate_k, dweights.values, q);
      if (g.dq.data != nullptr)
        block_product<P>(dweights.values, false, to - from, keys, k.at(b, first, group, s.depth), k.row, s.depth,
                         g.dq.at(b, from, head, s.depth), g.dq.row, g.accumulate_q || first > start);
    }
  }
}

}  // namespace detail

/// Gradients of attention_forward, from its inputs, its output y, the output's gradient dy and the saved log_sum.
template <class P, class T>
void attention_backward(const attention_sizes& s, T scale, head_array<const T> q, head_array<const T> k,
                        head_array<const T> v, head_array<const T> y, head_array<const T> dy, const T* log_sum,
                        const attention_gradients<T>& g) noexcept {
  if (s.batch == 0 || s.queries == 0 || s.heads == 0 || s.depth == 0) return;
  const std::size_t share = s.heads / s.groups;
  P::for_range(s.batch * s.groups, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t task = begin; task < end; ++task)
      for (std::size_t member = 0; member < share; ++member)
        detail::attend_backward<P>(s, task / s.groups, task % s.groups * share + member, scale, q, k, v, y, dy, log_sum,
                                   g, member == 0);
  });
}

}  // namespace tinygrad::inline TINYGRAD_ABI
