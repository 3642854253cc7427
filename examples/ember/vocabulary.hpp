// Text and tokens of the model in a file.
#pragma once

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/io/gguf.hpp>
#include <tinygrad/text/char_tokenizer.hpp>
#include <tinygrad/text/detokenizer.hpp>
#include <tinygrad/text/gguf_tokenizer.hpp>
#include <tinygrad/text/sentencepiece_files.hpp>
#include <variant>
#include <vector>

#include "ember.hpp"

namespace ember {

using namespace tinygrad;

/// A published tokenizer, the characters of a model that we trained ourselves, or none: then tokens are numbers.
class vocabulary {
 public:
  explicit vocabulary(const gguf_file& file) {
    const auto kind = file.find("tokenizer.ggml.model");
    if (const auto characters = file.find("tinygrad.characters"))
      kind_.emplace<CharTokenizer>(characters->text());
    else if (kind && kind->text() != "none")
      kind_.emplace<Tokenizer>(read_tokenizer(file, "gpt-2"));
    if (const auto program = file.find("tokenizer.chat_template")) chat_program_ = program->text();
  }
  /// The tokenizer.bin of a llama2.c checkpoint: the one given, or "tok<count>.bin" or "tokenizer.bin" in its folder.
  vocabulary(const settings& s, std::size_t count) {
    const std::filesystem::path folder = std::filesystem::path(s.model).parent_path();
    std::string path = s.tokenizer;
    for (const std::string& name : {"tok" + std::to_string(count) + ".bin", std::string("tokenizer.bin")})
      if (path.empty() && std::filesystem::exists(folder / name)) path = (folder / name).string();
    if (path.empty()) return;
    SentencePieceTokenizer tokenizer = read_llama2c_tokenizer(path);
    if (tokenizer.vocab_size() != count)
      throw value_error(path + ": " + std::to_string(tokenizer.vocab_size()) + " tokens, the model has " +
                        std::to_string(count));
    kind_.emplace<Tokenizer>(std::move(tokenizer));
  }

  /// `begin`: the model's BOS is put in front; `special`: control tokens written in the text become their ids.
  [[nodiscard]] std::vector<int> encode(const std::string& text, bool begin, bool special = false) const {
    if (const auto* characters = std::get_if<CharTokenizer>(&kind_)) return characters->encode(text);
    if (!published()) throw value_error("the file has no tokenizer; give tokens as numbers with --ids");
    encode_options options;
    options.add_special = begin;
    options.parse_special = special;
    return published()->encode(text, options);
  }
  /// What a token adds to a text; numbers where there is no tokenizer.
  [[nodiscard]] std::string bytes(int id) const {
    if (const auto* characters = std::get_if<CharTokenizer>(&kind_)) return std::string(characters->token_bytes(id));
    return published() ? std::string(published()->token_bytes(id)) : std::to_string(id) + " ";
  }
  /// The continuation of a text, U+FFFD for what is no UTF-8.
  [[nodiscard]] std::string decode(std::span<const int> ids) const {
    std::string all;
    for (const int id : ids) all += bytes(id);
    return replace_invalid_utf8(all);
  }
  /// The id of a control token, or no_token.
  [[nodiscard]] int control(std::string_view text) const {
    const int id = published() ? published()->find_token(text) : no_token;
    return id != no_token && published()->is_control(id) ? id : no_token;
  }
  /// Tokens that end a text or a turn.
  [[nodiscard]] std::vector<int> stops() const {
    std::vector<int> result;
    if (published())
      for (const int id : {published()->special().eos, published()->special().eot})
        if (id != no_token) result.push_back(id);
    return result;
  }
  [[nodiscard]] std::string bos() const { return published() ? special_text(published()->special().bos) : ""; }
  [[nodiscard]] std::string eos() const { return published() ? special_text(published()->special().eos) : ""; }
  /// The chat template of the file, a Jinja program; empty where it has none.
  [[nodiscard]] const std::string& chat_program() const noexcept { return chat_program_; }

 private:
  [[nodiscard]] const Tokenizer* published() const { return std::get_if<Tokenizer>(&kind_); }
  [[nodiscard]] std::string special_text(int id) const { return id == no_token ? "" : bytes(id); }

  std::variant<std::monostate, Tokenizer, CharTokenizer> kind_;
  std::string chat_program_;
};

/// Prints what a stream of tokens adds, never half a character.
class printer {
 public:
  explicit printer(const vocabulary& words) : words_(words) {}
  void push(int token) { show(stream_.push(words_.bytes(token))); }
  void finish() { show(stream_.flush()); }

 private:
  static void show(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  const vocabulary& words_;
  Utf8Stream stream_;
};

}  // namespace ember
