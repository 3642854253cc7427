// Section D of the known traps, byte-level BPE: what is not among the tests of text/.
#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <tinygrad/text/load_tokenizer.hpp>
#include <type_traits>
#include <utility>
#include <vector>

using namespace tinygrad;

TEST_CASE("D21 tokens come in a container that counts in size_t, so no count can wrap on its way to a buffer") {
  static_assert(std::is_same_v<decltype(std::declval<const Tokenizer&>().encode("")), std::vector<token_id>>);
  static_assert(std::is_same_v<decltype(std::declval<const BpeTokenizer&>().encode("")), std::vector<token_id>>);
  static_assert(
      std::is_same_v<decltype(std::declval<const SentencePieceTokenizer&>().encode("")), std::vector<token_id>>);
  static_assert(std::is_same_v<decltype(std::declval<const Tokenizer&>().vocab_size()), std::size_t>);
  static_assert(std::is_same_v<decltype(std::declval<const Tokenizer&>().decode({})), std::string>);
  CHECK(sizeof(std::vector<token_id>::size_type) == sizeof(std::size_t));
}
