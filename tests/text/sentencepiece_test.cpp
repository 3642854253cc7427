// SentencePiece: published vectors, both models on small vocabularies against their definitions, files that lie.
#include <doctest/doctest.h>

#include <string>
#include <tinygrad/core/random.hpp>
#include <tinygrad/text/sentencepiece.hpp>
#include <tinygrad/text/sentencepiece_files.hpp>
#include <vector>

#include "text/gpt2_support.hpp"

using namespace tinygrad;
using tinygrad_test::file_text;
using tinygrad_test::shared_data;
using tinygrad_test::token_ids;

namespace {

// <unk> <s> </s>, the 256 bytes if asked for, then `pieces` with scores 0, -1, -2 ...
sentencepiece_vocabulary small_vocabulary(const std::vector<std::string>& pieces, bool bytes) {
  sentencepiece_vocabulary v;
  const auto add = [&](const std::string& piece, float score, piece_type type) {
    v.pieces.push_back(piece);
    v.scores.push_back(score);
    v.types.push_back(type);
  };
  add("<unk>", 0, piece_type::unknown);
  add("<s>", 0, piece_type::control);
  add("</s>", 0, piece_type::control);
  for (int b = 0; bytes && b < 256; ++b) {
    constexpr std::string_view hex = "0123456789ABCDEF";
    add(std::string("<0x") + hex[static_cast<std::size_t>(b) / 16] + hex[static_cast<std::size_t>(b) % 16] + ">", 0,
        piece_type::byte);
  }
  float score = 0;
  for (const std::string& piece : pieces) add(piece, score--, piece_type::normal);
  v.special = {.bos = 1, .eos = 2, .unk = 0, .add_bos = true};
  return v;
}

std::vector<std::string> pieces_of(const SentencePieceTokenizer& tok, const std::string& text) {
  std::vector<std::string> out;
  for (const token_id id : tok.encode(text)) out.emplace_back(tok.token_bytes(id));
  return out;
}

std::optional<SentencePieceTokenizer> llama2() {
  const auto path = shared_data("tokenizer/llama2/tokenizer.model");
  if (!path) return std::nullopt;
  return read_sentencepiece_model(path->string());
}

using strings = std::vector<std::string>;

}  // namespace

TEST_CASE("Llama 2: the published vectors of llama.cpp") {
  const auto tok = llama2();
  if (!tok) return;
  CHECK(tok->vocab_size() == 32000);
  tinygrad_test::check_ggml_vectors(*tok, "llama-spm");
  tinygrad_test::check_ggml_vectors(*tok, "phi-3");
}

TEST_CASE("Llama 2: the published vectors of kitoken, made by sentencepiece and by Hugging Face's tokenizer") {
  const auto tok = llama2();
  const auto small = shared_data("tokenizer/kitoken/small_input.txt"),
             text = shared_data("tokenizer/kitoken/utf8_input.txt");
  if (!tok || !small || !text) return;
  const auto inputs = tinygrad_test::kitoken_cases(file_text(*small));
  for (const bool hf : {false, true}) {
    const std::string name = hf ? "hf" : "spm";
    const auto expected =
        tinygrad_test::id_lines(file_text(*shared_data("tokenizer/kitoken/small_tokens_" + name + "_llama2.txt")));
    REQUIRE(inputs.size() == expected.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      CAPTURE(inputs[k]);
      CHECK(tok->encode(inputs[k], {.parse_special = hf}) == expected[k]);
    }
    const auto whole =
        tinygrad_test::id_lines(file_text(*shared_data("tokenizer/kitoken/utf8_tokens_" + name + "_llama2.txt")));
    CHECK(tok->encode(file_text(*text)) == whole.at(0));
  }
  const auto output = shared_data("tokenizer/kitoken/utf8_output_spm_llama2.txt");
  CHECK(tok->decode(tok->encode(file_text(*text))) == file_text(*output));
}

TEST_CASE("llama2.c's tokenizer.bin gives the same tokens as tokenizer.model") {
  const auto tok = llama2();
  const auto path = shared_data("tokenizer/llama2/tokenizer.bin");
  if (!tok || !path) return;
  const SentencePieceTokenizer other = read_llama2c_tokenizer(path->string());
  CHECK(other.vocab_size() == 32000);
  for (const char* text : {"Once upon a time", " leading  blanks ", "مرحبا 🎉\n\n", "<0x41> <s> x"}) {
    CHECK(other.encode(text) == tok->encode(text));
    CHECK(other.decode(other.encode(text)) == text);
  }
}

