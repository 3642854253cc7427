// What every operation of the library must pass; included by one test file per policy, to keep compilations small.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <tinygrad/ops/all.hpp>
#include <tinygrad/testing/gradcheck.hpp>
#include <tinygrad/testing/policy_check.hpp>
#include <vector>

namespace all_ops_test {

using namespace tinygrad;

/// Every single derivative of every example within 1e-6, in double.
template <class P, class List>
void check_gradients() {
  List::for_each([]<class Op>() {
    CAPTURE(std::string(Op::name));
    int examples = 0;
    Op::examples([&](const std::vector<Shape>& shapes, auto call, value_range range = {}) {
      Random random(11);
      std::vector<Tensor<double, P>> inputs;
      for (const Shape& shape : shapes)
        inputs.push_back(Tensor<double, P>::uniform(shape, random, range.low, range.high));
      CAPTURE(to_string(shapes[0]));
      CHECK(gradcheck(call, inputs).max_elementwise < 1e-6);
      ++examples;
    });
    CHECK(examples > 0);
  });
}

/// Float results of every example as accurate as naive's, forward and backward.
template <class P, class List>
void check_accuracy() {
  List::for_each([]<class Op>() {
    CAPTURE(std::string(Op::name));
    Op::examples([](const std::vector<Shape>& shapes, auto call, value_range range = {}) {
      CAPTURE(to_string(shapes[0]));
      const policy_check_result check = policy_check<P, float>(call, shapes, range);
      CAPTURE(check.error);
      CAPTURE(check.allowed);
      CHECK(check.ok());
    });
  });
}

/// threaded<Leaf> gives Leaf's very bits, with one, two and three threads, forward and backward.
template <class Leaf, class List>
void check_threads() {
  const int before = num_threads();
  List::for_each([]<class Op>() {
    CAPTURE(std::string(Op::name));
    const auto compare = [](const std::vector<Shape>& shapes, auto call, value_range range = {}) {
      const auto expected = detail::run_both_ways<float, Leaf>(call, shapes, range);
      for (const int threads : {1, 2, 3}) {
        set_num_threads(threads);
        const auto found = detail::run_both_ways<float, threaded<Leaf>>(call, shapes, range);
        REQUIRE(found.size() == expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          bool same = found[i].shape() == expected[i].shape();
          for (std::size_t j = 0; same && j < found[i].count(); ++j)
            same = found[i].data()[j] == expected[i].data()[j] ||
                   (found[i].data()[j] != found[i].data()[j] && expected[i].data()[j] != expected[i].data()[j]);
          CHECK(same);
        }
      }
    };
    Op::examples(compare);
  });
  set_num_threads(before);
}

/// All operations but the elementwise ones, which have files of their own: together they would be slow to compile.
using structured_ops =
    decltype(detail::join_lists(reduction_ops{}, row_ops{}, matmul_ops{}, shape_op_list{}, lookup_ops{}));

}  // namespace all_ops_test
