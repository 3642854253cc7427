// Causal self-attention as one operation: scores, mask, softmax and weighted sum without a [T, T] matrix in memory.
//
//   causal_attention(qkv, heads)          qkv [B, T, 3C]: queries, keys and values side by side, as one Linear makes
//   them causal_attention(q, k, v, h, g)       q [B, T, h D], k and v [B, T, g D]: grouped-query attention, g divides h
//
// y[b, t] = concat over heads of softmax_j(q . k[j] / sqrt(D)) v[j] over j <= t. The same computation spelled out with
// matmul_t, causal_softmax and matmul is `composed_attention`: it is the specification that this one is tested against.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tinygrad/core/buffer.hpp>
#include <tinygrad/kernel/attention.hpp>
#include <tinygrad/ops/op.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {

/// 1 / sqrt(depth).
template <class T>
[[nodiscard]] T attention_scale(std::size_t depth) noexcept {
  return static_cast<T>(1 / std::sqrt(static_cast<double>(depth)));
}
/// Throws value_error unless `heads` divides `channels` evenly.
inline void require_heads(std::string_view op, std::size_t heads, std::size_t channels) {
  if (heads == 0 || channels % heads != 0)
    throw value_error("[" + std::string(op) + "] " + std::to_string(heads) + " heads do not divide " +
                      std::to_string(channels) + " channels");
}

}  // namespace detail

/// Attention from one tensor that holds queries, keys and values side by side.
struct causal_attention_op {
  static constexpr std::string_view name = "causal_attention";
  static constexpr saved_values saves = saved_values::both;

  std::size_t heads = 1;
  std::optional<scratch<std::byte>> log_sum_memory{};  // a T per batch, head and position

  [[nodiscard]] Shape shape_of(const Shape& qkv) const {
    if (qkv.rank() != 3 || qkv[2] % 3 != 0)
      throw_shape(name, "not queries, keys and values", qkv, "the shape must be (B, T, 3C)");
    detail::require_heads(name, heads, qkv[2] / 3);
    return qkv.with(2, qkv[2] / 3);
  }

  template <class P, class T>
  void forward(view<T> y, view<const T> qkv) {
    const attention_sizes s = sizes(qkv.shape);
    log_sum_memory.emplace(s.batch * s.heads * s.queries * sizeof(T));
    const std::size_t width = y.shape[2];
    attention_forward<P, T>(s, detail::attention_scale<T>(s.depth), part(qkv.data, 0, qkv.shape),
                            part(qkv.data, 1, qkv.shape), part(qkv.data, 2, qkv.shape),
                            head_array<T>{y.data, s.queries * width, width}, log_sum<T>());
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T> qkv, grad_slot<T> dqkv) {
    if (!dqkv) return;
    const attention_sizes s = sizes(qkv.shape);
    const std::size_t width = y.shape[2];
    const grad_target<T> target = dqkv.open();
    attention_backward<P, T>(s, detail::attention_scale<T>(s.depth), part(qkv.data, 0, qkv.shape),
                             part(qkv.data, 1, qkv.shape), part(qkv.data, 2, qkv.shape),
                             head_array<const T>{y.data, s.queries * width, width},
                             head_array<const T>{y.grad, s.queries * width, width}, log_sum<T>(),
                             attention_gradients<T>{part(target.data, 0, qkv.shape), part(target.data, 1, qkv.shape),
                                                    part(target.data, 2, qkv.shape), target.accumulate,
                                                    target.accumulate, target.accumulate});
  }

  template <class Try>
  static void examples(Try&& attempt) {
    const auto with_heads = [&](const Shape& shape, std::size_t count) {
      attempt({shape}, [count](const auto& x) { return apply(causal_attention_op{count}, x[0]); });
    };
    with_heads({2, 5, 12}, 2);
    with_heads({1, 1, 3}, 1);
    with_heads({2, 0, 6}, 1);
    with_heads({1, 70, 6}, 1);  // more than one block of queries and keys
  }
  template <class Try>
  static void typical(Try&& attempt) {
    attempt({{32, 64, 3 * 96}}, [](const auto& x) { return apply(causal_attention_op{4}, x[0]); });
  }

 private:
  [[nodiscard]] attention_sizes sizes(const Shape& qkv) const noexcept {
    return {qkv[0], qkv[1], qkv[1], heads, heads, qkv[2] / 3 / heads};
  }
  /// The queries (0), keys (1) or values (2) inside qkv.
  template <class T>
  [[nodiscard]] static head_array<T> part(T* data, std::size_t which, const Shape& qkv) noexcept {
    return {data + which * (qkv[2] / 3), qkv[1] * qkv[2], qkv[2]};
  }
  template <class T>
  [[nodiscard]] T* log_sum() const noexcept {
    return reinterpret_cast<T*>(log_sum_memory->data());
  }
};

