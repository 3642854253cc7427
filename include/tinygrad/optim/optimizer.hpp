// What every optimizer shares: parameter groups, each with its own options, and the state kept per parameter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tinygrad/autograd/no_grad.hpp>
#include <tinygrad/kernel/lanes.hpp>
#include <tinygrad/tensor/tensor.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

/// Parameters that share options such as the learning rate.
template <class T, class P, class Options>
struct param_group {
  std::vector<Tensor<T, P>> parameters;
  Options options;
};

namespace detail {

/// Throws value_error "[op] what must be ..., got value" unless `ok`.
inline void require_option(bool ok, std::string_view op, std::string_view rule, double value) {
  if (!ok) throw value_error("[" + std::string(op) + "] " + std::string(rule) + ", got " + std::to_string(value));
}

}  // namespace detail

/// Base of the optimizers. `Slots` is how many numbers are remembered for each weight (momentum: 1, Adam: 2).

template <class T, class P, class Options, std::size_t Slots>
class Optimizer {
 public:
  using group_type = param_group<T, P, Options>;
  /// What is remembered for one parameter: tensors of its shape, made when its first gradient arrives.
  using state_type = std::array<Tensor<T, P>, Slots>;

  /// Throws value_error for options out of range, graph_error for a parameter that is not a leaf requiring a gradient.
  explicit Optimizer(std::vector<group_type> groups) : groups_(std::move(groups)) {
    for (const group_type& group : groups_) {
      group.options.validate();
      for (const Tensor<T, P>& p : group.parameters)
        if (!p.defined() || !p.is_leaf() || !p.needs_grad())
          throw graph_error("[optimizer] a parameter must be a leaf that requires a gradient");
      states_.emplace_back(group.parameters.size());
    }
  }

  /// Forgets all gradients: call before each backward.
  void zero_grad() const noexcept {
    for (const group_type& group : groups_)
      for (const Tensor<T, P>& p : group.parameters) p.zero_grad();
  }
  /// Sets the learning rate of every group; schedules compute it (see schedule.hpp).
  void set_learning_rate(double rate) {
    for (group_type& group : groups_) group.options.learning_rate = rate;
  }
  [[nodiscard]] std::vector<group_type>& groups() noexcept { return groups_; }
  [[nodiscard]] const std::vector<group_type>& groups() const noexcept { return groups_; }
  /// Updates made so far; part of the state that a checkpoint must keep.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  void set_steps(std::uint64_t steps) noexcept { steps_ = steps; }
  /// visit(parameter, state) for every parameter; `state` holds undefined tensors until the first update.
  template <class Visit>
  void visit_state(Visit&& visit) {
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (std::size_t i = 0; i < groups_[g].parameters.size(); ++i) visit(groups_[g].parameters[i], states_[g][i]);
  }

 protected:
  /// rule(options, parameter rank, values, gradient, slots) returns the loop body over [first, last), which is run
  /// over every parameter that has a gradient, split over threads. Parameters without one are left alone.
  template <class Rule>
  void update_all(Rule&& rule) {
    const no_grad guard;
    ++steps_;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (std::size_t i = 0; i < groups_[g].parameters.size(); ++i) {
        const Tensor<T, P>& p = groups_[g].parameters[i];
        if (!p.has_grad()) continue;
        std::array<T*, Slots> slots{};
        for (std::size_t s = 0; s < Slots; ++s) {
          Tensor<T, P>& slot = states_[g][i][s];
          if (!slot.defined()) slot = Tensor<T, P>::zeros(p.shape());
          slots[s] = slot.mutable_data().data();
        }
        const T* gradient = p.grad().data().data();
        T* values = p.mutable_data().data();
        P::for_range(p.count(), grain, [&](std::size_t first, std::size_t last) {
          rule(groups_[g].options, p.rank(), values, gradient, slots, first, last);
        });
      }
  }

 private:
  static constexpr std::size_t grain = 16384;  // weights that are worth a thread, a multiple of every pack

  std::vector<group_type> groups_;
  std::vector<std::vector<state_type>> states_;
  std::uint64_t steps_ = 0;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
