// Section F of the known traps, GGUF: what is not among the tests of io/, text/ and models/.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tinygrad/io/gguf.hpp>
#include <tinygrad/io/gguf_writer.hpp>
#include <tinygrad/quant/matrix.hpp>
#include <vector>

#include "support/temp_folder.hpp"

using namespace tinygrad;

namespace {

/// The values of a matrix that was quantised, written to a file, and read from there.
std::vector<float> through_file(ggml_type type, std::size_t rows, std::size_t columns,
                                const std::vector<float>& values) {
  const tinygrad_test::temp_folder folder;
  const QuantMatrix made = QuantMatrix::quantise(type, rows, columns, values);
  gguf_writer out;
  out.add_tensor("w", type, {rows, columns}, made.bytes());
  out.write(folder / "w.gguf");
  const gguf_file file(folder / "w.gguf");
  std::vector<float> read(values.size());
  QuantMatrix(type, rows, columns, file.bytes(*file.find_tensor("w")), file.owner()).dequantise(read);
  return read;
}

}  // namespace

TEST_CASE("F17 blocks of zeros keep a scale of zero, no NaN, in every format that can be made") {
  for (const ggml_type type : {ggml_type::q8_0, ggml_type::q4_0, ggml_type::q4_1, ggml_type::q5_0, ggml_type::q5_1}) {
    CAPTURE(name_of(type));
    std::vector<float> values(3 * 64, 0.0F);
    values[70] = 1;  // a block that is not zero between those that are
    const std::vector<float> read = through_file(type, 3, 64, values);
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (i / 32 == 70 / 32)
        CHECK(std::abs(read[i] - values[i]) <= 0.1F);
      else
        CHECK(read[i] == 0);
    }
  }
}

TEST_CASE("F18 Q8_0 brings back all 32 lanes of every block, the last of the last row, too, within half a step") {
  std::vector<float> values(5 * 96);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = (i % 2 == 0 ? 1.0F : -1.0F) * (1 + static_cast<float>(i * 37 % 101));
  const std::vector<float> read = through_file(ggml_type::q8_0, 5, 96, values);
  for (std::size_t block = 0; block < values.size(); block += 32) {
    float largest = 0;
    for (std::size_t i = block; i < block + 32; ++i) largest = std::max(largest, std::abs(values[i]));
    const float step = largest / 127;
    for (std::size_t i = block; i < block + 32; ++i) {
      CAPTURE(i);
      CHECK(read[i] != 0);
      CHECK(std::abs(read[i] - values[i]) <=
            step * 0.5F + largest * 0x1p-10F);  // the scale is stored in half precision
    }
  }
}
