// Operations of your own, two ways: elementwise ones are a callable, others a struct with forward and backward.
#include <array>
#include <cstdio>
#include <tinygrad/testing/gradcheck.hpp>
#include <tinygrad/tinygrad.hpp>

using namespace tinygrad;

// Elementwise: write the formula. Any number of inputs, broadcast, one loop; the derivative is derived.
template <class T, class P>
Tensor<T, P> soft_distance(const Tensor<T, P>& x, const Tensor<T, P>& center) {
  return map([](const auto& a, const auto& b) { return sqrt((a - b) * (a - b) + 1_c) - 1_c; }, x, center);
}

// Structured: running sums along the last axis, y[..., j] = x[..., 0] + ... + x[..., j].
struct running_sum_op {
  static constexpr std::string_view name = "running_sum";
  static constexpr saved_values saves = saved_values::none;  // backward reads neither x nor y

  Shape shape_of(const Shape& x) const {
    if (x.rank() == 0) throw_shape(name, "a scalar has no axis to sum along", x, "at least one axis is needed");
    return x;
  }
  template <class P, class T>
  void forward(view<T> y, view<const T> x) const {
    const std::size_t n = x.shape.columns();
    P::for_range(x.shape.rows(), 1, [&](std::size_t first, std::size_t last) {  // rows may run on several threads
      for (std::size_t i = first * n; i < last * n; ++i) y.data[i] = x.data[i] + (i % n == 0 ? T(0) : y.data[i - 1]);
    });
  }
  // dx[..., j] += dy[..., j] + ... + dy[..., n-1]
  template <class P, class T>
  void backward(const result<T>& y, view<const T> x, grad_slot<T> dx) const {
    const std::size_t n = x.shape.columns();
    T* target = dx.zeroed();
    P::for_range(x.shape.rows(), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t row = first; row < last; ++row) {
        T total = 0;
        for (std::size_t j = n; j-- > 0;) target[row * n + j] += (total += y.grad[row * n + j]);
      }
    });
  }
};

int main() {
  Random random(1);
  const std::array inputs{Tensor<double>::randn({4, 5}, random), Tensor<double>::randn({5}, random)};
  std::printf("running sum of 1 2 3 4:");
  for (const double value : apply(running_sum_op{}, Tensor<double>::from({1, 2, 3, 4})).data())
    std::printf(" %g", value);
  const auto check =
      gradcheck([](const auto& x) { return apply(running_sum_op{}, soft_distance(x[0], x[1])); }, inputs);
  std::printf("\ngradients against measured slopes: %.1e\n", check.max_elementwise);
  return check.max_elementwise < 1e-6 ? 0 : 1;
}