TEST_CASE("merging takes the best score first, the leftmost of equals") {
  const SentencePieceTokenizer tok(small_vocabulary({"▁", "a", "b", "c", "bc", "ab", "abc", "▁a"}, false));
  CHECK(pieces_of(tok, "abc") == strings{" ", "abc"});  // bc (-4), then abc (-6) before ▁a (-7)
  sentencepiece_vocabulary v = small_vocabulary({"a", "b", "ab", "ba", "aba"}, false);
  v.normalizer.add_dummy_prefix = false;
  v.scores = {0, 0, 0, -9, -9, -1, -1, -2};
  CHECK(pieces_of(SentencePieceTokenizer(v), "abab") == strings{"ab", "ab"});
  CHECK(pieces_of(SentencePieceTokenizer(v), "baba") == strings{"ba", "ba"});
  v.scores = {0, 0, 0, -9, -9, -1, -3, -2};
  CHECK(pieces_of(SentencePieceTokenizer(v), "abaab") == strings{"aba", "ab"});
}

TEST_CASE("the unigram model finds the cut with the largest sum") {
  sentencepiece_vocabulary v = small_vocabulary({"▁", "a", "b", "ab", "abb", "bb", "▁ab"}, false);
  v.unigram = true;
  v.scores = {0, 0, 0, -3, -2, -2, -2.5f, -9, -1.5f, -3};
  const SentencePieceTokenizer tok(v);
  CHECK(pieces_of(tok, "abb") == strings{" ab", "b"});  // -5; ▁ a bb: -6.5; ▁ ab b: -7.5; ▁ abb: -12
  CHECK(pieces_of(tok, "abbbb") == strings{" ab", "b", "bb"});
  CHECK(tok.encode("xab") == token_ids{3, 0, 6});
  CHECK(tok.encode("xyzab") == token_ids{3, 0, 6});  // unknown ones in a row are one
}

TEST_CASE("the unigram model agrees with trying every cut") {
  const strings pieces = {"a", "b", "ab", "ba", "aab", "abab", "bbb"};
  sentencepiece_vocabulary v = small_vocabulary(pieces, false);
  v.unigram = true;
  v.normalizer.add_dummy_prefix = false;
  v.scores = {0, 0, 0, -2.1f, -2.3f, -3.7f, -3.9f, -5.2f, -6.9f, -5.8f};
  const SentencePieceTokenizer tok(v);
  Random random(2);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (std::uint64_t n = 1 + random.below(10); n > 0; --n) text += "ab"[random.below(2)];
    double best = -1e9, ours = 0;
    for (unsigned cuts = 0; cuts < 1u << (text.size() - 1); ++cuts) {
      double sum = 0;
      std::size_t start = 0;
      for (std::size_t k = 1; k <= text.size(); ++k) {
        if (k < text.size() && !(cuts >> (k - 1) & 1)) continue;
        const token_id id = tok.find_token(text.substr(start, k - start));
        sum += id == no_token ? -1e6 : static_cast<double>(v.scores[static_cast<std::size_t>(id)]);
        start = k;
      }
      best = (std::max)(best, sum);
    }
    for (const token_id id : tok.encode(text)) ours += static_cast<double>(v.scores[static_cast<std::size_t>(id)]);
    CAPTURE(text);
    CHECK(ours == doctest::Approx(best).epsilon(1e-6));
  }
}

TEST_CASE("what no piece covers becomes bytes, and any bytes come back") {
  const SentencePieceTokenizer tok(small_vocabulary({"▁", "a", "▁a"}, true));
  CHECK(tok.encode("aé") == token_ids{261, 3 + 0xC3, 3 + 0xA9});
  CHECK(tok.encode("\xFF") == token_ids{259, 3 + 0xFF});
  Random random(6);
  for (int round = 0; round < 100; ++round) {
    std::string bytes;
    for (std::uint64_t n = random.below(200); n > 0; --n) bytes += static_cast<char>(random());
    CHECK(tok.decode_bytes(tok.encode(bytes)) == bytes);
  }
}

