// checked<Leaf>: the policy for finding mistakes. It computes like Leaf, and looks at what comes out.
//
//   using debug = checked<threaded<packed>>;      // outermost: it must see whole operations
//   Tensor<float, debug> y = log(x);              // throws: [log] non-finite value -inf at element 3 of the output;
//   ...
//
// After every operation, forward and backward, each value is looked at: the first operation that makes an infinity or
// a NaN is named, not the loss that shows it ten layers later. Products and reductions also look at where they were
// told to write: over their own inputs is a mistake in the operation that asked for it. Kernels cannot throw, so they
// note it, and the error comes at the end of that operation.
//
// Costs one pass over every result. An operation that makes infinities on purpose has no place under this policy.
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/error.hpp>
#include <tinygrad/kernel/policy.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {

/// The bytes between the first and the last element of an operand, ends included.
struct byte_range {
  std::uintptr_t first = 1, last = 0;  // nothing

  [[nodiscard]] bool overlaps(const byte_range& other) const noexcept {
    return first <= last && other.first <= other.last && first <= other.last && other.first <= last;
  }
};

/// The range of an operand walked along up to three axes, each with its size and its step (which may be negative).
template <class T, std::size_t Axes>
[[nodiscard]] byte_range range_of(const T* data, const std::size_t (&sizes)[Axes],
                                  const std::ptrdiff_t (&steps)[Axes]) noexcept {
  std::ptrdiff_t low = 0, high = 0;
  for (std::size_t axis = 0; axis < Axes; ++axis) {
    if (sizes[axis] == 0) return {};
    const std::ptrdiff_t reach = static_cast<std::ptrdiff_t>(sizes[axis] - 1) * steps[axis];
    (reach < 0 ? low : high) += reach;
  }
  const auto start = reinterpret_cast<std::uintptr_t>(data);
  constexpr auto bytes = static_cast<std::ptrdiff_t>(sizeof(T));
  return {start + static_cast<std::uintptr_t>(low * bytes),
          start + static_cast<std::uintptr_t>((high + 1) * bytes) - 1};
}

template <class T>
[[nodiscard]] bool overwrites_input(const gemm_args<T>& args) noexcept {
  const byte_range a = range_of(args.a, {args.m, args.k, args.batch}, {args.a_row, args.a_col, args.a_batch});
  const byte_range b = range_of(args.b, {args.k, args.n, args.batch}, {args.b_row, args.b_col, args.b_batch});
  const byte_range c = range_of(args.c, {args.m, args.n, args.batch}, {args.c_row, 1, args.c_batch});
  return c.overlaps(a) || c.overlaps(b);
}

template <class T>
[[nodiscard]] bool overwrites_input(const fold_args<T>& args) noexcept {
  const byte_range in = range_of(args.in, {args.outer * args.length * args.inner}, {1});
  return in.overlaps(range_of(args.out, {args.outer * args.inner}, {1}));
}

/// The primitive that was last told to write over its input, until somebody throws for it. For all threads: kernels may
/// run in the pool's.
[[nodiscard]] inline std::atomic<const char*>& noted_overlap() noexcept {
  static std::atomic<const char*> primitive{nullptr};
  return primitive;
}

[[nodiscard]] inline std::string non_finite_text(double value) {
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

}  // namespace detail

template <class Leaf>
struct checked : Leaf {
  static constexpr std::string_view name = "checked";

  template <class T>
  static void gemm(const gemm_args<T>& args) noexcept {
    if (detail::overwrites_input(args)) detail::noted_overlap() = "gemm";
    Leaf::gemm(args);
  }
  template <class Op, class T>
  static void fold(Op op, const fold_args<T>& args) noexcept {
    if (detail::overwrites_input(args)) detail::noted_overlap() = "fold";
    Leaf::fold(op, args);
  }

  /// Looks at the values that operation `op` made; `what` they are is said in the error. Throws value_error for a value
  /// that is not finite, and when a primitive wrote over its input.
  template <class T>
  static void inspect(std::string_view op, std::span<const T> values, std::string_view what = "the output") {
    if (const char* const primitive = detail::noted_overlap().exchange(nullptr))
      throw value_error("[" + std::string(op) + "] " + primitive +
                        " was told to write over its own input; the output must not overlap an operand");
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!std::isfinite(values[i]))
        throw value_error("[" + std::string(op) + "] non-finite value " +
                          detail::non_finite_text(static_cast<double>(values[i])) + " at element " + std::to_string(i) +
                          " of " + std::string(what) + "; every operation before it gave finite values");
  }
};

static_assert(kernel_policy<checked<packed>> && kernel_policy<checked<threaded<packed>>>);

}  // namespace tinygrad::inline TINYGRAD_ABI
