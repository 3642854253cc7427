// The memory of fused attention grows linearly with the length of the sequence.
#include <doctest/doctest.h>

#include <cstddef>
#include <tinygrad/ops/attention.hpp>
#include <vector>

using namespace tinygrad;

TEST_CASE("attention forward and backward over 64 to 4096 positions takes memory in proportion") {
  const auto bytes_of = [](std::size_t length) {
    release_cached_memory();
    const std::size_t before = cached_memory();
    {
      const auto qkv = Tensor<float, packed>::ones({1, length, 12}).requires_grad();
      causal_attention(qkv, 2).backward(Tensor<float, packed>::ones({1, length, 4}));
    }
    return cached_memory() - before;  // all that was ever in use is in the pool now
  };
  std::size_t shorter = bytes_of(64);
  for (std::size_t length = 128; length <= 4096; length *= 2) {
    CAPTURE(length);
    const std::size_t bytes = bytes_of(length);
    CHECK(bytes <= shorter * 9 / 4);  // twice, and the rounding of size classes
    CHECK(bytes < length * length * sizeof(float) + (std::size_t{1} << 16));
    shorter = bytes;
  }
  CHECK(shorter < 4096 * 12 * sizeof(float) * 5);  // a few tensors of the size of qkv
}
