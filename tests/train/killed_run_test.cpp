// A run killed without warning loses nothing but the steps since its last checkpoint.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <tinygrad/models/char_mlp.hpp>
#include <tinygrad/train/trainer.hpp>
#include <vector>

using namespace tinygrad;

namespace {

std::vector<int> text_ids() {
  std::vector<int> ids{1};
  for (int i = 1; i < 2000; ++i) ids.push_back((ids.back() * 5 + i % 3) % 11);
  return ids;
}

struct run {
  Random random{3};
  char_mlp_config config = [] {
    char_mlp_config c;
    c.vocabulary = 11;
    c.channels = 8;
    c.hidden = 32;
    return c;
  }();
  CharMlp<float, packed> model{config, random};
  TokenDataset data{text_ids(), 12};
  train_options options;
  Trainer<CharMlp<float, packed>> trainer{model, data, options};

  std::vector<float> weights() {
    std::vector<float> all;
    for (const auto& p : parameters(model)) all.insert(all.end(), p.data().begin(), p.data().end());
    return all;
  }
};

}  // namespace

TEST_CASE("C04 a run killed by SIGKILL at any moment continues from its checkpoint, bit for bit") {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("tinygrad_killed_" + std::to_string(getpid()) + ".safetensors"))
          .string();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {  // trains and saves after every step until it is killed: the kill may well hit a save
    run r;
    for (;;) {
      static_cast<void>(r.trainer.step());
      r.trainer.save(path);
    }
  }
  while (!std::filesystem::exists(path)) usleep(1000);
  usleep(60000);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));

  run resumed;
  static_cast<void>(resumed.trainer.load(path));
  const std::uint64_t reached = resumed.trainer.steps();
  CHECK(reached >= 1);
  while (resumed.trainer.steps() < reached + 10) static_cast<void>(resumed.trainer.step());
  run straight;
  while (straight.trainer.steps() < reached + 10) static_cast<void>(straight.trainer.step());
  CHECK(resumed.weights() == straight.weights());
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()))
    if (entry.path().filename().string().starts_with(std::filesystem::path(path).filename().string()))
      std::filesystem::remove(entry.path());
}
