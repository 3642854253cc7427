// embedding: rows of a table, looked up by id.
//
//   y[i, :] = table[ids[i], :]              table [V, C], ids of any shape -> [ids..., C]
//   dtable[ids[i], :] += dy[i, :]           repeated ids add up, in the order of i
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/kernel/copy.hpp>
#include <tinygrad/ops/op.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

struct embedding_op {
  static constexpr std::string_view name = "embedding";
  static constexpr saved_values saves = saved_values::none;

  std::vector<int, pool_allocator<int>> ids;
  Shape ids_shape;

  embedding_op(std::span<const int> wanted, const Shape& shape) : ids(wanted.begin(), wanted.end()), ids_shape(shape) {}

  [[nodiscard]] Shape shape_of(const Shape& table) const {
    if (table.rank() != 2) throw_shape(name, "the table has the wrong number of axes", table, "it must be (V, C)");
    if (ids.size() != ids_shape.count())
      throw shape_error("[embedding] " + std::to_string(ids.size()) + " ids for shape " + to_string(ids_shape) +
                        "; the shape has " + std::to_string(ids_shape.count()));
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (ids[i] < 0 || static_cast<std::size_t>(ids[i]) >= table[0])
        throw index_error("[embedding] id out of range: ids[" + std::to_string(i) + "] = " + std::to_string(ids[i]) +
                          ", table " + to_string(table) + "; 0 <= id < " + std::to_string(table[0]));
    Shape shape = ids_shape;
    return shape.append(table[1]);
  }

  template <class P, class T>
  void forward(view<T> y, view<const T> table) const {
    using V = typename P::template lanes_t<T>;
    const std::size_t columns = table.shape[1];
    P::for_range(ids.size(), detail::copy_grain / (columns + 1) + 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        detail::copy_row<V>(table.data + id(i) * columns, y.data + i * columns, columns, false);
    });
  }

  // Split over columns, because two positions may share a row: each element of the table is one thread's, which adds
  // in the order of the positions.
  template <class P, class T>
  void backward(const result<T>& y, view<const T> table, grad_slot<T> dtable) const {
    using V = typename P::template lanes_t<T>;
    const std::size_t columns = table.shape[1];
    T* target = dtable.zeroed();
    const std::size_t least = 64;  // columns of a piece: whole cache lines
    const std::size_t grain = detail::copy_grain / (ids.size() + 1) / least * least + least;
    P::for_range(columns, grain, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = 0; i < ids.size(); ++i)
        detail::copy_row<V>(y.grad + i * columns + first, target + id(i) * columns + first, last - first, true);
    });
  }

  template <class Try>
  static void examples(Try&& attempt) {
    attempt({{4, 3}}, [](const auto& x) { return embedding(x[0], {2, 0, 2, 2}); });
    attempt({{1, 1}}, [](const auto& x) { return embedding(x[0], {0, 0}); });
    attempt({{5, 37}}, [](const auto& x) { return embedding(x[0], {4, 1, 0, 1, 4, 4}, Shape{2, 3}); });
    attempt({{3, 2}}, [](const auto& x) { return embedding(x[0], {1}, Shape{}); });
    attempt({{3, 2}}, [](const auto& x) { return embedding(x[0], {}, Shape{2, 0}); });
    attempt({{3, 0}}, [](const auto& x) { return embedding(x[0], {1, 2}); });
  }
  template <class Try>
  static void typical(Try&& attempt) {
    std::vector<int> some(1024);
    for (std::size_t i = 0; i < some.size(); ++i) some[i] = static_cast<int>(i * 7919 % 4096);
    attempt({{4096, 768}}, [some](const auto& x) { return embedding(x[0], some, Shape{4, 256}); });
  }

 private:
  [[nodiscard]] std::size_t id(std::size_t i) const { return static_cast<std::size_t>(ids[i]); }
};

/// Rows of `table` [V, C] by id: ids of shape `shape`, row-major -> [shape..., C]. The ids are copied.
/// Throws index_error for an id outside [0, V), shape_error when the table is no matrix or the ids do not fill `shape`.
template <class T, class P>
[[nodiscard]] Tensor<T, P> embedding(const Tensor<T, P>& table, std::span<const int> ids, const Shape& shape) {
  return apply(embedding_op(ids, shape), table);
}
/// The same for a list of ids: -> [ids.size(), C].
template <class T, class P>
[[nodiscard]] Tensor<T, P> embedding(const Tensor<T, P>& table, std::span<const int> ids) {
  return embedding(table, ids, Shape{ids.size()});
}
template <class T, class P>
[[nodiscard]] Tensor<T, P> embedding(const Tensor<T, P>& table, std::initializer_list<int> ids, const Shape& shape) {
  return embedding(table, std::span<const int>(ids.begin(), ids.size()), shape);
}
template <class T, class P>
[[nodiscard]] Tensor<T, P> embedding(const Tensor<T, P>& table, std::initializer_list<int> ids) {
  return embedding(table, std::span<const int>(ids.begin(), ids.size()));
}

}  // namespace tinygrad::inline TINYGRAD_ABI
