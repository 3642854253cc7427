// QuantMatrix: what it computes, keeps and refuses.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <tinygrad/core/error.hpp>
#include <vector>

#include "quant/samples.hpp"
#include "support/allocations.hpp"

using namespace tinygrad_test;

TEST_CASE("a row of activations does not depend on its neighbours") {
  const QuantMatrix w = sample<quant::q8_0>(20, 64, 2);
  const std::vector<float> x = normal_values(3 * 64, 8);
  std::vector<float> together(3 * 20), alone(20);
  w.multiply<packed>(x, together);
  for (std::size_t i = 0; i < 3; ++i) {
    w.multiply<packed>(std::span<const float>(x).subspan(i * 64, 64), alone);
    CHECK(std::memcmp(alone.data(), together.data() + 20 * i, 20 * sizeof(float)) == 0);
  }
}

TEST_CASE("a row of a tile does not depend on its neighbours or its place among them") {
  quant::for_each_format([](auto format) {
    using F = decltype(format);
    CAPTURE(name_of(F::type));
    if constexpr (has_quant_tiles<packed, F>) {
      const std::size_t k = F::elements == 256 ? 2560 : 1088, rows = 21;  // more than one stretch of k; clipped tiles
      const QuantMatrix w = sample<F>(rows, k, 2);
      const std::vector<float> x = normal_values(16 * k, 8);
      std::vector<float> y(16 * rows), part(11 * rows);
      w.multiply<packed>(x, y);
      w.multiply<packed>(std::span<const float>(x).subspan(3 * k, 11 * k), part);
      CHECK(std::memcmp(part.data(), y.data() + 3 * rows, part.size() * sizeof(float)) == 0);
    }
  });
}

TEST_CASE("whole numbers that need no rounding are multiplied exactly") {
  // Weights and activations of 127ths: both scales are exact, so that the product is too.
  Random random(6);
  std::vector<float> weights(4 * 96), x(96), y(4);
  for (float& value : weights) value = std::floor(random.uniform(-127.0f, 128.0f));
  for (float& value : x) value = std::floor(random.uniform(-127.0f, 128.0f));
  for (std::size_t i = 0; i < weights.size(); i += 32) weights[i] = -127;
  for (std::size_t i = 0; i < x.size(); i += 32) x[i] = 127;
  const QuantMatrix w = QuantMatrix::quantise(ggml_type::q8_0, 4, 96, weights);
  const auto check = [&] {
    for (std::size_t row = 0; row < 4; ++row) {
      float sum = 0;
      for (std::size_t i = 0; i < 96; ++i) sum += weights[row * 96 + i] * x[i];
      for (std::size_t i = 0; i < y.size() / 4; ++i) CHECK(y[4 * i + row] == sum);
    }
  };
  const auto check_many_rows = [&](const QuantMatrix& matrix) {
    std::vector<float> many;
    for (int i = 0; i < 13; ++i) many.insert(many.end(), x.begin(), x.end());
    y.assign(13 * 4, 0);
    matrix.multiply<packed>(many, y);
    check();
    y.assign(4, 0);
  };
  w.multiply<packed>(x, y);
  check();
  w.multiply<naive>(x, y);
  check();
  check_many_rows(w);
  // The extremes of bytes: nothing saturates on the way.
  for (float& value : weights) value = -127;
  for (float& value : x) value = 127;
  const QuantMatrix all = QuantMatrix::quantise(ggml_type::q8_0, 4, 96, weights);
  all.multiply<packed>(x, y);
  check();
  check_many_rows(all);
}

TEST_CASE("activations that are not finite show in the products they enter, and in no others") {
  const QuantMatrix w = sample<quant::q4_0>(5, 64, 2);
  std::vector<float> x = normal_values(2 * 64, 3), y(2 * 5);
  x[40] = std::numeric_limits<float>::infinity();
  w.multiply<packed>(x, y);
  for (std::size_t row = 0; row < 5; ++row) {
    CHECK_FALSE(std::isfinite(y[row]));
    CHECK(std::isfinite(y[5 + row]));
  }
  x[40] = std::numeric_limits<float>::quiet_NaN();
  w.multiply<packed>(x, y);
  for (std::size_t row = 0; row < 5; ++row) CHECK(std::isnan(y[row]));
  for (float& value : x) value = 1e-44f;  // and tiny ones are zero
  w.multiply<packed>(x, y);
  for (const float value : y) CHECK(value == 0.0f);
  std::vector<float> many = normal_values(16 * 64, 3), products(16 * 5);
  many[9 * 64 + 40] = std::numeric_limits<float>::infinity();
  w.multiply<packed>(many, products);
  for (std::size_t i = 0; i < products.size(); ++i) CHECK(std::isfinite(products[i]) == (i / 5 != 9));
}

TEST_CASE("one row is dequantised on its own") {
  quant::for_each_format([](auto format) {
    using F = decltype(format);
    const std::size_t k = odd_columns<F>;
    const QuantMatrix w = sample<F>(4, k, 12);
    const std::vector<float> all = floats_of(w);
    std::vector<float> row(k);
    w.dequantise_row(2, row);
    CHECK(std::memcmp(row.data(), all.data() + 2 * k, k * sizeof(float)) == 0);
    CHECK_THROWS_AS(w.dequantise_row(4, row), index_error);
  });
}

