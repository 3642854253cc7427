// The concept that generation, probing and the command line are written on.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <tinygrad/core/config.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

/// Which positions a forward pass computes logits for; the head is the largest matrix of a small model.
enum class logits_of : unsigned char { all, last };

/// What generation, probing and the command line need of a model.
/// `forward(ids, batch, length, cache, which)` appends [batch, length] ids to the cache and returns logits
/// [batch, length, V], or [batch, 1, V] for the last position only.
template <class M>
concept language_model = requires(const M& model, std::span<const int> ids, typename M::cache_type& cache) {
  { model.vocabulary() } -> std::convertible_to<std::size_t>;
  { model.positions() } -> std::convertible_to<std::size_t>;
  { model.make_cache(std::size_t{}, std::size_t{}) } -> std::same_as<typename M::cache_type>;
  { model.forward(ids, std::size_t{}, std::size_t{}, cache, logits_of::last) } -> std::same_as<typename M::tensor>;
};

/// Looks at no hidden state: the default of a forward pass.
struct no_visit {
  template <class X>
  void operator()(std::size_t, const X&) const noexcept {}
};

}  // namespace tinygrad::inline TINYGRAD_ABI
