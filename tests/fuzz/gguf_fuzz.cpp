// Any bytes: a GGUF file is refused by a format_error, or all of it can be listed, found and read.
#include <cstdint>
#include <span>
#include <string>
#include <tinygrad/io/gguf.hpp>

#include "driver.hpp"
#include "support/gguf_bytes.hpp"

using namespace tinygrad;
using namespace tinygrad_test;

std::vector<std::string> fuzz_seeds() {
  const std::string array = gguf_string("tokens") + le(std::uint32_t{9}) + le(std::uint32_t{8}) + le(std::uint64_t{2}) +
                            gguf_string("ab") + gguf_string("");
  const std::string numbers =
      gguf_string("n") + le(std::uint32_t{9}) + le(std::uint32_t{6}) + le(std::uint64_t{2}) + le(1.0f) + le(2.0f);
  const std::string alignment = gguf_string("general.alignment") + le(std::uint32_t{4}) + le(std::uint32_t{8});
  const std::string flag = gguf_string("b") + le(std::uint32_t{7}) + "\1";
  const std::string text = gguf_string("s") + le(std::uint32_t{8}) + gguf_string("llama");
  return {gguf_head(3, 0, 0), gguf_head(2, 0, 3) + array + flag + text,
          padded(gguf_head(3, 2, 2) + alignment + numbers + gguf_description("w", {4, 2}, 0, 0) +
                     gguf_description("q", {32}, 8, 32),
                 8) +
              zeros(32 + 40),
          padded(gguf_head(3, 3, 1) + text + gguf_description("h", {2}, 1, 0) + gguf_description("e", {0, 3}, 30, 32) +
                     gguf_description("", {}, 28, 32),
                 32) +
              zeros(64)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const gguf_file file(std::as_bytes(std::span(data, size)), "fuzz");
    for (const gguf_pair& pair : file.pairs()) {
      must(file.find(pair.key)->pair().position == pair.position, "every pair is found by its key");
      const gguf_ref value(pair, file.path());
      must(!value.kind_text().empty(), "it says what it is");
      if (pair.kind == gguf_kind::string) {
        must(pair.is_array ? value.texts().size() == pair.count : value.text().size() + 8 == pair.bytes.size(),
             "texts are read whole");
      } else if (pair.is_array && pair.kind != gguf_kind::boolean) {
        must(value.numbers<double>().size() == pair.count, "arrays are read whole");
      } else if (pair.is_array) {
        must(pair.bytes.size() == pair.count, "truth values are bytes");
      } else if (pair.kind != gguf_kind::boolean) {
        static_cast<void>(value.number());
      }
    }
    for (const gguf_tensor& tensor : file.tensors()) {
      must(file.find_tensor(tensor.name) == &tensor, "every tensor is found by its name");
      must(file.bytes(tensor).size() == tensor.bytes, "its bytes are inside the file");
      must(tensor.offset % file.alignment() == 0, "its data is aligned");
      if (detail::plain_dtype(tensor.type))
        must(file.read<double>(tensor).size() == tensor.count(), "it is read whole");
    }
    for (const gguf_tensor& tensor : file.tensors()) static_cast<void>(file.shape(tensor));
  } catch (const format_error& error) {
    must(error.offset() <= size, "an error inside the file");
  }
  return 0;
}