TEST_CASE("weights may lie at any address") {
  quant::for_each_format([](auto format) {
    using F = decltype(format);
    CAPTURE(name_of(F::type));
    const std::size_t k = odd_columns<F>;
    const QuantMatrix w = sample<F>(6, k, 5);
    std::vector<std::byte> moved(w.bytes().size() + 1);
    std::memcpy(moved.data() + 1, w.bytes().data(), w.bytes().size());
    const QuantMatrix odd(F::type, 6, k, std::span<const std::byte>(moved).subspan(1));
    for (const std::size_t n : {std::size_t{1}, std::size_t{6}}) {
      const std::vector<float> x = normal_values(n * k, 4);
      std::vector<float> y(n * 6), z(n * 6);
      w.multiply<packed>(x, y);
      odd.multiply<packed>(x, z);
      CHECK(std::memcmp(y.data(), z.data(), y.size() * sizeof(float)) == 0);
    }
  });
}

TEST_CASE("a view keeps the owner of its weights alive") {
  auto memory = std::make_shared<std::vector<std::byte>>(34 * 2);
  const std::weak_ptr<void> watch = memory;
  QuantMatrix w(ggml_type::q8_0, 2, 32, *memory, memory);
  memory.reset();
  CHECK_FALSE(watch.expired());
  const QuantMatrix copy = w;
  w = QuantMatrix();
  CHECK_FALSE(w.defined());
  CHECK_FALSE(watch.expired());
  CHECK(copy.rows() == 2);
  CHECK(copy.row_bytes() == 34);
}

TEST_CASE("products make no call to the general allocator once the pool is warm") {
  quant::for_each_format([](auto format) {
    using F = decltype(format);
    CAPTURE(name_of(F::type));
    const QuantMatrix w = sample<F>(40, 256, 5);
    std::vector<float> x = normal_values(12 * 256, 4), y(12 * 40);
    const auto run = [&] {
      w.multiply<packed>(std::span<const float>(x).first(256), std::span<float>(y).first(40));
      w.multiply<packed>(x, y);
    };
    run();
    const std::size_t before = test_support::allocations();
    run();
    CHECK(test_support::allocations() == before);
  });
}

TEST_CASE("matrices without rows or columns give empty or zero products") {
  std::vector<float> none, y(3, 1.0f);
  const QuantMatrix no_columns(ggml_type::q8_0, 3, 0, {});
  no_columns.multiply<packed>(none, y);
  for (const float value : y) CHECK(value == 0.0f);
  std::vector<float> many(3 * 20, 1.0f);
  no_columns.multiply<packed>(none, many);
  for (const float value : many) CHECK(value == 0.0f);
  const QuantMatrix no_rows(ggml_type::f16, 0, 5, {});
  no_rows.multiply<packed>(std::vector<float>(10), none);
  no_rows.dequantise<packed>(none);
}

TEST_CASE("what does not fit is refused") {
  const std::vector<std::byte> bytes(34 * 4);
  CHECK_THROWS_AS(QuantMatrix(ggml_type::q8_0, 1, 33, bytes), shape_error);  // no whole number of blocks
  CHECK_THROWS_AS(QuantMatrix(ggml_type::q8_0, 2, 32, bytes), shape_error);  // more bytes than needed
  CHECK_THROWS_AS(QuantMatrix(ggml_type::q8_0, 5, 32, bytes), shape_error);
  CHECK_THROWS_AS(QuantMatrix(ggml_type::q8_0, std::size_t{1} << 62, 64, bytes), shape_error);
  CHECK_THROWS_AS(QuantMatrix(ggml_type::iq2_xxs, 1, 256, bytes), value_error);
  CHECK_FALSE(quant::is_supported(ggml_type::iq2_xxs));
  CHECK(quant::is_supported(ggml_type::q6_k));

  const QuantMatrix w(ggml_type::q8_0, 4, 32, bytes);
  std::vector<float> x(32), y(4), short_y(3), short_x(31);
  CHECK_THROWS_AS(w.multiply<packed>(x, short_y), shape_error);
  CHECK_THROWS_AS(w.multiply<packed>(short_x, y), shape_error);
  CHECK_THROWS_AS(w.dequantise<packed>(y), shape_error);
  try {
    w.multiply<packed>(x, short_y);
  } catch (const shape_error& error) {
    CHECK(std::string(error.what()) ==
          "[quant] sizes differ: x of 32, y of 3 for a matrix (4, 32) of Q8_0; x is [n, columns], y [n, rows]");
  }

  x[7] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_AS(static_cast<void>(QuantMatrix::quantise(ggml_type::q4_1, 1, 32, x)), value_error);
  x[7] = 1e6f;
  CHECK_THROWS_AS(static_cast<void>(QuantMatrix::quantise(ggml_type::q8_0, 1, 32, x)), value_error);
  CHECK_THROWS_AS(static_cast<void>(QuantMatrix::quantise(ggml_type::f32, 1, 33, x)), shape_error);
  CHECK_NOTHROW(static_cast<void>(QuantMatrix::quantise(ggml_type::bf16, 1, 32, x)));
}

TEST_CASE("no format with scales takes what is not finite or does not fit") {
  quant::for_each_format([](auto format) {
    using F = decltype(format);
    CAPTURE(name_of(F::type));
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(), 1e6f}) {
      std::vector<float> values = normal_values(256, 3);
      values[200] = bad;
      const auto make = [&] { static_cast<void>(QuantMatrix::quantise(F::type, 1, 256, values)); };
      if (F::type == ggml_type::f32 || F::type == ggml_type::bf16)
        CHECK_NOTHROW(make());
      else
        CHECK_THROWS_AS(make(), value_error);
    }
  });
}
