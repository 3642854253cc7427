// The generators number for number. Golden values of Random come from random_golden.py, a second implementation on
// exact rational numbers; those of the other languages from .NET and Python themselves.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <set>
#include <vector>

#include <tinygrad/core/random.hpp>
#include <tinygrad/core/random_compat.hpp>

using tinygrad::dotnet_random;
using tinygrad::python_random;
using tinygrad::Random;

namespace {

// The normal numbers of the article's circle network: Box and Muller's cosine, the sine thrown away.
double article_normal(dotnet_random& rng) {
  const double u1 = 1 - rng.next_double();
  const double u2 = rng.next_double();
  return std::sqrt(-2 * std::log(u1)) * std::cos(2 * std::numbers::pi * u2);
}

double normal_distribution_function(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

}  // namespace

TEST_CASE("Random: the engine is xoshiro256++ seeded by SplitMix64") {
  Random counted(Random::State{1, 2, 3, 4});
  for (const std::uint64_t expected : {41943041u, 58720359u}) CHECK(counted() == expected);
  for (const std::uint64_t expected :
       {3588806011781223u, 3591011842654386u, 9228616714210784205u, 9973669472204895162u, 14011001112246962877u,
        12406186145184390807u, 15849039046786891736u, 10450023813501588000u})
    CHECK(counted() == expected);
  std::uint64_t counter = 1234567;
  CHECK(tinygrad::random_detail::splitmix64(counter) == 6457827717110365317u);
  CHECK(tinygrad::random_detail::splitmix64(counter) == 3203168211198807973u);
  CHECK(Random(42).state() ==
        Random::State{13679457532755275413u, 2949826092126892291u, 5139283748462763858u, 6349198060258255764u});
}

TEST_CASE("Random: uniform numbers have these bits on every platform") {
  Random doubles(42), floats(42), ranged(42), ranged_floats(42);
  for (const double expected : {0x1.a0ec9a9e88ecdp-1, 0x1.467905d15dbccp-2, 0x1.f7c0f9f61849dp-1, 0x1.66fb3ec019b06p-1})
    CHECK(doubles.uniform() == expected);
  for (const float expected : {0x1.a0ec9ap-1f, 0x1.467904p-2f, 0x1.f7c0f8p-1f, 0x1.66fb3ep-1f})
    CHECK(floats.uniform<float>() == expected);
  for (const double expected : {0x1.1a56e2186d8a3p-1, 0x1.3d8e6fb562c79p-3, 0x1.5fcd94c4e03b0p-1, 0x1.d7f864668f809p-2})
    CHECK(ranged.uniform(-0.1, 0.7) == expected);
  for (const float expected : {0x1.1a56e2p-1f, 0x1.3d8e6ep-3f, 0x1.5fcd94p-1f, 0x1.d7f864p-2f})
    CHECK(ranged_floats.uniform(-0.1f, 0.7f) == expected);
}

TEST_CASE("Random: normal numbers have these bits on every platform") {
  Random rng(42);
  for (const double expected :
       {0x1.c9a9c14cfb102p-1, -0x1.e24d5486f05e0p-2, 0x1.1225a771ccf79p+1, 0x1.0e2aaf8f6f887p-1, 0x1.a324f849926d2p-1,
        0x1.c7fffdbf387bep-3, -0x1.260d33f990042p+0, 0x1.1107191792023p-2})
    CHECK(rng.normal() == expected);
  Random floats(42);
  for (const float expected : {0x1.c9a9c2p-1f, -0x1.e24d54p-2f, 0x1.1225a8p+1f, 0x1.0e2ab0p-1f})
    CHECK(floats.normal<float>() == expected);
  Random many(42);
  std::uint64_t checksum = 0;
  for (int i = 0; i < 2000; ++i) checksum = checksum * 31 + std::bit_cast<std::uint64_t>(many.normal());
  CHECK(checksum == 10117712563528098415u);
  Random scaled(42);
  CHECK(scaled.normal(1.5, 0.25) == std::fma(0x1.c9a9c14cfb102p-1, 0.25, 1.5));
}

TEST_CASE("Random: the normal quantile inverts the distribution function, to the ends") {
  using tinygrad::random_detail::normal_quantile;
  for (int i = -4095; i <= 4095; i += 2) {
    const double q = i / 8192.0;
    CHECK(normal_distribution_function(normal_quantile(q)) == doctest::Approx(0.5 + q).epsilon(1e-14));
    CHECK(normal_quantile(-q) == -normal_quantile(q));
  }
  CHECK(normal_quantile(0x1p-54 - 0.5) == -0x1.095b059d67c4cp+3);
  CHECK(normal_quantile(3 * 0x1p-54 - 0.5) == -0x1.052484c516592p+3);
  CHECK(normal_quantile(0x1p-40 + 0x1p-54 - 0.5) == -0x1.c30d61bedb7bfp+2);
  CHECK(normal_quantile(0x1p-20 + 0x1p-54 - 0.5) == -0x1.30d5024a3c6aap+2);
}

TEST_CASE("Random: moments and the distribution function of 200,000 normals are those of the normal distribution") {
  Random rng(1);
  std::vector<double> sample(200000);
  for (double& z : sample) z = rng.normal();
  std::sort(sample.begin(), sample.end());
  const auto n = static_cast<double>(sample.size());
  double sum = 0, squares = 0, distance = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    sum += sample[i];
    squares += sample[i] * sample[i];
    distance =
        std::max(distance, std::fabs(normal_distribution_function(sample[i]) - (static_cast<double>(i) + 0.5) / n));
  }
  CHECK(std::fabs(sum / n) < 4 / std::sqrt(n));
  CHECK(std::fabs(squares / n - 1) < 4 * std::sqrt(2 / n));
  CHECK(distance < 1.95 / std::sqrt(n));  // Kolmogorov and Smirnov at 0.1 %
}

