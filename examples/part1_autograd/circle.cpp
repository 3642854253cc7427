// Sections 5 and 6: a network of 82 weights learns whether a point lies inside a circle; its boundary as a picture.
//
// Points and first weights come from .NET's seeded generator, as in the article, so that the table can be compared.
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <numbers>
#include <string>
#include <string_view>
#include <tinygrad/core/random_compat.hpp>
#include <tinygrad/testing/gradcheck.hpp>
#include <tinygrad/tinygrad.hpp>
#include <tinygrad/viz/svg.hpp>
#include <vector>

#include "part1.hpp"

using namespace tinygrad;

namespace {

/// Normal draws as the article makes them: Box and Muller's cosine, the sine thrown away.
class article_normal {
 public:
  explicit article_normal(int seed) : random_(seed) {}
  double normal() {
    const double u1 = 1 - random_.next_double();
    const double u2 = random_.next_double();
    return std::sqrt(-2 * std::log(u1)) * std::cos(2 * std::numbers::pi * u2);
  }

 private:
  dotnet_random random_;
};

template <class P>
struct circle_data {
  Tensor<float, P> points;  // [256, 2]
  std::vector<int> inside;  // 1 where x^2 + y^2 < 0.5
};

template <class P>
circle_data<P> make_data() {
  dotnet_random random(3);
  std::vector<float> coordinates;
  std::vector<int> inside;
  for (int i = 0; i < 256; ++i) {
    const auto x = static_cast<float>(random.next_double() * 2 - 1);
    const auto y = static_cast<float>(random.next_double() * 2 - 1);
    coordinates.insert(coordinates.end(), {x, y});
    inside.push_back(x * x + y * y < 0.5F ? 1 : 0);
  }
  return {Tensor<float, P>::from(coordinates, {256, 2}), inside};
}

/// 2 -> 16 -> 2 with an activation between.
template <class P>
struct network {
  using tensor = Tensor<float, P>;
  tensor w1, b1, w2, b2;

  explicit network(article_normal random)
      : w1(tensor::randn({2, 16}, random, 0.5F).requires_grad()),
        b1(tensor::zeros({16}).requires_grad()),
        w2(tensor::randn({16, 2}, random, 0.5F).requires_grad()),
        b2(tensor::zeros({2}).requires_grad()) {}

  [[nodiscard]] std::vector<tensor> parameters() const { return {w1, b1, w2, b2}; }
  template <class Activation>
  [[nodiscard]] tensor operator()(const tensor& x, Activation activation) const {
    return matmul(activation(matmul(x, w1) + b1), w2) + b2;
  }
};

constexpr auto real_tanh = [](const auto& x) { return tanh(x); };

/// Share of rows whose larger logit is the right one.
template <class P>
double accuracy(const Tensor<float, P>& logits, const std::vector<int>& labels) {
  int right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) right += (logits.at({i, 1}) > logits.at({i, 0}) ? 1 : 0) == labels[i];
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

template <class P, class Optimizer, class Activation>
void train(const circle_data<P>& data, const network<P>& net, Optimizer& optimizer, Activation activation) {
  for (int step = 0; step <= 500; ++step) {
    const auto logits = net(data.points, activation);      // forward
    const auto loss = cross_entropy(logits, data.inside);  // loss
    optimizer.zero_grad();
    loss.backward();   // backward
    optimizer.step();  // update
    if (step % 100 == 0)
      std::printf("step %3d  loss %.4f  accuracy %.0f %%\n", step, static_cast<double>(loss.item()),
                  100 * accuracy(logits, data.inside));
  }
}

template <class P, class Activation>
void train_with_sgd(const circle_data<P>& data, const network<P>& net, double rate, Activation activation) {
  std::printf("-- SGD, lr = %g\n", rate);
  sgd_options options;
  options.learning_rate = rate;
  Sgd<float, P> optimizer(net.parameters(), options);
  train(data, net, optimizer, activation);
}

template <class P, class Activation>
void train_with_adamw(const circle_data<P>& data, const network<P>& net, Activation activation) {
  std::puts("-- AdamW, lr = 0.05");
  adam_options options = AdamW<float, P>::defaults();
  options.learning_rate = 0.05;
  options.weight_decay = 0;
  AdamW<float, P> optimizer(net.parameters(), options);
  train(data, net, optimizer, activation);
}

/// What the network thinks of a grid over the square: the probability of "inside", [rows, columns], top row first.
template <class P>
std::vector<double> probabilities(const network<P>& net, std::size_t rows, std::size_t columns) {
  std::vector<float> grid;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c)
      grid.insert(grid.end(), {2 * (static_cast<float>(c) + 0.5F) / static_cast<float>(columns) - 1,
                               1 - 2 * (static_cast<float>(r) + 0.5F) / static_cast<float>(rows)});
  const no_grad guard;
  const auto p = softmax(net(Tensor<float, P>::from(grid, {rows * columns, 2}), real_tanh));
  std::vector<double> inside;
  for (std::size_t i = 0; i < rows * columns; ++i) inside.push_back(static_cast<double>(p.at({i, 1})));
  return inside;
}

