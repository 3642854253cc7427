// A text and its characters as tokens, and samples that a model writes in them.
#pragma once

#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/autograd/no_grad.hpp>
#include <tinygrad/generate/sampler.hpp>
#include <tinygrad/io/mapped_file.hpp>
#include <tinygrad/io/safetensors.hpp>
#include <tinygrad/text/char_tokenizer.hpp>
#include <vector>

#include "verses.hpp"

namespace example {

using namespace tinygrad;

struct char_corpus {
  std::string source;  // for messages
  std::string text;
  CharTokenizer tokenizer;
  std::vector<int> ids;
};

/// The text of a file, or the verses built in when `path` is empty. Throws io_error, and value_error for an empty text
/// or one that is not UTF-8.
inline char_corpus load_corpus(const std::string& path) {
  std::string text(path.empty() ? std::string(verses) : std::string(mapped_file(path).text()));
  try {
    CharTokenizer tokenizer(text);
    std::vector<int> ids = tokenizer.encode(text);
    return {path.empty() ? "built-in verses" : path, std::move(text), std::move(tokenizer), std::move(ids)};
  } catch (const value_error& problem) {
    throw value_error((path.empty() ? "built-in verses" : path) + ": " + problem.what());
  }
}

/// A note of a checkpoint. Throws format_error when it is not there.
inline std::string note_of(const std::string& checkpoint, std::string_view key) {
  const safetensors_file file(checkpoint);
  for (const auto& [name, text] : file.metadata())
    if (name == key) return text;
  throw format_error(checkpoint, 8,
                     "metadata \"" + std::string(key) + "\" is missing: not a checkpoint of this program");
}

/// Throws value_error when the checkpoint's vocabulary is not that of the text.
inline void require_same_vocabulary(const std::string& checkpoint, const char_corpus& corpus) {
  if (note_of(checkpoint, "vocabulary") != corpus.tokenizer.vocabulary_text())
    throw value_error(checkpoint + ": made from a text with other characters than " + corpus.source);
}

/// `count` characters after `prompt`. The model sees the last `window` tokens at a time.
template <class Model>
std::string write_text(const Model& model, const CharTokenizer& tokenizer, std::string_view prompt, std::size_t count,
                       std::size_t window, Sampler& sampler) {
  const no_grad guard;
  std::vector<int> ids = tokenizer.encode(prompt);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t seen = ids.size() < window ? ids.size() : window;
    const auto logits = model(std::span<const int>(ids).last(seen), 1, seen);
    const auto last = logits.data().last(tokenizer.vocab_size());
    const std::vector<float> values(last.begin(), last.end());
    ids.push_back(sampler(values, ids));
  }
  return tokenizer.decode(ids);
}

}  // namespace example
