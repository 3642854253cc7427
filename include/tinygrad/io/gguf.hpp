// GGUF versions 2 and 3, the file format of ggml and llama.cpp: metadata and tensors, read where they lie.
//
//   "GGUF" | u32 version | u64 tensors | u64 pairs | pairs | tensor descriptions | padding | data       (little-endian)
//   pair         string key | u32 kind | value; an array value: u32 kind of elements | u64 count | elements
//   description  string name | u32 axes (0 to 4) | u64 sizes, innermost first | u32 type | u64 offset in the data
//   string       u64 length | bytes
// Tensors follow each other in the data, each starting at the next multiple of `general.alignment` (32 when absent).
//
// Refused as ggml's own reader refuses (gguf.cpp): version 1, big-endian files, empty or repeated keys, repeated tensor
// names or ones of 64 bytes and more, arrays of arrays, unknown types, rows that are no whole number of blocks, any
// offset but the next one. And more strictly: an alignment above 1 MiB (that field alone could ask for any amount of
// padding), a truth value other than 0 and 1, keys above 65535 bytes; both of the latter as the specification says.
// A tensor without elements is accepted; bytes after the last tensor are ignored (writers pad there).
// Sizes are given outermost first, like everywhere in this library: the reverse of the file's order.
// Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md and llama.cpp's ggml/src/gguf.cpp.
#pragma once

#include <algorithm>
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
#include <tinygrad/io/text_quote.hpp>
#include <tinygrad/quant/ggml_type.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

inline constexpr std::uint64_t gguf_default_alignment = 32;
inline constexpr std::uint64_t gguf_alignment_limit = std::uint64_t{1} << 20;
inline constexpr std::size_t gguf_longest_key = 65535;
inline constexpr std::size_t gguf_longest_name = 63;
inline constexpr std::uint32_t gguf_most_axes = 4;

/// Kinds of metadata values, by their number in the file.
enum class gguf_kind : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

/// What a kind is called, and the C++ type of its values (none for strings and arrays).
struct gguf_kind_info {
  std::string_view name;
  std::optional<dtype> type;
};
inline constexpr std::array<gguf_kind_info, 13> gguf_kinds{{{"U8", dtype::u8},
                                                            {"I8", dtype::i8},
                                                            {"U16", dtype::u16},
                                                            {"I16", dtype::i16},
                                                            {"U32", dtype::u32},
                                                            {"I32", dtype::i32},
                                                            {"F32", dtype::f32},
                                                            {"BOOL", dtype::boolean},
                                                            {"STRING", std::nullopt},
                                                            {"ARRAY", std::nullopt},
                                                            {"U64", dtype::u64},
                                                            {"I64", dtype::i64},
                                                            {"F64", dtype::f64}}};
[[nodiscard]] constexpr const gguf_kind_info& info_of(gguf_kind kind) noexcept {
  return gguf_kinds[static_cast<std::size_t>(kind)];
}
[[nodiscard]] constexpr std::string_view name_of(gguf_kind kind) noexcept { return info_of(kind).name; }

/// One metadata pair, as it lies in the file. A view: the file must outlive it.
struct gguf_pair {
  std::string_view key;
  gguf_kind kind = gguf_kind::u8;  // of the value, or of its elements
  bool is_array = false;
  std::uint64_t count = 1;           // elements; 1 unless an array
  std::span<const std::byte> bytes;  // of the value or the elements
  std::uint64_t position = 0;        // of the key in the file
};

/// One tensor of the file.
struct gguf_tensor {
  std::string name;
  ggml_type type = ggml_type::f32;
  std::vector<std::uint64_t> sizes;  // outermost first, the reverse of the file's order
  std::uint64_t offset = 0;          // of its first byte, from the start of the file
  std::uint64_t bytes = 0;

  /// Number of elements; the reader has checked that the product fits 63 bits.
  [[nodiscard]] std::uint64_t count() const noexcept {
    std::uint64_t product = 1;
    for (const std::uint64_t size : sizes) product *= size;
    return product;
  }
};

