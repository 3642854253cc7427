// Streaming: whole characters only, whatever the tokens cut. Traps D11, D12, D14.
#include <doctest/doctest.h>

#include <string>
#include <tinygrad/core/random.hpp>
#include <tinygrad/text/bpe.hpp>
#include <tinygrad/text/detokenizer.hpp>

#include "text/gpt2_support.hpp"

using namespace tinygrad;
using tinygrad_test::gpt2;
using tinygrad_test::token_ids;

TEST_CASE("D11: a character split over tokens appears when its last byte has come") {
  const BpeTokenizer tok(tinygrad_test::byte_vocabulary());
  Detokenizer stream(tok);
  const token_ids parts = tok.encode("\xF0\x9F\x98\x80!");  // one token a byte
  REQUIRE(parts.size() == 5);
  CHECK(stream.push(parts[0]).empty());
  CHECK(stream.push(parts[1]).empty());
  CHECK(stream.push(parts[2]).empty());
  CHECK(stream.push(parts[3]) == "\U0001F600");
  CHECK(stream.push(parts[4]) == "!");
  CHECK(stream.flush().empty());
}

TEST_CASE("D11: GPT-2's 47249, 222 show nothing and then the emoji; a held tail is flushed once") {
  const BpeTokenizer* const tok = gpt2();
  if (!tok) return;
  Detokenizer stream(*tok);
  CHECK(stream.push(47249).empty());
  CHECK(stream.push(222) == "\U0001F600");
  CHECK(stream.push(47249).empty());
  CHECK(stream.flush() == "\uFFFD");
  CHECK(stream.flush().empty());
}

TEST_CASE("D12: decoding a cut-off character gives U+FFFD as text and the bytes as bytes") {
  const BpeTokenizer small(tinygrad_test::byte_vocabulary());
  const token_ids cut = small.encode("\xF0\x9F\x98");
  CHECK(small.decode(cut) == "\uFFFD");
  CHECK(small.decode_bytes(cut) == "\xF0\x9F\x98");
  if (const BpeTokenizer* const tok = gpt2()) {
    CHECK(tok->decode(token_ids{47249}) == "\uFFFD");
    CHECK(tok->decode_bytes(token_ids{47249}) == "\xF0\x9F\x98");
    CHECK(tok->token_bytes(47249) == "\xF0\x9F\x98");
  }
}

TEST_CASE("D14: decoding cleans nothing up: 5633 is a blank and a question mark") {
  const BpeTokenizer* const tok = gpt2();
  if (!tok) return;
  CHECK(tok->decode(token_ids{5633}) == " ?");
}

TEST_CASE("bytes that can never be a character are shown at once, and text after them is not held back") {
  Utf8Stream stream;
  CHECK(stream.push("a\xFF") == "a\uFFFD");
  CHECK(stream.push("\xC3").empty());
  CHECK(stream.held() == "\xC3");
  CHECK(stream.push("x") == "\uFFFDx");
  CHECK(stream.push("\xE2\x82").empty());
  CHECK(stream.push("\xE2\x82\xAC") == "\uFFFD€");
  CHECK(stream.flush().empty());
}

TEST_CASE("however a byte string is cut, the pieces shown add up to its repaired text") {
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    std::string bytes;
    for (int k = 0; k < 40; ++k) {
      constexpr std::string_view alphabet = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xFF\x80";
      bytes += alphabet[random() % alphabet.size()];
    }
    Utf8Stream stream;
    std::string shown;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t n = 1 + random() % 5;
      const std::string part = stream.push(std::string_view(bytes).substr(at, n));
      CHECK(is_valid_utf8(part));
      shown += part;
      at += n;
    }
    CHECK(shown + stream.flush() == replace_invalid_utf8(bytes));
  }
}

TEST_CASE("control tokens can be hidden") {
  bpe_vocabulary vocabulary = tinygrad_test::byte_vocabulary();
  vocabulary.tokens.emplace_back();
  vocabulary.added.push_back({.id = 256, .text = "<|end|>"});
  const BpeTokenizer tok(std::move(vocabulary));
  const token_ids text = tok.encode("hi<|end|>", {.parse_special = true});
  CHECK(text.back() == 256);
  CHECK(decode_text(tok, text) == "hi<|end|>");
  CHECK(decode_text(tok, text, true) == "hi");
}