TEST_CASE("Random: uniform numbers stay in their range and the ends of a range are checked") {
  Random rng(7);
  for (int i = 0; i < 100000; ++i) {
    const float u = rng.uniform<float>();
    CHECK_UNARY(u >= 0 && u < 1);
    const float narrow = rng.uniform(1.0f, std::nextafter(1.0f, 2.0f));  // rounding would give the end every other time
    CHECK_UNARY(narrow == 1.0f);
  }
  CHECK(rng.uniform(2.5, 2.5) == 2.5);
  CHECK_THROWS_WITH_AS(rng.uniform(1.0, -1.0),
                       "[random] uniform(1.000000, -1.000000) is no range; lo <= hi with a finite width",
                       tinygrad::value_error);
  CHECK_THROWS_AS(rng.uniform(std::nan(""), 1.0), tinygrad::value_error);
  CHECK_THROWS_AS(rng.uniform(-1.7e308, 1.7e308), tinygrad::value_error);
}

TEST_CASE("Random: below is unbiased, permutation and shuffle move every item") {
  Random golden(42);
  for (const std::uint64_t expected : {5u, 9u, 2u, 9u, 3u, 8u, 1u, 6u, 8u, 3u, 0u, 9u})
    CHECK(golden.below(10) == expected);
  CHECK(Random(42).permutation(10) == std::vector<std::size_t>{3, 9, 8, 6, 0, 7, 1, 4, 2, 5});
  CHECK(Random(42).permutation(0).empty());

  Random rng(3);
  std::array<double, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts[rng.below(7)];
  double chi_squared = 0;
  for (const double count : counts) chi_squared += (count - 10000) * (count - 10000) / 10000;
  CHECK(chi_squared < 22.5);  // six degrees of freedom at 0.1 %
  CHECK(rng.below(1) == 0);
  CHECK(rng.below(~std::uint64_t{0}) < ~std::uint64_t{0});
  CHECK_THROWS_AS(rng.below(0), tinygrad::value_error);

  std::array<int, 6> seen{};  // every order of three items, equally often
  for (int i = 0; i < 6000; ++i) {
    const auto order = rng.permutation(3);
    ++seen[2 * order[0] + (order[1] > order[2] ? 1 : 0)];
  }
  for (const int count : seen) CHECK(std::abs(count - 1000) < 120);
}

TEST_CASE("Random: the state is four integers, and a restored generator goes on as if nothing had happened") {
  Random rng(99);
  for (int i = 0; i < 5; ++i) (void)rng.normal();
  const Random::State saved = rng.state();
  const double expected = rng.normal();
  Random restored(saved);
  CHECK(restored.normal() == expected);
  CHECK(restored == rng);
  CHECK_THROWS_AS(Random(Random::State{}), tinygrad::value_error);
}

TEST_CASE("Random: jump moves 2^128 draws ahead, split gives streams that differ at any depth") {
  Random rng(Random::State{1, 2, 3, 4});
  rng.jump();
  CHECK(rng.state() ==
        Random::State{10122426448480695249u, 8079205330032121950u, 7289065458748526725u, 9477464255293849680u});
  Random parent(42);
  CHECK(parent.split().state() ==
        Random::State{7859636576997966354u, 9009535603694580015u, 5557911670088012955u, 14797327940225643950u});
  CHECK(parent() == 14637574242682825331u);

  std::set<std::uint64_t> first_draws;
  std::vector<Random> family{Random(5)};
  for (int generation = 0; generation < 10; ++generation)
    for (std::size_t i = family.size(); i-- > 0;) family.push_back(family[i].split());
  for (Random& member : family) first_draws.insert(member());
  CHECK(first_draws.size() == 1024);
}

