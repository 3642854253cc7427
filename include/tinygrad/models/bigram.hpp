// Bigram models: the next token depends on the last one only. Once by counting, once as a trained table.
//
// Counting with add-one smoothing (Laplace) gives the best table there is; training the same table by gradient descent
// must land on the same loss, which is what part 2 of the series shows.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <tinygrad/nn/embedding.hpp>
#include <tinygrad/nn/module.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

/// P(next = b | last = a) = (count(a, b) + smoothing) / (count(a) + smoothing V).
class CountedBigram {
 public:
  /// Throws value_error for an empty vocabulary or a smoothing that is not positive, index_error for an unknown id.
  CountedBigram(std::span<const int> ids, std::size_t vocabulary, double smoothing = 1)
      : vocabulary_(vocabulary), smoothing_(smoothing), counts_(vocabulary * vocabulary), totals_(vocabulary) {
    if (vocabulary == 0 || !(smoothing > 0))
      throw value_error("[bigram] the vocabulary and the smoothing must be above zero");
    for (const int id : ids) check(id);
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto a = static_cast<std::size_t>(ids[i]);
      counts_[a * vocabulary_ + static_cast<std::size_t>(ids[i + 1])] += 1;
      totals_[a] += 1;
    }
  }

  [[nodiscard]] std::size_t vocabulary() const noexcept { return vocabulary_; }
  /// The probability that `next` follows `last`. Throws index_error.
  [[nodiscard]] double probability(int last, int next) const {
    const std::size_t a = check(last), b = check(next);
    return (counts_[a * vocabulary_ + b] + smoothing_) / (totals_[a] + smoothing_ * static_cast<double>(vocabulary_));
  }
  /// Mean of -log P over the successive pairs of `ids`; NaN when there is no pair.
  [[nodiscard]] double loss(std::span<const int> ids) const {
    double total = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) total -= std::log(probability(ids[i], ids[i + 1]));
    return total / static_cast<double>(ids.empty() ? 0 : ids.size() - 1);
  }

 private:
  std::size_t check(int id) const {
    if (id < 0 || static_cast<std::size_t>(id) >= vocabulary_)
      throw index_error("[bigram] id " + std::to_string(id) + " outside a vocabulary of " +
                        std::to_string(vocabulary_));
    return static_cast<std::size_t>(id);
  }

  std::size_t vocabulary_;
  double smoothing_;
  std::vector<double> counts_;  // [last, next]
  std::vector<double> totals_;
};

/// The same model as a table of logits that is trained. All zeros at first: every token equally likely.
template <class T, class P = default_policy>
struct Bigram {
  using tensor = Tensor<T, P>;

  Embedding<T, P> table;  // [last, next]

  Bigram() = default;
  explicit Bigram(std::size_t vocabulary) {
    table.weight = tensor::zeros({vocabulary, vocabulary}).requires_grad();
    name_parameters(*this);
  }
  template <class Visit>
  void visit(Visit&& visit) {
    visit("table", table);
  }
  /// ids [batch, length] -> logits [batch, length, V] of the token that follows each position.
  [[nodiscard]] tensor operator()(std::span<const int> ids, std::size_t batch, std::size_t length) const {
    return table(ids, Shape{batch, length});
  }
};

}  // namespace tinygrad::inline TINYGRAD_ABI