TEST_CASE("without byte tokens the rest is <unk>, once for a run, and without <unk> an error") {
  sentencepiece_vocabulary v = small_vocabulary({"▁", "a"}, false);
  const SentencePieceTokenizer tok(v);
  CHECK(tok.encode("aéèa") == token_ids{3, 4, 0, 4});
  CHECK(tok.encode("a\xFF") == token_ids{3, 4, 0});
  v.types[0] = piece_type::control;
  v.special.unk = no_token;
  CHECK_THROWS_WITH_AS(static_cast<void>(SentencePieceTokenizer(v).encode("é")),
                       "[sentencepiece] no piece for 'é', and the vocabulary has neither byte tokens nor <unk>",
                       value_error);
}

TEST_CASE("control and byte tokens written in a text are text; control tokens only when asked for") {
  const SentencePieceTokenizer tok(small_vocabulary({"▁", "<", "s", ">", "0", "x", "4", "1"}, true));
  CHECK(tok.encode("<s>") == token_ids{259, 260, 261, 262});
  CHECK(tok.encode("<0x41>").size() == 7);
  CHECK(tok.encode("<s>s", {.parse_special = true}) == token_ids{1, 259, 261});
  CHECK(tok.encode("s", {.add_special = true}) == token_ids{1, 259, 261});
  CHECK(tok.encode("<s>s", {.parse_special = true, .add_special = true}) == token_ids{1, 259, 261});
}

TEST_CASE("user-defined pieces are always whole and nothing merges with them") {
  sentencepiece_vocabulary v = small_vocabulary({"▁", "a", "b", "ab", "aba", "▁▁"}, false);
  v.types[7] = piece_type::user_defined;  // aba
  v.types[8] = piece_type::user_defined;
  const SentencePieceTokenizer tok(v);
  CHECK(pieces_of(tok, "ababa") == strings{" ", "aba", "b", "a"});
  CHECK(pieces_of(tok, " a") == strings{"  ", "a"});
}

TEST_CASE("an unused piece is taken apart again") {
  sentencepiece_vocabulary v = small_vocabulary({"▁", "a", "b", "ab", "abab"}, false);
  v.types[6] = piece_type::unused;  // ab
  CHECK(pieces_of(SentencePieceTokenizer(v), "ab") == strings{" ", "a", "b"});
  CHECK(pieces_of(SentencePieceTokenizer(v), "abab") == strings{" ", "abab"});  // made through it
}

TEST_CASE("the blank before the text is added once and taken away by decoding and by streaming") {
  const SentencePieceTokenizer tok(small_vocabulary({"▁", "a", "▁a"}, true));
  CHECK(tok.encode("") == token_ids{});
  CHECK(tok.encode("a a") == token_ids{261, 261});
  CHECK(tok.decode(token_ids{1, 261, 261, 2}, true) == "a a");
  CHECK(tok.decode(token_ids{1, 261, 261, 2}) == "<s>a a</s>");
  CHECK(decode_text(tok, token_ids{1, 261, 261}, true) == "a a");
  Detokenizer stream(tok);
  CHECK(stream.push(261) == "a");
  CHECK(stream.push(261) == " a");
  CHECK(stream.push(3 + 0xC3).empty());
  CHECK(stream.push(3 + 0xA9) == "é");
}

TEST_CASE("the blank goes behind control tokens too, unless only the whole text gets one") {
  sentencepiece_vocabulary v = small_vocabulary({"▁", "a", "▁a"}, true);
  CHECK(SentencePieceTokenizer(v).encode("a<s>a", {.parse_special = true}) == token_ids{261, 1, 261});
  v.prefix_first_only = true;
  CHECK(SentencePieceTokenizer(v).encode("a<s>a", {.parse_special = true}) == token_ids{261, 1, 260});
}

TEST_CASE("listed merges are the rules, in their order, whatever the scores") {
  sentencepiece_vocabulary v = small_vocabulary({"a", "b", "ab", "ba", "aba", "bab"}, false);
  v.normalizer.add_dummy_prefix = false;
  v.merges = {"b a", "a ba"};
  const SentencePieceTokenizer tok(v);
  CHECK(pieces_of(tok, "ababab") == strings{"aba", "ba", "b"});
  CHECK(pieces_of(tok, "ab") == strings{"a", "b"});
  v.merges = {"a c"};
  CHECK_THROWS_WITH_AS(SentencePieceTokenizer{v},
                       "[sentencepiece] merge 0 'a c' names a piece that the vocabulary lacks", value_error);
}

