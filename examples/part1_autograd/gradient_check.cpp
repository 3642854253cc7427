// Section 3: every operation of the series against numeric derivatives; 3b: what the check does to a broken rule.
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <tinygrad/testing/gradcheck.hpp>
#include <tinygrad/tinygrad.hpp>
#include <vector>

#include "part1.hpp"

using namespace tinygrad;
using tensor = Tensor<float>;

namespace {

constexpr double limit = 1e-3;  // a real mistake gives about 0.1 or more

/// A product whose backward assigns where it should add: right until a tensor is used twice.
struct mul_assign_op {
  static constexpr std::string_view name = "mul_assign";
  [[nodiscard]] Shape shape_of(const Shape& a, const Shape&) const { return a; }
  template <class P, class T>
  void forward(view<T> y, view<const T> a, view<const T> b) const {
    for (std::size_t i = 0; i < y.shape.count(); ++i) y.data[i] = a.data[i] * b.data[i];
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T> a, view<const T> b, grad_slot<T> da, grad_slot<T> db) const {
    T* ga = da.zeroed();
    T* gb = db.zeroed();
    for (std::size_t i = 0; i < y.shape.count(); ++i) {
      ga[i] = y.grad[i] * b.data[i];  // the bug: = overwrites what the other use of the tensor already added
      gb[i] = y.grad[i] * a.data[i];
    }
  }
};

/// The first exercise: exp with the derivative written by hand, exp(x) itself.
struct my_exp_op {
  static constexpr std::string_view name = "my_exp";
  static constexpr saved_values saves = saved_values::output;
  [[nodiscard]] Shape shape_of(const Shape& x) const { return x; }
  template <class P, class T>
  void forward(view<T> y, view<const T> x) const {
    for (std::size_t i = 0; i < y.shape.count(); ++i) y.data[i] = tinygrad::exp(x.data[i]);
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T>, grad_slot<T> dx) const {
    T* g = dx.zeroed();
    for (std::size_t i = 0; i < y.shape.count(); ++i) g[i] += y.grad[i] * y.data[i];
  }
};

class checker {
 public:
  /// Checks f on inputs of the given shapes and prints a line.
  template <class F>
  void operator()(std::string_view name, const std::vector<Shape>& shapes, F f) {
    std::vector<tensor> inputs;
    for (const Shape& shape : shapes) inputs.push_back(tensor::randn(shape, random_));
    const gradcheck_result result = gradcheck(f, inputs);
    passed_ &= part1::report(name, result.max_absolute, result.max_relative);
  }
  [[nodiscard]] bool passed() const { return passed_; }

 private:
  Random random_{1};
  bool passed_ = true;
};

}  // namespace

std::string part1::scientific(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2E", value);
  std::string result = text;  // 2.69E-05
  const std::size_t digits = result.find('E') + 2;
  if (result.find('E') != std::string::npos && result.size() - digits < 3) result.insert(digits, "0");
  return result;
}

bool part1::report(std::string_view name, double max_absolute, double max_relative) {
  const bool ok = max_relative < limit;
  std::printf("%-22.*s max abs diff = %s   max rel diff = %s   %s\n", static_cast<int>(name.size()), name.data(),
              scientific(max_absolute).c_str(), scientific(max_relative).c_str(), ok ? "OK" : "FAIL");
  return ok;
}

bool part1::gradient_check() {
  std::puts("== 3) Gradient check: backward vs numeric derivative (h = 0.01)");
  checker check;
  check("Add", {{4, 5}, {4, 5}}, [](const auto& x) { return x[0] + x[1]; });
  check("Add (broadcast bias)", {{4, 5}, {5}}, [](const auto& x) { return x[0] + x[1]; });
  check("Mul", {{4, 5}, {4, 5}}, [](const auto& x) { return x[0] * x[1]; });
  check("Scale", {{4, 5}}, [](const auto& x) { return scale(x[0], 1.7F); });
  check("MatMul", {{3, 4}, {4, 5}}, [](const auto& x) { return matmul(x[0], x[1]); });
  check("MatMulT", {{3, 4}, {5, 4}}, [](const auto& x) { return matmul_t(x[0], x[1]); });
  check("Tanh", {{4, 5}}, [](const auto& x) { return tanh(x[0]); });
  check("Gelu", {{4, 5}}, [](const auto& x) { return gelu(x[0]); });
  check("Reshape", {{4, 6}}, [](const auto& x) { return reshape(x[0], Shape{3, 8}); });
  check("Embedding", {{6, 4}}, [](const auto& x) { return embedding(x[0], {2, 0, 2, 5, 1}); });
  check("LayerNorm", {{4, 8}, {8}, {8}}, [](const auto& x) { return layer_norm(x[0], x[1], x[2]); });
  check("SoftmaxCrossEntropy", {{4, 6}}, [](const auto& x) { return cross_entropy(x[0], {1, 0, 5, 3}); });
  check("BatchMatMulT", {{2, 3, 4}, {2, 5, 4}}, [](const auto& x) { return matmul_t(x[0], x[1]); });
  check("BatchMatMul", {{2, 3, 4}, {2, 4, 5}}, [](const auto& x) { return matmul(x[0], x[1]); });
  check("CausalSoftmax", {{2, 4, 4}}, [](const auto& x) { return causal_softmax(x[0]); });
  check("Narrow", {{3, 8}}, [](const auto& x) { return narrow(x[0], 1, 2, 4); });
  check("SplitHeads", {{2, 3, 8}}, [](const auto& x) { return split_heads(x[0], 2); });
  check("MergeHeads", {{2, 2, 3, 4}}, [](const auto& x) { return merge_heads(x[0]); });
  std::puts("");
  return check.passed();
}

bool part1::break_it_on_purpose() {
  std::puts("== 3b) Breaking it on purpose: a Mul whose backward uses = instead of +=");
  const auto line = [](std::string_view name, auto multiply) {
    const std::array inputs{tensor::scalar(7)};
    const gradcheck_result result = gradcheck([&](const auto& x) { return multiply(x[0], x[0]); }, inputs, 0.01F);
    const bool ok = result.max_relative < limit;
    std::printf("%-14.*s dL/dz = %4g   max rel diff = %s   %s\n", static_cast<int>(name.size()), name.data(),
                static_cast<double>(inputs[0].grad().item()), scientific(result.max_relative).c_str(),
                ok ? "OK" : "FAIL");
    return ok;
  };
  const bool right = line("Mul (+=)", [](const auto& a, const auto& b) { return a * b; });
  const bool wrong = line("MulAssign (=)", [](const auto& a, const auto& b) { return apply(mul_assign_op{}, a, b); });
  std::puts("");
  return right && !wrong;
}

bool part1::exercise_exp() {
  std::puts("== Exercise: an exp of our own, and its line in the check");
  checker check;
  check("Exp (by hand)", {{4, 5}}, [](const auto& x) { return apply(my_exp_op{}, x[0]); });
  check("Exp (derived)", {{4, 5}}, [](const auto& x) { return exp(x[0]); });
  return check.passed();
}
