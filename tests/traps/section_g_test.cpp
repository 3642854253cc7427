// Section G of the known traps, model maths: what is not among the tests of models/, generate/ and golden/.
#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <tinygrad/models/gpt.hpp>
#include <tinygrad/models/llama.hpp>
#include <tinygrad/testing/close.hpp>
#include <vector>

using namespace tinygrad;
using floats = Tensor<float, packed>;

namespace {

/// Rows of `heads` heads from the order of pairs by halves (i, i + D/2) to interleaved pairs (2i, 2i + 1), as llama.cpp
/// permutes the queries and keys of Llama, or back.
floats permuted(const floats& weight, std::size_t heads, bool to_interleaved) {
  const std::size_t rows = weight.shape()[0], columns = weight.shape()[1], depth = rows / heads;
  std::vector<float> values(weight.count());
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t i = row % depth, pair = i % (depth / 2), half = i / (depth / 2);
    const std::size_t interleaved = row - i + 2 * pair + half;
    for (std::size_t c = 0; c < columns; ++c)
      values[(to_interleaved ? interleaved : row) * columns + c] =
          weight.data()[(to_interleaved ? row : interleaved) * columns + c];
  }
  return floats::from(values, weight.shape());
}

}  // namespace

TEST_CASE("G02 the permutation of queries and of fewer keys has an inverse, and the two orders are the same model") {
  llama_config config;
  config.vocabulary = 13;
  config.positions = 12;
  config.channels = 128;
  config.layers = 1;
  config.heads = 32;
  config.groups = 4;
  config.hidden = 16;
  Random random(6);
  Llama<float, packed> model(config, random);
  LlamaAttention<float, packed>& attention = model.model.layers[0].self_attn;
  for (float& value : attention.q_proj.weight.mutable_data()) value *= 20;  // so that positions matter
  for (float& value : attention.k_proj.weight.mutable_data()) value *= 20;
  const std::vector<int> ids{1, 12, 3, 3, 8, 0, 5, 11};
  const no_grad guard;
  const floats expected = model(ids, 1, 8);

  const floats q = permuted(attention.q_proj.weight, 32, true), k = permuted(attention.k_proj.weight, 4, true);
  CHECK(max_abs_difference(permuted(q, 32, false), attention.q_proj.weight) == 0);
  CHECK(max_abs_difference(permuted(k, 4, false), attention.k_proj.weight) == 0);
  attention.q_proj.weight = q;
  attention.k_proj.weight = k;
  attention.pairs = rope_pairs::interleaved;
  CHECK(max_abs_difference(model(ids, 1, 8), expected) <= 1e-5 * max_abs(expected));
  attention.k_proj.weight = permuted(permuted(k, 4, false), 2, true);  // the wrong number of heads
  CHECK(max_abs_difference(model(ids, 1, 8), expected) > 1e-3 * max_abs(expected));
}

TEST_CASE("G08 GPT-2's matrices are stored [in, out], and a tied head follows the table") {
  gpt_config config;
  config.vocabulary = 7;
  config.positions = 4;
  config.channels = 8;
  config.layers = 1;
  config.heads = 2;
  Random random(2);
  Gpt<float, packed> model(config, random);
  CHECK(model.h[0].attn.c_attn.weight.shape() == Shape{8, 24});
  CHECK(model.h[0].mlp.c_fc.weight.shape() == Shape{8, 32});
  const no_grad guard;
  const std::vector<int> ids{1, 2};
  const floats before = model(ids, 1, 2);
  for (std::size_t c = 0; c < 8; ++c) model.wte.weight.mutable_data()[6 * 8 + c] *= 2;  // a token that is not read
  const floats after = model(ids, 1, 2);
  for (std::size_t t = 0; t < 2; ++t)
    for (std::size_t v = 0; v < 7; ++v)
      CHECK(after.at({0, t, v}) == doctest::Approx(before.at({0, t, v}) * (v == 6 ? 2 : 1)));
}
