// Stochastic gradient descent: w -= lr g, with momentum and Nesterov's form.
//
//   u <- momentum u + (1 - dampening) g        (the first u is g itself)
//   w <- w - lr u                              Nesterov: w - lr (g + momentum u)
// Weight decay here is the L2 form: g + weight_decay w takes the place of g. Source: Sutskever et al. 2013, in the
// notation of PyTorch's SGD.
#pragma once

#include <tinygrad/optim/optimizer.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

struct sgd_options {
  double learning_rate = 0.01;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;

  /// Throws value_error.
  void validate() const {
    detail::require_option(learning_rate >= 0, "sgd", "learning_rate must not be negative", learning_rate);
    detail::require_option(momentum >= 0, "sgd", "momentum must not be negative", momentum);
    detail::require_option(weight_decay >= 0, "sgd", "weight_decay must not be negative", weight_decay);
    detail::require_option(!nesterov || (momentum > 0 && dampening == 0), "sgd",
                           "nesterov needs momentum above 0 and dampening 0; momentum", momentum);
  }
};

template <class T, class P = default_policy>
class Sgd : public Optimizer<T, P, sgd_options, 1> {
  using base = Optimizer<T, P, sgd_options, 1>;

 public:
  explicit Sgd(std::vector<Tensor<T, P>> parameters, const sgd_options& options = {})
      : base({{std::move(parameters), options}}) {}
  explicit Sgd(std::vector<typename base::group_type> groups) : base(std::move(groups)) {}

  /// One update of every parameter that has a gradient.
  void step() {
    const bool first_update = this->steps() == 0;
    this->update_all([first_update](const sgd_options& o, int, T* w, const T* g, const std::array<T*, 1>& slots,
                                    std::size_t first, std::size_t last) {
      using V = typename P::template lanes_t<T>;
      const V rate(static_cast<T>(o.learning_rate));
      const V decay(static_cast<T>(o.weight_decay));
      const V momentum(static_cast<T>(o.momentum));
      const V share(static_cast<T>(first_update ? 1 : 1 - o.dampening));
      T* u = slots[0];
      for_lanes<V>(first, last, [&](std::size_t i, auto count) {
        const V value = load_lanes<V>(w + i, count);
        V step = load_lanes<V>(g + i, count);
        if (o.weight_decay != 0) step = step + decay * value;
        if (o.momentum != 0) {
          const V velocity = momentum * load_lanes<V>(u + i, count) + share * step;
          store_lanes(u + i, velocity, count);
          step = o.nesterov ? V(step + momentum * velocity) : velocity;
        }
        store_lanes(w + i, V(value - rate * step), count);
      });
    });
  }
};

}  // namespace tinygrad::inline TINYGRAD_ABI
