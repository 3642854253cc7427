// NumPy's .npy: one array of numbers, read and written.
//
//   "\x93NUMPY" | u8 major | u8 minor | u16 (version 1) or u32 (versions 2 and 3) N | N bytes of header | data
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   a Python dictionary, padded with blanks and "\n"
// Written as NumPy writes it, byte for byte: data starts at a multiple of 64, a one-tuple has its comma.
// Read in any spelling: either byte order, either quote, any spacing, the 1L of Python 2; arrays in Fortran order come
// out in C order. Structured, string, date and object arrays (pickles) are refused by name.
// NumPy has no bfloat16: such values are written as f4, which holds them exactly.
// Source: numpy/lib/_format_impl.py, NEP 1.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/checked.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/core/shape.hpp>
#include <tinygrad/io/byte_reader.hpp>
#include <tinygrad/io/dtype.hpp>
#include <tinygrad/io/mapped_file.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {

inline constexpr std::string_view npy_magic = "\x93NUMPY";

/// What a header says, checked.
struct npy_array {
  dtype type = dtype::f32;
  std::endian order = std::endian::little;
  bool fortran_order = false;
  std::vector<std::uint64_t> sizes;
  std::uint64_t count = 1;
};

/// Reads the header's dictionary, token by token.
class npy_dictionary {
 public:
  npy_dictionary(std::string_view text, std::uint64_t base, const byte_reader& file)
      : text_(text), base_(base), file_(file) {}

  npy_array read() {
    npy_array array;
    bool has_descr = false, has_order = false, has_shape = false;
    take('{');
    while (!next_is('}')) {
      const std::size_t place = at_;
      const std::string_view key = quoted_text();
      take(':');
      bool& seen = key == "descr" ? has_descr : key == "fortran_order" ? has_order : has_shape;
      if (key != "descr" && key != "fortran_order" && key != "shape") fail(place, "unknown key in the header");
      if (std::exchange(seen, true)) fail(place, "the key '" + std::string(key) + "' appears twice");
      if (key == "descr") read_descr(array);
      if (key == "fortran_order") array.fortran_order = truth();
      if (key == "shape") read_shape(array);
      if (!next_is('}')) take(',');
    }
    take('}');
    blanks();
    if (at_ != text_.size()) fail(at_, "text after the header's dictionary");
    if (!has_descr || !has_order || !has_shape) fail(0, "the header must have 'descr', 'fortran_order' and 'shape'");
    return array;
  }

 private:
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || (text_[at_] >= '\t' && text_[at_] <= '\r'))) ++at_;
  }
  bool next_is(char c) {
    blanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  void take(char c) {
    if (!next_is(c)) fail(at_, std::string("'") + c + "' expected in the header");
    ++at_;
  }

  std::string_view quoted_text() {
    const bool single = next_is('\'');
    if (!single && !next_is('"')) fail(at_, "a string expected in the header");
    const std::size_t start = ++at_;
    while (at_ < text_.size() && text_[at_] != (single ? '\'' : '"')) {
      if (text_[at_] == '\\' || text_[at_] == '\n') fail(at_, "an unusual string in the header");
      ++at_;
    }
    if (at_ == text_.size()) fail(start, "a string without end in the header");
    return text_.substr(start, at_++ - start);
  }

  bool word(std::string_view expected) {
    blanks();
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(expected)) return false;
    const char after = rest.size() > expected.size() ? rest[expected.size()] : ' ';
    if ((after | 0x20) >= 'a' && (after | 0x20) <= 'z') return false;
    at_ += expected.size();
    return true;
  }
  bool truth() {
    if (word("True")) return true;
    if (word("False")) return false;
    fail(at_, "fortran_order must be True or False");
  }

  void read_shape(npy_array& array) {
    take('(');
    bool comma = false;
    while (!next_is(')')) {
      array.sizes.push_back(number());
      comma = next_is(',');
      if (comma) take(',');
      if (!comma && !next_is(')')) fail(at_, "',' or ')' expected in the shape");
    }
    if (array.sizes.size() == 1 && !comma) fail(at_, "a shape of one axis is written with a comma: (3,)");
    take(')');
    for (const std::uint64_t size : array.sizes) {
      const auto product = checked_mul(array.count, size);
      if (!product) fail(at_, "the product of the shape overflows 64 bits");
      array.count = *product;
    }
  }
  std::uint64_t number() {
    blanks();
    const std::size_t start = at_;
    std::optional<std::uint64_t> value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (value) value = checked_mul(*value, 10);
      if (value) value = checked_add(*value, static_cast<std::uint64_t>(text_[at_] - '0'));
    }
    if (at_ == start) fail(at_, "a size expected in the shape");
    if (!value) fail(start, "a size that does not fit 64 bits");
    static_cast<void>(word("L"));  // Python 2 wrote long integers so
    return *value;
  }

  // '<f4': byte order ('<' little, '>' big, '|' for single bytes), kind, bytes.
  void read_descr(npy_array& array) {
    if (next_is('[')) fail(at_, "structured arrays are not supported");
    const std::size_t place = at_;
    const std::string_view descr = quoted_text();
    const char order = descr.empty() ? ' ' : descr.front();
    const std::string_view code = descr.substr(descr.empty() ? 0 : 1);
    const dtype_info* found = nullptr;
    for (const dtype_info& each : dtypes)
      if (!each.numpy.empty() && each.numpy == code) found = &each;
    if (found == nullptr || (order != '<' && order != '>' && !(order == '|' && found->bits == 8)))
      fail(place, "an array of type '" + printable(descr) + "' is not supported");
    array.type = found->type;
    array.order = order == '>' ? std::endian::big : std::endian::little;
  }
  static std::string printable(std::string_view text) {
    std::string result;
    for (const char c : text.substr(0, 40)) result += c >= ' ' && c < 0x7f ? c : '?';
    return result;
  }

  [[noreturn]] void fail(std::size_t place, const std::string& what) const { file_.fail(base_ + place, what); }

  std::string_view text_;
  std::uint64_t base_;
  const byte_reader& file_;
  std::size_t at_ = 0;
};

