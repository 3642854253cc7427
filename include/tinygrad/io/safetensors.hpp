// safetensors: reading, without a copy where the file allows it, and writing.
//
//   u64 N (little-endian) | N bytes of JSON | data
//   {"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
// Offsets count from the end of the header; the tensors, sorted by offset, must cover the data without hole or overlap.
//
// Judged as the reference implementation (huggingface/safetensors 0.8) judges: N at most 100,000,000, blanks around the
// JSON allowed, unknown members of an entry ignored, zero-size tensors allowed where they fit between others, products
// checked for overflow in the order of the shape. Stricter in three points where the reference takes whatever its JSON
// library does: a repeated tensor name or metadata key is refused (the last one would win there), an entry must be
// an object (a bare array of its three fields would pass there), and a dtype must be a string.
// Source: https://github.com/huggingface/safetensors, README and tensor.rs.
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
#include <tinygrad/io/json_reader.hpp>
#include <tinygrad/io/mapped_file.hpp>
#include <tinygrad/io/text_quote.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

inline constexpr std::uint64_t safetensors_header_limit = 100'000'000;

/// Key and text, in file order.
using text_pairs = std::vector<std::pair<std::string, std::string>>;

/// One tensor of a file: what it is called, what it holds, and where.
struct tensor_info {
  std::string name;
  dtype type = dtype::f32;
  std::vector<std::uint64_t> sizes;  // outermost first; empty for a scalar
  std::uint64_t offset = 0;          // of its first byte, from the start of the file
  std::uint64_t bytes = 0;

  /// Number of elements; the reader has checked that the product fits.
  [[nodiscard]] std::uint64_t count() const noexcept {
    std::uint64_t product = 1;
    for (const std::uint64_t size : sizes) product *= size;
    return product;
  }
};

namespace detail {

/// Reads a file's header: small steps from length to a checked list of tensors.
class safetensors_header {
 public:
  safetensors_header(std::span<const std::byte> bytes, const std::string& path)
      : file_bytes_(bytes.size()), in_(bytes, path) {
    read_length();
    json_limits limits;
    limits.bytes = safetensors_header_limit;
    json_reader json(in_.text(length_, "the header"), path, limits, 8);
    read_entries(json);
    sort_by_place();
    check_names();
    check_cover();
  }

  std::vector<tensor_info> tensors;
  text_pairs metadata;
  std::vector<std::uint32_t> by_name;  // indices into tensors, sorted by name

 private:
  // An entry as its header states it, and where it stands there.
  struct entry {
    tensor_info info;
    std::uint64_t begin = 0, end = 0;  // from the end of the header
    std::uint64_t place = 0;
  };

  void read_length() {
    if (in_.remaining() < 8) in_.fail("the file is too small to be safetensors: a header length needs 8 bytes");
    length_ = in_.number<std::uint64_t>("the header length");
    if (length_ > safetensors_header_limit)
      in_.fail(0, "the header length is " + std::to_string(length_) + "; the limit is 100000000");
    if (length_ > in_.remaining())
      in_.fail(0, "the header length is " + std::to_string(length_) + ", but only " + std::to_string(in_.remaining()) +
                      " bytes follow");
  }

  void read_entries(json_reader& json) {
    std::string_view key;
    json.begin_object();
    while (json.next_key(key)) {
      if (key == "__metadata__") {
        if (seen_metadata_) json.fail_at(json.key_offset(), "duplicate key \"__metadata__\"");
        seen_metadata_ = true;
        read_metadata(json);
      } else {
        read_entry(json, key);
      }
    }
    json.finish();
  }

  void read_metadata(json_reader& json) {
    if (json.peek() == json_kind::null) return json.read_null();
    std::string_view key;
    json.begin_object();
    while (json.next_key(key)) {
      std::string name(key);
      const std::string what = "metadata " + in_quotes(name);
      metadata.emplace_back(std::move(name), json.read_string(what));
    }
    std::vector<std::string_view> keys;
    for (const auto& pair : metadata) keys.push_back(pair.first);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) json.fail("duplicate metadata key " + in_quotes(*twice));
  }

  void read_entry(json_reader& json, std::string_view name) {
    entry& now = entries_.emplace_back();
    now.info.name = name;
    now.place = json.key_offset();
    const std::string what = "tensor " + in_quotes(name);
    if (json.peek() != json_kind::object)
      json.fail(what + " must be described by an object, not " + std::string(name_of(json.peek())));
    json.begin_object();
    bool has_type = false, has_shape = false, has_offsets = false;
    const auto once = [&](bool& seen, const char* field) {
      if (std::exchange(seen, true)) json.fail_at(json.key_offset(), what + " has two members \"" + field + "\"");
    };
    std::string_view key;
    while (json.next_key(key)) {
      if (key == "dtype") {
        once(has_type, "dtype");
        read_type(json, now, what);
      } else if (key == "shape") {
        once(has_shape, "shape");
        read_shape(json, now, what);
      } else if (key == "data_offsets") {
        once(has_offsets, "data_offsets");
        read_offsets(json, now, what);
      } else {
        json.skip();
      }
    }
    if (!has_type) json.fail_at(now.place, what + " has no dtype");
    if (!has_shape) json.fail_at(now.place, what + " has no shape");
    if (!has_offsets) json.fail_at(now.place, what + " has no data_offsets");
  }

