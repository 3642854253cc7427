// Modules: structs of tensors and of other modules that name their members once, in `visit`.
//
//   struct two_layers {
//     Linear<float> fc1, fc2;
//     template <class Visit> void visit(Visit&& visit) {
//       visit("fc1", fc1);
//       visit("fc2", fc2);
//     }
//     Tensor<float> operator()(const Tensor<float>& x) { return fc2(tanh(fc1(x))); }
//   };
//
// Everything that must know all parameters is derived from that: lists, counts, saving, loading, printing. Names of
// nested members are joined with dots, elements of a vector of modules are numbered: "h.0.attn.c_attn.weight".
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <tinygrad/tensor/tensor.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {

struct ignore_members {
  template <class Member>
  void operator()(std::string_view, Member&) const noexcept {}
};

template <class X>
inline constexpr bool is_tensor = false;
template <class T, class P>
inline constexpr bool is_tensor<Tensor<T, P>> = true;

}  // namespace detail

/// A type that names its members in `visit(f)`, f taking a name and a Tensor, a module or a vector of modules.
template <class M>
concept module_type = requires(M& m) {
  m.visit(detail::ignore_members{});
};

namespace detail {

template <class Member, class F>
void visit_member(const std::string& name, Member& member, F& f) {
  if constexpr (is_tensor<Member>) {
    if (member.defined()) f(name, member);
  } else if constexpr (module_type<Member>) {
    member.visit([&](std::string_view inner, auto& x) { visit_member(name + "." + std::string(inner), x, f); });
  } else {
    for (std::size_t i = 0; i < member.size(); ++i) visit_member(name + "." + std::to_string(i), member[i], f);
  }
}

}  // namespace detail

/// f(name, tensor) for every tensor of the module, in the order of `visit`; undefined members are skipped.
template <module_type M, class F>
void for_each_parameter(M& module, F&& f) {
  module.visit([&](std::string_view name, auto& member) { detail::visit_member(std::string(name), member, f); });
}

/// All tensors of the module, for optimizers. A tensor shared by two members is listed once.
template <module_type M>
[[nodiscard]] auto parameters(M& module) {
  std::vector<std::remove_cvref_t<typename M::tensor>> all;
  for_each_parameter(module, [&](const std::string&, const auto& tensor) {
    for (const auto& seen : all)
      if (seen.handle() == tensor.handle()) return;
    all.push_back(tensor);
  });
  return all;
}

/// Number of trainable numbers.
template <module_type M>
[[nodiscard]] std::size_t parameter_count(M& module) {
  std::size_t total = 0;
  for (const auto& tensor : parameters(module)) total += tensor.count();
  return total;
}

/// Gives every tensor its full name, which errors and pictures then show.
template <module_type M>
void name_parameters(M& module) {
  for_each_parameter(module, [](const std::string& name, const auto& tensor) { tensor.named(name); });
}

}  // namespace tinygrad::inline TINYGRAD_ABI
