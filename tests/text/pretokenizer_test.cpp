// The scanners against the regular expressions they stand for (pretokenizer_golden.py), and the rules of names.
#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <tinygrad/core/random.hpp>
#include <tinygrad/text/pretokenizer.hpp>
#include <vector>

#include "text/gpt2_support.hpp"

using namespace tinygrad;

namespace {

std::vector<std::string> pieces(const char* name, const std::string& text) {
  std::vector<std::string> out;
  for_each_piece(pre_tokenizer_by_name(name), text, [&](const char* p, const char* q) { out.emplace_back(p, q); });
  return out;
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t k = 0; k + 1 < hex.size(); k += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(k, 2), nullptr, 16));
  }
  return bytes;
}

}  // namespace

TEST_CASE("every scanner splits as its regular expression does") {
  std::istringstream golden(tinygrad_test::file_text(TINYGRAD_SOURCE_DIR "/tests/text/pretokenizer_golden.txt"));
  std::size_t cases = 0;
  for (std::string line; std::getline(golden, line); ++cases) {
    std::istringstream fields(line);
    std::string name, hex;
    fields >> name >> hex;
    std::vector<std::size_t> lengths, ours;
    for (std::size_t n; fields >> n;) lengths.push_back(n);
    const std::string text = from_hex(hex);
    for (const std::string& piece : pieces(name.c_str(), text)) ours.push_back(piece.size());
    CAPTURE(name);
    CAPTURE(text);
    CHECK(ours == lengths);
  }
  CHECK(cases == 279);
}

TEST_CASE("pieces cover any bytes whatever, in order, none empty") {
  Random random(8);
  for (const auto& entry : pretokenizer_detail::names) {
    for (int round = 0; round < 20; ++round) {
      std::string text;
      for (int k = 0; k < 300; ++k) {
        text += random.below(2) ? static_cast<char>(random()) : " \n'a1\xD9\x85"[random.below(7)];
      }
      std::string joined;
      bool empty = false;
      for_each_piece(entry.kind, text, [&](const char* p, const char* q) {
        joined.append(p, q);
        empty = empty || p == q;
      });
      CHECK(joined == text);
      CHECK_FALSE(empty);
    }
  }
}

TEST_CASE("bytes that are no UTF-8 are symbols: they stay together and apart from letters") {
  CHECK(pieces("gpt-2", "ab\xFF\xFE c") == std::vector<std::string>{"ab", "\xFF\xFE", " c"});
  CHECK(pieces("gpt-2", " \xF0\x9F\x98") == std::vector<std::string>{" \xF0\x9F\x98"});
}

TEST_CASE("D19: an unknown pre-tokenizer is refused, with the names that are known") {
  CHECK_THROWS_WITH_AS(static_cast<void>(pre_tokenizer_by_name("gpt-9")),
                       doctest::Contains("[pre_tokenizer] unknown name 'gpt-9'; known are gpt-2,"), value_error);
  CHECK_THROWS_AS(static_cast<void>(pre_tokenizer_by_name("")), value_error);
  CHECK_THROWS_AS(static_cast<void>(pre_tokenizer_by_name("default")), value_error);
  CHECK(pre_tokenizer_by_name("refact") == pre_tokenizer::starcoder);
}
