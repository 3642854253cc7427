#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tinygrad/core/buffer.hpp>
#include <tinygrad/kernel/packed_gemm.hpp>
#include <vector>

#include "support/allocations.hpp"

namespace {
using namespace tinygrad;

/// A stream of numbers in [-1, 1), the same everywhere.
struct numbers {
  std::uint64_t state = 1;
  double operator()() {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(static_cast<std::int64_t>(state) >> 11) / 4503599627370496.0;
  }
};

/// One product with operands stored in a chosen orientation, with gaps between the rows.
template <class T>
struct problem {
  std::size_t m, n, k, batch;
  bool a_transposed, b_transposed;
  std::ptrdiff_t gap, a_ld, b_ld, c_ld;
  std::vector<T> a, b, c;

  static std::ptrdiff_t signed_of(std::size_t x) { return static_cast<std::ptrdiff_t>(x); }

  problem(std::size_t m_, std::size_t n_, std::size_t k_, bool at, bool bt, std::ptrdiff_t gap_ = 0,
          std::size_t batch_ = 1)
      : m(m_), n(n_), k(k_), batch(batch_), a_transposed(at), b_transposed(bt), gap(gap_) {
    a_ld = signed_of(at ? m : k) + gap;
    b_ld = signed_of(bt ? k : n) + gap;
    c_ld = signed_of(n) + gap;
    numbers next;
    const auto fill = [&](std::vector<T>& x, std::ptrdiff_t rows, std::ptrdiff_t ld) {
      x.resize(static_cast<std::size_t>(rows * ld) * batch);
      for (T& value : x) value = static_cast<T>(next());
    };
    fill(a, signed_of(at ? k : m), a_ld);
    fill(b, signed_of(bt ? n : k), b_ld);
    fill(c, signed_of(m), c_ld);
  }
  gemm_args<T> args(std::vector<T>& out, bool accumulate) const {
    gemm_args<T> g{m,
                   n,
                   k,
                   a.data(),
                   a_transposed ? 1 : a_ld,
                   a_transposed ? a_ld : 1,
                   b.data(),
                   b_transposed ? 1 : b_ld,
                   b_transposed ? b_ld : 1,
                   out.data(),
                   c_ld,
                   accumulate};
    g.batch = batch;
    g.a_batch = signed_of(a.size() / batch);
    g.b_batch = signed_of(b.size() / batch);
    g.c_batch = signed_of(c.size() / batch);
    return g;
  }
};

/// The bound for |packed - naive|: both sums of k products and the old value err by at most (k + 2) roundings of the
/// sum of magnitudes, each half an epsilon.
template <class T>
std::vector<T> bound_of(const problem<T>& p, bool accumulate) {
  std::vector<T> magnitude(p.c.size(), T(0));
  problem<T> absolute = p;
  for (T& x : absolute.a) x = std::abs(x);
  for (T& x : absolute.b) x = std::abs(x);
  for (std::size_t i = 0; i < p.c.size() && accumulate; ++i) magnitude[i] = std::abs(p.c[i]);
  naive_gemm(absolute.args(magnitude, accumulate));
  for (T& x : magnitude) x *= static_cast<T>(p.k + 2) * std::numeric_limits<T>::epsilon();
  return magnitude;
}

/// Packed against naive within the bound, the gaps between rows untouched, threads equal to the bit.
template <class T>
void check(const problem<T>& p, bool accumulate) {
  CAPTURE(p.m);
  CAPTURE(p.n);
  CAPTURE(p.k);
  CAPTURE(p.batch);
  CAPTURE(p.a_transposed);
  CAPTURE(p.b_transposed);
  CAPTURE(p.gap);
  CAPTURE(accumulate);
  std::vector<T> expected = p.c, got = p.c;
  naive_gemm(p.args(expected, accumulate));
  packed_gemm(p.args(got, accumulate), serial{});
  const std::vector<T> bound = bound_of(p, accumulate);
  std::size_t wrong = 0, gap_changed = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool in_gap = i % static_cast<std::size_t>(p.c_ld) >= p.n;
    if (in_gap && got[i] != p.c[i]) ++gap_changed;
    if (!in_gap && !(std::abs(got[i] - expected[i]) <= bound[i])) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(gap_changed == 0);
  for (const int threads : {1, 2, 3, 5}) {
    set_num_threads(threads);
    std::vector<T> again = p.c;
    packed_gemm(p.args(again, accumulate), pooled{});
    CHECK_MESSAGE(again == got, "threads: ", threads);
  }
  set_num_threads(0);
}

template <class T>
void check_all_forms(std::size_t m, std::size_t n, std::size_t k) {
  for (int form = 0; form < 8; ++form) {
    check(problem<T>(m, n, k, (form & 1) != 0, (form & 2) != 0, (form & 4) != 0 ? 3 : 0), form % 3 == 0);
  }
}
}  // namespace

TEST_CASE_TEMPLATE("packed agrees with naive on every small shape and in all four orientations", T, float, double) {
  const std::size_t sizes[] = {1, 2, 3, 5, 8, 13, 17};
  for (const std::size_t m : sizes)
    for (const std::size_t n : sizes)
      for (const std::size_t k : sizes) check_all_forms<T>(m, n, k);
}

TEST_CASE_TEMPLATE("packed agrees with naive around the edges of tiles and blocks", T, float, double) {
  const std::size_t shapes[][3] = {{6, 64, 64},   {7, 65, 33},  {12, 63, 100}, {31, 129, 7},  {64, 64, 24},
                                   {64, 24, 64},  {64, 48, 31}, {97, 33, 257}, {1, 300, 100}, {300, 1, 100},
                                   {5, 200, 70},  {9, 70, 300}, {200, 6, 300}, {2, 2, 1000},  {1, 1, 1000},
                                   {100, 100, 1}, {8, 129, 9}};
  for (const auto& s : shapes) check_all_forms<T>(s[0], s[1], s[2]);
}