TEST_CASE("blanks at the ends and repeated ones go where the model says so") {
  sentencepiece_vocabulary v = small_vocabulary({"▁", "a"}, false);
  v.normalizer.remove_extra_whitespaces = true;
  const SentencePieceTokenizer tok(v);
  CHECK(tok.encode("  a   a ") == token_ids{3, 4, 3, 4});
  CHECK(tok.encode("   ") == token_ids{});
}

TEST_CASE("D20: byte pieces are two hexadecimal digits or the vocabulary is refused") {
  for (const char* piece : {"<0x-1>", "<0xZZ>", "<0x 1>", "<0x>", "<0x1>", "<0x123>", "0x12"}) {
    sentencepiece_vocabulary v = small_vocabulary({piece}, true);
    CHECK_NOTHROW(SentencePieceTokenizer{v});  // as text it is nothing special
    v.types.back() = piece_type::byte;
    CHECK_THROWS_WITH_AS(SentencePieceTokenizer{v}, doctest::Contains("it must be <0x00> to <0xFF>"), value_error);
  }
}

TEST_CASE("vectors of different lengths, unknown types and scores that are no numbers are refused") {
  sentencepiece_vocabulary v = small_vocabulary({"a"}, false);
  v.scores.pop_back();
  CHECK_THROWS_WITH_AS(SentencePieceTokenizer{v},
                       "[sentencepiece] 4 pieces, 3 scores, 4 types; there must be as many of each", value_error);
  v = small_vocabulary({"a"}, false);
  v.types.back() = static_cast<piece_type>(9);
  CHECK_THROWS_AS(SentencePieceTokenizer{v}, value_error);
  v = small_vocabulary({"a"}, false);
  v.scores.back() = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_AS(SentencePieceTokenizer{v}, value_error);
}

TEST_CASE("a model file that lies is a format_error with the place, and no prefix of a good one crashes") {
  using namespace std::string_literals;
  const auto refused = [](const std::string& bytes, std::uint64_t offset) {
    try {
      static_cast<void>(parse_sentencepiece_model(bytes, "m"));
      FAIL("accepted");
    } catch (const format_error& e) {
      CHECK(e.offset() == offset);
    }
  };
  refused("", 0);
  refused("\x0A\x05\x0A\x03"s, 2);                                   // a length beyond the end
  refused("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"s, 11);      // a length of 2^64 - 1
  refused("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"s, 11);  // a varint without end
  refused("\x0B"s, 1);                                               // a group
  refused("\x0A\x04\x0A\x02"s + "a"s, 2);                            // cut off
  refused("\x0A\x03\x0A\x05"s + "a"s, 4);                            // an inner length beyond the piece
  refused("\x0A\x05\x0A\x01"s + "a"s + "\x18\x09"s, 2);              // a type that is none
  refused("\x12\x02\x18\x03"s, 3);                                   // words as pieces
  const auto path = shared_data("tokenizer/sentencepiece/test_model.model");
  if (!path) return;
  const std::string whole = file_text(*path);
  for (std::size_t n = 0; n < whole.size(); n += n < 3000 ? 1 : 997) {
    try {
      const SentencePieceTokenizer tok(parse_sentencepiece_model(std::string_view(whole).substr(0, n)));
      static_cast<void>(tok.encode("a b"));
    } catch (const tinygrad::error&) {
    }
  }
}

TEST_CASE("sentencepiece's own test models: text comes back, and an NFKC map is applied") {
  const auto path = shared_data("tokenizer/sentencepiece/test_model.model");
  const auto text = shared_data("tokenizer/sentencepiece/botchan.txt");
  if (!path || !text) return;
  const SentencePieceTokenizer tok = read_sentencepiece_model(path->string());
  CHECK(tok.is_unigram());
  CHECK(tok.vocab_size() == 1000);
  CHECK(tok.decode(tok.encode("I saw a girl with a telescope.")) == "I saw a girl with a telescope.");
  CHECK(tok.encode("ｆｕｌｌ　ｗｉｄｔｈ ①②") == tok.encode("full width 12"));
}
