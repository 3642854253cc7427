// tokenize warm|cold VOCABULARY FILE     GPT-2's tokens of a file; cold: by a tokenizer that has seen nothing
// The vocabulary is a folder with encoder.json and vocab.bpe, or vocab.json and merges.txt.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <tinygrad/text/load_tokenizer.hpp>

#include "worker.hpp"

namespace tinygrad_bench {

namespace {

using namespace tinygrad;

BpeTokenizer read_tokenizer(const std::string& folder) {
  if (std::filesystem::exists(folder + "/encoder.json"))
    return read_gpt2_tokenizer(folder + "/encoder.json", folder + "/vocab.bpe");
  return read_gpt2_tokenizer(folder + "/vocab.json", folder + "/merges.txt");
}

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::invalid_argument("cannot read " + path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace

work make_text(arguments what) {
  const bool cold = at(what, 1) == "cold";
  const auto tokenizer = std::make_shared<const BpeTokenizer>(read_tokenizer(at(what, 2)));
  const auto text = std::make_shared<const std::string>(content_of(at(what, 3)));
  if (cold)
    return {[=] {
      const BpeTokenizer fresh(*tokenizer);
      static_cast<void>(fresh.encode(*text));
    }};
  return {[=] { static_cast<void>(tokenizer->encode(*text)); }};
}

}  // namespace tinygrad_bench