namespace detail {

/// The element type of plain (not block-quantised) tensors.
[[nodiscard]] constexpr std::optional<dtype> plain_dtype(ggml_type type) noexcept {
  if (info_of(type).elements != 1) return std::nullopt;
  return dtype_by_name(name_of(type));  // the names are the same
}

/// Reads everything before the data, in small steps.
class gguf_header {
 public:
  gguf_header(std::span<const std::byte> bytes, const std::string& path) : in_(bytes, path), size_(bytes.size()) {
    read_magic();
    read_version();
    // The smallest description has 24 bytes: an empty name, no axes; the smallest pair 14: a key of one byte, a U8.
    const std::uint64_t tensor_count = in_.count<std::uint64_t>(24, "the number of tensors");
    const std::uint64_t pair_count = in_.count<std::uint64_t>(14, "the number of metadata pairs");
    for (std::uint64_t i = 0; i < pair_count; ++i) read_pair();
    sort_keys();
    find_alignment();
    for (std::uint64_t i = 0; i < tensor_count; ++i) read_tensor();
    sort_names();
    place_tensors();
  }

  std::uint32_t version = 0;
  std::uint64_t alignment = gguf_default_alignment;
  std::vector<gguf_pair> pairs;
  std::vector<gguf_tensor> tensors;
  std::vector<std::uint32_t> by_key, by_name;  // indices into pairs and tensors, sorted

 private:
  void read_magic() {
    if (in_.remaining() < 4 || in_.text(4, "the magic") != "GGUF") in_.fail(0, "no GGUF file: it must start with GGUF");
  }

  void read_version() {
    version = in_.number<std::uint32_t>("the version");
    if (version == 2 || version == 3) return;
    if (version == 1) in_.fail(4, "GGUF version 1 is no longer in use; convert the file with llama.cpp's tools");
    if (version != 0 && (version & 0xffff) == 0)
      in_.fail(4, "a big-endian GGUF file (version " + std::to_string(reverse_bytes(version)) +
                      " in that byte order); only little-endian ones are read");
    in_.fail(4, "GGUF version " + std::to_string(version) + " is unknown; 2 and 3 are read");
  }

  void read_pair() {
    gguf_pair& pair = pairs.emplace_back();
    pair.position = in_.offset();
    pair.key = in_.sized_text<std::uint64_t>("the length of a key");
    if (pair.key.empty()) in_.fail(pair.position, "an empty key");
    if (pair.key.size() > gguf_longest_key)
      in_.fail(pair.position, "a key of " + std::to_string(pair.key.size()) + " bytes; the limit is 65535");
    pair.kind = read_kind(pair);
    if (pair.kind == gguf_kind::array) {
      pair.is_array = true;
      pair.kind = read_kind(pair);
      if (pair.kind == gguf_kind::array) fail(pair, "arrays of arrays are not supported");
      const std::uint64_t least = pair.kind == gguf_kind::string ? 8 : width(pair.kind);
      pair.count = in_.count<std::uint64_t>(least, "key " + in_quotes(pair.key) + ": the number of elements");
    }
    const std::uint64_t start = in_.offset();
    pair.bytes =
        pair.kind == gguf_kind::string ? pass_strings(pair) : in_.bytes(pair.count * width(pair.kind), value_of(pair));
    if (pair.kind == gguf_kind::boolean)
      for (const std::byte value : pair.bytes)
        if (value > std::byte{1}) in_.fail(start, value_of(pair) + " holds a truth value that is neither 0 nor 1");
  }

  gguf_kind read_kind(const gguf_pair& pair) {
    const std::uint64_t start = in_.offset();
    const auto number = in_.number<std::uint32_t>("the kind of key " + in_quotes(pair.key));
    if (number >= gguf_kinds.size())
      in_.fail(start, "key " + in_quotes(pair.key) + ": kind " + std::to_string(number) + " does not exist");
    return static_cast<gguf_kind>(number);
  }
  static std::uint64_t width(gguf_kind kind) noexcept { return info_of(*info_of(kind).type).bits / 8; }

