// Tokenizers out of GGUF files: the published vectors of every vocabulary there is, and files that are wrong.
#include <doctest/doctest.h>

#include <string>
#include <tinygrad/io/gguf_writer.hpp>
#include <tinygrad/text/gguf_tokenizer.hpp>
#include <vector>

#include "support/temp_folder.hpp"
#include "text/gpt2_support.hpp"

using namespace tinygrad;
using tinygrad_test::shared_data;
using tinygrad_test::token_ids;

namespace {

// A GGUF file with metadata only, written by `fill` and opened again.
template <class Fill>
Tokenizer tokenizer_from(Fill fill, std::string_view assumed_pre = {}) {
  const tinygrad_test::temp_folder folder;
  gguf_writer writer;
  fill(writer);
  writer.write(folder / "t.gguf");
  return read_tokenizer(gguf_file(folder / "t.gguf"), assumed_pre);
}

void fill_bpe(gguf_writer& w) {
  w.set("tokenizer.ggml.model", "gpt2");
  w.set_texts("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "Ġ", "ab", "<s>", "<u>", "[PAD]"});
  w.set_texts("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
}

constexpr std::int32_t bpe_types[] = {1, 1, 1, 1, 3, 4, 5};

}  // namespace

TEST_CASE(
    "the published vectors of all vocabularies: GPT-2, Falcon, StarCoder, Refact, DeepSeek Coder, Llama 2, Phi 3") {
  for (const char* name : {"gpt-2", "falcon", "starcoder", "refact", "deepseek-coder", "llama-spm", "phi-3"}) {
    const auto path = shared_data(std::string("tokenizer/ggml-vocab/ggml-vocab-") + name + ".gguf");
    if (path) tinygrad_test::check_ggml_vectors(read_tokenizer(gguf_file(path->string())), name);
  }
}

TEST_CASE("the small trained Llama: its greedy story's ids give the story's text") {
  const auto path = shared_data("models/stories260K/stories260K.f32.gguf");
  const auto story = shared_data("golden/stories260K.greedy_ids.llama2c.txt");
  const auto text = shared_data("golden/stories260K.greedy_text.llama2c.txt");
  if (!path || !story || !text) return;
  const Tokenizer tok = read_tokenizer(gguf_file(path->string()));
  CHECK(tok.vocab_size() == 512);
  CHECK(tok.special().bos == 1);
  const token_ids tokens = tinygrad_test::id_lines(tinygrad_test::file_text(*story)).at(0);
  const std::string decoded = tok.decode(tokens, true);
  CHECK(tinygrad_test::file_text(*text).starts_with(decoded.substr(0, 300)));
}

TEST_CASE("types say which tokens are looked for in a text, and which only have a name") {
  const Tokenizer tok = tokenizer_from([](gguf_writer& w) {
    fill_bpe(w);
    w.set("tokenizer.ggml.pre", "gpt-2");
    w.set_array("tokenizer.ggml.token_type", std::span<const std::int32_t>(bpe_types));
    w.set("tokenizer.ggml.bos_token_id", std::uint32_t{4});
    w.set("tokenizer.ggml.padding_token_id", std::uint32_t{0xFFFFFFFF});
    w.set("tokenizer.ggml.add_bos_token", true);
  });
  CHECK(tok.encode("ab<u>a") == token_ids{3, 5, 0});
  CHECK(tok.encode("<s>ab", {.parse_special = true, .add_special = true}) == token_ids{4, 3});
  CHECK(tok.encode("ab", {.add_special = true}) == token_ids{4, 3});
  CHECK(tok.special().pad == no_token);
  CHECK(tok.token_bytes(6) == "[PAD]");
  CHECK_THROWS_AS(static_cast<void>(tok.encode("[PAD]", {.parse_special = true})), value_error);
}

TEST_CASE(
    "D19: without the name of a pre-tokenizer, or with an unknown one, there is no tokenizer, unless one is named") {
  CHECK_THROWS_WITH_AS(static_cast<void>(tokenizer_from(fill_bpe)),
                       doctest::Contains("\"tokenizer.ggml.pre\" is missing"), format_error);
  const auto unknown = [](gguf_writer& w) {
    fill_bpe(w);
    w.set("tokenizer.ggml.pre", "mystery");
  };
  CHECK_THROWS_WITH_AS(static_cast<void>(tokenizer_from(unknown)), doctest::Contains("unknown name 'mystery'"),
                       format_error);
  const auto typed = [](gguf_writer& w) {
    fill_bpe(w);
    w.set_array("tokenizer.ggml.token_type", std::span<const std::int32_t>(bpe_types));
  };
  CHECK(tokenizer_from(typed, "gpt-2").encode("ab") == token_ids{3});
}

TEST_CASE("F15: arrays of the wrong kind or length and missing ones are named with their kinds") {
  const auto refused = [](auto fill, const char* why) {
    CHECK_THROWS_WITH_AS(static_cast<void>(tokenizer_from(fill)), doctest::Contains(why), format_error);
  };
  const std::vector<std::int32_t> numbers = {1, 2, 3};
  refused(
      [&](gguf_writer& w) {
        w.set("tokenizer.ggml.model", "gpt2");
        w.set_array("tokenizer.ggml.tokens", std::span<const std::int32_t>(numbers));
      },
      "\"tokenizer.ggml.tokens\": an array of STRING is needed here, not an array of 3 I32");
  refused(
      [](gguf_writer& w) {
        w.set("tokenizer.ggml.model", "gpt2");
        w.set_texts("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
      },
      "the key \"tokenizer.ggml.merges\" is missing");
  refused(
      [&](gguf_writer& w) {
        fill_bpe(w);
        w.set("tokenizer.ggml.pre", "gpt-2");
        w.set_array("tokenizer.ggml.token_type", std::span<const std::int32_t>(numbers));
      },
      "3 entries for 7 tokens");
  refused([](gguf_writer& w) { w.set("tokenizer.ggml.model", "bert"); }, "tokenizer model \"bert\" is not supported");
  refused([](gguf_writer& w) { w.set("general.name", "x"); }, "the key \"tokenizer.ggml.model\" is missing");
  refused(
      [](gguf_writer& w) {
        w.set("tokenizer.ggml.model", "llama");
        w.set_texts("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
        w.set_array("tokenizer.ggml.scores", std::span<const float>());
      },
      "0 entries for 1 tokens");
}

TEST_CASE("F14: ids of special tokens beyond the vocabulary are an error, but for the one that says none") {
  const auto with = [](const char* name, std::uint32_t id) {
    return [=](gguf_writer& w) {
      fill_bpe(w);
      w.set("tokenizer.ggml.pre", "gpt-2");
      w.set(std::string("tokenizer.ggml.") + name, id);
    };
  };
  for (const char* name : {"bos_token_id", "eos_token_id", "eot_token_id", "unknown_token_id", "padding_token_id"}) {
    CAPTURE(name);
    CHECK_THROWS_WITH_AS(static_cast<void>(tokenizer_from(with(name, 50256))),
                         doctest::Contains("token 50256 of a vocabulary of 7"), format_error);
    CHECK_THROWS_AS(static_cast<void>(tokenizer_from(with(name, 7))), format_error);
    CHECK_THROWS_AS(static_cast<void>(tokenizer_from(with(name, 0xFFFFFFFE))), format_error);
    CHECK_NOTHROW(static_cast<void>(tokenizer_from(with(name, 6))));
    CHECK_NOTHROW(static_cast<void>(tokenizer_from(with(name, 0xFFFFFFFF))));
  }
}

TEST_CASE("D20: a byte token that is none is an error of the file") {
  const auto file = [](gguf_writer& w) {
    w.set("tokenizer.ggml.model", "llama");
    w.set_texts("tokenizer.ggml.tokens", std::vector<std::string>{"<unk>", "<0x-1>"});
    const float scores[] = {0, 0};
    const std::int32_t types[] = {2, 6};
    w.set_array("tokenizer.ggml.scores", std::span<const float>(scores));
    w.set_array("tokenizer.ggml.token_type", std::span<const std::int32_t>(types));
  };
  CHECK_THROWS_WITH_AS(static_cast<void>(tokenizer_from(file)), doctest::Contains("byte piece 1 is '<0x-1>'"),
                       format_error);
}

TEST_CASE("a byte-level vocabulary written and read back is the same tokenizer") {
  bpe_vocabulary v;
  v.tokens = {"a", "b", "Ġ", "ab", "", "<s>", "<u>", "<n>"};
  v.merges = {"a b"};
  v.added = {{.id = 5, .text = "<s>"},
             {.id = 6, .text = "<u>", .control = false},
             {.id = 7, .text = "<n>", .searched = false}};
  v.special = {.bos = 5, .eos = 5, .add_bos = true};
  const BpeTokenizer before(v);
  const Tokenizer after = tokenizer_from([&](gguf_writer& w) { write_vocabulary(w, v, 10); });
  CHECK(after.vocab_size() == 10);
  for (const char* text : {"ab a", "<s>ab<u>", "ba ab<s>"})
    for (const bool special : {false, true}) {
      const encode_options options{.parse_special = special, .add_special = special};
      if (!special && std::string_view(text).find("<s>") != std::string_view::npos) continue;  // "<" is no token here
      CHECK(after.encode(text, options) == before.encode(text, options));
    }
  CHECK(after.special().bos == 5);
  CHECK(after.special().pad == no_token);
  CHECK(after.token_bytes(4) == "[PAD4]");
  CHECK(after.token_bytes(9) == "[PAD9]");
  CHECK(after.is_control(5));
  CHECK_THROWS_WITH_AS(static_cast<void>(tokenizer_from([&](gguf_writer& w) { write_vocabulary(w, v, 7); })),
                       "[gguf] a vocabulary of 8 tokens for a model of 7", value_error);
}

TEST_CASE("a GPT-2 folder's tokenizer written into a GGUF gives the same tokens") {
  const auto vocab = shared_data("models/tiny-random-gpt2/vocab.json");
  if (!vocab) return;
  const std::string folder = vocab->parent_path().string();
  const Tokenizer before = load_tokenizer(folder);
  const Tokenizer after = tokenizer_from(
      [&](gguf_writer& w) { write_vocabulary(w, std::get<bpe_vocabulary>(load_vocabulary(folder)), 1000); });
  CHECK(after.special().bos == before.special().bos);
  for (const char* text : {"Hello  world, I'm 2026!", "<|endoftext|>x"})
    for (const bool special : {false, true})
      CHECK(after.encode(text, {.parse_special = special}) == before.encode(text, {.parse_special = special}));
}