TEST_CASE("Random: works with the algorithms of the standard library") {
  static_assert(std::uniform_random_bit_generator<Random>);
  std::vector<int> items{1, 2, 3, 4, 5, 6, 7, 8};
  Random rng(2);
  std::shuffle(items.begin(), items.end(), rng);
  CHECK(std::set<int>(items.begin(), items.end()).size() == 8);
}

TEST_CASE("dotnet_random: the numbers of new Random(seed)") {
  CHECK(dotnet_random(42).next() == 1434747710);
  CHECK(dotnet_random(0).next() == 1559595546);
  CHECK(dotnet_random(-42).next() == 1434747710);  // the sign is dropped
  CHECK(dotnet_random((std::numeric_limits<std::int32_t>::min)()).next() ==
        dotnet_random(std::numeric_limits<std::int32_t>::max()).next());
  dotnet_random three(3), four(4);
  for (const double expected : {0.2935192125, 0.6975812124, 0.8649866608, 0.1984899832})
    CHECK(std::fabs(three.next_double() - expected) < 5e-11);
  for (const double expected : {0.8159445267, 0.9909998300, 0.5639746513, 0.4119329138})
    CHECK(std::fabs(four.next_double() - expected) < 5e-11);
  dotnet_random bounded(42);
  for (int i = 0; i < 1000; ++i) CHECK_UNARY(bounded.next(6) < 6);
  CHECK(dotnet_random(42).next(100) == 66);
  CHECK(dotnet_random(42).next(0) == 0);
}

TEST_CASE("dotnet_random: the points and weights of the article's circle network") {
  dotnet_random rng(3);
  struct Point {
    float x, y;
    bool inside;
  };
  std::vector<Point> points(256);
  int inside = 0;
  for (Point& point : points) {
    point.x = static_cast<float>(rng.next_double() * 2 - 1);
    point.y = static_cast<float>(rng.next_double() * 2 - 1);
    point.inside = point.x * point.x + point.y * point.y < 0.5f;
    inside += point.inside;
  }
  CHECK(inside == 107);
  const Point expected[] = {{-0.412961572f, 0.395162433f, true},
                            {0.729973316f, -0.603020012f, false},
                            {0.120980747f, -0.638843596f, true},
                            {-0.499605685f, 0.894462168f, false},
                            {-0.302600294f, -0.240084499f, true}};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(points[i].x == expected[i].x);
    CHECK(points[i].y == expected[i].y);
    CHECK(points[i].inside == expected[i].inside);
  }
  CHECK(points[255].x == -0.661045134f);
  CHECK(points[255].y == 0.978965104f);

  dotnet_random weights(4);
  std::vector<float> w(64);  // w1 [2, 16], then w2 [16, 2]
  for (float& value : w) value = static_cast<float>(0.5 * article_normal(weights));
  const auto close = [&](std::size_t i, float value) { return std::fabs(w[i] - value) <= 1e-7f * std::fabs(value); };
  CHECK(close(0, 0.918452859f));
  CHECK(close(1, -0.548090339f));
  CHECK(close(2, 0.0731133148f));
  CHECK(close(3, -0.734476149f));
  CHECK(close(16, 0.921624362f));
  CHECK(close(17, 0.130590841f));
  CHECK(close(31, 0.430971771f));
  CHECK(close(32, -0.0239316989f));
  CHECK(close(33, -0.205633998f));
  CHECK(close(34, 0.338471621f));
  CHECK(close(35, -0.294635713f));
  CHECK(close(63, -0.356896549f));
}

TEST_CASE("python_random: the numbers of random.seed(42)") {
  CHECK(python_random(42).random() == 0.6394267984578837);
  python_random rng(42);
  for (const double expected : {0.2788535969157675, -0.9499784895546661, -0.4499413632617615, -0.5535785237023545,
                                0.4729424283280248, 0.3533989748458226, 0.7843591354096908, -0.8261223347411677,
                                -0.15615636062945915, -0.9404055611238593, -0.5627240503927933, 0.010710576206724776})
    CHECK(rng.uniform(-1, 1) == expected);
  // A range where a fused multiply-add would change the last digit.
  python_random odd_range(42);
  for (const double expected : {0.4836560790747303, 0.11500645313360017, 0.26501759102147154, 0.23392644288929365})
    CHECK(odd_range.uniform(0.1, 0.7) == expected);
}

TEST_CASE("python_random: seeds of one and two words, and gauss with its spare value") {
  CHECK(python_random(0).random() == 0.8444218515250481);
  CHECK(python_random((std::uint64_t{1} << 40) + 7).random() == 0.6137037779936511);
  CHECK(python_random(~std::uint64_t{0}).random() == 0.021825695401270107);
  python_random rng(42);
  for (const double expected : {-0.14409032957792836, -0.1729036003315193, -0.11131586156766246, 0.7019837250988631})
    CHECK(rng.gauss(0, 1) == doctest::Approx(expected).epsilon(1e-14));
  CHECK(rng.random() == 0.7364712141640124);
}
