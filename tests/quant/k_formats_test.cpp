// Blocks that the search of the K formats makes: how near they come, and what it does with unusual values.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "quant/samples.hpp"

using namespace tinygrad_test;

namespace {

template <class F>
std::vector<float> round_trip(const std::vector<float>& values) {
  return floats_of(QuantMatrix::quantise(F::type, 1, values.size(), values));
}
double rms_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return std::sqrt(squares / static_cast<double>(a.size()));
}
template <class F>
inline constexpr bool is_k = quant::block_format<F>&& F::elements == 256;
template <class Body>
void for_each_k_format(Body&& body) {
  quant::for_each_format([&](auto format) {
    CAPTURE(name_of(format.type));
    if constexpr (is_k<decltype(format)>) body(format);
  });
}

// RMS errors of normal values; ggml's own, by ggml_quantize_chunk without importance (ggml_rmse.py prints them).
struct known_error {
  ggml_type type;
  double ours, ggml;
};
constexpr known_error known_errors[] = {
    {ggml_type::q2_k, 0.2594, 0.2966},   {ggml_type::q3_k, 0.1434, 0.1509},   {ggml_type::q4_k, 0.0696, 0.0714},
    {ggml_type::q5_k, 0.03433, 0.03611}, {ggml_type::q6_k, 0.01685, 0.01774},
};

}  // namespace

TEST_CASE("blocks of normal values are as near as they were, and nearer than ggml's") {
  for_each_k_format([](auto format) {
    using F = decltype(format);
    const std::vector<float> values = normal_values(64 * 256, 21);
    const double error = rms_difference(values, round_trip<F>(values));
    CAPTURE(error);
    for (const known_error& known : known_errors)
      if (known.type == F::type) {
        CHECK(error < 1.015 * known.ours);  // the sample varies by less than a hundredth
        CHECK(error < known.ggml);
      }
    if (F::type == ggml_type::q8_k) CHECK(error < 0.0075);
    // The size of the values does not matter where the scales are normal halves.
    std::vector<float> larger = values;
    for (float& x : larger) x *= 1024;
    CHECK(rms_difference(larger, round_trip<F>(larger)) == doctest::Approx(1024 * error).epsilon(1e-3));
  });
}

TEST_CASE("values that a block holds exactly come back") {
  for_each_k_format([](auto format) {
    using F = decltype(format);
    Random random(4);
    constexpr bool is_signed = !F::has_base;
    const int most = (1 << F::bits) - 1 - F::offset;
    const int most_s = F::type == ggml_type::q2_k ? 15 : F::type == ggml_type::q6_k ? 127 : is_signed ? 31 : 63;
    std::vector<float> values(256);
    const auto whole = [&](int least, int largest) {
      return std::floor(random.uniform(static_cast<float>(least), static_cast<float>(largest) + 1));
    };
    for (std::size_t g = 0; g < 256 / F::group; ++g) {  // the first group has the largest scale and shift
      float scale = 1, shift = 0;
      if (F::type != ggml_type::q8_k)
        scale = g == 0 ? static_cast<float>(is_signed ? -most_s - 1 : most_s) : whole(1, most_s);
      if (F::has_base) shift = g == 0 ? static_cast<float>(most_s) : whole(0, most_s);
      for (std::size_t i = 0; i < F::group; ++i) {
        float level = whole(-F::offset, most);
        if (F::type == ggml_type::q8_k && level < -127) level = -127;
        if (i == 3) level = static_cast<float>(F::type == ggml_type::q8_k ? -127 : -F::offset);
        if (i == 5 && F::has_base) level = static_cast<float>(most);
        values[g * F::group + i] = 0.25f * scale * level - 0.5f * shift;
      }
    }
    const std::vector<float> read = round_trip<F>(values);
    double largest = 0, worst = 0;
    for (std::size_t i = 0; i < 256; ++i) {
      largest = std::fmax(largest, std::fabs(double{values[i]}));
      worst = std::fmax(worst, std::fabs(double{values[i]} - read[i]));
    }
    CHECK(worst <= 1e-6 * largest);
  });
}

TEST_CASE("constant blocks and lone values keep eleven bits") {
  for_each_k_format([](auto format) {
    using F = decltype(format);
    for (const float value : {1.0f, -1.0f, 3.7f, -0.29f, 6e4f, -6e4f}) {
      CAPTURE(value);
      for (const float x : round_trip<F>(std::vector<float>(256, value)))
        CHECK(std::fabs(x - value) <= 0x1p-10f * std::fabs(value));
      std::vector<float> lone(256);
      lone[77] = value;
      const std::vector<float> read = round_trip<F>(lone);
      CHECK(std::fabs(read[77] - value) <= 0x1p-10f * std::fabs(value));
      for (std::size_t i = 0; i < 256; ++i)
        if (i != 77) CHECK(std::fabs(read[i]) <= 0x1p-10f * std::fabs(value));
    }
  });
}

TEST_CASE("an outlier, tiny and denormal values give finite blocks of the right size") {
  for_each_k_format([](auto format) {
    using F = decltype(format);
    std::vector<float> values = normal_values(256, 5);
    values[9] = 6e4f;
    for (const float x : round_trip<F>(values)) CHECK(std::isfinite(x));
    CHECK(round_trip<F>(values)[9] == doctest::Approx(6e4f).epsilon(2e-3));
    for (const float size : {1e-3f, 1e-6f, 1e-8f, 1e-38f, 1e-41f}) {
      std::vector<float> small = normal_values(256, 6);
      for (float& x : small) x *= size;
      for (const float x : round_trip<F>(small)) CHECK(std::fabs(x) <= 8 * size);
    }
  });
}
