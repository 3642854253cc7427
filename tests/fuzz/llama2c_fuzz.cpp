// Any bytes: a llama2.c checkpoint is refused by a format_error, or is a model that computes.
#include <cstdint>
#include <span>
#include <string>
#include <tinygrad/models/load_llama2c.hpp>

#include "driver.hpp"
#include "support/llama2c_bytes.hpp"

using namespace tinygrad;

std::vector<std::string> fuzz_seeds() {
  return {tinygrad_test::llama2c_bytes(tinygrad_test::small_llama2c<packed>(true)),
          tinygrad_test::llama2c_bytes(tinygrad_test::small_llama2c<packed>(false)),
          tinygrad_test::llama2c_head({2, 1, 1, 1, 1, 1, 1}) + std::string(4 * 32, '\x3E')};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto model = load_llama2c<packed>(std::as_bytes(std::span(data, size)), "fuzz");
    must(model.config.vocabulary * model.config.channels * sizeof(float) <= size, "no more numbers than bytes");
    auto cache = model.make_cache(1, 1);
    must(model.forward(std::vector<int>{0}, 1, 1, cache).count() == model.vocabulary(), "it computes logits");
  } catch (const format_error& error) {
    must(error.offset() <= size, "an error inside the file");
  }
  return 0;
}