  static void read_type(json_reader& json, entry& now, const std::string& what) {
    const std::string_view name = json.read_string(what + ": dtype");
    const auto type = dtype_by_name(name);
    if (!type) json.fail_at(json.value_offset(), what + ": unknown dtype " + in_quotes(name));
    now.info.type = *type;
  }

  static void read_shape(json_reader& json, entry& now, const std::string& what) {
    json.begin_array();
    while (json.next_element()) now.info.sizes.push_back(json.read_uint64(what + ": a size in shape"));
  }

  static void read_offsets(json_reader& json, entry& now, const std::string& what) {
    json.begin_array();
    std::uint64_t* const fields[] = {&now.begin, &now.end};
    std::size_t count = 0;
    while (json.next_element()) {
      const std::uint64_t value = json.read_uint64(what + ": an offset in data_offsets");
      if (count < 2) *fields[count] = value;
      ++count;
    }
    if (count != 2)
      json.fail(what + ": data_offsets has " + std::to_string(count) + " numbers; it must have begin and end");
  }

  void sort_by_place() {
    std::sort(entries_.begin(), entries_.end(), [](const entry& a, const entry& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end != b.end ? a.end < b.end : a.place < b.place;
    });
  }

  void check_names() {
    by_name.resize(entries_.size());
    for (std::uint32_t i = 0; i < by_name.size(); ++i) by_name[i] = i;
    const auto name = [&](std::uint32_t i) -> const std::string& { return entries_[i].info.name; };
    std::sort(by_name.begin(), by_name.end(),
              [&](std::uint32_t a, std::uint32_t b) { return name(a) != name(b) ? name(a) < name(b) : a < b; });
    for (std::size_t i = 1; i < by_name.size(); ++i)
      if (name(by_name[i]) == name(by_name[i - 1]))
        in_.fail((std::max)(entries_[by_name[i]].place, entries_[by_name[i - 1]].place),
                 "duplicate tensor name " + in_quotes(name(by_name[i])));
  }

  // The tensors must follow each other without a gap and fill the file exactly: bytes that belong to no tensor could
  // hold another file, and overlapping tensors could make a small file need unbounded memory.
  void check_cover() {
    std::uint64_t expected = 0;
    for (const entry& now : entries_) {
      const std::string span = "data_offsets [" + std::to_string(now.begin) + ", " + std::to_string(now.end) + "]";
      if (now.end < now.begin) fail(now, span + " end before they begin");
      if (now.begin < expected)
        fail(now, span + " overlap the tensor before, which ends at " + std::to_string(expected));
      if (now.begin > expected)
        fail(now, span + " leave a hole: the tensor before ends at " + std::to_string(expected));
      const std::uint64_t needed = needed_bytes(now);
      if (now.end - now.begin != needed)
        fail(now, span + " hold " + std::to_string(now.end - now.begin) + " bytes, but dtype and shape need " +
                      std::to_string(needed));
      expected = now.end;
    }
    check_end(expected);
    for (entry& now : entries_) {
      now.info.offset = 8 + length_ + now.begin;
      now.info.bytes = now.end - now.begin;
      tensors.push_back(std::move(now.info));
    }
  }

  [[nodiscard]] std::uint64_t needed_bytes(const entry& now) const {
    std::optional<std::uint64_t> bits = 1;
    for (const std::uint64_t size : now.info.sizes)
      if (bits) bits = checked_mul(*bits, size);
    if (bits) bits = checked_mul(*bits, info_of(now.info.type).bits);
    if (!bits) fail(now, "the product of shape and dtype size overflows 64 bits");
    if (*bits % 8 != 0) fail(now, "the elements do not fill whole bytes");
    return *bits / 8;
  }

  void check_end(std::uint64_t data_bytes) const {
    const std::uint64_t present = in_.remaining();
    if (present == data_bytes) return;
    const std::uint64_t data_start = 8 + length_;
    if (present < data_bytes)
      in_.fail(file_bytes_, "the file is cut off: the tensors need " + std::to_string(data_bytes) +
                                " bytes of data, and " + std::to_string(present) + " are there" + last_name());
    in_.fail(data_start + data_bytes,
             std::to_string(present - data_bytes) + " stray bytes after the data of the last tensor" + last_name());
  }
  [[nodiscard]] std::string last_name() const {
    return entries_.empty() ? "" : " (last tensor " + in_quotes(entries_.back().info.name) + ")";
  }

