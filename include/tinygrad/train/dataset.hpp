// A text as token ids, split into a part to train on and a part to judge by, and batches drawn from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tinygrad/core/error.hpp>
#include <tinygrad/core/random.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

/// `batch` windows of `length` tokens and, for every position, the token that follows. Both [batch, length].
struct token_batch {
  std::size_t batch = 0, length = 0;
  std::vector<int> ids, targets;
};

/// Training and validation tokens. The validation part is the end of the text, so that no window spans both.
class TokenDataset {
 public:
  /// Throws value_error when either part is too short for one window of `length` tokens and its follower.
  TokenDataset(std::vector<int> ids, std::size_t length, double validation_share = 0.1)
      : ids_(std::move(ids)), length_(length) {
    if (!(validation_share > 0 && validation_share < 1))
      throw value_error("[dataset] the validation share must be between 0 and 1, got " +
                        std::to_string(validation_share));
    const auto held_out = static_cast<std::size_t>(static_cast<double>(ids_.size()) * validation_share);
    training_ = ids_.size() - held_out;
    if (length == 0 || training_ < length + 1 || held_out < length + 1)
      throw value_error("[dataset] the text has " + std::to_string(ids_.size()) +
                        " tokens; its training and validation parts need at least " + std::to_string(length + 1) +
                        " each (" + std::to_string(training_) + " and " + std::to_string(held_out) + ")");
  }

  [[nodiscard]] std::size_t length() const noexcept { return length_; }
  [[nodiscard]] std::span<const int> training() const noexcept { return std::span<const int>(ids_).first(training_); }
  [[nodiscard]] std::span<const int> validation() const noexcept {
    return std::span<const int>(ids_).subspan(training_);
  }

  /// Windows of the training part at positions drawn from `random`, which is all the position in the data there is.
  void draw(std::size_t batch, Random& random, token_batch& out) const {
    out.batch = batch;
    out.length = length_;
    out.ids.clear();
    out.targets.clear();
    for (std::size_t b = 0; b < batch; ++b) append(training(), random.below(training_ - length_), out);
  }
  /// The validation part cut into consecutive windows, `batch` at a time: block number `block`; false past the end.
  [[nodiscard]] bool validation_block(std::size_t block, std::size_t batch, token_batch& out) const {
    const std::size_t windows = (validation().size() - 1) / length_;
    const std::size_t first = block * batch;
    if (first >= windows) return false;
    out.batch = windows - first < batch ? windows - first : batch;
    out.length = length_;
    out.ids.clear();
    out.targets.clear();
    for (std::size_t b = 0; b < out.batch; ++b) append(validation(), (first + b) * length_, out);
    return true;
  }

 private:
  void append(std::span<const int> tokens, std::size_t start, token_batch& out) const {
    out.ids.insert(out.ids.end(), tokens.begin() + static_cast<std::ptrdiff_t>(start),
                   tokens.begin() + static_cast<std::ptrdiff_t>(start + length_));
    out.targets.insert(out.targets.end(), tokens.begin() + static_cast<std::ptrdiff_t>(start + 1),
                       tokens.begin() + static_cast<std::ptrdiff_t>(start + 1 + length_));
  }

  std::vector<int> ids_;
  std::size_t length_;
  std::size_t training_ = 0;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
