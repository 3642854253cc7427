// dropout: each element is dropped with probability p, the others are scaled by 1 / (1 - p), so that the expectation
// stays. Srivastava, Hinton, Krizhevsky, Sutskever and Salakhutdinov, 2014; scaled while training ("inverted").
//
// No mask is stored. Whether element i stays is 32 bits at position i of the SplitMix64 stream of one drawn seed, and
// that stream can be entered anywhere: threads share the work, and backward makes the mask again from the seed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tinygrad/core/random.hpp>
#include <tinygrad/kernel/lanes.hpp>
#include <tinygrad/ops/op.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

struct dropout_op {
  static constexpr std::string_view name = "dropout";
  static constexpr saved_values saves = saved_values::none;

  double p = 0;            // probability of dropping, in [0, 1)
  std::uint64_t seed = 0;  // of the mask

  [[nodiscard]] Shape shape_of(const Shape& x) const { return x; }
  template <class P, class T>
  void forward(view<T> y, view<const T> x) const {
    mask<P>(x.data, y.data, x.shape.count(), false);
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T>, grad_slot<T> dx) const {
    const grad_target<T> target = dx.open();
    mask<P>(y.grad, target.data, y.shape.count(), target.accumulate);
  }

  template <class Try>
  static void examples(Try&& attempt) {
    for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{1}, Shape{0, 4}, Shape{3, 37}})
      attempt({shape}, [](const auto& x) {
        Random generator(7);  // the same mask in every call
        return dropout(x[0], 0.4, generator);
      });
  }
  template <class Try>
  static void typical(Try&& attempt) {
    attempt({{1024, 768}}, [](const auto& x) {
      Random generator(7);
      return dropout(x[0], 0.1, generator);
    });
  }

 private:
  static constexpr std::size_t block = 64;  // elements whose factors are made together

  /// out = in * factor, or out += in * factor, where the factor is 0 for what is dropped. A dropped inf or NaN is 0.
  template <class P, class T>
  void mask(const T* in, T* out, std::size_t n, bool accumulate) const noexcept {
    using V = typename P::template lanes_t<T>;
    P::for_range(n, 256 * block, [&](std::size_t first, std::size_t last) {
      std::array<T, block> factors;
      for (std::size_t start = first; start < last; start += block) {
        fill_factors(start, factors);
        const T* x = in + start;
        T* y = out + start;
        for_lanes<V>(0, last - start < block ? last - start : block, [&](std::size_t i, auto count) {
          const V factor = load_lanes<V>(factors.data() + i, count);
          const V kept = select(factor == V(T(0)), V(T(0)), V(factor * load_lanes<V>(x + i, count)));
          store_lanes(y + i, accumulate ? V(load_lanes<V>(y + i, count) + kept) : kept, count);
        });
      }
    });
  }
  /// The factors of elements start, start + 1, ...: 0, or 1 / (1 - p). `start` is even.
  template <class T>
  void fill_factors(std::size_t start, std::array<T, block>& factors) const noexcept {
    const auto threshold = static_cast<std::uint64_t>(p * 0x1p32);  // dropped: 32 random bits below it
    const T scale = static_cast<T>(1 / (1 - p));
    for (std::size_t k = 0; k < block; k += 2) {
      // The counter of SplitMix64 moves by the same odd number each step, so the state at any step is a product.
      std::uint64_t counter = seed + 0x9e3779b97f4a7c15u * ((start + k) / 2);
      const std::uint64_t bits = random_detail::splitmix64(counter);
      factors[k] = static_cast<T>((bits & 0xffffffffu) >= threshold) * scale;  // no branch: nothing could predict it
      factors[k + 1] = static_cast<T>((bits >> 32) >= threshold) * scale;
    }
  }
};

/// x with each element dropped with probability p and the others divided by 1 - p. Takes one draw of `generator`;
/// the same draw gives the same mask under every policy and any number of threads. With `training` false, or p = 0,
/// it returns x itself and draws nothing. Throws value_error unless 0 <= p < 1.
template <class T, class P>
[[nodiscard]] Tensor<T, P> dropout(const Tensor<T, P>& x, double p, Random& generator, bool training = true) {
  detail::require_defined("dropout", x);
  if (!(p >= 0 && p < 1))
    throw value_error("[dropout] p is " + std::to_string(p) + "; the probability of dropping must lie in [0, 1)");
  if (!training || p == 0) return x;
  return apply(dropout_op{p, generator()}, x);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
