// Embedding: a table of vectors, one row for each id.
#pragma once

#include <cstddef>
#include <span>
#include <tinygrad/nn/init.hpp>
#include <tinygrad/nn/module.hpp>
#include <tinygrad/nn/stored.hpp>
#include <tinygrad/ops/embedding.hpp>
#include <tinygrad/ops/matmul.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

template <class T, class P = default_policy>
struct Embedding {
  using tensor = Tensor<T, P>;

  tensor weight;       // [ids, channels]
  QuantMatrix stored;  // the same in a file's format, in place of weight

  Embedding() = default;
  template <class Generator>
  Embedding(std::size_t ids, std::size_t channels, Generator& random, double stddev = 0.02)
      : weight(normal_parameter<T, P>({ids, channels}, random, stddev)) {}

  template <class Visit>
  void visit(Visit&& visit) {
    visit("weight", weight);
  }

  /// ids of shape `shape` -> [shape..., channels]. Throws index_error for an id outside the table.
  [[nodiscard]] tensor operator()(std::span<const int> ids, const Shape& shape) const {
    return stored.defined() ? stored_rows<T, P>(stored, ids, shape) : embedding(weight, ids, shape);
  }
  /// x [..., channels] times the table's transpose -> [..., ids]: a head tied to the table.
  [[nodiscard]] tensor head(const tensor& x) const {
    return stored.defined() ? multiply_stored(x, stored) : matmul_t(x, weight);
  }
};

}  // namespace tinygrad::inline TINYGRAD_ABI
