// Trap D15: one piece as long as a text. No recursion and no quadratic step: everything here runs on a thread with a
// stack of 512 KiB, and time grows with the length of a piece, not with its square.
#include <doctest/doctest.h>

#include <ctime>
#include <string>
#include <tinygrad/text/bpe.hpp>

#include "support/small_stack.hpp"
#include "text/gpt2_support.hpp"

using namespace tinygrad;
using tinygrad_test::gpt2;
using tinygrad_test::token_ids;

namespace {

// Of this thread alone: other work on the machine counts little.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Tok>
double seconds_to_encode(const Tok& tok, const std::string& text) {
  const double start = cpu_seconds();
  CHECK_FALSE(tok.encode(text).empty());
  return cpu_seconds() - start;
}

std::string repeat(const std::string& part, std::size_t size) {
  std::string text;
  while (text.size() < size) text += part;
  return text;
}

}  // namespace

TEST_CASE("D15: 43,000 times A, 30,000 line breaks, 131,072 times Z, 60 times us") {
  const BpeTokenizer* const tok = gpt2();
  if (!tok) return;
  test_support::on_small_stack([&] {
    CHECK(tok->encode(std::string(43000, 'A')) == token_ids(5375, 43488));
    CHECK(tok->encode(std::string(30000, '\n')) == token_ids(15000, 628));
    const std::string many(131072, 'Z'), us = repeat("us", 120);
    CHECK(tok->decode_bytes(tok->encode(many)) == many);
    CHECK(tok->decode_bytes(tok->encode(us)) == us);
  });
}

TEST_CASE("D15: long pieces without any data: every scanner, on a small stack") {
  bpe_vocabulary vocabulary = tinygrad_test::byte_vocabulary({"A A", "AA AA", "Ċ Ċ", "Ġ Ġ", "ĠĠ ĠĠ", "a b", "Ø §"});
  for (const auto& entry : pretokenizer_detail::names) {
    vocabulary.pre = entry.kind;
    const BpeTokenizer tok(vocabulary);
    test_support::on_small_stack([&] {
      for (const char* part : {"A", "\n", " ", "a\u0301", "ا", "中", "!", "7", " \n", "\xFF", "Ab", "'s", " x"}) {
        const std::string text = repeat(part, 100000);
        CHECK(tok.decode_bytes(tok.encode(text)) == text);
      }
    });
  }
}

TEST_CASE("D15: time grows with the length of a piece, not with its square") {
  bpe_vocabulary vocabulary = tinygrad_test::byte_vocabulary({"A A", "AA AA", "Ġ Ġ", "ĠĠ ĠĠ", "a b", "ab ab"});
  for (const char* name : {"gpt-2", "llama-bpe", "falcon", "deepseek-coder"}) {
    vocabulary.pre = pre_tokenizer_by_name(name);
    const BpeTokenizer tok(vocabulary);
    for (const char* part : {"A", " ", "ab", "a ", "\n ", "!"}) {
      CAPTURE(name);
      CAPTURE(part);
      const std::string brief = repeat(part, 1 << 13), lengthy = repeat(part, 1 << 18);
      const double first = seconds_to_encode(tok, brief);
      CHECK(seconds_to_encode(tok, lengthy) < first * 256 + 0.01);  // 32 if linear, 1024 if quadratic
    }
  }
}
