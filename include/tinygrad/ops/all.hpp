// Every operation of the library, as a list of types.
//
// Gradient checks, the comparison of policies, shape edge cases and micro-benchmarks walk this list, so an operation
// that is in it is tested, and one that is not fails a test of its own. Adding one: write its file, include it here,
// name it below.
#pragma once

#include <tinygrad/ops/activation.hpp>
#include <tinygrad/ops/arithmetic.hpp>
#include <tinygrad/ops/attention.hpp>
#include <tinygrad/ops/concat.hpp>
#include <tinygrad/ops/cross_entropy.hpp>
#include <tinygrad/ops/dropout.hpp>
#include <tinygrad/ops/elementary.hpp>
#include <tinygrad/ops/embedding.hpp>
#include <tinygrad/ops/heads.hpp>
#include <tinygrad/ops/loss.hpp>
#include <tinygrad/ops/matmul.hpp>
#include <tinygrad/ops/norm.hpp>
#include <tinygrad/ops/operators.hpp>
#include <tinygrad/ops/reduce.hpp>
#include <tinygrad/ops/rope.hpp>
#include <tinygrad/ops/shape_ops.hpp>
#include <tinygrad/ops/softmax.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

template <class... Ops>
struct op_list {
  /// f.template operator()<Op>() for each operation, in order.
  template <class F>
  static void for_each(F&& f) {
    (f.template operator()<Ops>(), ...);
  }
  static constexpr std::size_t count = sizeof...(Ops);
};

using elementwise_ops =
    op_list<map_op<fn::add, 2>, map_op<fn::sub, 2>, map_op<fn::mul, 2>, map_op<fn::div, 2>, map_op<fn::neg, 1>,
            map_op<fn::scale, 1>, map_op<fn::divide_by, 1>, map_op<fn::shift, 1>, map_op<fn::subtract_from, 1>,
            map_op<fn::divide_into, 1>, map_op<fn::abs, 1>, map_op<fn::sqrt, 1>, map_op<fn::exp, 1>, map_op<fn::log, 1>,
            map_op<fn::sin, 1>, map_op<fn::cos, 1>, map_op<fn::pow, 2>, map_op<fn::power, 1>, map_op<fn::max, 2>,
            map_op<fn::min, 2>, map_op<fn::clamp, 1>, map_op<fn::where, 3>, map_op<fn::tanh, 1>, map_op<fn::sigmoid, 1>,
            map_op<fn::relu, 1>, map_op<fn::leaky_relu, 1>, map_op<fn::gelu, 1>, map_op<fn::gelu_erf, 1>,
            map_op<fn::silu, 1>>;

using reduction_ops = op_list<sum_op, mean_op, max_op>;
using row_ops =
    op_list<softmax_op, log_softmax_op, causal_softmax_op, cross_entropy_op, mse_loss_op, layer_norm_op, rms_norm_op>;

using matmul_ops = op_list<matmul_op, matmul_t_op, causal_attention_op, grouped_attention_op>;
using shape_op_list = op_list<reshape_op, permute_op, narrow_op, concat_op, split_heads_op, merge_heads_op>;
using lookup_ops = op_list<embedding_op, dropout_op, rope_op>;

namespace detail {
template <class... As, class... Bs, class... Lists>
auto join_lists(op_list<As...>, op_list<Bs...>, Lists... rest) {
  if constexpr (sizeof...(Lists) == 0)
    return op_list<As..., Bs...>{};
  else
    return join_lists(op_list<As..., Bs...>{}, rest...);
}
}  // namespace detail

using all_ops = decltype(detail::join_lists(elementwise_ops{}, reduction_ops{}, row_ops{}, matmul_ops{},
                                            shape_op_list{}, lookup_ops{}));

}  // namespace tinygrad::inline TINYGRAD_ABI