/// Attention from separate queries, keys and values, with as many or fewer key/value heads than query heads.
struct grouped_attention_op {
  static constexpr std::string_view name = "grouped_attention";
  static constexpr saved_values saves = saved_values::both;

  std::size_t heads = 1, groups = 1, window = 0;
  std::optional<scratch<std::byte>> log_sum_memory{};

  [[nodiscard]] Shape shape_of(const Shape& q, const Shape& k, const Shape& v) const {
    if (q.rank() != 3) throw_shape(name, "queries of the wrong rank", q, "the shape must be (B, T, heads * D)");
    detail::require_heads(name, heads, q[2]);
    detail::require_heads(name, groups, heads);
    if (k != v) throw_shape(name, "keys and values differ", k, v, "both must be (B, T, groups * D)");
    if (k != q.with(2, q[2] / heads * groups))
      throw_shape(name, "queries and keys do not fit", q, k, "q is (B, T, heads * D), k and v (B, T, groups * D)");
    return q;
  }

  template <class P, class T>
  void forward(view<T> y, view<const T> q, view<const T> k, view<const T> v) {
    const attention_sizes s = sizes(q.shape);
    log_sum_memory.emplace(s.batch * s.heads * s.queries * sizeof(T));
    attention_forward<P, T>(s, detail::attention_scale<T>(s.depth), array(q.data, q.shape), array(k.data, k.shape),
                            array(v.data, v.shape), array(y.data, y.shape), log_sum<T>());
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T> q, view<const T> k, view<const T> v, grad_slot<T> dq, grad_slot<T> dk,
                grad_slot<T> dv) {
    const attention_sizes s = sizes(q.shape);
    const auto open = [](const grad_slot<T>& slot) { return slot ? slot.open() : grad_target<T>{nullptr, false}; };
    const grad_target<T> tq = open(dq), tk = open(dk), tv = open(dv);
    attention_backward<P, T>(
        s, detail::attention_scale<T>(s.depth), array(q.data, q.shape), array(k.data, k.shape), array(v.data, v.shape),
        array(y.data, y.shape), array(y.grad, y.shape), log_sum<T>(),
        attention_gradients<T>{array(tq.data, q.shape), array(tk.data, k.shape), array(tv.data, v.shape), tq.accumulate,
                               tk.accumulate, tv.accumulate});
  }

  template <class Try>
  static void examples(Try&& attempt) {
    const auto with_heads = [&](const Shape& q, const Shape& k, std::size_t count, std::size_t group_count,
                                std::size_t reach = 0) {
      attempt({q, k, k}, [=](const auto& x) {
        return apply(grouped_attention_op{count, group_count, reach}, x[0], x[1], x[2]);
      });
    };
    with_heads({2, 5, 12}, {2, 5, 6}, 4, 2);
    with_heads({1, 67, 8}, {1, 67, 4}, 2, 1);
    with_heads({1, 1, 3}, {1, 1, 3}, 1, 1);
    with_heads({0, 4, 4}, {0, 4, 2}, 2, 1);
    with_heads({1, 7, 4}, {1, 7, 2}, 2, 1, 3);
    with_heads({1, 140, 2}, {1, 140, 2}, 1, 1, 70);  // whole blocks of keys fall out of the window
  }
  template <class Try>
  static void typical(Try&& attempt) {
    attempt({{4, 256, 512}, {4, 256, 256}, {4, 256, 256}}, [](const auto& x) {
      return apply(grouped_attention_op{8, 4}, x[0], x[1], x[2]);
    });
  }

 private:
  [[nodiscard]] attention_sizes sizes(const Shape& q) const noexcept {
    return {q[0], q[1], q[1], heads, groups, q[2] / heads, window};
  }
  template <class T>
  [[nodiscard]] static head_array<T> array(T* data, const Shape& shape) noexcept {
    return {data, shape[1] * shape[2], shape[2]};
  }
  template <class T>
  [[nodiscard]] T* log_sum() const noexcept {
    return reinterpret_cast<T*>(log_sum_memory->data());
  }
};

/// Causal self-attention; qkv [B, T, 3C] -> [B, T, C]. Throws shape_error, and value_error when heads do not divide C.
template <class T, class P>
[[nodiscard]] Tensor<T, P> causal_attention(const Tensor<T, P>& qkv, std::size_t heads) {
  return apply(causal_attention_op{heads}, qkv);
}
/// Causal grouped-query attention; q [B, T, heads D], k and v [B, T, groups D] -> [B, T, heads D]. A position sees the
/// last `window` ones, itself included; 0: all.
template <class T, class P>
[[nodiscard]] Tensor<T, P> causal_attention(const Tensor<T, P>& q, const Tensor<T, P>& k, const Tensor<T, P>& v,
                                            std::size_t heads, std::size_t groups, std::size_t window = 0) {
  return apply(grouped_attention_op{heads, groups, window}, q, k, v);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