template <class P>
void draw_in_terminal(const network<P>& net) {
  constexpr std::size_t rows = 21, columns = 42;  // a character is about twice as high as wide
  const std::vector<double> p = probabilities(net, rows, columns);
  static constexpr std::string_view shades = " .:-=+*#%@";
  for (std::size_t r = 0; r < rows; ++r) {
    std::string line = "  ";
    for (std::size_t c = 0; c < columns; ++c) line += shades[static_cast<std::size_t>(p[r * columns + c] * 9.999)];
    std::puts(line.c_str());
  }
}

template <class P>
void draw_svg(const circle_data<P>& data, const network<P>& net, const std::string& path) {
  constexpr std::size_t cells = 60;
  constexpr double size = 480, cell = size / cells;
  SvgCanvas picture(size, size);
  const std::vector<double> p = probabilities(net, cells, cells);
  for (std::size_t r = 0; r < cells; ++r)
    for (std::size_t c = 0; c < cells; ++c)
      picture.rect(static_cast<double>(c) * cell, static_cast<double>(r) * cell, cell + 0.5, cell + 0.5,
                   blend({244, 228, 215}, {178, 212, 236}, p[r * cells + c]));
  for (std::size_t i = 0; i < data.inside.size(); ++i)
    picture.circle((static_cast<double>(data.points.at({i, 0})) + 1) * size / 2,
                   (1 - static_cast<double>(data.points.at({i, 1}))) * size / 2, 3,
                   data.inside[i] == 1 ? "#0055aa" : "#bb4400", "#ffffff");
  picture.circle(size / 2, size / 2, std::sqrt(0.5) * size / 2, "none", "#444444");
  std::ofstream file(path, std::ios::binary);
  file << picture.str();
  if (!file.flush()) throw io_error(path + ": could not be written");
  std::printf("  the same as a picture: %s\n", path.c_str());
}

template <class P>
void run(const part1::options& options) {
  std::puts("== 5) Tiny network 2 -> 16 -> 2: is the point inside the circle x^2 + y^2 < 0.5?");
  const circle_data<P> data = make_data<P>();
  train_with_sgd(data, network<P>(article_normal(4)), 0.05, real_tanh);
  const network<P> net(article_normal(4));
  train_with_adamw(data, net, real_tanh);
  std::puts("\n== 6) What AdamW's network learned: @ is inside, blank is outside");
  draw_in_terminal(net);
  if (!options.svg.empty()) draw_svg(data, net, options.svg);
  std::puts("");
}

/// tanh whose backward forgets the "1 -": g y instead of g (1 - y^2).
struct tanh_bug_op {
  static constexpr std::string_view name = "tanh_bug";
  static constexpr saved_values saves = saved_values::output;
  [[nodiscard]] Shape shape_of(const Shape& x) const { return x; }
  template <class P, class T>
  void forward(view<T> y, view<const T> x) const {
    for (std::size_t i = 0; i < y.shape.count(); ++i) y.data[i] = tinygrad::tanh(x.data[i]);
  }
  template <class P, class T>
  void backward(const result<T>& y, view<const T>, grad_slot<T> dx) const {
    T* g = dx.zeroed();
    for (std::size_t i = 0; i < y.shape.count(); ++i) g[i] += y.grad[i] * y.data[i];
  }
};

}  // namespace

void part1::circle(const options& options) {
  if (options.policy == "naive")
    run<naive>(options);
  else if (options.policy == "packed")
    run<packed>(options);
  else
    run<default_policy>(options);
}

bool part1::exercise_tanh_bug() {
  std::puts("== Exercise: Tanh whose backward is g*y instead of g*(1 - y*y)");
  constexpr auto wrong_tanh = [](const auto& x) { return apply(tanh_bug_op{}, x); };
  Random random(1);
  const std::vector inputs{Tensor<float>::randn({4, 5}, random)};
  const auto check = gradcheck([&](const auto& x) { return wrong_tanh(x[0]); }, inputs);
  const bool caught = !report("Tanh (g*y)", check.max_absolute, check.max_relative);
  const auto data = make_data<default_policy>();
  train_with_sgd(data, network<default_policy>(article_normal(4)), 0.05, wrong_tanh);
  train_with_adamw(data, network<default_policy>(article_normal(4)), wrong_tanh);
  return caught;
}

void part1::exercise_sgd_rate() {
  std::puts("== Exercise: SGD with ten times the learning rate, against AdamW");
  const auto data = make_data<default_policy>();
  train_with_sgd(data, network<default_policy>(article_normal(4)), 0.5, real_tanh);
  train_with_adamw(data, network<default_policy>(article_normal(4)), real_tanh);
}
