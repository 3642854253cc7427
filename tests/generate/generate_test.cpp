// Generation with a key/value cache: equal to the full forward for every split, stops with a reason.
#include <doctest/doctest.h>

#include <tinygrad/generate/generate.hpp>
#include <tinygrad/models/gpt.hpp>
#include <tinygrad/testing/close.hpp>
#include <vector>

using namespace tinygrad;
using model_type = Gpt<float, packed>;

namespace {

model_type make_model(std::size_t positions) {
  gpt_config config;
  config.vocabulary = 37;
  config.positions = positions;
  config.channels = 24;
  config.layers = 2;
  config.heads = 3;
  Random random(5);
  return model_type(config, random);
}
std::vector<int> some_ids(std::size_t count, std::uint64_t seed = 9) {
  Random random(seed);
  std::vector<int> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(static_cast<int>(random.below(37)));
  return ids;
}
Sampler greedy() {
  sampler_options options;
  options.temperature = 0;
  return Sampler(options);
}
generate_options tokens(std::size_t count) {
  generate_options options;
  options.max_tokens = count;
  return options;
}

}  // namespace

TEST_CASE("G06 the cached logits equal the full forward's for every split of the sequence into chunks") {
  const model_type model = make_model(96);
  const std::vector<int> ids = some_ids(90);
  const no_grad guard;
  const auto full = reshape(model(ids, 1, 90), Shape{90, 37});
  const double scale = max_abs(full);
  for (const std::size_t chunk : {90U, 1U, 7U, 45U, 64U, 65U, 89U}) {
    CAPTURE(chunk);
    auto cache = model.make_cache(1, 96);
    double worst = 0;
    for (std::size_t first = 0; first < 90; first += chunk) {
      const std::size_t count = 90 - first < chunk ? 90 - first : chunk;
      const auto logits = model.forward(std::span<const int>(ids).subspan(first, count), 1, count, cache);
      const double difference = max_abs_difference(reshape(logits, Shape{count, 37}), narrow(full, 0, first, count));
      worst = difference > worst ? difference : worst;
    }
    CHECK(cache.length() == 90);
    CHECK(worst <= 1e-5 * scale);
  }
}

TEST_CASE("the last position alone gives the last row of all logits") {
  const model_type model = make_model(32);
  const std::vector<int> ids = some_ids(20);
  auto one = model.make_cache(1, 32), two = model.make_cache(1, 32);
  const auto last = model.forward(ids, 1, 20, one, logits_of::last);
  const auto all = model.forward(ids, 1, 20, two, logits_of::all);
  CHECK(last.shape() == Shape{1, 1, 37});
  CHECK(max_abs_difference(last, narrow(all, 1, 19, 1)) <= 1e-6);
}

TEST_CASE("a batch of eight sequences equals eight single ones") {
  const model_type model = make_model(40);
  std::vector<int> batch;
  for (std::uint64_t b = 0; b < 8; ++b) {
    const std::vector<int> one = some_ids(12, 100 + b);
    batch.insert(batch.end(), one.begin(), one.end());
  }
  auto cache = model.make_cache(8, 40);
  const auto together = model.forward(batch, 8, 12, cache);
  std::vector<int> next(8, 3);
  const auto together_next = model.forward(next, 8, 1, cache);
  for (std::size_t b = 0; b < 8; ++b) {
    auto alone = model.make_cache(1, 40);
    const auto logits = model.forward(std::span<const int>(batch).subspan(b * 12, 12), 1, 12, alone);
    CHECK(max_abs_difference(logits, narrow(together, 0, b, 1)) <= 1e-5);
    CHECK(max_abs_difference(model.forward(std::span<const int>(next).first(1), 1, 1, alone),
                             narrow(together_next, 0, b, 1)) <= 1e-5);
  }
}

TEST_CASE("generation with and without the cache writes the same tokens") {
  const model_type model = make_model(48);
  const std::vector<int> prompt = some_ids(5);
  Sampler sampler = greedy();
  const generation cached = generate(model, prompt, tokens(30), sampler);
  generate_options slow = tokens(30);
  slow.use_cache = false;
  CHECK(generate(model, prompt, slow, sampler).tokens == cached.tokens);
  generate_options chunked = tokens(30);
  chunked.prefill_chunk = 2;
  CHECK(generate(model, prompt, chunked, sampler).tokens == cached.tokens);
  CHECK(cached.tokens.size() == 30);
  CHECK(cached.reason == stop_reason::max_tokens);
}

TEST_CASE("G05 a full context stops with a reason; a prompt that does not fit is refused") {
  const model_type model = make_model(16);
  Sampler sampler = greedy();
  const generation result = generate(model, some_ids(15), tokens(10), sampler);
  CHECK(result.reason == stop_reason::context_full);
  CHECK(result.tokens.size() == 2);  // one for position 15, and the one that follows it
  CHECK(generate(model, some_ids(16), tokens(10), sampler).tokens.size() == 1);
  CHECK_THROWS_WITH_AS(static_cast<void>(generate(model, some_ids(17), tokens(10), sampler)),
                       "[generate] the prompt has 17 tokens; the model has 16 positions", index_error);
  CHECK_THROWS_AS(static_cast<void>(generate(model, std::vector<int>{}, tokens(1), sampler)), value_error);
}

TEST_CASE("the callback and stop tokens end a generation") {
  const model_type model = make_model(32);
  const std::vector<int> prompt = some_ids(4);
  Sampler sampler = greedy();
  const generation whole = generate(model, prompt, tokens(6), sampler);
  int seen = 0;
  const generation cut = generate(model, prompt, tokens(6), sampler, [&](int) { return ++seen < 3; });
  CHECK(cut.tokens.size() == 3);
  CHECK(cut.reason == stop_reason::callback);
  generate_options options = tokens(6);
  options.stop_tokens = {whole.tokens[0]};
  const generation stopped = generate(model, prompt, options, sampler);
  CHECK(stopped.tokens.empty());
  CHECK(to_string(stopped.reason) == "stop_token");
}

TEST_CASE("G05 G07 the cache never takes more than it has room for, and shortens only to what is there") {
  const model_type model = make_model(16);
  auto cache = model.make_cache(1, 8);
  const std::vector<int> ids = some_ids(9);
  CHECK_THROWS_WITH_AS(static_cast<void>(model.forward(ids, 1, 9, cache)),
                       "[kv_cache] 9 tokens after 0 do not fit 8 positions", index_error);
  static_cast<void>(model.forward(std::span<const int>(ids).first(8), 1, 8, cache));
  CHECK(cache.room() == 0);
  CHECK_THROWS_AS(static_cast<void>(model.forward(std::span<const int>(ids).first(1), 1, 1, cache)), index_error);
  CHECK_THROWS_AS(cache.truncate(9), index_error);
  cache.truncate(3);
  CHECK(cache.length() == 3);
  CHECK_THROWS_AS(static_cast<void>(model.forward(std::span<const int>(ids).first(2), 2, 1, cache)), shape_error);
  CHECK_THROWS_AS(static_cast<void>(model.make_cache(1, 17)), index_error);
  CHECK_THROWS_AS(static_cast<void>(model(ids, 1, 17)), shape_error);
}
