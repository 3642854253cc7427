// Products with stored weights do not depend on the number of threads.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "quant/samples.hpp"

using namespace tinygrad_test;

TEST_CASE("products have the same bits for any number of threads") {
  quant::for_each_format([](auto format) {
    using F = decltype(format);
    CAPTURE(name_of(F::type));
    const QuantMatrix w = sample<F>(205, 768, 9);
    for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{33}}) {
      CAPTURE(n);
      const std::vector<float> x = normal_values(n * 768, 4);
      for (const quant_precision precision : {quant_precision::fast, quant_precision::exact}) {
        std::vector<float> expected(n * 205), y(n * 205);
        w.multiply<packed>(x, expected, precision);
        for (const int threads : {1, 2, 3, 7}) {
          set_num_threads(threads);
          w.multiply<threaded<packed>>(x, y, precision);
          CHECK(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)) == 0);
        }
        set_num_threads(0);
      }
    }
  });
}
