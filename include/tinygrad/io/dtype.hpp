// Element types of stored arrays: the one table of their names and widths, and reading them as C++ numbers.
//
// The types are those of safetensors, in its order (by alignment, which is also how its writer sorts tensors).
// Types without a C++ counterpart (4- to 8-bit floats, complex) can be listed and copied as bytes, not read as numbers.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/half.hpp>
#include <tinygrad/io/byte_reader.hpp>
#include <type_traits>

namespace tinygrad::inline TINYGRAD_ABI {

enum class dtype : std::uint8_t {
  boolean,
  f4,
  f6_e2m3,
  f6_e3m2,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  c64,
  f64,
  i64,
  u64
};

/// What a type is called in safetensors, how wide it is, and its code in .npy files (empty: NumPy has none).
struct dtype_info {
  dtype type;
  std::string_view name;
  unsigned bits;
  std::string_view numpy;
};

inline constexpr std::array<dtype_info, 22> dtypes{{
    {dtype::boolean, "BOOL", 8, "b1"},
    {dtype::f4, "F4", 4, ""},
    {dtype::f6_e2m3, "F6_E2M3", 6, ""},
    {dtype::f6_e3m2, "F6_E3M2", 6, ""},
    {dtype::u8, "U8", 8, "u1"},
    {dtype::i8, "I8", 8, "i1"},
    {dtype::f8_e5m2, "F8_E5M2", 8, ""},
    {dtype::f8_e4m3, "F8_E4M3", 8, ""},
    {dtype::f8_e8m0, "F8_E8M0", 8, ""},
    {dtype::f8_e4m3fnuz, "F8_E4M3FNUZ", 8, ""},
    {dtype::f8_e5m2fnuz, "F8_E5M2FNUZ", 8, ""},
    {dtype::i16, "I16", 16, "i2"},
    {dtype::u16, "U16", 16, "u2"},
    {dtype::f16, "F16", 16, "f2"},
    {dtype::bf16, "BF16", 16, ""},
    {dtype::i32, "I32", 32, "i4"},
    {dtype::u32, "U32", 32, "u4"},
    {dtype::f32, "F32", 32, "f4"},
    {dtype::c64, "C64", 64, "c8"},
    {dtype::f64, "F64", 64, "f8"},
    {dtype::i64, "I64", 64, "i8"},
    {dtype::u64, "U64", 64, "u8"},
}};

[[nodiscard]] constexpr const dtype_info& info_of(dtype type) noexcept {
  return dtypes[static_cast<std::size_t>(type)];
}
[[nodiscard]] constexpr std::string_view name_of(dtype type) noexcept { return info_of(type).name; }

/// The type called `name` in safetensors headers (case matters), if there is one.
[[nodiscard]] constexpr std::optional<dtype> dtype_by_name(std::string_view name) noexcept {
  for (const dtype_info& each : dtypes)
    if (each.name == name) return each.type;
  return std::nullopt;
}

namespace detail {
consteval bool dtypes_in_order() {
  for (std::size_t i = 0; i < dtypes.size(); ++i)
    if (static_cast<std::size_t>(dtypes[i].type) != i) return false;
  return true;
}
static_assert(dtypes_in_order(), "info_of indexes the table by the enumerator");

template <class T>
struct dtype_tag {
  using type = T;
};

/// Calls f(dtype_tag<T>{}) with the C++ type of `type` and returns true; false for types that C++ has no number for.
template <class F>
constexpr bool visit_dtype(dtype type, F&& f) {
  switch (type) {
    case dtype::boolean:
      return f(dtype_tag<bool>{}), true;
    case dtype::u8:
      return f(dtype_tag<std::uint8_t>{}), true;
    case dtype::i8:
      return f(dtype_tag<std::int8_t>{}), true;
    case dtype::i16:
      return f(dtype_tag<std::int16_t>{}), true;
    case dtype::u16:
      return f(dtype_tag<std::uint16_t>{}), true;
    case dtype::f16:
      return f(dtype_tag<tinygrad::f16>{}), true;
    case dtype::bf16:
      return f(dtype_tag<tinygrad::bf16>{}), true;
    case dtype::i32:
      return f(dtype_tag<std::int32_t>{}), true;
    case dtype::u32:
      return f(dtype_tag<std::uint32_t>{}), true;
    case dtype::f32:
      return f(dtype_tag<float>{}), true;
    case dtype::f64:
      return f(dtype_tag<double>{}), true;
    case dtype::i64:
      return f(dtype_tag<std::int64_t>{}), true;
    case dtype::u64:
      return f(dtype_tag<std::uint64_t>{}), true;
    default:
      return false;
  }
}

template <class T>
constexpr std::optional<dtype> find_dtype() {
  for (const dtype_info& each : dtypes) {
    bool same = false;
    visit_dtype(each.type, [&](auto tag) { same = std::is_same_v<typename decltype(tag)::type, T>; });
    if (same) return each.type;
  }
  return std::nullopt;
}
}  // namespace detail

/// C++ types that arrays in files can hold.
template <class T>
concept stored_element = detail::find_dtype<T>()
.has_value();

template <stored_element T>
inline constexpr dtype dtype_of = *detail::find_dtype<T>();

/// True when elements of `type` can be read as T without a change of kind: T itself, or any number widened to a float.
template <class T>
[[nodiscard]] constexpr bool readable_as(dtype type) noexcept {
  bool readable = false;
  detail::visit_dtype(type, [&](auto tag) {
    readable = std::is_floating_point_v<T> || std::is_same_v<typename decltype(tag)::type, T>;
  });
  return readable;
}

namespace detail {
/// out[i] = element i at `source`, in byte order `order`: a constant, so that the loop becomes vector code.
template <class Stored, std::endian order, class T>
void convert_elements(const std::byte* source, std::size_t count, T* out) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    out[i] = static_cast<T>(load_bytes<Stored>(source + i * sizeof(Stored), order));
}
}  // namespace detail

