// f16 and bf16 against references in double arithmetic that know nothing of bit tricks.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tinygrad/core/half.hpp>

using namespace tinygrad;

namespace {

struct half_format {
  int exponent_bits, fraction_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint16_t infinity() const { return static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << fraction_bits); }
};
constexpr half_format ieee{5, 10};
constexpr half_format brain{8, 7};

// The textbook value of a finite bit pattern: (-1)^s 2^(e-bias) 1.f, or 2^(1-bias) 0.f.
double value_of(std::uint16_t bits, half_format format) {
  const int exponent = (bits & 0x7fff) >> format.fraction_bits;
  const int fraction = bits & ((1 << format.fraction_bits) - 1);
  const int significand = exponent == 0 ? fraction : fraction + (1 << format.fraction_bits);
  const double magnitude =
      std::ldexp(significand, (exponent == 0 ? 1 : exponent) - format.bias() - format.fraction_bits);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// Round to nearest even by scaling to an integer; only ldexp and nearbyint are trusted.
std::uint16_t nearest(double value, half_format format) {
  const int sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return static_cast<std::uint16_t>(sign);
  const int smallest = 1 - format.bias();
  const int exponent = (std::max)(std::ilogb(magnitude), smallest);
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent)));
  // `steps` counts from the start of the binade; a full binade carries into the exponent by plain addition.
  const int code = steps + ((exponent - smallest) << format.fraction_bits);
  return static_cast<std::uint16_t>(sign | (std::min)(code, static_cast<int>(format.infinity())));
}

bool is_nan_pattern(std::uint32_t bits, std::uint32_t infinity, std::uint32_t sign) {
  return (bits & ~sign) > infinity;
}

}  // namespace

TEST_CASE("every finite half widens to exactly its value, with the sign of zero") {
  int wrong = 0;
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const auto bits = static_cast<std::uint16_t>(code);
    if ((bits & 0x7fff) < ieee.infinity()) {
      const double expected = value_of(bits, ieee);
      wrong += static_cast<double>(f16_to_float(bits)) != expected ||
               std::signbit(f16_to_float(bits)) != std::signbit(expected);
    }
    if ((bits & 0x7fff) < brain.infinity()) {
      const double expected = value_of(bits, brain);
      wrong += static_cast<double>(bf16_to_float(bits)) != expected ||
               std::signbit(bf16_to_float(bits)) != std::signbit(expected);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("infinities and NaNs widen to infinities and NaNs") {
  CHECK(f16_to_float(0x7c00) == std::numeric_limits<float>::infinity());
  CHECK(f16_to_float(0xfc00) == -std::numeric_limits<float>::infinity());
  CHECK(bf16_to_float(0x7f80) == std::numeric_limits<float>::infinity());
  CHECK(bf16_to_float(0xff80) == -std::numeric_limits<float>::infinity());
  int not_nan = 0;
  for (std::uint32_t fraction = 1; fraction < 1024; ++fraction)
    not_nan += !std::isnan(f16_to_float(static_cast<std::uint16_t>(0x7c00 + fraction)));
  CHECK(not_nan == 0);
}

TEST_CASE("widening and narrowing gives back every bit pattern, NaN payloads included") {
  int changed = 0;
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const auto bits = static_cast<std::uint16_t>(code);
    changed += float_to_f16(f16_to_float(bits)) != bits;
    changed += float_to_bf16(bf16_to_float(bits)) != bits;
  }
  CHECK(changed == 0);
}

TEST_CASE("narrowing rounds to nearest even at and around every midpoint of two neighbours") {
  int wrong = 0;
  for (std::uint32_t code = 0; code + 1 <= ieee.infinity(); ++code) {
    const double low = value_of(static_cast<std::uint16_t>(code), ieee);
    const double high = value_of(static_cast<std::uint16_t>(code + 1), ieee);  // 65536 stands for infinity
    const auto middle = std::bit_cast<std::uint32_t>(static_cast<float>((low + high) / 2));
    for (int step = -2; step <= 2; ++step) {
      const float value = std::bit_cast<float>(middle + static_cast<std::uint32_t>(step));
      wrong += float_to_f16(value) != nearest(static_cast<double>(value), ieee);
      wrong += float_to_f16(-value) != nearest(-static_cast<double>(value), ieee);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("narrowing agrees with the reference all over the float range") {
  int wrong = 0;
  for (std::uint64_t code = 0; code < (std::uint64_t{1} << 32); code += 4093) {  // a prime: all low bits occur
    const auto bits = static_cast<std::uint32_t>(code);
    const float value = std::bit_cast<float>(bits);
    const std::uint32_t sign = 0x80000000;
    if (is_nan_pattern(bits, detail::float_infinity, sign)) {
      wrong += !is_nan_pattern(float_to_f16(value), ieee.infinity(), 0x8000);
      wrong += !is_nan_pattern(float_to_bf16(value), brain.infinity(), 0x8000);
    } else if (std::isfinite(value)) {
      wrong += float_to_f16(value) != nearest(static_cast<double>(value), ieee);
      wrong += float_to_bf16(value) != nearest(static_cast<double>(value), brain);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("known halves: largest, overflow boundary, smallest subnormal and its half") {
  CHECK(float_to_f16(65504.0f) == 0x7bff);
  CHECK(float_to_f16(65519.996f) == 0x7bff);
  CHECK(float_to_f16(65520.0f) == 0x7c00);
  CHECK(float_to_f16(0x1p-24f) == 0x0001);
  CHECK(float_to_f16(0x1p-25f) == 0x0000);         // a tie goes to the even neighbour, zero
  CHECK(float_to_f16(0x1.000002p-25f) == 0x0001);  // the float above the tie
  CHECK(float_to_f16(-0.0f) == 0x8000);
  CHECK(float_to_f16(std::numeric_limits<float>::denorm_min()) == 0);
  CHECK(float_to_bf16(3.3961775e38f) == 0x7f80);  // beyond the last bf16 plus half a step
  CHECK(float_to_bf16(1.00390625f) == 0x3f80);    // tie to even
  CHECK(float_to_bf16(1.01171875f) == 0x3f82);
}

TEST_CASE("a NaN whose payload sits in the dropped bits stays a NaN") {
  CHECK(float_to_f16(std::bit_cast<float>(0x7f800001u)) == 0x7c01);
  CHECK(float_to_bf16(std::bit_cast<float>(0x7f800001u)) == 0x7f81);
  CHECK(float_to_bf16(std::bit_cast<float>(0xffffffffu)) == 0xffff);
}

TEST_CASE("half types convert in constant expressions") {
  static_assert(f16(1.5f).bits == 0x3e00);
  static_assert(static_cast<float>(f16::from_bits(0x0001)) == 0x1p-24f);
  static_assert(static_cast<float>(bf16(-2.0f)) == -2.0f);
  CHECK(f16{}.bits == 0);
}
