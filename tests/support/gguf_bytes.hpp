// GGUF files written out in tests, piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/file_bytes.hpp"

namespace tinygrad_test {

inline std::string gguf_head(std::uint32_t version, std::uint64_t tensors, std::uint64_t pairs) {
  return "GGUF" + le(version) + le(tensors) + le(pairs);
}
inline std::string gguf_string(std::string_view text) { return le(std::uint64_t{text.size()}) + std::string(text); }
/// A tensor's description, sizes innermost first as in the file.
inline std::string gguf_description(std::string_view name, const std::vector<std::uint64_t>& sizes, std::uint32_t type,
                                    std::uint64_t offset) {
  std::string bytes = gguf_string(name) + le(static_cast<std::uint32_t>(sizes.size()));
  for (const std::uint64_t size : sizes) bytes += le(size);
  return bytes + le(type) + le(offset);
}
/// `bytes` filled up with zeros to a multiple of `step`.
inline std::string padded(std::string bytes, std::size_t step) {
  bytes.resize((bytes.size() + step - 1) / step * step);
  return bytes;
}

}  // namespace tinygrad_test
