// Training runs: the same bits for any number of threads, resumed or not; no allocations once warm; flat memory.
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <tinygrad/models/char_mlp.hpp>
#include <tinygrad/models/gpt.hpp>
#include <tinygrad/train/trainer.hpp>
#include <vector>

#include "support/allocations.hpp"

using namespace tinygrad;

namespace {

std::vector<int> text_ids() {
  Random random(6);
  std::vector<int> ids;
  for (int i = 0; i < 3000; ++i)
    ids.push_back(i % 7 == 0 ? static_cast<int>(random.below(13)) : (ids.back() * 5 + 1) % 13);
  return ids;
}
gpt_config small_config() {
  gpt_config config;
  config.vocabulary = 13;
  config.positions = 16;
  config.channels = 24;
  config.layers = 2;
  config.heads = 3;
  return config;
}
train_options quick_options() {
  train_options options;
  options.steps = 100;
  options.batch = 4;
  options.schedule = {3e-3, 10, 100, 1e-4};
  return options;
}
/// A file name in the temporary folder, removed at the end of the scope.
struct temporary_file {
  std::string path;
  explicit temporary_file(const char* name) : path((std::filesystem::temp_directory_path() / name).string()) {}
  ~temporary_file() { std::filesystem::remove(path); }
};

template <class P>
struct run {
  Random random{3};
  Gpt<float, P> model{small_config(), random};
  TokenDataset data{text_ids(), 16};
  Trainer<Gpt<float, P>> trainer;
  explicit run(const train_options& options = quick_options()) : trainer(model, data, options) {}

  std::vector<double> losses(int count) {
    std::vector<double> result;
    for (int i = 0; i < count; ++i) result.push_back(trainer.step().loss);
    return result;
  }
  std::vector<float> weights() {
    std::vector<float> all;
    for (const auto& p : parameters(model)) all.insert(all.end(), p.data().begin(), p.data().end());
    return all;
  }
};

}  // namespace

TEST_CASE("training learns: the loss falls well below that of guessing") {
  run<packed> r;
  const std::vector<double> losses = r.losses(100);
  CHECK(losses[0] == doctest::Approx(std::log(13.0)).epsilon(0.05));
  CHECK(r.trainer.evaluate() < 1.4);
}

TEST_CASE("the same seed gives the same bits with one and two threads, and naive within float's tolerance") {
  const int before = num_threads();
  set_num_threads(1);
  run<threaded<packed>> one;
  const std::vector<double> expected = one.losses(12);
  set_num_threads(2);
  run<threaded<packed>> two;
  CHECK(two.losses(12) == expected);
  CHECK(two.weights() == one.weights());
  set_num_threads(before);
  run<naive> textbook;
  const std::vector<double> found = textbook.losses(12);
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-4));
}

TEST_CASE("C04 C05 a run stopped at step 37 and resumed equals one that never stopped, bit for bit") {
  const temporary_file file("tinygrad_trainer_test.safetensors");
  run<packed> straight;
  straight.losses(60);

  {
    run<packed> stopped;
    stopped.losses(37);
    stopped.trainer.save(file.path, {{"note", "kept"}});
  }
  run<packed> resumed;
  resumed.losses(3);  // a model that has already moved elsewhere must be put back entirely
  const text_pairs notes = resumed.trainer.load(file.path);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].second == "kept");
  CHECK(resumed.trainer.steps() == 37);
  const step_report next = resumed.trainer.step();
  CHECK(next.learning_rate == quick_options().schedule(37));
  resumed.losses(22);
  CHECK(resumed.weights() == straight.weights());
  CHECK(resumed.trainer.optimizer().steps() == 60);
}

TEST_CASE("C06 accumulated batches give the gradient of one large batch, and nothing leaks into the next update") {
  train_options large = quick_options(), pieces = quick_options();
  large.batch = 8;
  pieces.batch = 2;
  pieces.accumulate = 4;
  run<packed> a(large), b(pieces);  // both draw the same eight windows per update
  const auto expected = a.losses(5), found = b.losses(5);
  for (std::size_t i = 0; i < 5; ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-5));
  CHECK(b.trainer.steps() == 5);
}

TEST_CASE("a checkpoint of another shape, cut in half, or missing is an error; the old one survives a failed write") {
  const temporary_file file("tinygrad_trainer_bad.safetensors");
  run<packed> r;
  r.losses(2);
  r.trainer.save(file.path);
  {
    gpt_config other = small_config();
    other.channels = 12;
    Random random(1);
    Gpt<float, packed> model(other, random);
    Trainer trainer(model, r.data, quick_options());
    CHECK_THROWS_WITH_AS(trainer.load(file.path),
                         (file.path + ": tensor \"wte.weight\" is (13, 24), the model needs (13, 12)").c_str(),
                         shape_error);
  }
  CHECK_THROWS_AS(r.trainer.load(file.path + ".missing"), io_error);
  CHECK_THROWS_AS(r.trainer.save("/dev/full/nowhere.safetensors"), io_error);
  std::filesystem::resize_file(file.path, std::filesystem::file_size(file.path) / 2);
  CHECK_THROWS_AS(r.trainer.load(file.path), format_error);
}

TEST_CASE("a text shorter than a block is refused with both lengths") {
  CHECK_THROWS_WITH_AS(TokenDataset(std::vector<int>(100, 0), 64),
                       "[dataset] the text has 100 tokens; its training and validation parts need at least 65 each "
                       "(90 and 10)",
                       value_error);
  CHECK_THROWS_AS(TokenDataset(std::vector<int>{}, 8), value_error);
}

TEST_CASE("a loss that is no longer finite stops the run") {
  train_options options = quick_options();
  options.schedule = {1e30, 0, 100, 1e30};
  options.clip = 0;
  run<packed> r(options);
  CHECK_THROWS_AS(r.losses(20), value_error);
}

TEST_CASE("a warmed-up training step makes no call to the general allocator") {
  run<threaded<packed>> r;
  r.losses(5);
  const std::size_t before = test_support::allocations();
  for (int i = 0; i < 20; ++i) static_cast<void>(r.trainer.step());
  CHECK(test_support::allocations() == before);
}

TEST_CASE("A19 memory stays flat over many steps") {
  run<packed> r;
  r.losses(10);
  const std::size_t cached = cached_memory();
  r.losses(300);
  CHECK(cached_memory() == cached);
}
