// Any bytes, as a text and as every kind of tokenizer file. Texts come back byte for byte from every pre-tokenizer and
// from SentencePiece with byte tokens; a file is refused with a place in it, or gives a tokenizer that works.
#include <cstdint>
#include <string>
#include <string_view>
#include <tinygrad/text/detokenizer.hpp>
#include <tinygrad/text/gguf_tokenizer.hpp>
#include <tinygrad/text/load_tokenizer.hpp>
#include <vector>

#include "driver.hpp"

using namespace tinygrad;

namespace {

// All 256 bytes, some merges, a control token and a user-defined one.
bpe_vocabulary byte_level(pre_tokenizer pre) {
  bpe_vocabulary v;
  for (const char32_t code : bpe_detail::byte_alphabet()) append_code_point(v.tokens.emplace_back(), code);
  v.merges = {"a b", "Ġ Ġ", "ĠĠ ĠĠ", "Ø §", "Ġ a", "Ċ Ċ", "ab ab"};
  for (const std::string& merge : v.merges) {
    v.tokens.push_back(merge);
    v.tokens.back().erase(merge.find(' '), 1);
  }
  v.added = {{.id = 263, .text = "<|end|>"}, {.id = 264, .text = "xx", .control = false}};
  v.tokens.resize(265);
  v.pre = pre;
  return v;
}

sentencepiece_vocabulary scored() {
  sentencepiece_vocabulary v;
  for (const char* piece : {"<unk>", "<s>", "▁", "a", "b", "ab", "▁a", "▁▁"}) v.pieces.emplace_back(piece);
  v.types.assign(v.pieces.size(), piece_type::normal);
  v.types[0] = piece_type::unknown;
  v.types[1] = piece_type::control;
  for (std::size_t b = 0; b < 256; ++b) {
    constexpr std::string_view hex = "0123456789ABCDEF";
    v.pieces.push_back(std::string("<0x") + hex[b / 16] + hex[b % 16] + ">");
    v.types.push_back(piece_type::byte);
  }
  for (std::size_t k = 0; k < v.pieces.size(); ++k) v.scores.push_back(-static_cast<float>(k));
  return v;
}

template <class Tok>
void text_survives(const Tok& tok, std::string_view text) {
  const std::vector<token_id> ids = tok.encode(text);
  must(tok.decode_bytes(ids) == text, "encoded and decoded, a text is the same");
  must(decode_text(tok, ids) == tok.decode(ids), "streamed and decoded at once, tokens are the same text");
  must(is_valid_utf8(tok.decode(ids)), "decoded text is UTF-8");
  static_cast<void>(tok.encode(text, {.parse_special = true, .add_special = true}));
}

// A file's tokenizer works on a text, or refuses it for a byte it has no token for.
template <class Read>
void file_is_judged(std::size_t size, Read read) {
  try {
    const auto tok = read();
    static_cast<void>(tok.decode(tok.encode("ab <s>\n\xFF", {.parse_special = true, .add_special = true})));
  } catch (const format_error& problem) {
    must(problem.offset() <= size, "an error inside the file");
  } catch (const value_error&) {
  }
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  using namespace std::string_literals;
  return {
      "Hello  world, I'm 2026!\n\n  مُحَمَّد ab\xFF\xC3<|end|>xx \xF0\x9F\x98\x80"s,
      "  \n \n\n\t'll 'S 12345 中文字 a\xCC\x81\xE2\x80\x8D!?,."s,
      R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"Ġ":3},"merges":["a b"]},"added_tokens":[{"id":4,"content":"<s>","special":true}],"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false}})"s,
      R"({"model":{"type":"BPE","byte_fallback":true,"unk_token":"<s>","vocab":{"▁":0,"a":1,"b":2,"ab":3},"merges":[["a","b"]]},"added_tokens":[{"id":4,"content":"<s>","special":true}],"normalizer":{"type":"Prepend","prepend":"▁"}})"s,
      // tokenizer.model: two pieces, unigram, a normaliser with an empty map
      "\x0A\x0D\x0A\x05<unk>\x15\0\0\0\0\x18\x02\x0A\x08\x0A\x01"s +
          "a\x15\0\0\x80\xBF\x12\x02\x18\x01\x1A\x04\x18\x01 \0"s,
      // a character map: four units, two replacements
      "\x0A\x0D\x0A\x05<unk>\x15\0\0\0\0\x18\x02\x1A\x1A\x12\x18\x10\0\0\0\0\x04\0\0\x61\x05\0\0\x01\0\0\x80\0\0\0\0x\0yz\0"s,
      "\x06\0\0\0\0\0\0\0\x05\0\0\0<unk>"s,  // tokenizer.bin
  };
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static const auto all = [] {
    std::vector<BpeTokenizer> made;
    for (int k = 0; k <= static_cast<int>(pre_tokenizer::gpt4o); ++k) {
      made.emplace_back(byte_level(static_cast<pre_tokenizer>(k)));
    }
    return made;
  }();
  static const SentencePieceTokenizer spm(scored());
  for (const BpeTokenizer& tok : all) text_survives(tok, bytes);
  if (bytes.find(sentencepiece_blank) == std::string_view::npos) text_survives(spm, bytes);  // its sign is a blank
  must(to_nfc(to_nfc(bytes)) == to_nfc(bytes), "composed twice, a text is composed once");

  file_is_judged(size, [&] {
    const json_document document{parse_json(bytes, "fuzz"), "fuzz"};
    return load_detail::make_tokenizer(vocabulary_of(document), "fuzz");
  });
  file_is_judged(size, [&] { return SentencePieceTokenizer(parse_sentencepiece_model(bytes, "fuzz")); });
  file_is_judged(size, [&] { return SentencePieceTokenizer(parse_llama2c_tokenizer(bytes, "fuzz")); });
  return 0;
}
