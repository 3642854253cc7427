// The one checked cursor over the bytes of a binary file, and little-endian loads.
//
// Every number, count and length that a file states passes through here and is compared with the bytes that are left
// before anything is allocated or indexed with it. A file that lies gives a format_error with path and byte offset.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/checked.hpp>
#include <tinygrad/core/error.hpp>
#include <type_traits>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {

/// The object representation of `value` with its bytes in reverse order.
template <class T>
[[nodiscard]] constexpr T reverse_bytes(T value) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  auto bytes = std::bit_cast<std::array<unsigned char, sizeof(T)>>(value);
  for (std::size_t i = 0; i < sizeof(T) / 2; ++i) std::swap(bytes[i], bytes[sizeof(T) - 1 - i]);
  return std::bit_cast<T>(bytes);
}

/// The T stored in byte order `order` at `p`, which may have any alignment. A bool is true for any byte but zero.
template <class T>
[[nodiscard]] inline T load_bytes(const std::byte* p, std::endian order = std::endian::little) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    return *p != std::byte{0};
  } else {
    T value;
    std::memcpy(&value, p, sizeof(T));
    return order == std::endian::native ? value : reverse_bytes(value);
  }
}

/// Appends `value` to `out`, little-endian.
template <class T>
inline void append_little_endian(std::string& out, T value) {
  if constexpr (std::endian::native == std::endian::big) value = reverse_bytes(value);
  const auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
  out.append(bytes.data(), bytes.size());
}

[[nodiscard]] inline std::string_view as_text(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
[[nodiscard]] inline std::span<const std::byte> as_byte_span(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// Reads a file's bytes front to back. Holds a view: the bytes must outlive it. Moves only when a read succeeds.
class byte_reader {
 public:
  byte_reader(std::span<const std::byte> bytes, std::string path) : bytes_(bytes), path_(std::move(path)) {}

  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] std::uint64_t remaining() const noexcept { return bytes_.size() - offset_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// The next `count` bytes; `what` names them in the error.
  std::span<const std::byte> bytes(std::uint64_t count, std::string_view what) {
    if (count > remaining()) fail_short(count, what);
    const auto result = bytes_.subspan(offset_, static_cast<std::size_t>(count));
    offset_ += static_cast<std::size_t>(count);
    return result;
  }
  std::string_view text(std::uint64_t count, std::string_view what) { return as_text(bytes(count, what)); }

  /// The next number, little-endian.
  template <class T>
  T number(std::string_view what) {
    return load_bytes<T>(bytes(sizeof(T), what).data());
  }

  /// The next number of unsigned type `U`, read as how many things follow, each at least `least_bytes` (> 0) long.
  /// A count that cannot be true for a file of this size is refused, so the caller may allocate by it.
  template <std::unsigned_integral U>
  std::uint64_t count(std::uint64_t least_bytes, std::string_view what) {
    const std::uint64_t start = offset();
    const std::uint64_t claimed = number<U>(what);
    if (claimed > remaining() / least_bytes)
      fail(start, std::string(what) + " is " + std::to_string(claimed) + ", but only " + std::to_string(remaining()) +
                      " bytes are left and each needs at least " + std::to_string(least_bytes));
    return claimed;
  }

  /// The bytes that follow a length of unsigned type `U`.
  template <std::unsigned_integral U>
  std::string_view sized_text(std::string_view what) {
    const std::uint64_t start = offset();
    const std::uint64_t length = number<U>(what);
    if (length > remaining())
      fail(start, std::string(what) + " claims " + std::to_string(length) + " bytes; " + std::to_string(remaining()) +
                      " are left");
    return text(length, what);
  }

  [[noreturn]] TINYGRAD_COLD void fail(std::uint64_t at, const std::string& what) const {
    throw format_error(path_, at, what);
  }
  [[noreturn]] void fail(const std::string& what) const { fail(offset_, what); }

 private:
  [[noreturn]] TINYGRAD_COLD void fail_short(std::uint64_t count, std::string_view what) const {
    fail("the file ends inside " + std::string(what) + ": " + std::to_string(count) + " bytes needed, " +
         std::to_string(remaining()) + " left");
  }

  std::span<const std::byte> bytes_;
  std::string path_;
  std::size_t offset_ = 0;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