  // Checks each length; gives the bytes of all the strings with their lengths.
  std::span<const std::byte> pass_strings(const gguf_pair& pair) {
    byte_reader start = in_;
    const std::string what = value_of(pair);
    for (std::uint64_t i = 0; i < pair.count; ++i) static_cast<void>(in_.sized_text<std::uint64_t>(what));
    return start.bytes(in_.offset() - start.offset(), what);
  }
  static std::string value_of(const gguf_pair& pair) { return "the value of key " + in_quotes(pair.key); }

  void sort_keys() {
    by_key = sorted_indices(pairs.size(), [&](std::uint32_t i) { return pairs[i].key; });
    for (std::size_t i = 1; i < by_key.size(); ++i)
      if (pairs[by_key[i]].key == pairs[by_key[i - 1]].key) fail(pairs[by_key[i]], "a duplicate key");
  }

  void find_alignment() {
    for (const gguf_pair& pair : pairs) {
      if (pair.key != "general.alignment") continue;
      if (pair.is_array || pair.kind != gguf_kind::u32) fail(pair, "the alignment must be a U32");
      alignment = load_bytes<std::uint32_t>(pair.bytes.data());
      if (alignment == 0 || (alignment & (alignment - 1)) != 0)
        fail(pair, "the alignment is " + std::to_string(alignment) + "; it must be a power of two");
      if (alignment > gguf_alignment_limit)
        fail(pair, "the alignment is " + std::to_string(alignment) + "; the limit is " +
                       std::to_string(gguf_alignment_limit));
    }
  }

  void read_tensor() {
    gguf_tensor& tensor = tensors.emplace_back();
    places_.push_back(in_.offset());
    tensor.name = in_.sized_text<std::uint64_t>("the length of a tensor name");
    if (tensor.name.size() > gguf_longest_name)
      fail(tensor, "its name has " + std::to_string(tensor.name.size()) + " bytes; the limit is 63");
    const std::string what = "the description of tensor " + in_quotes(tensor.name);
    const auto axes = in_.number<std::uint32_t>(what);
    if (axes > gguf_most_axes)
      fail(tensor, std::to_string(axes) + " axes; the limit is " + std::to_string(gguf_most_axes));
    for (std::uint32_t axis = 0; axis < axes; ++axis)
      tensor.sizes.insert(tensor.sizes.begin(), in_.number<std::uint64_t>(what));
    const auto id = in_.number<std::uint32_t>(what);
    const ggml_type_info* type = find_ggml_type(id);
    if (type == nullptr) fail(tensor, "type " + std::to_string(id) + " does not exist, or no longer");
    tensor.type = type->type;
    tensor.bytes = needed_bytes(tensor, *type);
    tensor.offset = in_.number<std::uint64_t>(what);
  }

  [[nodiscard]] std::uint64_t needed_bytes(const gguf_tensor& tensor, const ggml_type_info& type) const {
    constexpr std::uint64_t limit = std::uint64_t{1} << 63;
    std::optional<std::uint64_t> count = 1;
    for (const std::uint64_t size : tensor.sizes) {
      if (size >= limit) fail(tensor, "a size of " + std::to_string(size) + " is negative or beyond 2^63");
      if (count) count = checked_mul(*count, size);
    }
    if (!count || *count >= limit) fail(tensor, "the number of elements overflows");
    const std::uint64_t row = tensor.sizes.empty() ? 1 : tensor.sizes.back();
    if (row % type.elements != 0)
      fail(tensor, "rows of " + std::to_string(row) + " elements are no whole number of " + std::string(type.name) +
                       " blocks of " + std::to_string(type.elements));
    const auto bytes = checked_mul(*count / type.elements, type.bytes);
    if (!bytes) fail(tensor, "the number of bytes overflows");
    return *bytes;
  }

  void sort_names() {
    by_name = sorted_indices(tensors.size(), [&](std::uint32_t i) -> std::string_view { return tensors[i].name; });
    for (std::size_t i = 1; i < by_name.size(); ++i)
      if (tensors[by_name[i]].name == tensors[by_name[i - 1]].name) fail(tensors[by_name[i]], "a duplicate name");
  }

