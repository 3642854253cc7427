// GPT: parameter counts and names, the fused attention against the composed one, attention weights, bad input.
#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <tinygrad/models/bigram.hpp>
#include <tinygrad/models/char_mlp.hpp>
#include <tinygrad/models/gpt.hpp>
#include <tinygrad/ops/reduce.hpp>
#include <tinygrad/testing/close.hpp>
#include <vector>

using namespace tinygrad;

namespace {

gpt_config make_config(std::size_t vocabulary, std::size_t positions, std::size_t channels, std::size_t layers,
                       std::size_t heads) {
  gpt_config config;
  config.vocabulary = vocabulary;
  config.positions = positions;
  config.channels = channels;
  config.layers = layers;
  config.heads = heads;
  return config;
}

/// What causal_attention computes, spelled out: the specification of the fused operation.
template <class T, class P>
Tensor<T, P> composed_attention(const Tensor<T, P>& qkv, std::size_t heads) {
  const std::size_t c = qkv.shape()[2] / 3;
  const auto part = [&](std::size_t which) { return split_heads(narrow(qkv, 2, which * c, c), heads); };
  const auto weights = causal_softmax(scale(matmul_t(part(0), part(1)), detail::attention_scale<T>(c / heads)));
  return merge_heads(matmul(weights, part(2)));
}

}  // namespace

TEST_CASE("the small GPT of the series has 457,440 parameters in 52 tensors") {
  leave_uninitialized open;
  Gpt<float, packed> model(make_config(39, 64, 96, 4, 4), open);
  CHECK(parameter_count(model) == 457440);
  CHECK(parameters(model).size() == 52);
}

TEST_CASE("GPT-2 small has 124,439,808 parameters in 148 tensors, named as in the published checkpoint") {
  leave_uninitialized open;
  Gpt<float, packed> model(gpt_config{}, open);
  CHECK(parameter_count(model) == 124439808);
  std::vector<std::string> names;
  for_each_parameter(model, [&](const std::string& name, const auto&) { names.push_back(name); });
  CHECK(names.size() == 148);
  CHECK(names[0] == "wte.weight");
  CHECK(names[2] == "h.0.ln_1.weight");
  CHECK(names[4] == "h.0.attn.c_attn.weight");
  CHECK(names[146] == "ln_f.weight");
  CHECK(model.h[0].attn.c_attn.weight.shape() == Shape{768, 2304});
  CHECK(model.h[11].mlp.c_proj.weight.shape() == Shape{3072, 768});
}

TEST_CASE("fused attention equals the composed one, forward and backward, across block borders") {
  for (const std::size_t length : {1U, 5U, 63U, 64U, 65U, 130U}) {
    CAPTURE(length);
    Random random(length);
    const auto qkv = Tensor<double>::randn({2, length, 24}, random).requires_grad();
    const auto dy = Tensor<double>::randn({2, length, 8}, random);
    const auto fused = causal_attention(qkv, 2);
    fused.backward(dy);
    const auto gradient = qkv.grad().clone();
    qkv.zero_grad();
    const auto composed = composed_attention(qkv, 2);
    composed.backward(dy);
    CHECK(max_abs_difference(fused, composed) < 1e-13);
    CHECK(max_abs_difference(gradient, qkv.grad()) < 1e-12);
  }
}

TEST_CASE("B01 a query that sees only scores of minus infinity gets zeros, the others are as they were") {
  auto q = Tensor<float>::ones({1, 3, 2}), k = Tensor<float>::ones({1, 3, 2}), v = Tensor<float>::ones({1, 3, 2});
  k.mutable_data()[0] = -HUGE_VALF;  // the only key that query 0 sees scores -inf
  const auto y = causal_attention(q, k, v, 1, 1);
  CHECK(y.at({0, 0, 0}) == 0);
  CHECK(y.at({0, 1, 0}) == 1);
  CHECK(y.at({0, 2, 1}) == 1);
}

