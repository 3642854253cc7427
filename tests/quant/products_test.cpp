// Products with stored weights against exact sums, for every format.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "quant/samples.hpp"

using namespace tinygrad_test;

namespace {

// The largest difference to the exact product of the dequantised weights, over the size of each sum's terms.
template <class P>
double worst_error(const QuantMatrix& w, std::size_t n, quant_precision precision, std::uint64_t seed) {
  const std::size_t k = w.columns(), rows = w.rows();
  const std::vector<float> x = normal_values(n * k, seed), weights = floats_of(w);
  std::vector<float> y(n * rows, std::numeric_limits<float>::quiet_NaN());
  w.multiply<P>(x, y, precision);
  double worst = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t row = 0; row < rows; ++row) {
      double exact = 0, squares = 0;
      for (std::size_t p = 0; p < k; ++p) {
        const double term = double{x[i * k + p]} * weights[row * k + p];
        exact += term;
        squares += term * term;
      }
      const double error = std::fabs(y[i * rows + row] - exact) / (std::sqrt(squares) + 1e-30);
      worst = error > worst || std::isnan(error) ? error : worst;
    }
  return worst;
}

template <class P>
void check_products() {
  quant::for_each_format([](auto format) {
    using F = decltype(format);
    CAPTURE(name_of(F::type));
    const QuantMatrix w = sample<F>(13, odd_columns<F>, 3);
    for (const std::size_t n : {std::size_t{1}, std::size_t{3}, std::size_t{9}, std::size_t{17}}) {
      CAPTURE(n);
      CHECK(worst_error<P>(w, n, quant_precision::exact, 5) < 1e-5);
      const double fast = worst_error<P>(w, n, quant_precision::fast, 5);
      // x is rounded to 1/254 of the largest of 32 numbers at most, in the mean much less and with either sign. A base
      // of the same sign everywhere makes a sum of terms that nearly cancel; the error is that of the terms.
      CHECK(fast < 0.03);
      const bool in_whole_numbers = n <= 8 || has_quant_tiles<P, F>;
      CHECK((fast > 1e-4) == (in_whole_numbers && quant::block_format<F>));
    }
  });
}

}  // namespace

TEST_CASE("products with every format are those of its dequantised weights, packed") { check_products<packed>(); }
TEST_CASE("products with every format are those of its dequantised weights, one lane at a time") {
  check_products<naive>();
}
