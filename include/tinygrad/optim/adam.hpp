// Adam and AdamW: every weight gets its own step size from running averages of its gradient and its square.
//
//   m <- b1 m + (1 - b1) g         v <- b2 v + (1 - b2) g^2
//   w <- w - lr (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + wd w)       AdamW: decay beside the gradient
// Adam puts the decay into the gradient instead (g + wd w), which is L2 regularisation. AdamW's decay uses the weight
// from before the step, and spares vectors (biases, norm gains) unless told otherwise.
// Source: Kingma and Ba 2015, arXiv:1412.6980; Loshchilov and Hutter 2019, arXiv:1711.05101.
#pragma once

#include <cmath>
#include <tinygrad/optim/optimizer.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

struct adam_options {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;      // true: AdamW
  bool decay_vectors = false;  // decoupled decay also on tensors of rank 0 and 1

  /// Throws value_error.
  void validate() const {
    detail::require_option(learning_rate >= 0, "adam", "learning_rate must not be negative", learning_rate);
    detail::require_option(beta1 >= 0 && beta1 < 1, "adam", "beta1 must be in [0, 1)", beta1);
    detail::require_option(beta2 >= 0 && beta2 < 1, "adam", "beta2 must be in [0, 1)", beta2);
    detail::require_option(epsilon >= 0, "adam", "epsilon must not be negative", epsilon);
    detail::require_option(weight_decay >= 0, "adam", "weight_decay must not be negative", weight_decay);
  }
};

template <class T, class P = default_policy>
class Adam : public Optimizer<T, P, adam_options, 2> {
  using base = Optimizer<T, P, adam_options, 2>;

 public:
  explicit Adam(std::vector<Tensor<T, P>> parameters, const adam_options& options = {})
      : base({{std::move(parameters), options}}) {}
  explicit Adam(std::vector<typename base::group_type> groups) : base(std::move(groups)) {}

  /// One update of every parameter that has a gradient.
  void step() {
    const auto t = static_cast<double>(this->steps() + 1);
    this->update_all([t](const adam_options& o, int rank, T* w, const T* g, const std::array<T*, 2>& slots,
                         std::size_t first, std::size_t last) {
      using V = typename P::template lanes_t<T>;
      const double decay = o.decoupled && rank < 2 && !o.decay_vectors ? 0 : o.weight_decay;
      const V rate(static_cast<T>(o.learning_rate)), wd(static_cast<T>(decay)), eps(static_cast<T>(o.epsilon));
      const V b1(static_cast<T>(o.beta1)), rest1(static_cast<T>(1 - o.beta1));
      const V b2(static_cast<T>(o.beta2)), rest2(static_cast<T>(1 - o.beta2));
      const V correct1(static_cast<T>(1 / (1 - std::pow(o.beta1, t))));
      const V correct2(static_cast<T>(1 / (1 - std::pow(o.beta2, t))));
      for_lanes<V>(first, last, [&](std::size_t i, auto count) {
        const V value = load_lanes<V>(w + i, count);
        V slope = load_lanes<V>(g + i, count);
        if (!o.decoupled) slope = slope + wd * value;
        const V m = b1 * load_lanes<V>(slots[0] + i, count) + rest1 * slope;
        const V v = b2 * load_lanes<V>(slots[1] + i, count) + rest2 * slope * slope;
        store_lanes(slots[0] + i, m, count);
        store_lanes(slots[1] + i, v, count);
        V step = m * correct1 / (sqrt(V(v * correct2)) + eps);
        if (o.decoupled) step = step + wd * value;
        store_lanes(w + i, V(value - rate * step), count);
      });
    });
  }
};

/// Adam with decoupled weight decay, 0.01 unless the options say otherwise; vectors are spared.
template <class T, class P = default_policy>
class AdamW : public Adam<T, P> {
 public:
  /// The defaults of the method's paper and of PyTorch.
  [[nodiscard]] static adam_options defaults() {
    adam_options options;
    options.weight_decay = 0.01;
    options.decoupled = true;
    return options;
  }
  explicit AdamW(std::vector<Tensor<T, P>> parameters, adam_options options = defaults())
      : Adam<T, P>(std::move(parameters), decoupled(options)) {}
  explicit AdamW(std::vector<param_group<T, P, adam_options>> groups) : Adam<T, P>(decoupled(std::move(groups))) {}

 private:
  static adam_options decoupled(adam_options options) {
    options.decoupled = true;
    return options;
  }
  static std::vector<param_group<T, P, adam_options>> decoupled(std::vector<param_group<T, P, adam_options>> groups) {
    for (auto& group : groups) group.options.decoupled = true;
    return groups;
  }
};

}  // namespace tinygrad::inline TINYGRAD_ABI
