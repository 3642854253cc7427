// Every block format against blocks and values of the gguf package, and what a round trip may lose.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <tinygrad/quant/all.hpp>
#include <tinygrad/quant/matrix.hpp>
#include <vector>

#include "quant/samples.hpp"

using namespace tinygrad_test;

namespace {

// One record of quant_golden.bin; make_quant_golden.py says what is in it.
struct golden {
  ggml_type type;
  bool made;  // whether the bytes were made of the values, instead of read as them
  std::vector<std::byte> bytes;
  std::vector<float> values;
};

std::vector<golden> load_golden() {
  std::ifstream file(TINYGRAD_SOURCE_DIR "/tests/quant/quant_golden.bin", std::ios::binary);
  REQUIRE(file.good());
  std::vector<golden> all;
  for (std::uint32_t head[4]; file.read(reinterpret_cast<char*>(head), sizeof head);) {
    golden one{static_cast<ggml_type>(head[0]), head[1] == 1, std::vector<std::byte>(head[2]),
               std::vector<float>(head[3])};
    file.read(reinterpret_cast<char*>(one.bytes.data()), static_cast<std::streamsize>(head[2]));
    file.read(reinterpret_cast<char*>(one.values.data()), static_cast<std::streamsize>(4 * std::size_t{head[3]}));
    REQUIRE(file.good());
    all.push_back(std::move(one));
  }
  return all;
}

template <class F>
std::vector<float> dequantised(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / F::bytes * F::elements);
  for (std::size_t b = 0; b < bytes.size() / F::bytes; ++b)
    quant::dequantise_block<F>(bytes.data() + b * F::bytes, values.data() + b * F::elements);
  return values;
}
template <class F>
std::vector<std::byte> quantised(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() / F::elements * F::bytes);
  for (std::size_t b = 0; b < values.size() / F::elements; ++b)
    F::quantise(values.data() + b * F::elements, bytes.data() + b * F::bytes);
  return bytes;
}

// Equal bits, but any NaN for any NaN: numpy makes signalling ones quiet.
std::size_t differing(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return a.size() + b.size();
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    count += std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i]) &&
             !(std::isnan(a[i]) && std::isnan(b[i]));
  return count;
}

}  // namespace

TEST_CASE("every format reads blocks as the gguf package does, to the bit") {
  std::map<ggml_type, int> seen;
  for (const golden& each : load_golden()) {
    if (each.made) continue;
    CAPTURE(name_of(each.type));
    quant::visit_format(each.type, [&](auto format) {
      CHECK(differing(dequantised<decltype(format)>(each.bytes), each.values) == 0);
      const QuantMatrix matrix(each.type, 1, each.values.size(), each.bytes);
      std::vector<float> values(each.values.size());
      matrix.dequantise<packed>(values);
      CHECK(differing(values, each.values) == 0);
      ++seen[each.type];
    });
  }
  quant::for_each_format([&](auto format) {
    CAPTURE(name_of(format.type));
    CHECK(seen[format.type] == 1);  // a new format needs a record
  });
}

TEST_CASE("the simple formats make the blocks that the gguf package makes") {
  int seen = 0;
  for (const golden& each : load_golden()) {
    if (!each.made) continue;
    CAPTURE(name_of(each.type));
    quant::visit_format(each.type, [&](auto format) {
      using F = decltype(format);
      if constexpr (quant::quantisable<F>) {
        const std::vector<std::byte> bytes = quantised<F>(each.values);
        REQUIRE(bytes.size() == each.bytes.size());
        for (std::size_t b = 0; b < bytes.size() / F::bytes; ++b) {
          CAPTURE(b);
          CHECK(std::memcmp(bytes.data() + b * F::bytes, each.bytes.data() + b * F::bytes, F::bytes) == 0);
        }
        ++seen;
      }
    });
  }
  CHECK(seen == 7);
}

