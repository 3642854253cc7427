// Characters as tokens.
#include <doctest/doctest.h>

#include <string>
#include <tinygrad/text/char_tokenizer.hpp>
#include <tinygrad/text/detokenizer.hpp>
#include <vector>

#include "support/shared_data.hpp"
#include "text/gpt2_support.hpp"

using namespace tinygrad;
using tinygrad_test::token_ids;

static_assert(tokenizer<CharTokenizer>);

TEST_CASE("the vocabulary is the sorted set of code points, in any script") {
  const CharTokenizer tok("سلام hello 🎉");
  CHECK(tok.vocabulary() == U" ehloاسلم🎉");
  CHECK(tok.encode("سلم") == token_ids{6, 7, 8});
  CHECK(tok.vocab_size() == 10);
}

TEST_CASE("encoding and decoding are inverse, and a tokenizer made from the saved vocabulary is the same") {
  const std::string text = "abc مُحَمَّد e\u0301é 🎉\n";
  const CharTokenizer tok(text), again(tok.vocabulary_text());
  CHECK(tok.decode(tok.encode(text)) == text);
  CHECK(again.vocabulary() == tok.vocabulary());
  CHECK(again.encode(text) == tok.encode(text));
  CHECK(decode_text(tok, tok.encode(text)) == text);
}

TEST_CASE("ids follow the order of code points") {
  const CharTokenizer tok("cab");
  CHECK(tok.encode("abc") == token_ids{0, 1, 2});
  CHECK(tok.find(U'z') == no_token);
  CHECK(tok.token_bytes(2) == "c");
}

TEST_CASE("characters outside the vocabulary are named with code point and position") {
  const CharTokenizer tok("abc ");
  CHECK_THROWS_WITH_AS(
      static_cast<void>(tok.encode("abé c é🎉")),
      "[char_tokenizer] not in the vocabulary: 'é' (U+00E9) at character 2, '🎉' (U+1F389) at character "
      "7; the vocabulary has 4 characters",
      value_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(tok.encode("0123456789")),
                       doctest::Contains("'7' (U+0037) at character 7 and others"), value_error);
}

TEST_CASE("text that is no UTF-8 is refused with the offset, before any unknown character is blamed") {
  const CharTokenizer tok("abc");
  CHECK_THROWS_WITH_AS(static_cast<void>(tok.encode("ab\xFFx")),
                       "[char_tokenizer] invalid UTF-8 at byte 2 of 4; text must be well-formed UTF-8", value_error);
  CHECK_THROWS_AS(CharTokenizer("ab\xC3"), value_error);
  CHECK_THROWS_AS(CharTokenizer(""), value_error);
}

TEST_CASE("an id that does not exist is an index_error") {
  const CharTokenizer tok("abc");
  CHECK_THROWS_WITH_AS(static_cast<void>(tok.decode(token_ids{0, 3})),
                       "[char_tokenizer] token id 3 does not exist; ids go from 0 to 3 (exclusive)", index_error);
  CHECK_THROWS_AS(static_cast<void>(tok.decode(token_ids{-1})), index_error);
}

TEST_CASE("the diwan of al-Mutanabbi has 39 distinct characters and comes back byte for byte") {
  const auto path = tinygrad_test::shared_data("corpora/mutanabbi/diwan_full_plain.txt");
  if (!path) return;
  const std::string text = tinygrad_test::file_text(*path);
  const CharTokenizer tok(text);
  CHECK(tok.vocab_size() == 39);
  CHECK(tok.decode(tok.encode(text)) == text);
}