TEST_CASE("G04 grouped attention: query heads share key heads in order") {
  // Keys do not matter (one position); the value of each group shows which one a head reads.
  const auto q = Tensor<float>::ones({1, 1, 8}), k = Tensor<float>::ones({1, 1, 4});
  const auto v = Tensor<float>::from({10, 11, 20, 21}, {1, 1, 4});
  const auto y = causal_attention(q, k, v, 4, 2);
  CHECK(y.at({0, 0, 0}) == 10);  // head 0
  CHECK(y.at({0, 0, 2}) == 10);  // head 1
  CHECK(y.at({0, 0, 4}) == 20);  // head 2
  CHECK(y.at({0, 0, 7}) == 21);  // head 3
}

TEST_CASE("attention weights are causal rows that sum to one") {
  Random random(2);
  const Gpt<float, packed> model(make_config(11, 8, 12, 2, 3), random);
  const std::vector<int> ids{1, 2, 3, 4, 5, 6};
  const auto weights = model.attention_weights(ids, 1, 6, 1);
  CHECK(weights.shape() == Shape{1, 3, 6, 6});
  CHECK(weights.at({0, 2, 3, 4}) == 0);
  const auto totals = sum(weights, {-1});
  for (const float total : totals.data()) CHECK(total == doctest::Approx(1));
  CHECK_THROWS_AS(static_cast<void>(model.attention_weights(ids, 1, 6, 2)), index_error);
}

TEST_CASE("configurations that make no sense are refused") {
  Random random(1);
  CHECK_THROWS_WITH_AS((Gpt<float>(make_config(10, 8, 10, 1, 3), random)), "[gpt] 3 heads do not divide 10 channels",
                       value_error);
  CHECK_THROWS_AS((Gpt<float>(make_config(0, 8, 8, 1, 1), random)), value_error);
  const auto qkv = Tensor<float>::ones({1, 2, 7});
  CHECK_THROWS_WITH_AS(static_cast<void>(causal_attention(qkv, 1)),
                       "[causal_attention] not queries, keys and values: input (1, 2, 7); the shape must be (B, T, 3C)",
                       shape_error);
}

TEST_CASE("an id outside the vocabulary is an error") {
  Random random(1);
  const Gpt<float> model(make_config(10, 8, 8, 1, 2), random);
  CHECK_THROWS_AS(static_cast<void>(model(std::vector<int>{1, 10}, 1, 2)), index_error);
  CHECK_THROWS_AS(static_cast<void>(model(std::vector<int>{1, -1}, 1, 2)), index_error);
  CHECK_THROWS_AS(static_cast<void>(model(std::vector<int>{1, 2, 3}, 1, 2)), shape_error);
}

TEST_CASE("the counted bigram has the probabilities of its counts, smoothed") {
  const CountedBigram model(std::vector<int>{0, 1, 0, 1, 1}, 3);
  CHECK(model.probability(0, 1) == doctest::Approx(3.0 / 5));
  CHECK(model.probability(1, 1) == doctest::Approx(2.0 / 5));
  CHECK(model.probability(2, 0) == doctest::Approx(1.0 / 3));
  CHECK(model.loss(std::vector<int>{0, 1}) == doctest::Approx(-std::log(0.6)));
  CHECK_THROWS_AS(static_cast<void>(model.probability(3, 0)), index_error);
  CHECK_THROWS_AS(CountedBigram(std::vector<int>{0}, 1, 0), value_error);
}

TEST_CASE("the character MLP sees the last tokens of its own sequence only") {
  char_mlp_config config;
  config.vocabulary = 5;
  config.context = 3;
  Random random(4);
  const CharMlp<float> model(config, random);
  const std::vector<int> ids{0, 1, 2, 3, 4, 0, 1, 2, 4, 0};  // two sequences of five
  const auto logits = model(ids, 2, 5);
  CHECK(logits.shape() == Shape{2, 5, 5});
  // Position 4 of both: contexts (2, 3, 4) and (2, 4, 0) differ; position 2 of the first is that of a sequence alone.
  const auto alone = model(std::vector<int>{0, 1, 2}, 1, 3);
  for (std::size_t v = 0; v < 5; ++v) CHECK(alone.at({0, 2, v}) == doctest::Approx(logits.at({0, 2, v})));
  CHECK_THROWS_AS(static_cast<void>(model(ids, 3, 5)), shape_error);
}