TEST_CASE("blocks unpacked into registers hold what is unpacked into memory") {
  for (const golden& each : load_golden()) {
    if (each.made) continue;
    quant::visit_format(each.type, [&](auto format) {
      using F = decltype(format);
      if constexpr (quant::register_format<F>) {
        const auto check = [&]<int N>(std::integral_constant<int, N>) {
          for (std::size_t at = 0; at < each.bytes.size(); at += F::bytes) {
            quant::unpacked_block<F> block;
            F::unpack(each.bytes.data() + at, block.levels.data(), block.scale.data(), block.base.data());
            const auto levels = F::template levels<N>(each.bytes.data() + at);
            int different = 0;
            for (int i = 0; i < 32; ++i)
              different += levels.part[i / (4 * N)][i % (4 * N)] != block.levels[static_cast<std::size_t>(i)];
            CHECK(different == 0);
            CHECK(F::scale_of(each.bytes.data() + at) == block.scale[0]);
            if constexpr (F::has_base) CHECK(F::base_of(each.bytes.data() + at) == block.base[0]);
          }
        };
        check(std::integral_constant<int, 1>{});
        check(std::integral_constant<int, 2>{});
        check(std::integral_constant<int, 4>{});
        check(std::integral_constant<int, 8>{});
      }
    });
  }
}

TEST_CASE("a block of zeros has scale zero and reads as zeros") {
  quant::for_each_format([](auto format) {
    using F = decltype(format);
    CAPTURE(name_of(F::type));
    const std::vector<float> zeros(4 * F::elements);
    for (const float x : dequantised<F>(quantised<F>(zeros))) CHECK(x == 0.0f);
    // Numbers below the smallest half are lost, not turned into infinities or NaN.
    for (const float value : {1e-42f, -1e-42f}) {
      const std::vector<float> tiny(F::elements, value);
      for (const float x : dequantised<F>(quantised<F>(tiny))) CHECK(std::fabs(x) <= 1e-42f);
    }
  });
}

TEST_CASE("a round trip loses at most half a step, in every lane") {
  quant::for_each_format([](auto format) {
    using F = decltype(format);
    if constexpr (quant::block_format<F> && (F::elements == 32 || F::type == ggml_type::q8_k)) {  // no search
      CAPTURE(name_of(F::type));
      const std::vector<float> values = normal_values(64 * F::elements, 7);
      const std::vector<std::byte> bytes = quantised<F>(values);
      const std::vector<float> read = dequantised<F>(bytes);
      double worst = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        quant::unpacked_block<F> block;
        F::unpack(bytes.data() + i / F::elements * F::bytes, block.levels.data(), block.scale.data(),
                  block.base.data());
        const double step = std::fabs(double{block.scale[i % F::elements / F::group]});
        // Scale and base are halves: 11 bits. The value opposite to the farthest one may lie half a step outside.
        const double half_rounding = (std::fabs(double{values[i]}) + 4) * 0x1p-11;
        const double allowed = (F::offset == 8 || F::offset == 16 ? 1.0 : 0.5) * step + half_rounding;
        worst = std::fmax(worst, std::fabs(double{values[i]} - read[i]) / allowed);
      }
      CHECK(worst <= 1.0);
      CHECK(worst > 0.5);
    }
  });
}

TEST_CASE("a round trip of Q8_0 keeps every value within half a step of its scale") {
  const std::vector<float> values = normal_values(32 * 50, 11);
  const std::vector<std::byte> bytes = quantised<quant::q8_0>(values);
  const std::vector<float> read = dequantised<quant::q8_0>(bytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float scale = quant::q8_0::scale_of(bytes.data() + i / 32 * 34);
    // Half a step of the unrounded scale, which is within 2^-11 of the stored half.
    CHECK(std::fabs(values[i] - read[i]) <= 0.5f * scale * 1.0005f + std::fabs(values[i]) * 0x1p-11f);
  }
}
