// generate: continue a prompt, token by token, with a key/value cache.
//
//   auto result = generate(model, prompt, {.max_tokens = 40}, sampler, [&](int token) { ...; return true; });
//
// Written on the concept language_model, so it serves every model family.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/autograd/no_grad.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/generate/sampler.hpp>
#include <tinygrad/models/language_model.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

struct generate_options {
  std::size_t max_tokens = 100;   // new ones
  std::vector<int> stop_tokens;   // ends without emitting it
  bool use_cache = true;          // false: every token runs the whole sequence again, for comparison
  std::size_t prefill_chunk = 0;  // tokens of the prompt per pass; 0: all in one
};

enum class stop_reason : unsigned char { max_tokens, stop_token, context_full, callback };

[[nodiscard]] constexpr std::string_view to_string(stop_reason reason) noexcept {
  switch (reason) {
    case stop_reason::max_tokens:
      return "max_tokens";
    case stop_reason::stop_token:
      return "stop_token";
    case stop_reason::context_full:
      return "context_full";
    case stop_reason::callback:
      return "callback";
  }
  return "unknown";
}

struct generation {
  std::vector<int> tokens;  // the new ones
  stop_reason reason = stop_reason::max_tokens;
};

namespace detail {

/// Appends `ids` to the cache in chunks and returns the logits of the last position, [1, 1, V].
template <language_model M>
[[nodiscard]] typename M::tensor prefill(const M& model, std::span<const int> ids, typename M::cache_type& cache,
                                         std::size_t chunk) {
  typename M::tensor logits;
  const std::size_t step = chunk == 0 ? ids.size() : chunk;
  for (std::size_t first = 0; first < ids.size(); first += step) {
    const std::size_t count = ids.size() - first < step ? ids.size() - first : step;
    logits = model.forward(ids.subspan(first, count), 1, count, cache, logits_of::last);
  }
  return logits;
}

}  // namespace detail

/// Continues `prompt`. on_token(id) is called for each new token and returns whether to go on.
/// Stops with a reason: enough tokens, a stop token, a full context, or the callback.
/// Throws value_error for an empty prompt, index_error for one longer than the model's context.
template <language_model M, class OnToken>
[[nodiscard]] generation generate(const M& model, std::span<const int> prompt, const generate_options& options,
                                  Sampler& sampler, OnToken&& on_token) {
  if (prompt.empty()) throw value_error("[generate] the prompt is empty; there is nothing to continue");
  const std::size_t room = model.positions();
  if (prompt.size() > room)
    throw index_error("[generate] the prompt has " + std::to_string(prompt.size()) + " tokens; the model has " +
                      std::to_string(room) + " positions");
  const no_grad guard;
  const std::size_t wanted = room - prompt.size() < options.max_tokens ? room : prompt.size() + options.max_tokens;
  auto cache = model.make_cache(1, wanted);
  std::vector<int> sequence(prompt.begin(), prompt.end());
  sequence.reserve(wanted + 1);
  generation result;
  result.tokens.reserve(options.max_tokens < room ? options.max_tokens : room);
  std::span<const int> unseen = sequence;
  while (result.tokens.size() < options.max_tokens) {
    const auto logits = detail::prefill(model, unseen, cache, options.prefill_chunk);
    const auto values = logits.data();
    const int token = sampler(values.last(model.vocabulary()), sequence);
    for (const int stop : options.stop_tokens)
      if (token == stop) {
        result.reason = stop_reason::stop_token;
        return result;
      }
    result.tokens.push_back(token);
    sequence.push_back(token);
    if (!on_token(token)) {
      result.reason = stop_reason::callback;
      return result;
    }
    if (sequence.size() > room) {  // the token just made has no position of its own any more
      result.reason = stop_reason::context_full;
      return result;
    }
    if (!options.use_cache) cache.clear();
    unseen = options.use_cache ? std::span<const int>(sequence).last(1) : std::span<const int>(sequence);
  }
  return result;
}
template <language_model M>
[[nodiscard]] generation generate(const M& model, std::span<const int> prompt, const generate_options& options,
                                  Sampler& sampler) {
  return generate(model, prompt, options, sampler, [](int) { return true; });
}

}  // namespace tinygrad::inline TINYGRAD_ABI
