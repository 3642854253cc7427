// From a stream of tokens to text that can be shown at once: a token may end inside a character, so bytes are held back
// until their character is complete. Bytes that can never become one are shown as U+FFFD; what is still held when the
// stream ends becomes one U+FFFD (flush). For the bytes as they are, see token_bytes and decode_bytes of a tokenizer.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/text/token.hpp>
#include <tinygrad/text/utf8.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

/// Bytes in, whole characters out.
class Utf8Stream {
 public:
  /// The text that became complete with these bytes; maybe empty.
  [[nodiscard]] std::string push(std::string_view bytes) {
    held_ += bytes;
    const std::size_t tail = incomplete_utf8_tail(held_);
    std::string out = replace_invalid_utf8(std::string_view(held_).substr(0, held_.size() - tail));
    held_.erase(0, held_.size() - tail);
    return out;
  }

  /// The end of the stream: one U+FFFD when a character was left incomplete. The stream can be used again.
  [[nodiscard]] std::string flush() {
    std::string out = replace_invalid_utf8(held_);
    held_.clear();
    return out;
  }

  /// Bytes held back, at most three.
  [[nodiscard]] std::string_view held() const noexcept { return held_; }

 private:
  std::string held_;
};

/// Tokens in, whole characters out. The tokenizer must outlive it.
template <tokenizer Tok>
class Detokenizer {
 public:
  /// `hide_control`: tokens like <|endoftext|> give no text.
  explicit Detokenizer(const Tok& tok, bool hide_control = false) : tok_(&tok), hide_control_(hide_control) { reset(); }

  [[nodiscard]] std::string push(token_id id) {
    std::string_view bytes = tok_->token_bytes(id);
    if (tok_->is_control(id)) return hide_control_ ? std::string() : stream_.push(bytes);
    if (strip_ && !bytes.empty()) {
      if (bytes.front() == ' ') bytes.remove_prefix(1);
      strip_ = false;
    }
    return stream_.push(bytes);
  }

  [[nodiscard]] std::string push(std::span<const token_id> ids) {
    std::string out;
    for (const token_id id : ids) out += push(id);
    return out;
  }

  [[nodiscard]] std::string flush() {
    std::string out = stream_.flush();
    reset();
    return out;
  }

 private:
  void reset() { strip_ = tok_->strips_leading_space(); }

  const Tok* tok_;
  Utf8Stream stream_;
  bool hide_control_;
  bool strip_ = false;  // the next bytes are the first: the space that encode added goes
};

/// All of `ids` as text, U+FFFD for what is no UTF-8. Never throws for a cut-off character.
template <tokenizer Tok>
[[nodiscard]] std::string decode_text(const Tok& tok, std::span<const token_id> ids, bool hide_control = false) {
  Detokenizer stream(tok, hide_control);
  std::string out = stream.push(ids);
  return out += stream.flush();
}

}  // namespace tinygrad::inline TINYGRAD_ABI
