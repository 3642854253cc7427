// Sampler: from the logits of the next token to one token.
//
// The chain, in this order: repetition penalty, temperature, top-k, top-p, min-p, then a draw by inverse CDF over what
// is left, most likely first. Temperature 0 means the largest logit (the lowest id on a tie) and draws nothing.
//   repetition penalty r   logits of tokens in the history: l / r where positive, l r where negative (Keskar et al.
//   2019) top-k                  exactly the k largest logits; ties go to the lower id; 0 or k >= V keeps all top-p the
//   fewest tokens, most likely first, whose probabilities reach p; at least one; 1 keeps all min-p tokens at least
//   min_p times as likely as the likeliest (Nguyen et al. 2024)
// Same seed, same logits: same tokens, on every platform.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tinygrad/core/error.hpp>
#include <tinygrad/core/random.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

struct sampler_options {
  double temperature = 1;
  std::size_t top_k = 0;
  double top_p = 1;
  double min_p = 0;
  double repetition_penalty = 1;

  /// Throws value_error that names the option.
  void validate() const {
    require(temperature >= 0 && std::isfinite(temperature), "temperature must be finite and not negative", temperature);
    require(top_p >= 0 && top_p <= 1, "top_p must be in [0, 1]", top_p);
    require(min_p >= 0 && min_p <= 1, "min_p must be in [0, 1]", min_p);
    require(repetition_penalty > 0 && std::isfinite(repetition_penalty),
            "repetition_penalty must be finite and above zero", repetition_penalty);
  }

 private:
  static void require(bool ok, const char* rule, double value) {
    if (!ok) throw value_error("[sampler] " + std::string(rule) + ", got " + std::to_string(value));
  }
};

/// A token that is still in the running.
struct token_candidate {
  int id;
  float logit;         // after penalty, divided by the temperature
  double probability;  // among the candidates; set by `candidates`
};

class Sampler {
 public:
  /// Throws value_error for options out of range.
  explicit Sampler(const sampler_options& options = {}, std::uint64_t seed = 1) : options_(options), random_(seed) {
    options.validate();
  }
  [[nodiscard]] const sampler_options& options() const noexcept { return options_; }

  /// The next token. `history` holds the tokens so far, for the repetition penalty.
  /// Throws value_error for empty logits, a NaN or +inf among them, or nothing above -inf.
  [[nodiscard]] int operator()(std::span<const float> logits, std::span<const int> history = {}) {
    const std::span<const token_candidate> kept = candidates(logits, history);
    if (options_.temperature == 0 || kept.size() == 1) return kept[0].id;
    double remaining = random_.uniform();
    for (const token_candidate& candidate : kept) {
      remaining -= candidate.probability;
      if (remaining < 0) return candidate.id;
    }
    return kept.back().id;  // the probabilities summed to a little less than one
  }

  /// The tokens the chain leaves, most likely first, with the probabilities they are drawn by. Valid until the next
  /// call.
  [[nodiscard]] std::span<const token_candidate> candidates(std::span<const float> logits,
                                                            std::span<const int> history = {}) {
    collect(logits);
    penalise(history);
    if (options_.temperature == 0) {
      keep_largest();
      return kept_;
    }
    const auto warmth = static_cast<float>(options_.temperature);
    const float top = largest();
    for (token_candidate& c : kept_) c.logit = (c.logit - top) / warmth;  // shifted first: no overflow however cold
    sort_and_cut();
    normalise();
    cut_top_p();
    cut_min_p();
    normalise();
    return kept_;
  }

 private:
  static bool more_likely(const token_candidate& a, const token_candidate& b) noexcept {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  }
  void collect(std::span<const float> logits) {
    kept_.clear();
    bool any = false;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (std::isnan(logits[i]) || logits[i] == std::numeric_limits<float>::infinity())
        throw value_error("[sampler] logit " + std::to_string(logits[i]) + " for token " + std::to_string(i));
      any |= logits[i] != -std::numeric_limits<float>::infinity();
      kept_.push_back({static_cast<int>(i), logits[i], 0});
    }
    if (!any) throw value_error("[sampler] no token is possible: there are no logits above -inf");
  }
  void penalise(std::span<const int> history) {
    if (options_.repetition_penalty == 1) return;
    const auto penalty = static_cast<float>(options_.repetition_penalty);
    seen_.assign(kept_.size(), false);
    for (const int id : history) {
      const auto i = static_cast<std::size_t>(id);
      if (id < 0 || i >= kept_.size() || seen_[i]) continue;  // each token is penalised once
      seen_[i] = true;
      kept_[i].logit = kept_[i].logit > 0 ? kept_[i].logit / penalty : kept_[i].logit * penalty;
    }
  }
  [[nodiscard]] float largest() const noexcept {
    float result = kept_[0].logit;
    for (const token_candidate& c : kept_) result = c.logit > result ? c.logit : result;
    return result;
  }
  void keep_largest() {
    token_candidate best = kept_[0];
    for (const token_candidate& c : kept_)
      if (more_likely(c, best)) best = c;
    best.probability = 1;
    kept_.assign(1, best);
  }
  void sort_and_cut() {
    const std::size_t k = options_.top_k == 0 ? kept_.size() : (std::min)(options_.top_k, kept_.size());
    const auto middle = kept_.begin() + static_cast<std::ptrdiff_t>(k);
    if (k < kept_.size()) std::nth_element(kept_.begin(), middle, kept_.end(), more_likely);
    std::sort(kept_.begin(), middle, more_likely);
    kept_.resize(k);
  }
  void normalise() {
    double total = 0;
    for (token_candidate& c : kept_) total += c.probability = std::exp(static_cast<double>(c.logit));
    for (token_candidate& c : kept_) c.probability /= total;
  }
  void cut_top_p() {
    if (options_.top_p >= 1) return;
    const double enough = options_.top_p - 1e-7;  // probabilities come from float logits: 0.5 + 0.3 reaches 0.8
    double mass = 0;
    std::size_t count = 0;
    while (count < kept_.size()) {
      mass += kept_[count++].probability;
      if (mass >= enough) break;
    }
    kept_.resize(count);
  }
  void cut_min_p() {
    std::size_t count = 1;
    while (count < kept_.size() && kept_[count].probability >= options_.min_p * kept_[0].probability) ++count;
    kept_.resize(count);
  }

  sampler_options options_;
  Random random_;
  std::vector<token_candidate> kept_;
  std::vector<bool> seen_;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
