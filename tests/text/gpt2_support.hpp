// What the tokenizer tests share: GPT-2's published vocabulary, and a small one made here for tests that need no data.
#pragma once

#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <tinygrad/text/bpe.hpp>
#include <tinygrad/text/load_tokenizer.hpp>
#include <vector>

#include "support/shared_data.hpp"

namespace tinygrad_test {

using token_ids = std::vector<tinygrad::token_id>;

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// GPT-2 from vocab.json and merges.txt, read once; null (with a MESSAGE) when the data is not there.
inline const tinygrad::BpeTokenizer* gpt2() {
  static const std::unique_ptr<tinygrad::BpeTokenizer> made = [] {
    const auto vocab = shared_data("tokenizer/gpt2/encoder.json"), merges = shared_data("tokenizer/gpt2/vocab.bpe");
    if (!vocab || !merges) return std::unique_ptr<tinygrad::BpeTokenizer>();
    return std::make_unique<tinygrad::BpeTokenizer>(tinygrad::read_gpt2_tokenizer(vocab->string(), merges->string()));
  }();
  if (!made) MESSAGE("skipped: GPT-2's vocabulary is not there");
  return made.get();
}

/// All 256 bytes in GPT-2's order of ids, then `merges` ("left right", in the byte alphabet) and their products.
inline tinygrad::bpe_vocabulary byte_vocabulary(std::vector<std::string> merges = {}) {
  tinygrad::bpe_vocabulary vocabulary;
  const auto alphabet = tinygrad::bpe_detail::byte_alphabet();
  const auto spell = [&](std::size_t b) {
    std::string text;
    tinygrad::append_code_point(text, alphabet[b]);
    vocabulary.tokens.push_back(text);
  };
  for (std::size_t b = 0; b < 256; ++b) {
    if (alphabet[b] < 0x100) spell(b);
  }
  for (std::size_t b = 0; b < 256; ++b) {
    if (alphabet[b] >= 0x100) spell(b);
  }
  for (std::string merge : merges) {
    merge.erase(merge.find(' '), 1);
    vocabulary.tokens.push_back(merge);
  }
  vocabulary.merges = std::move(merges);
  return vocabulary;
}

/// Numbers separated by anything, one vector a line.
inline std::vector<token_ids> id_lines(const std::string& text) {
  std::vector<token_ids> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    token_ids& row = lines.emplace_back();
    for (char& c : line) {
      if (c < '0' || c > '9') c = ' ';
    }
    std::istringstream numbers(line);
    for (tinygrad::token_id id; numbers >> id;) row.push_back(id);
  }
  return lines;
}

/// The 47 texts of a ggml-vocab .inp file: between them stands a line "__ggml_vocab_test__"; the last one is empty.
inline std::vector<std::string> ggml_cases(const std::string& text) {
  constexpr std::string_view mark = "\n__ggml_vocab_test__\n";
  std::vector<std::string> cases;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(mark, at);
    cases.push_back(text.substr(at, end - at));
    if (end == std::string::npos) return cases;
    at = end + mark.size();
  }
}

/// The published vectors of llama.cpp called ggml-vocab-<name>: ids of the texts, and the texts of the ids.
template <class Tok>
void check_ggml_vectors(const Tok& tok, const std::string& name) {
  const std::string base = "tokenizer/ggml-vocab/ggml-vocab-" + name + ".gguf";
  const auto inputs = shared_data(base + ".inp"), outputs = shared_data(base + ".out");
  if (!inputs || !outputs) return;
  const auto texts = ggml_cases(file_text(*inputs));
  auto tokens = id_lines(file_text(*outputs));
  tokens.resize(tokens.size() + 1);  // the empty line of the empty text
  REQUIRE(texts.size() == 47);
  REQUIRE(tokens.size() == 47);
  for (std::size_t k = 0; k < texts.size(); ++k) {
    CAPTURE(name);
    CAPTURE(texts[k]);
    CHECK(tok.encode(texts[k]) == tokens[k]);
    CHECK(tok.decode(tokens[k]) == texts[k]);
  }
}

/// The texts of kitoken's small_input.txt: one a line, with \n, \s and \x escapes.
inline std::vector<std::string> kitoken_cases(const std::string& text) {
  std::vector<std::string> cases;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::string& out = cases.emplace_back();
    for (std::size_t k = 0; k < line.size(); ++k) {
      const char next = line[k] == '\\' && k + 1 < line.size() ? line[k + 1] : '\0';
      if (next == 'n' || next == 's' || next == 't') {
        out += next == 'n' ? '\n' : next == 't' ? '\t' : ' ';
        ++k;
      } else if (next == 'x') {
        out += static_cast<char>(std::stoi(line.substr(k + 2, 2), nullptr, 16));
        k += 3;
      } else {
        out += line[k];
      }
    }
  }
  return cases;
}

}  // namespace tinygrad_test
