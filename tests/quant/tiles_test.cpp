// Tiles of whole numbers: every kind of products against exact sums, whatever kind this build would choose.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <tinygrad/kernel/quant_tile.hpp>
#include <vector>

#include "quant/samples.hpp"

using namespace tinygrad_test;

namespace {

// The largest difference of a tile's products to the exact ones, over the size of each sum's terms.
template <class Tile, class F, std::size_t H>
double worst_error() {
  const std::size_t k = 2 * 256, rows = Tile::columns - 3;
  const QuantMatrix matrix = sample<F>(rows + 2, k, 3);
  const std::vector<float> x = normal_values(H * k, 5), weights = floats_of(matrix);
  std::vector<std::byte> records(k / 32 * Tile::x_record(H)), panel(k / 32 * Tile::w_record);
  detail::quantise_records<Tile, pack<float>>(x.data(), k, H, records.data());
  const quant_rows w{matrix.bytes().data(), rows + 2, k, matrix.row_bytes()};
  detail::unpack_records<Tile, F>(w, 2, rows, 0, k, panel.data());
  std::vector<float> sums(H * Tile::columns, 1.0f);
  detail::multiply_records<Tile, H>(records.data(), panel.data(), k / 32, sums.data());
  double worst = 0;
  for (std::size_t h = 0; h < H; ++h)
    for (std::size_t j = 0; j < Tile::columns; ++j) {
      double exact = 1, squares = 1;
      for (std::size_t p = 0; p < k && j < rows; ++p) {
        const double term = double{x[h * k + p]} * weights[(j + 2) * k + p];
        exact += term;
        squares += term * term;
      }
      const double error = std::fabs(sums[h * Tile::columns + j] - exact) / std::sqrt(squares);
      worst = error > worst || std::isnan(error) ? error : worst;
    }
  return worst;
}

template <class Products, class F>
void check_tile() {
  using tile = detail::quant_tile_with<Products, F>;
  CHECK(worst_error<tile, F, 1>() < 0.03);
  CHECK(worst_error<tile, F, 6>() < 0.03);
  CHECK(worst_error<tile, F, 5>() < 0.03);
}

}  // namespace

TEST_CASE("tiles of byte products are products of the dequantised weights") {
  quant::for_each_format([](auto format) {
    using F = decltype(format);
    CAPTURE(name_of(F::type));
    if constexpr (quant::block_format<F>) check_tile<detail::byte_products<8>, F>();
  });
}

#if TINYGRAD_PACK_BACKEND != 0 && defined(__AVX2__)
TEST_CASE("tiles of pair and word products are products of the dequantised weights") {
  quant::for_each_format([](auto format) {
    using F = decltype(format);
    CAPTURE(name_of(F::type));
    if constexpr (quant::block_format<F>) {
      if constexpr (F::bits < 8) check_tile<detail::pair_products, F>();
      check_tile<detail::word_products, F>();
    }
  });
}

// Records of ones, q = 127 each, times the largest levels there are.
template <class F>
void check_largest_levels() {
  using tile = detail::quant_tile_with<detail::pair_products, F>;
  constexpr auto largest = static_cast<std::uint8_t>((1U << F::bits) - 1U);
  std::vector<std::byte> x(tile::x_record(1)), w(tile::w_record);
  const std::vector<float> ones(32, 1.0f);
  detail::quantise_records<tile, pack<float>>(ones.data(), 32, 1, x.data());
  std::fill_n(w.data(), 4 * tile::steps * tile::columns, std::byte{largest});
  float* const scales = reinterpret_cast<float*>(w.data()) + tile::steps * tile::columns;
  std::fill_n(scales, tile::groups * tile::columns, 1.0f);
  std::vector<float> sums(tile::columns);
  detail::multiply_records<tile, 1>(x.data(), w.data(), 1, sums.data());
  for (const float sum : sums) CHECK(double{sum} == doctest::Approx(32.0 * largest));
}

TEST_CASE("sums in 16 bits hold the largest levels with the largest activations") {
  quant::for_each_format([](auto format) {
    using F = decltype(format);
    CAPTURE(name_of(F::type));
    if constexpr (quant::block_format<F>) {
      if constexpr (F::bits < 8) check_largest_levels<F>();
    }
  });
}
#endif