  // Turns offsets in the data into offsets in the file. Each tensor must start where the one before it and its padding
  // end, which leaves neither holes nor overlaps, and must end inside the file; nothing here can wrap.
  void place_tensors() {
    if (tensors.empty()) return;
    const auto start = checked_round_up(in_.offset(), alignment);
    std::uint64_t expected = 0;
    for (gguf_tensor& tensor : tensors) {
      if (tensor.offset != expected)
        fail(tensor, "its data is at offset " + std::to_string(tensor.offset) + "; the next one is " +
                         std::to_string(expected));
      if (!start || *start > size_ || !range_fits(expected, tensor.bytes, size_ - *start))
        fail(tensor, "its " + std::to_string(tensor.bytes) + " bytes of data at offset " + std::to_string(expected) +
                         " lie outside the file of " + std::to_string(size_) + " bytes");
      tensor.offset = *start + expected;
      const auto padded = checked_round_up(expected + tensor.bytes, alignment);
      if (!padded) fail(tensor, "its end overflows");
      expected = *padded;
    }
  }

  template <class Name>
  static std::vector<std::uint32_t> sorted_indices(std::size_t count, Name name) {
    std::vector<std::uint32_t> order(count);
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const int compared = name(a).compare(name(b));
      return compared != 0 ? compared < 0 : a < b;
    });
    return order;
  }

  [[noreturn]] TINYGRAD_COLD void fail(const gguf_pair& pair, const std::string& what) const {
    in_.fail(pair.position, "key " + in_quotes(pair.key) + ": " + what);
  }
  [[noreturn]] TINYGRAD_COLD void fail(const gguf_tensor& tensor, const std::string& what) const {
    in_.fail(places_[static_cast<std::size_t>(&tensor - tensors.data())],
             "tensor " + in_quotes(tensor.name) + ": " + what);
  }

  byte_reader in_;
  std::uint64_t size_;
  std::vector<std::uint64_t> places_;  // where each tensor's description starts
};

}  // namespace detail

/// A metadata value with its file, so that a value of another kind is a format_error that names key, kinds and byte.
/// A view: the file must outlive it.
class gguf_ref {
 public:
  gguf_ref(const gguf_pair& pair, const std::string& path) : pair_(&pair), path_(&path) {}

  [[nodiscard]] const gguf_pair& pair() const noexcept { return *pair_; }
  [[nodiscard]] std::string_view key() const noexcept { return pair_->key; }

  /// Any whole number that is not negative, of whatever width the writer chose.
  [[nodiscard]] std::uint64_t uint64() const {
    return scalar<std::uint64_t>("a whole number from 0 up", [](auto value, std::uint64_t& out) {
      using stored = decltype(value);
      if constexpr (std::is_integral_v<stored> && !std::is_same_v<stored, bool>) {
        if constexpr (std::is_signed_v<stored>)
          if (value < 0) return false;
        out = static_cast<std::uint64_t>(value);
        return true;
      }
      return false;
    });
  }
  /// Any whole number that fits.
  [[nodiscard]] std::int64_t int64() const {
    return scalar<std::int64_t>("a whole number of 64 bits", [](auto value, std::int64_t& out) {
      using stored = decltype(value);
      if constexpr (std::is_integral_v<stored> && !std::is_same_v<stored, bool>) {
        out = static_cast<std::int64_t>(value);
        return std::is_signed_v<stored> || out >= 0;
      }
      return false;
    });
  }
  /// Any number.
  [[nodiscard]] double number() const {
    return scalar<double>("a number", [](auto value, double& out) {
      out = static_cast<double>(value);
      return !std::is_same_v<decltype(value), bool>;
    });
  }
  [[nodiscard]] bool boolean() const {
    return scalar<bool>("a truth value", [](auto value, bool& out) {
      out = value != 0;
      return std::is_same_v<decltype(value), bool>;
    });
  }
  /// A string's bytes, in the file. Not necessarily UTF-8.
  [[nodiscard]] std::string_view text() const {
    if (pair_->is_array || pair_->kind != gguf_kind::string) fail_kind("a STRING");
    return as_text(pair_->bytes.subspan(8));
  }

