#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <support/temp_folder.hpp>
#include <tinygrad/ops/activation.hpp>
#include <tinygrad/ops/operators.hpp>
#include <tinygrad/scalar/value.hpp>
#include <tinygrad/viz/dot.hpp>

using namespace tinygrad;

namespace {

using V = Value<double>;

/// Graphviz draws it and says nothing. Skipped where Graphviz is not installed.
void check_renders(const std::string& text) {
  if (std::system("dot -V > /dev/null 2>&1") != 0) {
    MESSAGE("skipped: Graphviz (dot) is not installed");
    return;
  }
  const tinygrad_test::temp_folder folder;
  const std::string graph = folder.put("graph.dot", text);
  const std::string command =
      "dot -Tsvg '" + graph + "' -o '" + folder / "graph.svg" + "' 2> '" + folder / "said.txt" + "'";
  CHECK(std::system(command.c_str()) == 0);
  CHECK(folder.get("said.txt") == "");
  CHECK(folder.get("graph.svg").find("</svg>") != std::string::npos);
}

std::size_t count_of(const std::string& part, const std::string& text) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("to_dot: a graph of Values, with operation, data and gradient in each box") {
  const V x = 2.0;
  const V y = relu(x * x + 1);
  y.backward();
  const std::string text = to_dot(y, {{x, "x"}});
  CHECK(text ==
        "digraph {\n"
        "  rankdir=LR;\n"
        "  node [shape=box, style=rounded, fontname=\"Helvetica\", fontsize=11];\n"
        "  n0 [label=\"x\\ndata 2\\ngrad 4\", style=\"rounded,filled\", fillcolor=\"#e8eef7\"];\n"
        "  n1 [label=\"*\\ndata 4\\ngrad 1\"];\n"
        "  n0 -> n1;\n"
        "  n0 -> n1;\n"
        "  n2 [label=\"+ c\\ndata 5\\ngrad 1\"];\n"
        "  n1 -> n2;\n"
        "  n3 [label=\"relu\\ndata 5\\ngrad 1\"];\n"
        "  n2 -> n3;\n"
        "}\n");
  check_renders(text);
}

TEST_CASE("to_dot: the text does not depend on where on the tape a graph lies") {
  const auto draw = [] {
    const V a = 1.0;
    const V b = 2.0;
    return to_dot(tanh(a * b - a / b));
  };
  const std::string first = draw();
  const V shift = V(1.0) + V(2.0);
  CHECK(draw() == first);
}

TEST_CASE("to_dot: a graph of Tensors, with names and shapes") {
  using tensor = Tensor<float>;
  const tensor x = tensor::from({2, 0}, Shape{1, 2}).named("input").requires_grad();
  const tensor w = tensor::full(Shape{3, 2}, 0.5f).requires_grad();
  const tensor y = relu(x * w + x);
  y.backward(tensor::ones(y.shape()), true);
  const std::string text = to_dot(y, {{w, "weights"}});
  CHECK(text.find("label=\"input\\n(1, 2)\\ndata [2, 0]\\ngrad [") != std::string::npos);
  CHECK(text.find("label=\"weights\\n(3, 2)\\ndata [...]\\ngrad [...]\"") != std::string::npos);
  CHECK(text.find("label=\"relu\\n(3, 2)\\n") != std::string::npos);
  CHECK(count_of("[label=", text) == 5);
  CHECK(count_of(" -> ", text) == 5);
  check_renders(text);
}

TEST_CASE("to_dot: a consumed graph of Tensors shows that it was consumed") {
  const auto x = Tensor<float>::scalar(2).requires_grad();
  const auto y = x * x;
  y.backward();
  const std::string text = to_dot(y);
  CHECK(text.find("consumed\\n()\\ndata 4") != std::string::npos);
  CHECK(count_of("[label=", text) == 1);
}

TEST_CASE("to_dot: quotes, backslashes and line ends in names are escaped") {
  const V x = 1.0;
  const std::string text = to_dot(x, {{x, "a \"quoted\\name\"\nin two lines"}});
  CHECK(text.find(R"(label="a \"quoted\\name\"\nin two lines\ndata 1\ngrad 0")") != std::string::npos);
  check_renders(text);
}

TEST_CASE("to_dot: a hundred nodes, numbers that are not finite included") {
  V x = 0.5;
  V y = log(x - x);  // minus infinity
  for (int k = 0; k < 32; ++k) y = sin(y * x) + x;
  const std::string text = to_dot(y);
  CHECK(count_of("[label=", text) >= 99);
  check_renders(text);
}

TEST_CASE("to_dot: a deep chain is walked without recursion") {
  const V x = 1.0;
  V y = x;
  for (int k = 0; k < 200000; ++k) y = y + x;
  CHECK(count_of("[label=", to_dot(y)) == 200001);
}