TEST_CASE("packed agrees with naive on shapes with several blocks of k, rows and columns") {
  check(problem<float>(401, 130, 801, false, false), true);
  check(problem<float>(400, 67, 1600, true, false), false);
  check(problem<float>(390, 70, 900, false, true), true);
  check(problem<float>(385, 65, 777, true, true), false);
  check(problem<float>(13, 200, 1000, false, false), false);
  check(problem<float>(1, 3000, 200, false, false), false);
  check(problem<float>(1, 3000, 200, false, true), true);
  check(problem<double>(400, 40, 500, false, false), false);
  check(problem<float>(20, 301, 900, false, false, 2), true);  // B larger than the second cache
  check(problem<double>(130, 301, 500, false, true), false);
}

TEST_CASE_TEMPLATE("an empty sum gives zeros, or leaves C alone when it accumulates", T, float, double) {
  for (const std::size_t m : {0U, 1U, 7U}) {
    for (const std::size_t n : {0U, 1U, 9U}) {
      for (const std::size_t k : {0U, 1U}) {
        check(problem<T>(m, n, k, false, false, 2), false);
        check(problem<T>(m, n, k, false, false, 2), true);
      }
    }
  }
}

TEST_CASE("a batch is computed product by product, in every form") {
  for (const std::size_t batch : {2U, 3U, 48U}) {
    check(problem<float>(9, 24, 17, false, true, 0, batch), false);
    check(problem<float>(16, 16, 8, true, false, 1, batch), true);
    check(problem<float>(1, 20, 8, false, false, 0, batch), true);
  }
}

TEST_CASE("a batch that shares its weights is the same as one tall product") {
  problem<float> p(10, 40, 30, false, false, 0, 6);
  std::vector<float> expected = p.c, got = p.c;
  gemm_args<float> g = p.args(expected, false);
  g.b_batch = 0;
  naive_gemm(g);
  g.c = got.data();
  packed_gemm(g, pooled{});
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}

TEST_CASE("a batch into one C sums when it accumulates, and keeps the last product otherwise") {
  for (const bool accumulate : {true, false}) {
    problem<double> p(10, 12, 30, true, false, 0, 6);
    std::vector<double> expected = p.c, got = p.c;
    gemm_args<double> g = p.args(expected, accumulate);
    g.c_batch = 0;
    naive_gemm(g);
    g.c = got.data();
    packed_gemm(g, pooled{});
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-12));
  }
}

TEST_CASE("infinities and NaN reach every element they belong to, and a zero does not stop them") {
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::size_t m : {1U, 5U, 30U}) {
    for (const bool transposed : {false, true}) {
      problem<float> p(m, 70, 20, false, transposed);
      p.a.assign(p.a.size(), 0.0F);
      p.a[3] = std::numeric_limits<float>::quiet_NaN();  // row 0
      for (std::size_t j = 0; j < p.n; ++j) {
        (transposed ? p.b[j * 20 + 7] : p.b[7 * 70 + j]) = j % 2 == 0 ? inf : 1.0F;  // k = 7 times zero
      }
      std::vector<float> got = p.c;
      packed_gemm(p.args(got, false), serial{});
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < p.n; ++j) {
          const float c = got[i * p.n + j];
          CHECK((i == 0 || j % 2 == 0 ? std::isnan(c) : c == 0.0F));
        }
      }
    }
  }
}

TEST_CASE("operands with no contiguous direction are read right") {
  problem<float> p(11, 13, 9, false, false);
  std::vector<float> a(p.a.size() * 2), b(p.b.size() * 3);
  for (std::size_t i = 0; i < p.a.size(); ++i) a[2 * i] = p.a[i];
  for (std::size_t i = 0; i < p.b.size(); ++i) b[3 * i] = p.b[i];
  for (const std::size_t m : {1U, 2U, 11U}) {
    std::vector<float> expected = p.c, got = p.c;
    gemm_args<float> g = p.args(expected, false);
    g.m = m;
    naive_gemm(g);
    g.c = got.data();
    g.a = a.data();
    g.a_row *= 2;
    g.a_col *= 2;
    g.b = b.data();
    g.b_row *= 3;
    g.b_col *= 3;
    packed_gemm(g, serial{});
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-5));
  }
}

TEST_CASE("without memory for packing, a product is computed all the same, as naive does") {
  for (const std::size_t m : {4U, 100U}) {  // few rows gather A; tiles pack both operands
    const problem<float> p(m, 130, 700, true, true);
    for (const bool accumulate : {false, true}) {
      std::vector<float> expected = p.c, got = p.c;
      naive_gemm(p.args(expected, accumulate));
      release_cached_memory();
      const test_support::out_of_memory_beyond limit(4096);
      packed_gemm(p.args(got, accumulate), pooled{});
      CHECK(limit.refused() != 0);
      CHECK(got == expected);
    }
  }
}

TEST_CASE(
    "few rows of every number, with columns that are no multiple of the streams and k that is none of the steps") {
  for (std::size_t m = 1; m <= 8; ++m) {
    check(problem<float>(m, 523, 203, false, false), m % 2 == 0);
    check(problem<float>(m, 523, 203, false, true, 1), m % 2 == 1);
    check(problem<double>(m, 131, 1030, true, m % 2 == 0), false);
  }
  check(problem<float>(3, 6000, 40, false, false), true);  // several chunks of columns
}
