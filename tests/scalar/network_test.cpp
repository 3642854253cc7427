#include <doctest/doctest.h>

#include <string>
#include <tinygrad/core/random.hpp>
#include <tinygrad/scalar/value.hpp>
#include <vector>

using namespace tinygrad;
using V = Value<double>;

TEST_CASE("scalar network: parameters are the network's own numbers, weights before the bias") {
  Random random(1);
  const scalar::Neuron<double> neuron(2, random);
  const auto parameters = neuron.parameters();
  REQUIRE(parameters.size() == 3);
  CHECK(parameters[2].data() == 0.0);
  parameters[0].set_data(0.5);
  parameters[1].set_data(-1.0);
  parameters[2].set_data(0.25);
  const V y = neuron(std::vector<double>{2, 3});
  CHECK(y.data() == doctest::Approx(std::tanh(0.25 + 1.0 - 3.0)));
  y.backward();
  CHECK(parameters[1].grad() == doctest::Approx(3 * (1 - y.data() * y.data())));
}

TEST_CASE("scalar network: an MLP has a layer between each two sizes") {
  Random random(1);
  const scalar::MLP<double> model({2, 4, 1}, random);
  CHECK(model.parameters().size() == 4 * 3 + 5);
  const auto y = model(std::vector<double>{0.5, -0.5});
  REQUIRE(y.size() == 1);
  y[0].backward();
  for (const V& p : model.parameters()) CHECK(p.grad() != 0.0);
  const scalar::MLP<double> wide({3, 5, 7, 2}, random);
  CHECK(wide.parameters().size() == 5 * 4 + 7 * 6 + 2 * 8);
  CHECK(wide(std::vector<V>{1.0, 2.0, 3.0}).size() == 2);
}

TEST_CASE("scalar network: wrong sizes are refused with both numbers") {
  Random random(1);
  const scalar::MLP<double> model({2, 4, 1}, random);
  std::string text;
  try {
    static_cast<void>(model(std::vector<double>{1, 2, 3}));
  } catch (const shape_error& error) {
    text = error.what();
  }
  CHECK(text == "[neuron] wrong number of inputs: x (3), weights (2); they must be equal");
  CHECK_THROWS_AS(scalar::MLP<double>({2}, random), value_error);
}