/// out[i] = element i of `bytes`, which has any alignment; bytes.size() is a whole number of elements.
/// Requires readable_as<T>(type). Halves widen exactly; F64 and large integers round to the nearest T.
template <stored_element T>
void read_elements(dtype type, std::span<const std::byte> bytes, T* out,
                   std::endian order = std::endian::little) noexcept {
  if (type == dtype_of<T> && order == std::endian::native && type != dtype::boolean) {
    if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
    return;
  }
  detail::visit_dtype(type, [&](auto tag) {
    using stored = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<stored, T>) {
      const std::size_t count = bytes.size() / sizeof(stored);
      if (order == std::endian::little)
        return detail::convert_elements<stored, std::endian::little>(bytes.data(), count, out);
      detail::convert_elements<stored, std::endian::big>(bytes.data(), count, out);
    }
  });
}

/// The bytes as elements in place, without a copy, when type, alignment and byte order allow it; else nothing.
template <stored_element T>
[[nodiscard]] std::optional<std::span<const T>> view_elements(dtype type, std::span<const std::byte> bytes) noexcept {
  const bool aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(T) == 0;
  if (type != dtype_of<T> || std::is_same_v<T, bool> || !aligned || std::endian::native != std::endian::little)
    return std::nullopt;
  return std::span<const T>(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
}

/// Writes elements as they are in memory to `out`, little-endian. Writer: anything with write(span of bytes).
template <class Writer>
void write_elements(Writer& out, dtype type, std::span<const std::byte> data) {
  const std::size_t width = info_of(type).bits / 8;
  if (std::endian::native == std::endian::little || width < 2) return out.write(data);
  std::array<std::byte, 8> element{};
  for (std::size_t start = 0; start < data.size(); start += width) {
    for (std::size_t i = 0; i < width; ++i) element[i] = data[start + width - 1 - i];
    out.write(std::span<const std::byte>(element.data(), width));
  }
}

}  // namespace tinygrad::inline TINYGRAD_ABI
