// Tensors as text, for people: "Tensor<float> (2, 3) [[1, 2, 3], [4, 5, 6]]".
#pragma once

#include <cstdio>
#include <iosfwd>
#include <string>
#include <tinygrad/tensor/tensor.hpp>
#include <type_traits>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {

inline void append_number(std::string& text, double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.6g", value);
  text += digits;
}

/// The block of `shape`'s axes from `axis` on whose first element is `data`; long axes show both ends only.
template <class T>
void append_block(std::string& text, const T* data, const Shape& shape, int axis, std::size_t edge) {
  if (axis == shape.rank()) return append_number(text, static_cast<double>(*data));
  const std::size_t size = shape[axis];
  const std::size_t step = shape.inner(axis);
  text += '[';
  for (std::size_t i = 0; i < size; ++i) {
    if (i > 0) text += ", ";
    if (size > 2 * edge && i == edge) {
      text += "..., ";
      i = size - edge;
    }
    append_block(text, data + i * step, shape, axis + 1, edge);
  }
  text += ']';
}

}  // namespace detail

/// Type, name, shape and values; axes longer than 2 * edge show `edge` values at each end.
template <class T, class P>
[[nodiscard]] std::string to_string(const Tensor<T, P>& x, std::size_t edge = 4) {
  if (!x.defined()) return "Tensor undefined";
  std::string text = std::is_same_v<T, float> ? "Tensor<float>" : "Tensor<double>";
  if (!x.name().empty()) (text += " ") += x.name();
  text += " " + to_string(x.shape()) + " ";
  detail::append_block(text, x.data().data(), x.shape(), 0, edge);
  if (x.needs_grad()) (text += x.is_leaf() ? " requires_grad" : " from ") += x.is_leaf() ? "" : x.op_name();
  return text;
}

template <class T, class P>
std::ostream& operator<<(std::ostream& out, const Tensor<T, P>& x) {
  return out << to_string(x);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