/// Calls f(i, j) for each element: i its place in C order, counting up, and j its place in Fortran order.
template <class F>
void for_each_fortran_place(const std::vector<std::uint64_t>& sizes, std::uint64_t count, F f) {
  const std::size_t rank = sizes.size();
  std::vector<std::uint64_t> index(rank), stride(rank);
  std::uint64_t step = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    stride[axis] = step;
    step *= sizes[axis];
  }
  std::uint64_t place = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    f(i, place);
    for (std::size_t axis = rank; axis-- > 0;) {  // the next index, the last axis fastest
      place += stride[axis];
      if (++index[axis] < sizes[axis]) break;
      place -= stride[axis] * sizes[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace detail

/// An .npy file, opened and checked.
class npy_file {
 public:
  /// Opens a file. Throws io_error or format_error.
  explicit npy_file(const std::string& path, file_access access = file_access::map)
      : npy_file(std::make_shared<const mapped_file>(path, access)) {}
  explicit npy_file(std::shared_ptr<const mapped_file> file) : npy_file(file->bytes(), file->path(), file) {}
  /// Reads a file's bytes from memory; `owner`, when given, is kept alive with the object. `path` is for errors.
  npy_file(std::span<const std::byte> bytes, std::string path, std::shared_ptr<const void> owner = nullptr)
      : path_(std::move(path)), owner_(std::move(owner)) {
    byte_reader in(bytes, path_);
    array_ = read_header(in);
    const auto needed = checked_mul(array_.count, info_of(array_.type).bits / 8);
    if (!needed || *needed > in.remaining())
      in.fail("the file is cut off: the shape needs " + (needed ? std::to_string(*needed) : "more than 2^64") +
              " bytes of data, and " + std::to_string(in.remaining()) + " are there");
    data_ = in.bytes(*needed, "the data");
    if (in.remaining() != 0) in.fail(std::to_string(in.remaining()) + " stray bytes after the data");
  }

  [[nodiscard]] dtype type() const noexcept { return array_.type; }
  [[nodiscard]] const std::vector<std::uint64_t>& sizes() const noexcept { return array_.sizes; }
  [[nodiscard]] std::uint64_t count() const noexcept { return array_.count; }
  [[nodiscard]] bool fortran_order() const noexcept { return array_.fortran_order; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const std::shared_ptr<const void>& owner() const noexcept { return owner_; }

  /// The shape; format_error when this library has no such shape (more than six axes).
  [[nodiscard]] Shape shape() const {
    try {
      return Shape(std::vector<std::size_t>(array_.sizes.begin(), array_.sizes.end()));
    } catch (const shape_error& problem) {
      throw format_error(path_, 0, problem.what());
    }
  }

  /// The elements where they lie, when they are of type T, in C order, of this machine's byte order, and aligned.
  template <stored_element T>
  [[nodiscard]] std::optional<std::span<const T>> view() const noexcept {
    if (array_.order != std::endian::little || is_transposed()) return std::nullopt;
    return view_elements<T>(array_.type, data_);
  }
  /// Copies the elements in C order into `out`, whose size must be count(). A float type T takes any numeric dtype,
  /// widened or rounded; any other T only its own dtype, else format_error.
  template <stored_element T>
  void read(std::span<T> out) const {
    if (!readable_as<T>(array_.type))
      throw format_error(path_, 0,
                         "an array of " + std::string(name_of(array_.type)) + " cannot be read as " +
                             std::string(name_of(dtype_of<T>)));
    if (out.size() != count())
      throw shape_error("[npy] sizes differ: the array has " + std::to_string(count()) + " elements, the output " +
                        std::to_string(out.size()));
    if (!is_transposed()) return read_elements<T>(array_.type, data_, out.data(), array_.order);
    const std::size_t width = info_of(array_.type).bits / 8;
    detail::for_each_fortran_place(array_.sizes, array_.count, [&](std::uint64_t i, std::uint64_t j) {
      read_elements<T>(array_.type, data_.subspan(static_cast<std::size_t>(j) * width, width), &out[i], array_.order);
    });
  }
  template <stored_element T>
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> values(static_cast<std::size_t>(count()));  // bounded by the file: checked when opened
    read<T>(std::span<T>(values));
    return values;
  }

 private:
  // With at most one axis both orders are the same.
  [[nodiscard]] bool is_transposed() const noexcept { return array_.fortran_order && array_.sizes.size() > 1; }

  static detail::npy_array read_header(byte_reader& in) {
    if (in.remaining() < detail::npy_magic.size() || in.text(detail::npy_magic.size(), "magic") != detail::npy_magic)
      in.fail(0, "no .npy file: it must start with \\x93NUMPY");
    const unsigned major = in.number<std::uint8_t>("the version");
    const unsigned minor = in.number<std::uint8_t>("the version");
    if (major < 1 || major > 3 || minor != 0)
      in.fail(6, "version " + std::to_string(major) + "." + std::to_string(minor) +
                     " is unknown; 1.0, 2.0 and 3.0 are read");
    const std::string_view text = major == 1 ? in.sized_text<std::uint16_t>("the header length")
                                             : in.sized_text<std::uint32_t>("the header length");
    return detail::npy_dictionary(text, in.offset() - text.size(), in).read();
  }

  std::string path_;
  std::shared_ptr<const void> owner_;
  detail::npy_array array_;
  std::span<const std::byte> data_;
};

// --- writing -----------------------------------------------------------------------------------------------------

namespace detail {

/// The bytes before the data. NumPy leaves room to rewrite the first size in place (up to 21 digits), and pads by one
/// to 64 bytes, never by none.
[[nodiscard]] inline std::string npy_header(dtype type, const Shape& shape) {
  const dtype_info& info = info_of(type);
  const char order = info.bits == 8 ? '|' : '<';
  std::string text =
      std::string("{'descr': '") + order + std::string(info.numpy) + "', 'fortran_order': False, 'shape': (";
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  text += shape.rank() == 1 ? ",), }" : "), }";
  if (shape.rank() > 0) text.append(21 - std::to_string(shape[0]).size(), ' ');
  constexpr std::size_t prefix = npy_magic.size() + 4;
  text.append(64 - (prefix + text.size() + 1) % 64, ' ');
  text += '\n';
  std::string header(npy_magic);
  header += std::string_view("\1\0", 2);
  append_little_endian(header, static_cast<std::uint16_t>(text.size()));  // six axes never need version 2
  return header + text;
}

}  // namespace detail

/// Writes an array in C order. The file appears whole or not at all. Throws io_error, or shape_error when the shape
/// does not have values.size() elements.
template <stored_element T>
void write_npy(const std::string& path, const Shape& shape, std::span<const T> values) {
  if (shape.count() != values.size())
    throw shape_error("[npy] sizes differ: " + std::to_string(values.size()) + " values, shape " + to_string(shape));
  if constexpr (std::is_same_v<T, bf16>) {
    const std::vector<float> widened(values.begin(), values.end());
    write_npy<float>(path, shape, widened);
  } else {
    atomic_file_writer out(path);
    out.write(detail::npy_header(dtype_of<T>, shape));
    write_elements(out, dtype_of<T>, std::as_bytes(values));
    out.commit();
  }
}

}  // namespace tinygrad::inline TINYGRAD_ABI