  [[noreturn]] void fail(const entry& at, const std::string& what) const {
    in_.fail(at.place, "tensor " + in_quotes(at.info.name) + ": " + what);
  }

  std::uint64_t file_bytes_;
  byte_reader in_;
  std::uint64_t length_ = 0;
  bool seen_metadata_ = false;
  std::vector<entry> entries_;
};

}  // namespace detail

/// A safetensors file, opened and checked. Data stays in the file's mapping until it is asked for.
class safetensors_file {
 public:
  /// Opens a file. Throws io_error or format_error.
  explicit safetensors_file(const std::string& path, file_access access = file_access::map)
      : safetensors_file(std::make_shared<const mapped_file>(path, access)) {}
  /// Reads a file that is already open.
  explicit safetensors_file(std::shared_ptr<const mapped_file> file)
      : safetensors_file(file->bytes(), file->path(), file) {}
  /// Reads a file's bytes from memory; `owner`, when given, is kept alive with the object. `path` is for errors.
  safetensors_file(std::span<const std::byte> bytes, std::string path, std::shared_ptr<const void> owner = nullptr)
      : path_(std::move(path)), bytes_(bytes), owner_(std::move(owner)) {
    detail::safetensors_header header(bytes_, path_);
    tensors_ = std::move(header.tensors);
    metadata_ = std::move(header.metadata);
    by_name_ = std::move(header.by_name);
  }

  /// All tensors, in the order of their data.
  [[nodiscard]] const std::vector<tensor_info>& tensors() const noexcept { return tensors_; }
  /// The free-form texts of "__metadata__".
  [[nodiscard]] const text_pairs& metadata() const noexcept { return metadata_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// What keeps the bytes in place: hold a copy for as long as a view is used without the object.
  [[nodiscard]] const std::shared_ptr<const void>& owner() const noexcept { return owner_; }

  /// The tensor called `name`, or null.
  [[nodiscard]] const tensor_info* find(std::string_view name) const noexcept {
    const auto place =
        std::lower_bound(by_name_.begin(), by_name_.end(), name,
                         [&](std::uint32_t index, std::string_view wanted) { return tensors_[index].name < wanted; });
    if (place == by_name_.end() || tensors_[*place].name != name) return nullptr;
    return &tensors_[*place];
  }
  /// The tensor called `name`. Throws format_error when there is none.
  [[nodiscard]] const tensor_info& at(std::string_view name) const {
    if (const tensor_info* found = find(name)) return *found;
    throw format_error(path_, 0, "there is no tensor " + detail::in_quotes(name));
  }

  /// The tensor's shape; format_error when this library has no such shape (more than six axes).
  [[nodiscard]] Shape shape(const tensor_info& tensor) const {
    try {
      std::vector<std::size_t> sizes(tensor.sizes.begin(), tensor.sizes.end());
      return Shape(sizes);
    } catch (const shape_error& problem) {
      fail(tensor, problem.what());
    }
  }

  /// The tensor's bytes, little-endian, where they lie.
  [[nodiscard]] std::span<const std::byte> bytes(const tensor_info& tensor) const noexcept {
    return bytes_.subspan(static_cast<std::size_t>(tensor.offset), static_cast<std::size_t>(tensor.bytes));
  }
  /// The elements where they lie, when they are of type T and aligned for it; else nothing, and `read` copies them.
  template <stored_element T>
  [[nodiscard]] std::optional<std::span<const T>> view(const tensor_info& tensor) const noexcept {
    return view_elements<T>(tensor.type, bytes(tensor));
  }
  /// Copies the elements into `out`, whose size must be tensor.count(). A float type T takes any numeric dtype, widened
  /// or rounded; any other T only its own dtype, else format_error.
  template <stored_element T>
  void read(const tensor_info& tensor, std::span<T> out) const {
    if (!readable_as<T>(tensor.type))
      fail(tensor,
           "dtype " + std::string(name_of(tensor.type)) + " cannot be read as " + std::string(name_of(dtype_of<T>)));
    if (out.size() != tensor.count())
      throw shape_error("[safetensors] sizes differ: tensor " + detail::in_quotes(tensor.name) + " has " +
                        std::to_string(tensor.count()) + " elements, the output " + std::to_string(out.size()));
    read_elements<T>(tensor.type, bytes(tensor), out.data());
  }
  template <stored_element T>
  [[nodiscard]] std::vector<T> read(const tensor_info& tensor) const {
    std::vector<T> values(static_cast<std::size_t>(tensor.count()));  // bounded by the file: checked when opened
    read<T>(tensor, values);
    return values;
  }

 private:
  [[noreturn]] TINYGRAD_COLD void fail(const tensor_info& tensor, const std::string& what) const {
    throw format_error(path_, tensor.offset, "tensor " + detail::in_quotes(tensor.name) + ": " + what);
  }

  std::string path_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  std::vector<tensor_info> tensors_;
  text_pairs metadata_;
  std::vector<std::uint32_t> by_name_;
};

// --- writing -----------------------------------------------------------------------------------------------------

/// A tensor to be written. `data` is a view of the elements as they are in memory.
struct tensor_source {
  std::string name;
  dtype type = dtype::f32;
  std::vector<std::uint64_t> sizes;
  std::span<const std::byte> data;
};

/// Describes the elements at `data` as a tensor of this shape.
template <stored_element T>
[[nodiscard]] tensor_source source_of(std::string name, const Shape& shape, std::span<const T> data) {
  return {std::move(name), dtype_of<T>, {shape.begin(), shape.end()}, std::as_bytes(data)};
}

namespace detail {

[[nodiscard]] inline std::uint64_t checked_bytes(const tensor_source& tensor) {
  std::optional<std::uint64_t> bits = info_of(tensor.type).bits;
  for (const std::uint64_t size : tensor.sizes)
    if (bits) bits = checked_mul(*bits, size);
  if (!bits || *bits % 8 != 0 || *bits / 8 != tensor.data.size())
    throw shape_error("[safetensors] tensor " + in_quotes(tensor.name) + " has " + std::to_string(tensor.data.size()) +
                      " bytes of data, which its dtype and shape do not need");
  return *bits / 8;
}

template <class Pairs>
void refuse_repeats(const Pairs& sorted, const char* what) {
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i] == sorted[i - 1])
      throw value_error("[safetensors] two " + std::string(what) + " are called " + in_quotes(sorted[i]));
}

