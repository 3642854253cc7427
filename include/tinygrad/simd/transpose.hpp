// Transposing a square of N x N numbers, N the lanes of a pack, through registers; and sums of lanes of several packs.
//
// Interleaving row i with row i + N/2, for all i, is one step of a perfect shuffle of the index bits (row, lane); after
// log2(N) steps row and lane have changed places. Each step makes two rows of two, so nothing leaves the registers.
#pragma once

#include <cstddef>
#include <tinygrad/simd/pack.hpp>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {
namespace detail {

/// N lanes as a plain vector of the compiler: it can be shuffled, and an array of them is not cleared first.
template <class T, int N>
struct plain_vector {
  using type [[gnu::vector_size(N * sizeof(T))]] = T;
};

/// {a[First], b[First], a[First + 1], b[First + 1], ...}
template <std::size_t First, class Vector, std::size_t... Lane>
TINYGRAD_ALWAYS_INLINE Vector interleave(const Vector& a, const Vector& b, std::index_sequence<Lane...>) {
  return __builtin_shufflevector(a, b, (First + Lane / 2 + Lane % 2 * sizeof...(Lane))...);
}

template <class T, int N>
TINYGRAD_ALWAYS_INLINE void transpose_registers(const T* from, std::ptrdiff_t from_row, T* to, std::ptrdiff_t to_row) {
  using vector = typename plain_vector<T, N>::type;
  constexpr std::make_index_sequence<static_cast<std::size_t>(N)> all{};
  vector row[N], next[N];
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) __builtin_memcpy(&row[i], from + i * from_row, sizeof(vector));
#pragma GCC unroll 4
  for (int step = 1; step < N; step *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < N / 2; ++i) {
      next[2 * i] = interleave<0>(row[i], row[i + N / 2], all);
      next[2 * i + 1] = interleave<N / 2>(row[i], row[i + N / 2], all);
    }
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) row[i] = next[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) __builtin_memcpy(to + i * to_row, &row[i], sizeof(vector));
}

/// Lanes i, i + 4, i + 8, ... added: upper half to lower half until four are left.
template <class T, int N>
TINYGRAD_ALWAYS_INLINE pack<T, 4> fold_to_four(const pack<T, N>& v) {
  if constexpr (N == 4) {
    return v;
  } else {
    struct halves {
      pack<T, N / 2> low, high;
    };
    const auto h = __builtin_bit_cast(halves, v);
    return fold_to_four(h.low + h.high);
  }
}

/// Sums of 4 packs, in order: their lanes are interleaved and added until four alternating sums are left.
template <class T, int N>
TINYGRAD_ALWAYS_INLINE pack<T, 4> sums_of_four(const pack<T, N> (&v)[4]) {
  using vector = typename plain_vector<T, N>::type;
  constexpr std::make_index_sequence<static_cast<std::size_t>(N)> all{};
  const auto mix = [all](const vector& a, const vector& b) {
    return interleave<0>(a, b, all) + interleave<N / 2>(a, b, all);
  };
  const auto even = mix(__builtin_bit_cast(vector, v[0]), __builtin_bit_cast(vector, v[2]));
  const auto odd = mix(__builtin_bit_cast(vector, v[1]), __builtin_bit_cast(vector, v[3]));
  return fold_to_four(__builtin_bit_cast(pack<T, N>, mix(even, odd)));
}

}  // namespace detail

/// to[j * to_row + i] = from[i * from_row + j] for i and j below lanes<V>.
template <class V>
TINYGRAD_ALWAYS_INLINE void transpose_square(const scalar_of<V>* from, std::ptrdiff_t from_row, scalar_of<V>* to,
                                             std::ptrdiff_t to_row) {
  constexpr int n = lanes<V>;
  if constexpr (n > 1 && detail::fills_register<scalar_of<V>, n>) {
    detail::transpose_registers<scalar_of<V>, n>(from, from_row, to, to_row);
  } else {
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) to[j * to_row + i] = from[i * from_row + j];
  }
}

/// to[i] = the sum of the lanes of v[i]. The order of additions depends on the number of lanes only.
template <class T, int N>
TINYGRAD_ALWAYS_INLINE void sum_lanes(const pack<T, N> (&v)[4], T* to) {
  if constexpr (N >= 4 && detail::fills_register<T, N> && (N == 4 || detail::fills_register<T, N / 2>)) {
    detail::sums_of_four(v).store(to);
  } else {
    for (int i = 0; i < 4; ++i) to[i] = reduce_add(v[i]);
  }
}

}  // namespace tinygrad::inline TINYGRAD_ABI
