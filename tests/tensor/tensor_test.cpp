// Tensor: factories, shapes, access, views, conversion, text.
#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <tinygrad/ops/operators.hpp>
#include <tinygrad/tensor/print.hpp>
#include <type_traits>
#include <vector>

using namespace tinygrad;

namespace {

std::string error_of(const auto& action) {
  try {
    action();
  } catch (const error& caught) {
    return caught.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("factories give the values they name") {
  CHECK(Tensor<float>::zeros({2, 3}).at({1, 2}) == 0);
  CHECK(Tensor<float>::ones({2}).at({1}) == 1);
  CHECK(Tensor<double>::full({1, 1, 4}, 2.5).at({0, 0, 3}) == 2.5);
  CHECK(Tensor<float>::scalar(7).rank() == 0);
  CHECK(Tensor<float>::scalar(7).item() == 7);
  CHECK(Tensor<float>::arange(4, 1, 0.5F).at({3}) == 2.5F);
  CHECK(Tensor<float>::from({1, 2, 3, 4, 5, 6}, {2, 3}).at({1, 0}) == 4);
  const std::vector<float> values{1, 2, 3};
  CHECK(Tensor<float>::from(values, {3}).at({2}) == 3);
}

TEST_CASE("random factories draw from the generator they are given") {
  Random a(1), b(1);
  const auto x = Tensor<double>::randn({1000}, a, 2.0);
  double sum = 0, squares = 0;
  for (const double value : x.data()) sum += value, squares += value * value;
  CHECK(sum / 1000 == doctest::Approx(0).epsilon(0.3));
  CHECK(squares / 1000 == doctest::Approx(4).epsilon(0.2));
  CHECK(Tensor<double>::randn({1000}, b, 2.0).at({999}) == x.at({999}));
  for (const float value : Tensor<float>::uniform({100}, a, -2, 3).data()) CHECK((value >= -2 && value < 3));
}

TEST_CASE("rank 0, empty and rank 6 tensors are ordinary tensors") {
  CHECK(Tensor<float>::zeros({}).count() == 1);
  CHECK(Tensor<float>::zeros({3, 0}).count() == 0);
  CHECK((Tensor<float>::zeros({3, 0}) + 1).shape() == Shape{3, 0});
  CHECK(Tensor<float>::ones({1, 2, 1, 2, 1, 2}).count() == 8);
  CHECK(error_of([] { static_cast<void>(Shape{1, 1, 1, 1, 1, 1, 1}); }) == "[shape] 7 axes; a tensor has at most 6");
  CHECK_THROWS_AS(static_cast<void>(Shape{1ULL << 40, 1ULL << 40}), shape_error);
}

TEST_CASE("a copy of a handle shares, a clone does not") {
  const auto x = Tensor<float>::ones({2});
  const auto same = x;
  const auto copy = x.clone();
  x.mutable_data()[0] = 5;
  CHECK(same.at({0}) == 5);
  CHECK(copy.at({0}) == 1);
}

TEST_CASE("changing the policy costs nothing and keeps the graph") {
  const auto x = Tensor<float>::scalar(3).requires_grad();
  const auto y = x.with_policy<naive>();
  static_assert(std::is_same_v<decltype(y)::policy, naive>);
  CHECK(y.handle() == x.handle());
  (y * y).backward();
  CHECK(x.grad().item() == 6);
}

TEST_CASE("conversion to another element type copies") {
  const auto x = Tensor<double>::from({0.1, 2});
  CHECK(x.to<float>().at({0}) == 0.1F);
  CHECK(x.to<float>().to<double>().at({1}) == 2);
}

TEST_CASE("borrowed memory is looked into, and its owner kept alive") {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  auto x = Tensor<float>::borrow(owner->data(), {3}, owner);
  const std::weak_ptr<void> watch = owner;
  owner.reset();
  CHECK(x.at({2}) == 3);
  CHECK_FALSE(watch.expired());
  x = {};
  CHECK(watch.expired());
}

TEST_CASE("errors say what is wrong, with shapes and the rule") {
  const auto x = Tensor<float>::zeros({2, 3});
  CHECK(error_of([&] { static_cast<void>(x.item()); }) ==
        "[item] not a single element: input (2, 3); item() needs exactly one");
  CHECK(error_of([&] { static_cast<void>(x.at({1})); }) == "[at] 1 indices for shape (2, 3)");
  CHECK(error_of([&] { static_cast<void>(x.at({1, 3})); }) == "[at] index 3 out of range on axis 1: input (2, 3)");
  CHECK(error_of([&] { static_cast<void>(x.size(2)); }) ==
        "[size] axis out of range: axis 2, input (2, 3); -rank <= axis < rank");
  CHECK(x.size(-1) == 3);
  CHECK(error_of([] {
          static_cast<void>(Tensor<float>::from({1, 2}, {3}));
        }) == "[from] 2 values for shape (3); the shape has 3");
  CHECK(error_of([&] { static_cast<void>(x + Tensor<float>::zeros({2})); }) ==
        "[add] shapes do not broadcast: lhs (2, 3), rhs (2); sizes must be equal or 1, aligned at the last axis");
  CHECK(error_of([&] { static_cast<void>(x + Tensor<float>{}); }) == "[add] an input is an undefined Tensor{}");
}

TEST_CASE("tensors print type, name, shape and values") {
  const auto x = Tensor<float>::from({1, 2, 3, 4, 5, 6}, {2, 3}).named("w");
  CHECK(to_string(x) == "Tensor<float> w (2, 3) [[1, 2, 3], [4, 5, 6]]");
  CHECK(to_string(Tensor<double>::scalar(0.5).requires_grad()) == "Tensor<double> () 0.5 requires_grad");
  CHECK(to_string(x.requires_grad() * 2) == "Tensor<float> (2, 3) [[2, 4, 6], [8, 10, 12]] from scale");
  CHECK(to_string(Tensor<float>::arange(100), 2) == "Tensor<float> (100) [0, 1, ..., 98, 99]");
  CHECK(to_string(Tensor<float>{}) == "Tensor undefined");
  std::ostringstream out;
  out << Tensor<float>::zeros({0});
  CHECK(out.str() == "Tensor<float> (0) []");
}