  /// An array of strings.
  [[nodiscard]] std::vector<std::string_view> texts() const {
    if (!pair_->is_array || pair_->kind != gguf_kind::string) fail_kind("an array of STRING");
    byte_reader in(pair_->bytes, *path_);
    std::vector<std::string_view> result;
    result.reserve(static_cast<std::size_t>(pair_->count));  // each has 8 bytes in the file: checked when opened
    for (std::uint64_t i = 0; i < pair_->count; ++i) result.push_back(in.sized_text<std::uint64_t>("a string"));
    return result;
  }
  /// An array of numbers: of exactly T, or, for a float type T, of any numbers.
  template <stored_element T>
  [[nodiscard]] std::vector<T> numbers() const {
    const auto type = info_of(pair_->kind).type;
    if (!pair_->is_array || !type || !readable_as<T>(*type) || (*type == dtype::boolean && !std::is_same_v<T, bool>))
      fail_kind("an array of " + (std::is_floating_point_v<T> ? "numbers" : std::string(name_of(dtype_of<T>))));
    std::vector<T> values(static_cast<std::size_t>(pair_->count));
    read_elements<T>(*type, pair_->bytes, values.data());
    return values;
  }

  /// "a STRING", "an array of 512 I32": for messages and listings.
  [[nodiscard]] std::string kind_text() const {
    const std::string kind(name_of(pair_->kind));
    if (!pair_->is_array) return (kind.front() == 'I' ? "an " : "a ") + kind;
    return "an array of " + std::to_string(pair_->count) + " " + kind;
  }
  [[noreturn]] TINYGRAD_COLD void fail(const std::string& what) const {
    throw format_error(*path_, pair_->position, "key " + detail::in_quotes(pair_->key) + ": " + what);
  }

 private:
  [[noreturn]] TINYGRAD_COLD void fail_kind(const std::string& wanted) const {
    fail(wanted + " is needed here, not " + kind_text());
  }
  // The one value, converted by `convert(stored value, out)`, which says whether it can be.
  template <class T, class Convert>
  T scalar(const char* wanted, Convert convert) const {
    T out{};
    bool converted = false;
    const auto type = info_of(pair_->kind).type;
    if (!pair_->is_array && type)
      detail::visit_dtype(*type, [&](auto tag) {
        using stored = typename decltype(tag)::type;
        if constexpr (std::is_arithmetic_v<stored>) converted = convert(load_bytes<stored>(pair_->bytes.data()), out);
      });
    if (!converted) fail_kind(wanted);
    return out;
  }

  const gguf_pair* pair_;
  const std::string* path_;
};

/// A GGUF file, opened and checked. Everything stays in the file's mapping until it is asked for.
class gguf_file {
 public:
  /// Opens a file. Throws io_error or format_error.
  explicit gguf_file(const std::string& path, file_access access = file_access::map)
      : gguf_file(std::make_shared<const mapped_file>(path, access)) {}
  explicit gguf_file(std::shared_ptr<const mapped_file> file) : gguf_file(file->bytes(), file->path(), file) {}
  /// Reads a file's bytes from memory; `owner`, when given, is kept alive with the object. `path` is for errors.
  gguf_file(std::span<const std::byte> bytes, std::string path, std::shared_ptr<const void> owner = nullptr)
      : path_(std::move(path)), bytes_(bytes), owner_(std::move(owner)), header_(bytes_, path_) {}

