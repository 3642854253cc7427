// embedding: rows by id, repeated ids, errors, gradients that do not depend on the number of threads.
#include <doctest/doctest.h>

#include <cstring>
#include <tinygrad/ops/embedding.hpp>
#include <vector>

#include "support/op_examples.hpp"

using namespace tinygrad;
using tinygrad_test::text_of_error;

TEST_CASE_TEMPLATE("rows of the table come in the order of the ids", P, naive, packed, threaded<packed>) {
  using tensor = Tensor<float, P>;
  const auto table = tensor::from({1, 2, 3, 4, 5, 6}, {3, 2});
  CHECK(max_abs_difference(embedding(table, {2, 0, 2}), tensor::from({5, 6, 1, 2, 5, 6}, {3, 2})) == 0);
  const std::vector<int> ids{0, 1, 2, 1};
  CHECK(max_abs_difference(embedding(table, ids, Shape{2, 2}), tensor::from({1, 2, 3, 4, 5, 6, 3, 4}, {2, 2, 2})) == 0);
  CHECK(max_abs_difference(embedding(table, {1}, Shape{}), tensor::from({3, 4})) == 0);
  CHECK(embedding(table, std::vector<int>{}).shape() == Shape{0, 2});
  CHECK(embedding(tensor::zeros({3, 0}), {1, 1}).shape() == Shape{2, 0});
}

TEST_CASE("the gradient adds up repeated ids and leaves rows that were not asked for at zero") {
  using tensor = Tensor<float, packed>;
  const auto table = tensor::ones({4, 2}).requires_grad();
  embedding(table, {2, 0, 2}).backward(tensor::from({1, 2, 3, 4, 5, 6}, {3, 2}));
  CHECK(max_abs_difference(table.grad(), tensor::from({3, 4, 0, 0, 6, 8, 0, 0}, {4, 2})) == 0);
}

TEST_CASE("ids are copied: the caller may change them before backward") {
  using tensor = Tensor<float, packed>;
  const auto table = tensor::ones({2, 1}).requires_grad();
  std::vector<int> ids{1};
  const auto y = embedding(table, ids);
  ids[0] = 0;
  y.backward();
  CHECK(max_abs_difference(table.grad(), tensor::from({0, 1}, {2, 1})) == 0);
}

TEST_CASE("the gradient is the same bits for any number of threads") {
  const auto gradient = []<class P>(P) {
    Random random(3);
    std::vector<int> ids(3000);
    for (int& id : ids) id = static_cast<int>(random.below(7));
    const auto table = Tensor<float, P>::zeros({7, 300}).requires_grad();
    embedding(table, ids).backward(Tensor<float, P>::randn({3000, 300}, random));
    return table.grad();
  };
  const auto one = gradient(packed{});
  const auto many = gradient(threaded<packed>{});
  CHECK(std::memcmp(one.data().data(), many.data().data(), one.count() * sizeof(float)) == 0);
}

TEST_CASE("errors of embedding say which id, or which shape") {
  using tensor = Tensor<float>;
  const auto table = tensor::ones({5, 3});
  CHECK(text_of_error([&] {
          static_cast<void>(embedding(table, {0, 4, 5}));
        }) == "[embedding] id out of range: ids[2] = 5, table (5, 3); 0 <= id < 5");
  CHECK(text_of_error([&] { static_cast<void>(embedding(table, {-1})); }) ==
        "[embedding] id out of range: ids[0] = -1, table (5, 3); 0 <= id < 5");
  CHECK(text_of_error([&] {
          static_cast<void>(embedding(table, {0, 1, 2}, Shape{2, 2}));
        }) == "[embedding] 3 ids for shape (2, 2); the shape has 4");
  CHECK(text_of_error([&] { static_cast<void>(embedding(tensor::ones({5}), {0})); }) ==
        "[embedding] the table has the wrong number of axes: input (5); it must be (V, C)");
  CHECK_THROWS_AS(static_cast<void>(embedding(table, {5})), index_error);
  CHECK_THROWS_AS(static_cast<void>(embedding(tensor::ones({5}), {0})), shape_error);
}