[[nodiscard]] inline std::string safetensors_header_text(const std::vector<const tensor_source*>& tensors,
                                                         const text_pairs& metadata) {
  std::string json = "{";
  const auto separate = [&] {
    if (json.size() > 1) json += ',';
  };
  if (!metadata.empty()) {
    json += "\"__metadata__\":";
    char before = '{';
    for (const auto& [key, text] : metadata) {
      json += std::exchange(before, ',');
      append_json_string(json, key);
      json += ':';
      append_json_string(json, text);
    }
    json += '}';
  }
  std::uint64_t offset = 0;
  for (const tensor_source* tensor : tensors) {
    separate();
    append_json_string(json, tensor->name);
    json += ":{\"dtype\":\"" + std::string(name_of(tensor->type)) + "\",\"shape\":[";
    for (std::size_t axis = 0; axis < tensor->sizes.size(); ++axis) {
      if (axis > 0) json += ',';
      json += std::to_string(tensor->sizes[axis]);
    }
    const std::uint64_t end = offset + tensor->data.size();
    json += "],\"data_offsets\":[" + std::to_string(offset) + "," + std::to_string(end) + "]}";
    offset = end;
  }
  json += '}';
  json.append((8 - json.size() % 8) % 8, ' ');  // data starts aligned
  return json;
}

}  // namespace detail

/// Writes a file in the reference's layout: tensors by descending alignment of their dtype, then by name, so that
/// every one of them is aligned. The file appears whole or not at all, and may be the one that is mapped.
/// Throws io_error, and shape_error or value_error for tensors that no reader would accept.
inline void write_safetensors(const std::string& path, std::span<const tensor_source> tensors,
                              const text_pairs& metadata = {}) {
  std::vector<const tensor_source*> order;
  std::vector<std::string_view> names, keys;
  for (const tensor_source& tensor : tensors) {
    static_cast<void>(detail::checked_bytes(tensor));
    if (tensor.name == "__metadata__") throw value_error("[safetensors] no tensor can be called \"__metadata__\"");
    order.push_back(&tensor);
    names.push_back(tensor.name);
  }
  for (const auto& pair : metadata) keys.push_back(pair.first);
  std::sort(names.begin(), names.end());
  std::sort(keys.begin(), keys.end());
  detail::refuse_repeats(names, "tensors");
  detail::refuse_repeats(keys, "metadata texts");
  std::sort(order.begin(), order.end(), [](const tensor_source* a, const tensor_source* b) {
    return a->type != b->type ? a->type > b->type : a->name < b->name;
  });

  const std::string header = detail::safetensors_header_text(order, metadata);
  if (header.size() > safetensors_header_limit)
    throw value_error("[safetensors] the header needs " + std::to_string(header.size()) +
                      " bytes; the limit is 100000000");
  std::string length;
  append_little_endian(length, std::uint64_t{header.size()});
  atomic_file_writer out(path);
  out.write(length);
  out.write(header);
  for (const tensor_source* tensor : order) write_elements(out, tensor->type, tensor->data);
  out.commit();
}

}  // namespace tinygrad::inline TINYGRAD_ABI