  [[nodiscard]] std::uint32_t version() const noexcept { return header_.version; }
  [[nodiscard]] std::uint64_t alignment() const noexcept { return header_.alignment; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// What keeps the bytes in place: hold a copy for as long as a view is used without the object.
  [[nodiscard]] const std::shared_ptr<const void>& owner() const noexcept { return owner_; }

  /// All metadata, in file order.
  [[nodiscard]] const std::vector<gguf_pair>& pairs() const noexcept { return header_.pairs; }
  /// The value of `key`, or nothing.
  [[nodiscard]] std::optional<gguf_ref> find(std::string_view key) const noexcept {
    const auto index = search(header_.by_key, key, [&](std::uint32_t i) { return header_.pairs[i].key; });
    return index ? std::optional<gguf_ref>({header_.pairs[*index], path_}) : std::nullopt;
  }
  /// The value of `key`, which must exist.
  [[nodiscard]] gguf_ref operator[](std::string_view key) const {
    if (const auto found = find(key)) return *found;
    throw format_error(path_, 0, "the key " + detail::in_quotes(key) + " is missing");
  }

  /// All tensors, in the order of their data.
  [[nodiscard]] const std::vector<gguf_tensor>& tensors() const noexcept { return header_.tensors; }
  /// The tensor called `name`, or null.
  [[nodiscard]] const gguf_tensor* find_tensor(std::string_view name) const noexcept {
    const auto index =
        search(header_.by_name, name, [&](std::uint32_t i) -> std::string_view { return header_.tensors[i].name; });
    return index ? &header_.tensors[*index] : nullptr;
  }
  /// The tensor called `name`. Throws format_error when there is none.
  [[nodiscard]] const gguf_tensor& tensor(std::string_view name) const {
    if (const gguf_tensor* found = find_tensor(name)) return *found;
    throw format_error(path_, 0, "there is no tensor " + detail::in_quotes(name));
  }
  /// The tensor's shape. At most four axes always fit; an absurd one without elements may not.
  [[nodiscard]] Shape shape(const gguf_tensor& tensor) const {
    try {
      return Shape(std::vector<std::size_t>(tensor.sizes.begin(), tensor.sizes.end()));
    } catch (const shape_error& problem) {
      fail(tensor, problem.what());
    }
  }

  /// The tensor's bytes where they lie: blocks of its type, row after row.
  [[nodiscard]] std::span<const std::byte> bytes(const gguf_tensor& tensor) const noexcept {
    return bytes_.subspan(static_cast<std::size_t>(tensor.offset), static_cast<std::size_t>(tensor.bytes));
  }
  /// The elements where they lie, when they are of plain type T and aligned for it.
  template <stored_element T>
  [[nodiscard]] std::optional<std::span<const T>> view(const gguf_tensor& tensor) const noexcept {
    const auto type = detail::plain_dtype(tensor.type);
    return type ? view_elements<T>(*type, bytes(tensor)) : std::nullopt;
  }
  /// Copies the elements of a plain (not block-quantised) tensor, widened or rounded when T is a float type.
  template <stored_element T>
  void read(const gguf_tensor& tensor, std::span<T> out) const {
    const auto type = detail::plain_dtype(tensor.type);
    if (!type || !readable_as<T>(*type))
      fail(tensor,
           "type " + std::string(name_of(tensor.type)) + " cannot be read as " + std::string(name_of(dtype_of<T>)));
    if (out.size() != tensor.count())
      throw shape_error("[gguf] sizes differ: tensor " + detail::in_quotes(tensor.name) + " has " +
                        std::to_string(tensor.count()) + " elements, the output " + std::to_string(out.size()));
    read_elements<T>(*type, bytes(tensor), out.data());
  }
  template <stored_element T>
  [[nodiscard]] std::vector<T> read(const gguf_tensor& tensor) const {
    if (!detail::plain_dtype(tensor.type)) read<T>(tensor, {});  // throws before blocks are counted as elements
    std::vector<T> values(static_cast<std::size_t>(tensor.count()));
    read<T>(tensor, std::span<T>(values));
    return values;
  }

  /// Throws a format_error that names the tensor.
  [[noreturn]] TINYGRAD_COLD void fail(const gguf_tensor& tensor, const std::string& what) const {
    throw format_error(path_, tensor.offset, "tensor " + detail::in_quotes(tensor.name) + ": " + what);
  }

 private:
  template <class Name>
  static std::optional<std::uint32_t> search(const std::vector<std::uint32_t>& order, std::string_view wanted,
                                             Name name) noexcept {
    const auto place = std::lower_bound(order.begin(), order.end(), wanted,
                                        [&](std::uint32_t index, std::string_view key) { return name(index) < key; });
    if (place == order.end() || name(*place) != wanted) return std::nullopt;
    return *place;
  }

  std::string path_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  detail::gguf_header header_;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
