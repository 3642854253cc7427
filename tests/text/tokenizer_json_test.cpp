// tokenizer.json, and folders of models: what is taken over, and what is refused.
#include <doctest/doctest.h>

#include <string>
#include <tinygrad/text/load_tokenizer.hpp>

#include "support/temp_folder.hpp"
#include "text/gpt2_support.hpp"

using namespace tinygrad;
using tinygrad_test::file_text;
using tinygrad_test::gpt2;
using tinygrad_test::shared_data;
using tinygrad_test::token_ids;

namespace {

any_vocabulary parse(const std::string& text) { return vocabulary_of({parse_json(text, "t.json"), "t.json"}); }

// A byte-level file with the letters a, b, c and whatever parts are given.
std::string byte_level(const std::string& pre, const std::string& more = "") {
  return R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"ab":3,"Ġ":4},"merges":["a b"]},"pre_tokenizer":)" + pre +
         more + "}";
}
const std::string bytes_only = R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":false})";
const std::string with_regex = R"({"type":"ByteLevel","add_prefix_space":false})";

std::string sequence(const std::string& parts) { return R"({"type":"Sequence","pretokenizers":[)" + parts + "]}"; }

std::string split(std::string_view expression) {
  return R"({"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":)" +
         write_json(json_value(expression)) + "}}";
}

pre_tokenizer kind_of(const std::string& pre) { return std::get<bpe_vocabulary>(parse(byte_level(pre))).pre; }

void check_refused(const std::string& text, const char* why) {
  CHECK_THROWS_WITH_AS(static_cast<void>(parse(text)), doctest::Contains(why), format_error);
}

}  // namespace

TEST_CASE("GPT-2 from tokenizer.json gives the tokens it gives from vocab.json and merges.txt") {
  const BpeTokenizer* const other = gpt2();
  const auto path = shared_data("tokenizer/kitoken/gpt2.tokenizer.json");
  if (!other || !path) return;
  const Tokenizer tok = read_tokenizer_json(path->string());
  CHECK(tok.vocab_size() == 50257);
  tinygrad_test::check_ggml_vectors(tok, "gpt-2");
  for (const char* text : {"Hello, world!", "مرحبا بكم", "a   b\n\n", "🎉 I'm 2026"}) {
    CHECK(tok.encode(text) == other->encode(text));
  }
  CHECK(tok.encode("<|endoftext|>").size() == 7);
  CHECK(tok.encode("<|endoftext|>", {.parse_special = true}) == token_ids{50256});
  CHECK(tok.is_control(50256));
}

TEST_CASE("a folder of a model: tokenizer.json and the two files agree, and the configuration names BOS and EOS") {
  const auto folder = shared_data("models/tiny-random-gpt2");
  if (!folder) return;
  const Tokenizer tok = load_tokenizer(folder->string());
  const BpeTokenizer two = read_gpt2_tokenizer((*folder / "vocab.json").string(), (*folder / "merges.txt").string());
  CHECK(tok.vocab_size() == 1000);
  for (const char* text : {"The quick brown fox", "  x\n\n y ", "1999 it's"}) {
    CHECK(tok.encode(text) == two.encode(text));
    CHECK(tok.decode(tok.encode(text)) == text);
  }
  CHECK(tok.special().bos == 0);
  CHECK(tok.special().eos == 0);
  CHECK_FALSE(tok.special().add_bos);
}

TEST_CASE("pre-tokenizers are known by their parts") {
  using namespace json_tokenizer;
  CHECK(kind_of(with_regex) == pre_tokenizer::gpt2);
  CHECK(kind_of(sequence(R"({"type":"Digits","individual_digits":true},)" + with_regex)) == pre_tokenizer::starcoder);
  CHECK(kind_of(sequence(split(llama3_expression) + "," + bytes_only)) == pre_tokenizer::llama3);
  CHECK(kind_of(sequence(split(qwen2_expression) + "," + bytes_only)) == pre_tokenizer::qwen2);
  CHECK(kind_of(sequence(split(qwen35_expression) + "," + bytes_only)) == pre_tokenizer::qwen35);
  CHECK(kind_of(sequence(split(tekken_expression) + "," + bytes_only)) == pre_tokenizer::tekken);
  CHECK(kind_of(sequence(split(gpt4o_expression) + "," + bytes_only)) == pre_tokenizer::gpt4o);
  CHECK(kind_of(sequence(split("[\r\n]") + "," + split("\\s?\\p{L}+") + "," + split("\\s?\\p{P}+") + "," +
                         split("[一-龥ࠀ-一가-퟿]+") + R"(,{"type":"Digits","individual_digits":true},)" +
                         bytes_only)) == pre_tokenizer::deepseek_coder);
}

TEST_CASE("D19: a part that is not known is refused by name, never guessed") {
  check_refused(byte_level(sequence(split("\\w+") + "," + bytes_only)), "unknown pre-tokenizer: \\w+");
  check_refused(byte_level(bytes_only), "unknown pre-tokenizer");
  check_refused(byte_level(R"({"type":"Whitespace"})"), "pre-tokenizer part 'Whitespace' is not supported");
  check_refused(byte_level(R"({"type":"ByteLevel","add_prefix_space":true})"), "add_prefix_space");
  check_refused(byte_level(with_regex, R"(,"normalizer":{"type":"Lowercase"})"), "normalizer 'Lowercase'");
  check_refused(byte_level(with_regex, R"(,"post_processor":{"type":"BertProcessing"})"), "'BertProcessing'");
  check_refused(R"({"model":{"type":"WordPiece","vocab":{}}})", "model type 'WordPiece'");
  check_refused(R"({"model":{"type":"BPE","end_of_word_suffix":"</w>","vocab":{},"merges":[]}})", "suffixes");
  check_refused(R"({"model":{"type":"BPE","merges":[]}})", "the member \"vocab\" is missing");
  check_refused(R"({})", "the member \"model\" is missing");
}

