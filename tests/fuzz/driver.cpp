// Runs a fuzz target without libFuzzer: its seeds, files if any are named, then mutations of all of them, the same
// ones in every run. With libFuzzer this file is not linked, and `--write DIR` of this build makes the first corpus.
//
//   fuzz_json [--rounds N] [--seed S] [--write DIR] [file ...]
// Beside crashes it looks for two faults: an exception that is not the target's business, and a single allocation far
// larger than the input, which is what a count taken from a file unchecked leads to.
#include "driver.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::size_t largest_allocation = 0;

// splitmix64: small, and the same everywhere.
class generator {
 public:
  explicit generator(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t bound) {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<std::size_t>((z ^ (z >> 31)) % bound);
  }

 private:
  std::uint64_t state_;
};

// Numbers that break readers: limits, one off, high bits.
constexpr std::string_view awkward[] = {{"\xff\xff\xff\xff\xff\xff\xff\xff", 8},
                                        {"\xff\xff\xff\xff\xff\xff\xff\x7f", 8},
                                        {"\0\0\0\0\0\0\0\x80", 8},
                                        {"\0\0\0\0\0\0\0\x20", 8},
                                        {"\0\0\0\0\1\0\0\0", 8},
                                        {"\0\0\0\0\0\0\0\0", 8},
                                        {"\xff\xff\xff\xff", 4},
                                        {"\0\0\0\x80", 4},
                                        {"\0\0\0\0", 4},
                                        "18446744073709551615",
                                        "9223372036854775808",
                                        "4294967296",
                                        "-1",
                                        "0",
                                        "1e999",
                                        "\"",
                                        "\\",
                                        "[",
                                        "{",
                                        ",",
                                        "\xc3",
                                        "\\ud800"};

void mutate(std::string& input, const std::vector<std::string>& others, generator& random) {
  const std::size_t at = random.below(input.size() + 1);
  const std::size_t length = 1 + random.below(8);
  switch (random.below(8)) {
    case 0:
      input.insert(at, 1, static_cast<char>(random.below(256)));
      break;
    case 1:
      input.erase(at < input.size() ? at : 0, length);
      break;
    case 2:
      if (at < input.size()) input[at] = static_cast<char>(random.below(256));
      break;
    case 3:
      if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << random.below(8)));
      break;
    case 4:
      input.insert(at, awkward[random.below(std::size(awkward))]);
      break;
    case 5: {
      const std::string_view number = awkward[random.below(std::size(awkward))];
      input.replace(at, number.size(), number);
      break;
    }
    case 6:
      input.insert(at, input.substr(random.below(input.size() + 1), length * 4));
      break;
    default: {
      const std::string& other = others[random.below(others.size())];
      input = input.substr(0, at) + other.substr(random.below(other.size() + 1));
    }
  }
}

void report(const std::string& input, const char* problem) {
  std::fprintf(stderr, "%s\ninput of %zu bytes:", problem, input.size());
  for (const char c : input.substr(0, 4096)) std::fprintf(stderr, " %02x", static_cast<unsigned>(c) & 255U);
  std::fprintf(stderr, "\n");
}

bool passes(const std::string& input) {
  // An exact copy on the heap, so that a sanitizer sees the first byte read beyond the end.
  std::vector<std::uint8_t> exact(input.begin(), input.end());
  largest_allocation = 0;
  try {
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
  } catch (const std::exception& error) {
    report(input, error.what());
    return false;
  }
  const std::size_t bound = (std::size_t{1} << 20) + 256 * input.size();
  if (largest_allocation <= bound) return true;
  report(input, ("a single allocation of " + std::to_string(largest_allocation) + " bytes").c_str());
  return false;
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_corpus(const std::filesystem::path& folder, const std::vector<std::string>& inputs) {
  std::filesystem::create_directories(folder);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    std::ofstream(folder / ("seed-" + std::to_string(i)), std::ios::binary) << inputs[i];
}

}  // namespace

// Sees the size of every allocation. Sanitizers still see each of them through malloc.
void* operator new(std::size_t bytes) {
  if (bytes > largest_allocation) largest_allocation = bytes;
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

int main(int argc, char** argv) {
  std::vector<std::string> inputs = fuzz_seeds();
  std::size_t rounds = 0;
  std::uint64_t seed = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : "";
    if (argument == "--rounds") {
      rounds = std::strtoull(value, nullptr, 10), ++i;
    } else if (argument == "--seed") {
      seed = std::strtoull(value, nullptr, 10), ++i;
    } else if (argument == "--write") {
      write_corpus(value, inputs), ++i;
    } else {
      inputs.push_back(content_of(argument));
    }
  }

  bool good = !inputs.empty();
  for (const std::string& input : inputs) good = passes(input) && good;
  generator random(seed);
  for (std::size_t round = 0; round < rounds && good; ++round) {
    std::string input = inputs[random.below(inputs.size())];
    for (std::size_t changes = 1 + random.below(4); changes > 0; --changes) mutate(input, inputs, random);
    good = passes(input);
    if (!good) std::fprintf(stderr, "in round %zu of seed %llu\n", round, static_cast<unsigned long long>(seed));
  }
  std::printf("%zu inputs, %zu mutations: %s\n", inputs.size(), rounds, good ? "passed" : "FAILED");
  return good ? 0 : 1;
}
