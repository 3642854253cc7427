// Matrix products over the last two axes, with broadcasting batch axes: matmul and matmul_t.
//
//   matmul(a [..., M, K], b [..., K, N]) -> [..., M, N]     y = a b
//   matmul_t(x [..., M, K], w [..., N, K]) -> [..., M, N]   y = x w^T; nothing is transposed in memory
//
//   da = dy b^T, summed over the batch axes that repeat a
//   db = a^T dy, summed over the batch axes that repeat b
//
// Every product, also of the gradients, is a call of the policy's gemm. Innermost batch axes over which the right side
// repeats are rows of one larger product: x [B, T, K] by w [K, N] is one gemm of B*T rows, and so is dw, whose sum
// over the batch is the inner sum of that product. What batch is left goes to gemm's own batch fields along one axis
// (after merging axes that can be walked as one) and to a loop over the others.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tinygrad/kernel/broadcast.hpp>
#include <tinygrad/kernel/gemm_args.hpp>
#include <tinygrad/ops/op.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {

/// The operands of a product, as numbered in its batch plan.
enum matmul_side : std::size_t { matmul_lhs, matmul_rhs, matmul_out };

/// How a product with batch axes falls into gemm calls.
struct matmul_plan {
  std::size_t m, n, k;      // of one product; m counts the rows of all batches that share one right side
  broadcast_plan<3> batch;  // lhs, rhs, out; strides count elements
};

/// Sizes and batch axes of both operands; `transposed` says that rhs is [..., N, K]. A rank 1 operand is one row on the
/// left and one column on the right.
struct matmul_sizes {
  std::size_t m, n, k, rhs_k;
  Shape lhs_batch, rhs_batch;

  matmul_sizes(const Shape& lhs, const Shape& rhs, bool transposed)
      : m(lhs.rank() == 1 ? 1 : lhs[-2]),
        n(rhs.rank() == 1 ? 1 : rhs[transposed ? -2 : -1]),
        k(lhs[-1]),
        rhs_k(rhs[rhs.rank() == 1 || transposed ? -1 : -2]),
        lhs_batch(lhs.slice(0, lhs.rank() - 2)),
        rhs_batch(rhs.slice(0, rhs.rank() - 2)) {}
};

[[nodiscard]] inline Shape matmul_shape(std::string_view op, const Shape& lhs, const Shape& rhs, bool transposed) {
  if (lhs.rank() == 0 || rhs.rank() == 0)
    throw_shape(op, "a scalar has no axis to sum over", lhs, rhs, "both need at least one axis; use * to scale");
  const matmul_sizes sizes(lhs, rhs, transposed);
  if (sizes.k != sizes.rhs_k)
    throw_shape(op, "inner sizes differ", lhs, rhs,
                rhs.rank() == 1 || transposed ? "lhs[-1] must equal rhs[-1]" : "lhs[-1] must equal rhs[-2]");
  const int lhs_axes = sizes.lhs_batch.rank(), rhs_axes = sizes.rhs_batch.rank();
  for (int back = 1; back <= lhs_axes && back <= rhs_axes; ++back)
    if (const std::size_t a = sizes.lhs_batch[-back], b = sizes.rhs_batch[-back]; a != b && a != 1 && b != 1)
      throw_shape(op, "batch axes do not broadcast", lhs, rhs,
                  "all axes but the last two must be equal or 1, aligned at the end");
  Shape result = broadcast_shapes(op, sizes.lhs_batch, sizes.rhs_batch);
  if (lhs.rank() > 1) result.append(sizes.m);
  if (rhs.rank() > 1) result.append(sizes.n);
  return result;
}

