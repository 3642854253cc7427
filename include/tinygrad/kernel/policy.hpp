// Policies: types that say how work is computed. The same model source runs as textbook loops or as packed SIMD on
// every core, depending on one template argument.
//
// A policy has a name, a register type `lanes_t<T>` that row kernels compute with, and four primitives:
//   map(f, args), map_backward(f, args)   elementwise work with broadcasting
//   fold(op, args)                        reductions
//   gemm(args)                            matrix products
//   for_range(n, grain, f)                f(begin, end) over disjoint parts of [0, n): how work is split
// Everything else in the library is written on these. Two axes make a policy: the leaf (naive, packed, yours) and the
// splitter (serial, pooled). To plug in a BLAS, derive from `packed` and hide `gemm`.
//
// The contract: results do not depend on the number of threads, primitives are noexcept, and nothing but the output
// range is written.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <tinygrad/kernel/fold.hpp>
#include <tinygrad/kernel/gemm_args.hpp>
#include <tinygrad/kernel/map.hpp>
#include <tinygrad/kernel/naive_gemm.hpp>
#include <tinygrad/kernel/packed_gemm.hpp>
#include <tinygrad/parallel/split.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {
/// A stand-in callable to spell the concept with.
struct any_range_body {
  void operator()(std::size_t, std::size_t) const noexcept {}
};
struct any_map_body {
  template <class V>
  V operator()(const V& x) const noexcept {
    return x;
  }
};
}  // namespace detail

/// What a type must offer to be a policy. Checked for float.
template <class P>
concept kernel_policy = requires(const map_args<float, 1>& map, const map_backward_args<float, 1>& back,
                                 const fold_args<float>& fold, const gemm_args<float>& gemm) {
  { P::name } -> std::convertible_to<std::string_view>;
  typename P::template lanes_t<float>;
  P::map(detail::any_map_body{}, map);
  P::map_backward(detail::any_map_body{}, back);
  P::fold(fold_add{}, fold);
  P::gemm(gemm);
  P::for_range(std::size_t{}, std::size_t{}, detail::any_range_body{});
};

/// The primitives that only depend on the register type and the splitter.
template <template <class> class Lanes, class Split>
struct policy_base {
  template <class T>
  using lanes_t = Lanes<T>;
  using splitter = Split;

  template <class F, class T, std::size_t K>
  static void map(const F& f, const map_args<T, K>& args) noexcept {
    map_kernel<Lanes<T>>(f, args, Split{});
  }
  template <class F, class T, std::size_t K>
  static void map_backward(const F& f, const map_backward_args<T, K>& args) noexcept {
    map_backward_kernel<Lanes<T>>(f, args, Split{});
  }
  template <class Op, class T>
  static void fold(Op op, const fold_args<T>& args) noexcept {
    fold_kernel<Lanes<T>>(op, args, Split{});
  }
  template <class Body>
  static void for_range(std::size_t n, std::size_t grain, Body&& body) noexcept {
    Split::run(n, grain, body);
  }
};

namespace detail {
template <class T>
using one_lane = T;
template <class T>
using native_pack = pack<T>;
}  // namespace detail

/// The specification: one number at a time, one thread, loops as in a textbook.
struct naive : policy_base<detail::one_lane, serial> {
  static constexpr std::string_view name = "naive";
  template <class T>
  static void gemm(const gemm_args<T>& args) noexcept {
    naive_gemm(args);
  }
};

/// SIMD packs, blocked matrix products, one thread.
struct packed : policy_base<detail::native_pack, serial> {
  static constexpr std::string_view name = "packed";
  template <class T, class Split = serial>
  static void gemm(const gemm_args<T>& args, Split split = {}) noexcept {
    packed_gemm(args, split);
  }
};

/// `Leaf` with its work split over the thread pool. A leaf whose gemm takes a splitter threads its inner loops.
template <class Leaf>
struct threaded : policy_base<Leaf::template lanes_t, pooled> {
  static constexpr std::string_view name = "threaded";
  template <class T>
  static void gemm(const gemm_args<T>& args) noexcept {
    if constexpr (requires { Leaf::gemm(args, pooled{}); })
      Leaf::gemm(args, pooled{});
    else
      Leaf::gemm(args);
  }
};

static_assert(kernel_policy<naive> && kernel_policy<packed> && kernel_policy<threaded<packed>>);

}  // namespace tinygrad::inline TINYGRAD_ABI
