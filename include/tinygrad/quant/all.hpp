// Every format with arithmetic. A new one is a file beside these and a line in the list: the loader, QuantMatrix and
// the tests walk it.
#pragma once

#include <string>
#include <tinygrad/core/error.hpp>
#include <tinygrad/quant/bf16.hpp>
#include <tinygrad/quant/f16.hpp>
#include <tinygrad/quant/f32.hpp>
#include <tinygrad/quant/q2_k.hpp>
#include <tinygrad/quant/q3_k.hpp>
#include <tinygrad/quant/q4_0.hpp>
#include <tinygrad/quant/q4_1.hpp>
#include <tinygrad/quant/q4_k.hpp>
#include <tinygrad/quant/q5_0.hpp>
#include <tinygrad/quant/q5_1.hpp>
#include <tinygrad/quant/q5_k.hpp>
#include <tinygrad/quant/q6_k.hpp>
#include <tinygrad/quant/q8_0.hpp>
#include <tinygrad/quant/q8_k.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace quant {

template <class... F>
struct format_list {
  static constexpr std::size_t size = sizeof...(F);
  // A format's numbers must be those of the table of all types, by which files are checked.
  static_assert(((info_of(F::type).elements == F::elements && info_of(F::type).bytes == F::bytes) && ...));
  static_assert(((plain_format<F> || block_format<F>)&&...));
  static_assert((quantisable<F> && ...));
};

using all_formats = format_list<  //
    f32,                          //
    f16,                          //
    bf16,                         //
    q8_0,                         //
    q4_0,                         //
    q4_1,                         //
    q5_0,                         //
    q5_1,                         //
    q2_k,                         //
    q3_k,                         //
    q4_k,                         //
    q5_k,                         //
    q6_k,                         //
    q8_k                          //
    >;

namespace detail {
template <class Visit, class... F>
constexpr bool visit_in(format_list<F...>, ggml_type type, Visit& visit) {
  return ((F::type == type ? (visit(F{}), true) : false) || ...);
}
template <class Visit, class... F>
constexpr void for_each_in(format_list<F...>, Visit& visit) {
  (visit(F{}), ...);
}
}  // namespace detail

/// visit(F{}) for every format.
template <class Visit>
constexpr void for_each_format(Visit&& visit) {
  detail::for_each_in(all_formats{}, visit);
}
/// Whether there is arithmetic for tensors of this type.
[[nodiscard]] constexpr bool is_supported(ggml_type type) noexcept {
  const auto ignore = [](auto) {};
  return detail::visit_in(all_formats{}, type, ignore);
}
/// visit(F{}) for the format of this number. Throws value_error where there is none.
template <class Visit>
void visit_format(ggml_type type, Visit&& visit) {
  if (!detail::visit_in(all_formats{}, type, visit))
    throw value_error("[quant] there is no arithmetic for tensors of type " + std::string(name_of(type)));
}

}  // namespace quant
}  // namespace tinygrad::inline TINYGRAD_ABI
