// Copies between layouts, against a loop over elements: any order of axes, gaps on either side, writing and adding.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <tinygrad/core/random.hpp>
#include <tinygrad/kernel/copy.hpp>
#include <tinygrad/kernel/policy.hpp>
#include <vector>

using namespace tinygrad;

namespace {

struct box {
  std::vector<std::size_t> size, in_step, out_step;
  std::size_t in_count = 1, out_count = 1;

  [[nodiscard]] copy_plan plan() const {
    copy_plan result;
    for (std::size_t k = 0; k < size.size(); ++k) result.add(size[k], in_step[k], out_step[k]);
    return result;
  }
};

/// Steps for axes laid out in a random order, each with a gap behind it or none. Returns the elements spanned.
std::size_t lay_out(Random& random, const std::vector<std::size_t>& size, std::vector<std::size_t>& steps) {
  const std::vector<std::size_t> order = random.permutation(size.size());
  std::size_t span = 1;
  steps.assign(size.size(), 0);
  for (const std::size_t axis : order) {
    steps[axis] = span;
    span *= size[axis] == 0 ? 1 : size[axis];
    if (random.below(3) == 0) span += static_cast<std::size_t>(random.below(3));
  }
  return span;
}

box random_box(Random& random) {
  static constexpr std::array<std::size_t, 12> sizes{1, 2, 3, 4, 1, 5, 16, 17, 2, 33, 40, 7};
  box result;
  std::size_t count = 1;
  for (std::size_t rank = static_cast<std::size_t>(random.below(5)); rank > 0; --rank) {
    const std::size_t size = sizes[static_cast<std::size_t>(random.below(sizes.size()))];
    if (count * size > 60000) break;
    count *= size;
    result.size.push_back(size);
  }
  if (random.below(20) == 0 && !result.size.empty()) result.size[0] = 0;
  result.in_count = lay_out(random, result.size, result.in_step);
  result.out_count = lay_out(random, result.size, result.out_step);
  return result;
}

/// The specification: odometer over all axes.
void copy_by_hand(const box& b, const std::vector<float>& in, std::vector<float>& out, bool accumulate) {
  std::size_t count = 1;
  for (const std::size_t size : b.size) count *= size;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = i, from = 0, to = 0;
    for (std::size_t k = b.size.size(); k-- > 0; rest /= b.size[k]) {
      from += rest % b.size[k] * b.in_step[k];
      to += rest % b.size[k] * b.out_step[k];
    }
    out[to] = accumulate ? out[to] + in[from] : in[from];
  }
}

}  // namespace

TEST_CASE_TEMPLATE("any box is copied and added as a loop over elements does", P, naive, packed, threaded<packed>) {
  Random random(1);
  int wrong = 0;
  for (int round = 0; round < 1500; ++round) {
    const box b = random_box(random);
    std::vector<float> in(b.in_count), out(b.out_count, -1);  // gaps in the output must keep their -1
    std::iota(in.begin(), in.end(), 1.0F);
    const bool accumulate = random.below(2) == 0;
    std::vector<float> expected = out;
    copy_by_hand(b, in, expected, accumulate);
    copy_box<P>(b.plan(), in.data(), out.data(), accumulate);
    wrong += out != expected;
  }
  CHECK(wrong == 0);
}

TEST_CASE("long rows and long columns are split over threads") {
  for (const copy_plan& plan : {copy_plan{}.add(3, 50000, 50001).add(50000, 1, 1),  // long rows
                                copy_plan{}.add(50000, 1, 3).add(3, 50000, 1),      // a tall matrix turned
                                copy_plan{}.add(3, 1, 50000).add(50000, 3, 1),      // a wide one
                                copy_plan{}.add(150000, 2, 1)}) {                   // every other element
    std::vector<double> in(300000), one(160000, -1), many(160000, -1);
    std::iota(in.begin(), in.end(), 1.0);
    copy_box<naive>(plan, in.data(), one.data(), false);
    copy_box<threaded<packed>>(plan, in.data(), many.data(), false);
    CHECK(one == many);
    CHECK(std::count(one.begin(), one.end(), -1.0) == 10000);
  }
}

TEST_CASE("neighbouring axes without a gap merge") {
  CHECK(copy_plan{}.add(2, 12, 12).add(3, 4, 4).add(4, 1, 1).rank == 1);
  CHECK(copy_plan{}.add(2, 12, 12).add(1, 7, 9).add(12, 1, 1).rank == 1);
  CHECK(copy_plan{}.add(2, 24, 12).add(12, 1, 1).rank == 2);
  CHECK(copy_plan{}.add(1, 5, 5).rank == 0);
}
