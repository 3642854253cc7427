// The one loop that every vector kernel is written on: whole packs first, then one partial pack.
//
// `V` is what a policy computes with: a pack<T>, or a plain T for the textbook policy. The body is written once, as a
// generic lambda taking the position and the number of lanes; for whole packs that number is a compile-time
// constant, so that `load<V>(p, lanes)` becomes a plain load.
#pragma once

#include <cstddef>
#include <tinygrad/simd/pack.hpp>
#include <type_traits>

namespace tinygrad::inline TINYGRAD_ABI {

/// The lane count of a whole pack, as a type.
template <class V>
using whole = std::integral_constant<int, lanes<V>>;

/// body(i, whole<V>{}) for i = first, first + lanes, ...; then body(i, rest) with 0 < rest < lanes.
template <class V, class Body>
TINYGRAD_ALWAYS_INLINE void for_lanes(std::size_t first, std::size_t last, Body&& body) {
  constexpr auto step = static_cast<std::size_t>(lanes<V>);
  std::size_t i = first;
  for (; i + step <= last; i += step) body(i, whole<V>{});
  if constexpr (step > 1) {
    if (i < last) body(i, static_cast<int>(last - i));
  }
}

template <class V, class T>
[[nodiscard]] TINYGRAD_ALWAYS_INLINE V load_lanes(const T* p, whole<V>) {
  return load<V>(p);
}
template <class V, class T>
[[nodiscard]] TINYGRAD_ALWAYS_INLINE V load_lanes(const T* p, int count) {
  return load<V>(p, count);
}
template <class V, class T>
TINYGRAD_ALWAYS_INLINE void store_lanes(T* p, const V& v, whole<V>) {
  store(p, v);
}
template <class V, class T>
TINYGRAD_ALWAYS_INLINE void store_lanes(T* p, const V& v, int count) {
  store(p, v, count);
}

/// v with every lane from `count` on set to zero: partial loads give zeros, but f(0) need not be zero or even finite.
template <class V>
[[nodiscard]] TINYGRAD_ALWAYS_INLINE V first_lanes(const V& v, whole<V>) {
  return v;
}
template <class V>
[[nodiscard]] TINYGRAD_ALWAYS_INLINE V first_lanes(const V& v, int count) {
  scalar_of<V> all[static_cast<std::size_t>(lanes<V>)];
  store(all, v);
  return load<V>(all, count);
}
template <class V>
[[nodiscard]] TINYGRAD_ALWAYS_INLINE scalar_of<V> lane_of(const V& v, int lane) {
  if constexpr (is_pack<V>)
    return v[lane];
  else
    return v;
}

}  // namespace tinygrad::inline TINYGRAD_ABI
