// The sampler chain: known traps H01 to H09, options, and fixed draws.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <tinygrad/generate/sampler.hpp>
#include <vector>

using namespace tinygrad;

namespace {

/// Logits whose softmax is `p`.
std::vector<float> logits_of(const std::vector<double>& p) {
  std::vector<float> logits;
  for (const double x : p) logits.push_back(static_cast<float>(std::log(x)));
  return logits;
}
std::vector<int> kept(const sampler_options& options, const std::vector<float>& logits,
                      const std::vector<int>& history = {}) {
  Sampler sampler(options);
  std::vector<int> ids;
  for (const token_candidate& c : sampler.candidates(logits, history)) ids.push_back(c.id);
  return ids;
}
sampler_options with_top_p(double p) {
  sampler_options options;
  options.top_p = p;
  return options;
}
sampler_options with_top_k(std::size_t k) {
  sampler_options options;
  options.top_k = k;
  return options;
}
sampler_options with_temperature(double t) {
  sampler_options options;
  options.temperature = t;
  return options;
}

}  // namespace

TEST_CASE("H01 top-p keeps the token that crosses p") {
  CHECK(kept(with_top_p(0.8), logits_of({.4, .3, .2, .1})) == std::vector<int>{0, 1, 2});
}

TEST_CASE("H02 top-p stops at equality") {
  CHECK(kept(with_top_p(0.8), logits_of({.3, .1, .1, .5})) == std::vector<int>{3, 0});
  CHECK(kept(with_top_p(0.7), logits_of({.4, .3, .2, .1})) == std::vector<int>{0, 1});
}

TEST_CASE("H03 top-p of one keeps all, of zero exactly one") {
  CHECK(kept(with_top_p(1), logits_of({.1, .2, .3, .4})) == std::vector<int>{3, 2, 1, 0});
  CHECK(kept(with_top_p(0), logits_of({.1, .2, .3, .4})) == std::vector<int>{3});
}

TEST_CASE("H04 top-p adds probabilities, most likely first, after the temperature") {
  CHECK(kept(with_top_p(0.5), logits_of({.05, .6, .05, .3})) == std::vector<int>{1});
  sampler_options hot = with_top_p(0.5);
  hot.temperature = 100;  // nearly uniform: half of the mass needs two tokens of four, or three at most
  const std::size_t count = kept(hot, logits_of({.05, .6, .05, .3})).size();
  CHECK(count >= 2);
  CHECK(count <= 3);
}

TEST_CASE("H05 H06 top-k keeps exactly k, ties to the lower id; zero and more than all keep all") {
  CHECK(kept(with_top_k(1), {1, 3, 2}) == std::vector<int>{1});
  CHECK(kept(with_top_k(3), {1, 2, 2, 2, 3}) == std::vector<int>{4, 1, 2});
  CHECK(kept(with_top_k(2), logits_of({.4, .3, .3, 1e-9})) == std::vector<int>{0, 1});
  CHECK(kept(with_top_k(0), {1, 2, 3}).size() == 3);
  CHECK(kept(with_top_k(99), {1, 2, 3}).size() == 3);
}

TEST_CASE("H07 temperature zero is the largest logit, the lower id on a tie; extreme temperatures give no NaN") {
  Sampler greedy(with_temperature(0));
  CHECK(greedy(std::vector<float>{1, 5, 5, 2}) == 1);
  Sampler cold(with_temperature(1e-30));
  CHECK(cold(std::vector<float>{1, 5, 5.0001F, 2}) == 2);
  Sampler hot(with_temperature(1e30));
  const int drawn = hot(std::vector<float>{-100, 100});
  CHECK((drawn == 0 || drawn == 1));
  for (const double bad : {-1.0, std::nan(""), HUGE_VAL}) CHECK_THROWS_AS(Sampler{with_temperature(bad)}, value_error);
}

TEST_CASE("H08 the same seed draws the same tokens everywhere") {
  Sampler sampler({}, 42);
  std::vector<int> drawn;
  for (int i = 0; i < 12; ++i) drawn.push_back(sampler(logits_of({.1, .2, .3, .4})));
  Sampler again({}, 42);
  for (const int token : drawn) CHECK(again(logits_of({.1, .2, .3, .4})) == token);
  CHECK(drawn == std::vector<int>{1, 3, 0, 1, 1, 2, 3, 2, 3, 0, 2, 1});
}

TEST_CASE("draws follow the probabilities") {
  Sampler sampler({}, 7);
  std::vector<int> counts(4);
  for (int i = 0; i < 20000; ++i) ++counts[static_cast<std::size_t>(sampler(logits_of({.1, .2, .3, .4})))];
  for (int id = 0; id < 4; ++id)
    CHECK(counts[static_cast<std::size_t>(id)] / 20000.0 == doctest::Approx(0.1 * (id + 1)).epsilon(0.06));
}

TEST_CASE("H09 a NaN among the logits is an error, as are an infinity and nothing to choose from") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  Sampler sampler;
  CHECK_THROWS_WITH_AS(static_cast<void>(sampler(std::vector<float>{1, nan})), "[sampler] logit nan for token 1",
                       value_error);
  CHECK_THROWS_AS(static_cast<void>(sampler(std::vector<float>{1, inf})), value_error);
  CHECK_THROWS_AS(static_cast<void>(sampler(std::vector<float>{-inf, -inf})), value_error);
  CHECK_THROWS_AS(static_cast<void>(sampler(std::vector<float>{})), value_error);
  CHECK(sampler(std::vector<float>{-inf, 0, -inf}) == 1);
}

TEST_CASE("min-p keeps what is likely enough beside the likeliest") {
  sampler_options options;
  options.min_p = 0.5;
  CHECK(kept(options, logits_of({.4, .25, .19, .16})) == std::vector<int>{0, 1});
  options.min_p = 1;
  CHECK(kept(options, logits_of({.4, .4, .2})) == std::vector<int>{0, 1});
}

TEST_CASE("the repetition penalty lowers seen tokens once, whatever their sign") {
  sampler_options options = with_temperature(0);
  options.repetition_penalty = 2;
  CHECK(kept(options, {3, 2, -1}, {0, 0, 0}) == std::vector<int>{1});
  CHECK(kept(options, {-3, -2, -3.5F}, {1}) == std::vector<int>{0});  // -2 becomes -4
  CHECK(kept(options, {3, 2}, {-5, 99}) == std::vector<int>{0});      // ids outside the vocabulary are ignored
}

TEST_CASE("options out of range are refused by name") {
  sampler_options options;
  options.top_p = 1.5;
  CHECK_THROWS_WITH_AS(Sampler{options}, "[sampler] top_p must be in [0, 1], got 1.500000", value_error);
  options = {};
  options.min_p = -0.1;
  CHECK_THROWS_AS(Sampler{options}, value_error);
  options = {};
  options.repetition_penalty = 0;
  CHECK_THROWS_AS(Sampler{options}, value_error);
}