[[nodiscard]] inline matmul_plan plan_matmul(const Shape& lhs, const Shape& rhs, bool transposed) {
  const matmul_sizes sizes(lhs, rhs, transposed);
  const Shape batch = broadcast_shapes("matmul", sizes.lhs_batch, sizes.rhs_batch);
  matmul_plan plan{sizes.m, sizes.n, sizes.k, plan_broadcast<3>(batch, {sizes.lhs_batch, sizes.rhs_batch, batch})};
  auto& [axes, size, stride] = plan.batch;
  const std::array<std::size_t, 3> matrix{sizes.m * sizes.k, sizes.k * sizes.n, sizes.m * sizes.n};
  for (std::size_t operand = 0; operand < 3; ++operand)
    for (std::size_t& step : stride[operand]) step *= matrix[operand];

  const std::size_t last = axes - 1;
  const bool rows_follow = size[last] == 1 || plan.batch.stride[matmul_lhs][last] != 0;
  if (plan.batch.stride[matmul_rhs][last] != 0 || !rows_follow) return plan;
  plan.m *= size[last];
  if (axes > 1)
    --axes;
  else
    size[0] = 1;
  return plan;
}

/// Where a product's operand lies: `which` operand of the plan, and its steps from row to row and column to column.
template <class T>
struct matmul_operand {
  T* data;
  std::size_t which, row, column;

  [[nodiscard]] matmul_operand transposed() const { return {data, which, column, row}; }
};

/// c [m, n] (+)= a [m, k] b [k, n] for every product of the batch.
template <class P, class T>
void run_products(const broadcast_plan<3>& batch, std::size_t m, std::size_t n, std::size_t k,
                  const matmul_operand<const T>& a, const matmul_operand<const T>& b, const matmul_operand<T>& c,
                  bool accumulate) noexcept {
  const auto step = [](std::size_t elements) { return static_cast<std::ptrdiff_t>(elements); };
  const std::size_t last = batch.axes - 1;
  gemm_args<T> args{m,
                    n,
                    k,
                    nullptr,
                    step(a.row),
                    step(a.column),
                    nullptr,
                    step(b.row),
                    step(b.column),
                    nullptr,
                    step(c.row),
                    accumulate,
                    batch.size[last]};
  args.a_batch = step(batch.stride[a.which][last]);
  args.b_batch = step(batch.stride[b.which][last]);
  args.c_batch = step(batch.stride[c.which][last]);
  for (std::size_t outer = 0; outer < batch.rows(); ++outer) {
    args.a = a.data + batch.row_offset(a.which, outer);
    args.b = b.data + batch.row_offset(b.which, outer);
    args.c = c.data + batch.row_offset(c.which, outer);
    P::gemm(args);
  }
}

}  // namespace detail

template <bool RhsTransposed>
struct product_op {
  static constexpr std::string_view name = RhsTransposed ? "matmul_t" : "matmul";

  [[nodiscard]] Shape shape_of(const Shape& lhs, const Shape& rhs) const {
    return detail::matmul_shape(name, lhs, rhs, RhsTransposed);
  }

  template <class P, class T>
  void forward(view<T> y, view<const T> lhs, view<const T> rhs) const {
    const detail::matmul_plan p = detail::plan_matmul(lhs.shape, rhs.shape, RhsTransposed);
    detail::run_products<P, T>(p.batch, p.m, p.n, p.k, lhs_matrix(p, lhs.data), rhs_matrix(p, rhs.data),
                               out_matrix(p, y.data), false);
  }

  template <class P, class T>
  void backward(const result<T>& y, view<const T> lhs, view<const T> rhs, grad_slot<T> dlhs, grad_slot<T> drhs) const {
    const detail::matmul_plan p = detail::plan_matmul(lhs.shape, rhs.shape, RhsTransposed);
    const auto a = lhs_matrix(p, lhs.data);
    const auto b = rhs_matrix(p, rhs.data);
    const auto dy = out_matrix(p, y.grad);
    if (dlhs) {  // [m, k] = dy [m, n] b^T [n, k]
      const grad_target<T> target = target_of(dlhs, p, detail::matmul_lhs);
      detail::run_products<P, T>(p.batch, p.m, p.k, p.n, dy, b.transposed(), lhs_matrix(p, target.data),
                                 target.accumulate);
    }
    if (!drhs) return;
    const grad_target<T> target = target_of(drhs, p, detail::matmul_rhs);
    if constexpr (RhsTransposed)  // [n, k] = dy^T [n, m] a [m, k]
      detail::run_products<P, T>(p.batch, p.n, p.k, p.m, dy.transposed(), a, rhs_matrix(p, target.data).transposed(),
                                 target.accumulate);
    else  // [k, n] = a^T [k, m] dy [m, n]
      detail::run_products<P, T>(p.batch, p.k, p.n, p.m, a.transposed(), dy, rhs_matrix(p, target.data),
                                 target.accumulate);
  }

