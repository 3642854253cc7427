// GPT-2's tokenizer: known traps by number, published vectors, round trips, limits. Those that need GPT-2's real
// vocabulary skip without it; the rest runs on small vocabularies made here.
#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <tinygrad/core/random.hpp>
#include <tinygrad/text/bpe.hpp>
#include <tinygrad/text/detokenizer.hpp>
#include <vector>

#include "text/gpt2_support.hpp"

using namespace tinygrad;
using tinygrad_test::byte_vocabulary;
using tinygrad_test::file_text;
using tinygrad_test::gpt2;
using tinygrad_test::shared_data;
using tinygrad_test::token_ids;

namespace {

struct expected {
  const char* text;
  token_ids tokens;
};

// Every text gives its tokens, and the tokens give the text back.
void check_all(const std::vector<expected>& cases) {
  const BpeTokenizer* const tok = gpt2();
  if (!tok) return;
  for (const expected& c : cases) {
    CAPTURE(c.text);
    CHECK(tok->encode(c.text) == c.tokens);
    CHECK(tok->decode_bytes(c.tokens) == c.text);
  }
}

// A text for each of the two paths of encode: with the piece cache and without.
std::string random_bytes(Random& random, std::size_t n) {
  std::string bytes;
  for (std::size_t k = 0; k < n; ++k) bytes += static_cast<char>(random());
  return bytes;
}

// The rule of byte-pair encoding written down once more, as slowly as can be, for comparison.
std::vector<std::string> merge_by_definition(const std::string& piece, const std::vector<std::string>& merges) {
  std::vector<std::string> parts;
  for (const char c : piece) parts.emplace_back(1, c);
  for (;;) {
    std::size_t best = merges.size(), at = 0;
    for (std::size_t k = 0; k + 1 < parts.size(); ++k) {
      for (std::size_t rank = 0; rank < best; ++rank) {
        if (merges[rank] == parts[k] + " " + parts[k + 1]) best = rank, at = k;
      }
    }
    if (best == merges.size()) return parts;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

}  // namespace

TEST_CASE("D01: the published vectors of llama.cpp for GPT-2") {
  const BpeTokenizer* const tok = gpt2();
  if (!tok) return;
  tinygrad_test::check_ggml_vectors(*tok, "gpt-2");
  CHECK(tok->encode("' era") == token_ids{6, 6980});
  CHECK(tok->encode("\n =") == token_ids{198, 796});
}

TEST_CASE("the published vectors of kitoken for GPT-2") {
  const BpeTokenizer* const tok = gpt2();
  const auto small = shared_data("tokenizer/kitoken/small_input.txt");
  const auto small_ids = shared_data("tokenizer/kitoken/small_tokens_hf_gpt2.txt");
  const auto whole = shared_data("tokenizer/kitoken/utf8_input.txt");
  const auto whole_ids = shared_data("tokenizer/kitoken/utf8_tokens_hf_gpt2.txt");
  if (!tok || !small || !small_ids || !whole || !whole_ids) return;
  const auto texts = tinygrad_test::kitoken_cases(file_text(*small));
  const auto tokens = tinygrad_test::id_lines(file_text(*small_ids));
  REQUIRE(texts.size() == 20);
  REQUIRE(tokens.size() == 20);
  for (std::size_t k = 0; k < texts.size(); ++k) {
    CAPTURE(texts[k]);
    CHECK(tok->encode(texts[k], {.parse_special = true}) == tokens[k]);
  }
  CHECK(tok->encode(file_text(*whole)) == tinygrad_test::id_lines(file_text(*whole_ids)).at(0));
}

TEST_CASE("the lesson's examples: 5, 23 and 11 tokens, and the counts 20, 14, 12, 10") {
  check_all({
      {"The capital of France is", {464, 3139, 286, 4881, 318}},
      {"مرحبا بكم في عرب رووت", {25405, 26897, 148,   255, 39848, 12919, 17550, 101, 149,   225,   25405, 18923,
                                 223,   22654, 17550, 117, 26897, 39848, 17550, 109, 30335, 30335, 41486}},
      {"مرحبا بكم", {25405, 26897, 148, 255, 39848, 12919, 17550, 101, 149, 225, 25405}},
  });
  const BpeTokenizer* const tok = gpt2();
  if (!tok) return;
  CHECK(tok->encode("Hello world! It's 2026, and we're testing GPT-2's tokenizer.").size() == 20);
  CHECK(tok->encode("   leading spaces, tabs\tand\nnew lines   ").size() == 14);
  CHECK(tok->encode("numbers 3.14159 and 1,000,000").size() == 12);
  CHECK(tok->encode("C# is fun 🎉🎉").size() == 10);
  CHECK(tok->vocab_size() == 50257);
}

TEST_CASE("D02: blanks before a word stay apart, but for the last") {
  check_all({{"a   b", {64, 220, 220, 275}},
             {"a\t\tb", {64, 197, 197, 65}},
             {" \n\n x", {220, 628, 2124}},
             {"a\r\nb", {64, 201, 198, 65}}});
}

TEST_CASE("D03: trailing blanks and the empty text") {
  check_all({{"hello ", {31373, 220}}, {"hello  ", {31373, 220, 220}}, {"", {}}});
}

TEST_CASE("D04: contractions") {
  check_all({{"I'm don't we'll they'd you've she's", {40, 1101, 836, 470, 356, 1183, 484, 1549, 345, 1053, 673, 338}},
             {"'tis 'twas", {470, 271, 705, 4246, 292}},
             {"''s", {7061, 82}}});
}

TEST_CASE("D05: contractions are lower-case and ASCII only") {
  check_all({{"I'M DON'T", {40, 6, 44, 23917, 6, 51}}, {"I’m", {40, 447, 247, 76}}});
}

TEST_CASE("D06: a word and its comma") { check_all({{"Hello,", {15496, 11}}}); }

TEST_CASE("D07: digits of every script are numbers, in one piece") {
  check_all(
      {{"٠١٢٣٤٥٦٧٨٩", {149, 254, 149, 94, 149, 95, 149, 96, 149, 97, 149, 98, 149, 99, 149, 100, 149, 101, 149, 102}},
       {"عام ٢٠٢٤", {44690, 12919, 25405, 18923, 95, 149, 254, 149, 95, 149, 97}},
       {"۱۲۳", {151, 109, 151, 110, 151, 111}},
       {"½ ² Ⅷ", {23141, 1587, 110, 2343, 227, 100}}});
}

TEST_CASE("D08: combining marks are neither letters nor numbers, and nothing is normalised") {
  check_all({{"مُحَمَّد", {25405, 149, 237, 148, 255, 24333, 25405, 24333, 149, 239, 38843}},
             {"नमस्ते", {11976, 101, 11976, 106, 11976, 116, 24231, 235, 11976, 97, 24231, 229}},
             {"e\u0301", {68, 136, 223}},
             {"é", {2634}}});
}

TEST_CASE("D09: the Persian half-space survives") {
  check_all({{"می\u200cروم", {25405, 151, 234, 447, 234, 26897, 30335, 25405}},
             {"کتاب\u200cها", {150, 102, 41486, 34247, 101, 447, 234, 29519, 12919}}});
}

TEST_CASE("D10: emoji sequences") {
  check_all({{"👩\u200d💻", {41840, 102, 447, 235, 8582, 240, 119}},
             {"🇮🇷", {8582, 229, 106, 8582, 229, 115}},
             {"😀", {47249, 222}}});
}

TEST_CASE("D13: bytes that are no UTF-8 are encoded as they are") {
  check_all({{"\xFF", {187}}, {"\xC3", {127}}, {"\xF0\x9F\x98", {47249}}});
  const BpeTokenizer small(byte_vocabulary());
  for (const char* bytes : {"\xFF", "\xC3", "\xED\xA0\x80", "\xC0\xAF", "a\xFF b\xE2\x82", "\xF4\x90\x80\x80"}) {
    CHECK(small.decode_bytes(small.encode(bytes)) == bytes);
    if (const BpeTokenizer* const tok = gpt2()) CHECK(tok->decode_bytes(tok->encode(bytes)) == bytes);
  }
}

TEST_CASE("D16: of two equal merges the first counts, and equal ranks go left to right") {
  bpe_vocabulary vocabulary;
  vocabulary.tokens = {"a", "b", "c", "ab", "bc", "abc"};
  vocabulary.merges = {"a b", "b c", "a b"};
  const BpeTokenizer tok(vocabulary);
  CHECK(tok.encode("abc") == token_ids{3, 2});
  vocabulary.merges = {"b c", "a b", "b c"};
  CHECK(BpeTokenizer(vocabulary).encode("abc") == token_ids{0, 4});
  check_all({{"aaaaaaaa", {24794, 24794}}});
}

TEST_CASE("D17: a control token written in user text is text, unless it is asked for") {
  const BpeTokenizer* const tok = gpt2();
  if (tok) {
    CHECK(tok->encode("<|endoftext|>") == token_ids{27, 91, 437, 1659, 5239, 91, 29});
    CHECK(tok->encode("<|endoftext|>", {.parse_special = true}) == token_ids{50256});
    CHECK(tok->encode("a<|endoftext|>b", {.parse_special = true}) == token_ids{64, 50256, 65});
  }
  bpe_vocabulary vocabulary = byte_vocabulary();
  vocabulary.tokens.resize(260);
  vocabulary.added = {{.id = 256, .text = "<|x|>"},
                      {.id = 257, .text = "<|x|><|y|>"},
                      {.id = 258, .text = "\n\n", .control = false},
                      {.id = 259, .text = "<w>", .single_word = true}};
  const BpeTokenizer small(std::move(vocabulary));
  CHECK(small.encode("<|x|>").size() == 5);
  CHECK(small.encode("<|x|><|y|>", {.parse_special = true}) == token_ids{257});  // the longest that starts there
  CHECK(small.encode("<|x|><|y", {.parse_special = true}).size() == 4);
  CHECK(small.encode("\n\n") == token_ids{258});  // declared by the vocabulary as text: always
  CHECK(small.encode("a<w>", {.parse_special = true}).size() == 4);
  CHECK(small.encode(" <w> ", {.parse_special = true}) == token_ids{220, 259, 220});
}

TEST_CASE("added tokens may take the blanks around them") {
  bpe_vocabulary vocabulary = byte_vocabulary();
  vocabulary.tokens.resize(258);
  vocabulary.added = {{.id = 256, .text = "<l>", .lstrip = true}, {.id = 257, .text = "<r>", .rstrip = true}};
  const BpeTokenizer tok(std::move(vocabulary));
  CHECK(tok.encode("a \u3000<l> b", {.parse_special = true}) == token_ids{64, 256, 220, 65});
  CHECK(tok.encode("a <r>\u3000 b", {.parse_special = true}) == token_ids{64, 220, 257, 65});
}

TEST_CASE("D18: BOS is added once, also when the text begins with it") {
  bpe_vocabulary vocabulary = byte_vocabulary();
  vocabulary.tokens.resize(258);
  vocabulary.added = {{.id = 256, .text = "<s>"}, {.id = 257, .text = "</s>"}};
  vocabulary.special = {.bos = 256, .eos = 257, .add_bos = true, .add_eos = true};
  const BpeTokenizer tok(std::move(vocabulary));
  constexpr encode_options all{.parse_special = true, .add_special = true};
  CHECK(tok.encode("a") == token_ids{64});
  CHECK(tok.encode("a", {.add_special = true}) == token_ids{256, 64, 257});
  CHECK(tok.encode("<s>a", all) == token_ids{256, 64, 257});
  CHECK(tok.encode("<s>a</s>", all) == token_ids{256, 64, 257});
  CHECK(tok.encode("", all) == token_ids{256, 257});
}

TEST_CASE("merging follows the definition, for short pieces and long ones") {
  const std::vector<std::string> merges = {"a b", "b a", "ab a", "a a", "aa b", "aba b", "b b", "bb ab", "aa aa"};
  const BpeTokenizer tok(byte_vocabulary(merges));
  Random random(5);
  for (std::size_t n = 1; n < 200; n += n < 40 ? 1 : 13) {
    for (int round = 0; round < 8; ++round) {
      std::string piece;
      for (std::size_t k = 0; k < n; ++k) piece += "ab"[random.below(2)];
      std::vector<std::string> parts;
      for (const token_id id : tok.encode(piece)) parts.emplace_back(tok.token_bytes(id));
      CAPTURE(piece);
      CHECK(parts == merge_by_definition(piece, merges));
    }
  }
}

TEST_CASE("a piece that is a token is that token when merges are to be ignored") {
  bpe_vocabulary vocabulary;
  vocabulary.tokens = {"a", "b", "c", "ab", "abc"};
  vocabulary.merges = {"a b"};
  CHECK(BpeTokenizer(vocabulary).encode("abc") == token_ids{3, 2});
  vocabulary.ignore_merges = true;
  CHECK(BpeTokenizer(vocabulary).encode("abc") == token_ids{4});
  CHECK(BpeTokenizer(vocabulary).encode("abca") == token_ids{3, 2, 0});
}

TEST_CASE("any bytes come back after encoding and decoding, and a second pass gives the same tokens") {
  const BpeTokenizer small(byte_vocabulary({"Ġ a", "Ø £", "a b"}));
  Random random(3);
  for (int round = 0; round < 60; ++round) {
    const std::string bytes = random_bytes(random, random.below(3000));
    const token_ids tokens = small.encode(bytes);
    CHECK(small.decode_bytes(tokens) == bytes);
    CHECK(small.encode(bytes) == tokens);
    if (const BpeTokenizer* const tok = gpt2()) CHECK(tok->decode_bytes(tok->encode(bytes)) == bytes);
  }
}

TEST_CASE("random text of all scripts comes back") {
  const BpeTokenizer* const tok = gpt2();
  if (!tok) return;
  Random random(4);
  std::string text;
  for (int k = 0; k < 100000; ++k) append_code_point(text, static_cast<char32_t>(random.below(0x110000)));
  const token_ids tokens = tok->encode(text);
  CHECK(tok->decode(tokens) == text);
  CHECK(decode_text(*tok, tokens) == text);
}

TEST_CASE("what does not fit together in a vocabulary is refused, with the place") {
  const auto refuses = [](const std::vector<std::string>& tokens, const std::vector<std::string>& merges,
                          const char* why) {
    bpe_vocabulary vocabulary;
    vocabulary.tokens = tokens;
    vocabulary.merges = merges;
    CHECK_THROWS_WITH_AS(BpeTokenizer{vocabulary}, why, value_error);
  };
  refuses({"a", "b"}, {"a b"}, "[bpe] merge 0 'a b' makes a token that the vocabulary lacks");
  refuses({"a", "ab"}, {"a b"}, "[bpe] merge 0 'a b' names a token that the vocabulary lacks");
  refuses({"a", "ab"}, {"ab"}, "[bpe] merge 0 'ab' is no pair of tokens");
  refuses({"a", "ab"}, {"a "}, "[bpe] merge 0 'a ' is no pair of tokens");
  refuses({"a b"}, {}, "[bpe] token 0 'a b' has a character outside the byte alphabet");
  bpe_vocabulary vocabulary;
  vocabulary.tokens = {"a"};
  vocabulary.added = {{.id = 1, .text = "<x>"}};
  CHECK_THROWS_WITH_AS(BpeTokenizer{vocabulary}, "[bpe] added token '<x>' has id 1; the vocabulary has 1 ids",
                       value_error);
}

TEST_CASE("a byte that a small vocabulary lacks is an error that names it, and ids that do not exist are too") {
  bpe_vocabulary vocabulary;
  vocabulary.tokens = {"a", "b"};
  const BpeTokenizer tok(std::move(vocabulary));
  CHECK_THROWS_WITH_AS(static_cast<void>(tok.encode("abc")),
                       "[bpe] no token for byte 99 at offset 2; this vocabulary does not have all 256 bytes",
                       value_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(tok.decode(token_ids{2})),
                       "[bpe] token id 2 does not exist; ids go from 0 to 2 (exclusive)", index_error);
  CHECK_THROWS_AS(static_cast<void>(tok.token_bytes(-1)), index_error);
}

TEST_CASE("a copy of a tokenizer gives the same tokens as the original") {
  const BpeTokenizer tok(byte_vocabulary({"a b", "ab ab"}));
  const token_ids tokens = tok.encode("ababab abab");
  const BpeTokenizer copy = tok;
  CHECK(copy.encode("ababab abab") == tokens);
}

TEST_CASE("threads may share a tokenizer: each gets the tokens that one alone gets") {
  const BpeTokenizer tok(byte_vocabulary({"a b", "ab ab", "Ġ a", "Ġ ab"}));
  std::vector<std::string> texts(4);
  for (std::size_t t = 0; t < texts.size(); ++t) {
    for (int k = 0; k < 300; ++k) texts[t] += std::string(1 + (static_cast<std::size_t>(k) * (t + 3)) % 7, 'a') + " ab";
  }
  std::vector<std::thread> threads;
  std::vector<int> wrong(texts.size());
  for (std::size_t t = 0; t < texts.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50; ++round) wrong[t] += tok.decode_bytes(tok.encode(texts[t])) != texts[t];
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(texts.size()));
}
