// Binary files written out in tests, piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/io/byte_reader.hpp>

namespace tinygrad_test {

/// The little-endian bytes of a number.
template <class T>
std::string le(T value) {
  std::string bytes;
  tinygrad::append_little_endian(bytes, value);
  return bytes;
}
inline std::string zeros(std::size_t count) { return std::string(count, '\0'); }
inline std::span<const std::byte> span_of(std::string_view text) { return tinygrad::as_byte_span(text); }

/// A safetensors file with this header text and data.
inline std::string safetensors_bytes(std::string_view header, std::string_view data) {
  return le(std::uint64_t{header.size()}) + std::string(header) + std::string(data);
}

}  // namespace tinygrad_test