TEST_CASE("merges in either spelling, added tokens, composition and the template that adds BOS") {
  const std::string more = R"(,"normalizer":{"type":"NFC"},
    "added_tokens":[{"id":5,"content":"<s>","special":true},{"id":6,"content":"xx","special":false}],
    "post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}]})";
  const auto v = std::get<bpe_vocabulary>(parse(byte_level(with_regex, more)));
  CHECK(v.nfc);
  CHECK(v.special.bos == 5);
  CHECK(v.special.add_bos);
  const BpeTokenizer tok(v);
  CHECK(tok.encode("abxxab") == token_ids{3, 6, 3});
  CHECK(tok.encode("ab", {.add_special = true}) == token_ids{5, 3});
  std::string pairs = byte_level(with_regex);
  pairs.replace(pairs.find(R"(["a b"])"), 7, R"([["a","b"]])");
  CHECK(std::get<bpe_vocabulary>(parse(pairs)).merges == std::vector<std::string>{"a b"});
}

TEST_CASE("text is composed before it is encoded when the file says so") {
  bpe_vocabulary v = tinygrad_test::byte_vocabulary({"Ã ©"});
  CHECK(BpeTokenizer(v).encode("e\u0301").size() == 3);
  v.nfc = true;
  CHECK(BpeTokenizer(v).encode("e\u0301") == token_ids{256});
}

TEST_CASE("Llama 2's form: blanks as signs, bytes for the rest, with a prefix always, first or never") {
  const auto file = [](const std::string& more) {
    return R"({"model":{"type":"BPE","unk_token":"<unk>","byte_fallback":true,
      "vocab":{"<unk>":0,"<s>":1,"▁":2,"a":3,"b":4,"▁a":5,"ab":6},"merges":["▁ a","a b"]},
      "added_tokens":[{"id":0,"content":"<unk>","special":true},{"id":1,"content":"<s>","special":true}])" +
           more + "}";
  };
  const std::string prepend =
      R"(,"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]})";
  const SentencePieceTokenizer legacy(std::get<sentencepiece_vocabulary>(parse(file(prepend))));
  CHECK(legacy.encode("ab") == token_ids{5, 4});  // "▁ a" comes first in the list
  CHECK(legacy.encode("a<s>a", {.parse_special = true}) == token_ids{5, 1, 5});
  CHECK(legacy.encode("ac") == token_ids{5, 0});
  const auto metaspace = [&](const std::string& scheme) {
    return SentencePieceTokenizer(std::get<sentencepiece_vocabulary>(
        parse(file(R"(,"pre_tokenizer":{"type":"Metaspace","replacement":"▁","split":false,"prepend_scheme":")" +
                   scheme + "\"}"))));
  };
  CHECK(metaspace("first").encode("a<s>a", {.parse_special = true}) == token_ids{5, 1, 3});
  CHECK(metaspace("never").encode("ab a") == token_ids{6, 5});
  check_refused(file(R"(,"normalizer":{"type":"NFKC"})"), "normalizer 'NFKC'");
}

TEST_CASE("ids that repeat or lie far outside are refused, holes are not") {
  check_refused(R"({"model":{"vocab":{"a":0,"b":0},"merges":[]}})", "tokens 'a' and 'b' both have id 0");
  check_refused(R"({"model":{"vocab":{"a":99999999},"merges":[]}})", "far above the 1 entries");
  check_refused(R"({"model":{"vocab":{"a":-1},"merges":[]}})", "a whole number");
  std::string holes = byte_level(with_regex);
  holes.replace(holes.find("\"Ġ\":4"), 6, "\"Ġ\":9");
  const BpeTokenizer tok(std::get<bpe_vocabulary>(parse(holes)));
  CHECK(tok.vocab_size() == 10);
  CHECK(tok.token_bytes(7).empty());
}

TEST_CASE(
    "what does not fit together in the files is a format_error with the file's name; a folder without any says so") {
  const tinygrad_test::temp_folder folder;
  const auto write = [&](const char* name, const std::string& text) { folder.put(name, text); };
  CHECK_THROWS_WITH_AS(static_cast<void>(load_tokenizer(folder.path().string())),
                       doctest::Contains("has no tokenizer.json"), io_error);
  write("vocab.json", R"({"a":0,"b":1})");
  write("merges.txt", "#version: 0.2\na b\n");
  CHECK_THROWS_WITH_AS(static_cast<void>(load_tokenizer(folder.path().string())),
                       doctest::Contains("makes a token that"), format_error);
  write("vocab.json", R"({"a":0,"b":1,"ab":2,"<|endoftext|>":3})");
  write("merges.txt", "#version: 0.2\r\na b\r\n\r\n");
  CHECK(load_tokenizer(folder.path().string()).encode("ab") == token_ids{2});
  write("tokenizer_config.json", R"({"bos_token":{"content":"a"},"eos_token":"b","add_bos_token":true})");
  const Tokenizer tok = load_tokenizer(folder.path().string());
  CHECK(tok.special().eos == 1);
  CHECK(tok.encode("ab", {.add_special = true}) == token_ids{0, 2});
}
