// Command lines of the examples: a command, options with values, and what is left.
#pragma once

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace example {

/// A mistake in the command line; the message is one sentence.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Takes options out of the command line one after another; what nobody took is an error.
class Arguments {
 public:
  Arguments(int count, char** values) : rest_(values + 1, values + count) {}

  /// The first word that is no option, or `fallback`.
  [[nodiscard]] std::string command(std::string_view fallback) {
    if (rest_.empty() || rest_[0].starts_with("--")) return std::string(fallback);
    std::string result = rest_[0];
    rest_.erase(rest_.begin());
    return result;
  }
  /// True when the flag is there.
  [[nodiscard]] bool flag(std::string_view name) {
    for (std::size_t i = 0; i < rest_.size(); ++i)
      if (rest_[i] == name) {
        rest_.erase(rest_.begin() + static_cast<std::ptrdiff_t>(i));
        return true;
      }
    return false;
  }
  /// The word after `name`, or `fallback`.
  [[nodiscard]] std::string text(std::string_view name, std::string_view fallback) {
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i] != name) continue;
      if (i + 1 == rest_.size()) throw usage_error(std::string(name) + " needs a value");
      std::string value = rest_[i + 1];
      rest_.erase(rest_.begin() + static_cast<std::ptrdiff_t>(i), rest_.begin() + static_cast<std::ptrdiff_t>(i + 2));
      return value;
    }
    return std::string(fallback);
  }
  /// The same as one of the words listed.
  [[nodiscard]] std::string choice(std::string_view name, const std::vector<std::string>& allowed) {
    std::string value = text(name, allowed.front());
    std::string list;
    for (const std::string& word : allowed) {
      if (word == value) return value;
      list += (list.empty() ? "" : ", ") + word;
    }
    throw usage_error(std::string(name) + " must be one of " + list + ", got " + value);
  }
  [[nodiscard]] std::uint64_t whole(std::string_view name, std::uint64_t fallback, std::uint64_t least = 0) {
    const auto value = number<std::uint64_t>(name, fallback);
    if (value < least) throw usage_error(std::string(name) + " must be at least " + std::to_string(least));
    return value;
  }
  [[nodiscard]] double real(std::string_view name, double fallback) { return number<double>(name, fallback); }
  /// Throws usage_error when something is left.
  void done() const {
    if (!rest_.empty()) throw usage_error("unknown argument " + rest_.front());
  }
  /// Everything that is left, joined with blanks.
  [[nodiscard]] std::string remaining() {
    std::string result;
    for (const std::string& word : rest_) {
      if (word.starts_with("--")) throw usage_error("unknown option " + word);
      result += (result.empty() ? "" : " ") + word;
    }
    rest_.clear();
    return result;
  }

 private:
  template <class Number>
  Number number(std::string_view name, Number fallback) {
    const std::string given = text(name, "");
    if (given.empty()) return fallback;
    Number value{};
    const auto [end, status] = std::from_chars(given.data(), given.data() + given.size(), value);
    if (status != std::errc{} || end != given.data() + given.size())
      throw usage_error(std::string(name) + " needs a number, got " + given);
    return value;
  }

  std::vector<std::string> rest_;
};

}  // namespace example