  template <class Try>
  static void examples(Try&& attempt) {
    const auto call = [](const auto& x) { return apply(product_op{}, x[0], x[1]); };
    const auto pair = [&](const Shape& lhs, const Shape& rhs) { attempt({lhs, oriented(rhs)}, call); };
    pair({2, 3}, {3, 4});
    pair({1, 1}, {1, 1});
    pair({5, 7}, {7, 37});  // odd, more than one pack wide
    pair({3, 4}, {4});      // matrix by vector, vector by matrix, dot product
    pair({3}, {3, 2});
    pair({5}, {5});
    pair({2, 3, 4}, {4, 5});     // one right side for the whole batch
    pair({3, 4}, {2, 4, 2});     // one left side
    pair({2, 3, 4}, {2, 4, 3});  // as many as there are
    pair({2, 1, 3, 2}, {3, 2, 4});
    pair({2, 3, 2, 4}, {2, 1, 4, 3});
    pair({2, 1, 2, 2, 3}, {3, 1, 3, 2});
    pair({4}, {2, 4, 3});
    pair({2, 3, 4}, {4});
    pair({0, 3}, {3, 2});  // no rows; an empty sum; an empty batch
    pair({2, 0}, {0, 3});
    pair({2, 3}, {0, 3, 2});
    pair({0, 2, 3}, {3, 2});
  }
  template <class Try>
  static void typical(Try&& attempt) {
    attempt({{256, 768}, {768, 768}}, [](const auto& x) { return apply(product_op{}, x[0], x[1]); });
  }

 private:
  /// The shape of a right side [..., K, N] as this operation wants it.
  static Shape oriented(const Shape& rhs) {
    return RhsTransposed && rhs.rank() > 1 ? rhs.with(-1, rhs[-2]).with(-2, rhs[-1]) : rhs;
  }
  template <class X>
  static detail::matmul_operand<X> lhs_matrix(const detail::matmul_plan& p, X* data) {
    return {data, detail::matmul_lhs, p.k, 1};
  }
  template <class X>
  static detail::matmul_operand<X> rhs_matrix(const detail::matmul_plan& p, X* data) {
    if constexpr (RhsTransposed)
      return {data, detail::matmul_rhs, 1, p.k};
    else
      return {data, detail::matmul_rhs, p.n, 1};
  }
  template <class X>
  static detail::matmul_operand<X> out_matrix(const detail::matmul_plan& p, X* data) {
    return {data, detail::matmul_out, p.n, 1};
  }
  /// A repeated operand's gradient is a sum over the batch and needs a defined start.
  template <class T>
  static grad_target<T> target_of(const grad_slot<T>& slot, const detail::matmul_plan& p, std::size_t operand) {
    if (p.batch.repeats(operand)) return {slot.zeroed(), true};
    return slot.open();
  }
};

using matmul_op = product_op<false>;
using matmul_t_op = product_op<true>;

/// a b over the last two axes: a [..., M, K], b [..., K, N] -> [..., M, N]; the other axes broadcast. A rank 1 operand
/// is one row on the left or one column on the right, and that axis is missing in the result.
/// Throws shape_error when the inner sizes differ, batch axes do not broadcast, or an operand has rank 0.
template <class T, class P>
[[nodiscard]] Tensor<T, P> matmul(const Tensor<T, P>& a, const Tensor<T, P>& b) {
  return apply(matmul_op{}, a, b);
}

/// x w^T over the last two axes: x [..., M, K], w [..., N, K] -> [..., M, N]. The product of a linear layer whose
/// weights are stored [out, in], and of queries with keys. Throws like matmul.
template <class T, class P>
[[nodiscard]] Tensor<T, P> matmul_t(const Tensor<T, P>& x, const Tensor<T, P>& w) {
  return apply(matmul_t_op{}, x, w);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
