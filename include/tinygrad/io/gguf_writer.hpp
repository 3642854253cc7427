// Writes GGUF files (version 3, little-endian) that ggml, llama.cpp and gguf-py read.
//
//   gguf_writer out;
//   out.set("general.architecture", "gpt2");
//   out.set("gpt2.block_count", std::uint32_t{12});
//   out.set_array<float>("tokenizer.ggml.scores", scores);
//   out.add_tensor("token_embd.weight", ggml_type::f32, {50257, 768}, bytes);   // sizes outermost first
//   out.write("model.gguf");
// Pairs and tensors keep the order in which they were added. What no reader would accept is refused when it is added.
// Format: see gguf.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/checked.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/io/byte_reader.hpp>
#include <tinygrad/io/dtype.hpp>
#include <tinygrad/io/gguf.hpp>
#include <tinygrad/io/mapped_file.hpp>
#include <tinygrad/io/text_quote.hpp>
#include <tinygrad/quant/ggml_type.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {
/// The kind of metadata that holds a T.
template <class T>
[[nodiscard]] constexpr std::optional<gguf_kind> find_gguf_kind() {
  for (std::size_t i = 0; i < gguf_kinds.size(); ++i)
    if (gguf_kinds[i].type && *gguf_kinds[i].type == find_dtype<T>()) return static_cast<gguf_kind>(i);
  return std::nullopt;
}
}  // namespace detail

/// Numbers and truth values that GGUF metadata has a kind for.
template <class T>
concept gguf_number = stored_element<T> && detail::find_gguf_kind<T>()
.has_value();

class gguf_writer {
 public:
  /// `alignment` of the tensor data: a power of two up to 1 MiB. Any but 32 is recorded in the file.
  explicit gguf_writer(std::uint32_t alignment = gguf_default_alignment) : alignment_(alignment) {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > gguf_alignment_limit)
      throw value_error("[gguf] the alignment " + std::to_string(alignment) + " is no power of two up to 1 MiB");
    if (alignment != gguf_default_alignment) append_pair("general.alignment", alignment);
  }

  /// Adds a metadata pair. The kind is the exact C++ type: write std::uint32_t{12} where readers expect U32.
  template <gguf_number T>
  void set(std::string_view key, T value) {
    if (key == "general.alignment") throw value_error("[gguf] the alignment is given to the writer's constructor");
    append_pair(key, value);
  }
  void set(std::string_view key, std::string_view text) {
    start_pair(key, gguf_kind::string);
    append_text(pairs_, text);
  }
  void set(std::string_view key, const char* text) { set(key, std::string_view(text)); }
  void set(std::string_view key, const std::string& text) { set(key, std::string_view(text)); }

  template <gguf_number T>
  void set_array(std::string_view key, std::span<const T> values) {
    start_array(key, *detail::find_gguf_kind<T>(), values.size());
    for (const T value : values) append_little_endian(pairs_, value);
  }
  /// An array of strings: a container of anything that converts to std::string_view.
  template <class Texts>
  void set_texts(std::string_view key, const Texts& texts) {
    start_array(key, gguf_kind::string, std::size(texts));
    for (const auto& text : texts) append_text(pairs_, text);
  }

  /// Adds a tensor. `sizes` outermost first; `data` are its blocks, row after row, and must stay until write().
  void add_tensor(std::string_view name, ggml_type type, std::span<const std::uint64_t> sizes,
                  std::span<const std::byte> data) {
    const std::string shown = "[gguf] tensor " + detail::in_quotes(name);
    if (name.size() > gguf_longest_name) throw value_error(shown + ": the name has more than 63 bytes");
    if (sizes.size() > gguf_most_axes) throw shape_error(shown + ": more than four axes");
    for (const waiting& other : tensors_)
      if (other.name == name) throw value_error(shown + " was added before");
    if (needed_bytes(type, sizes) != data.size())
      throw shape_error(shown + " has " + std::to_string(data.size()) +
                        " bytes of data, which its sizes in blocks of " + std::string(name_of(type)) + " do not need");
    tensors_.push_back({std::string(name), type, {sizes.begin(), sizes.end()}, data});
  }
  void add_tensor(std::string_view name, ggml_type type, std::initializer_list<std::uint64_t> sizes,
                  std::span<const std::byte> data) {
    add_tensor(name, type, std::span<const std::uint64_t>(sizes.begin(), sizes.size()), data);
  }

  /// Writes the file; it appears whole or not at all. Throws io_error.
  void write(const std::string& path) const {
    std::string head = "GGUF";
    append_little_endian(head, std::uint32_t{3});
    append_little_endian(head, std::uint64_t{tensors_.size()});
    append_little_endian(head, std::uint64_t{keys_.size()});
    head += pairs_;
    std::uint64_t offset = 0;
    for (const waiting& tensor : tensors_) {
      describe(head, tensor, offset);
      offset += tensor.data.size() + padding(tensor.data.size());
    }
    if (!tensors_.empty()) head.append(padding(head.size()), '\0');

    atomic_file_writer out(path);
    out.write(head);
    for (const waiting& tensor : tensors_) {
      write_data(out, tensor);
      out.write_zeros(padding(tensor.data.size()));  // after the last one too: ggml reads whole multiples
    }
    out.commit();
  }

 private:
  struct waiting {
    std::string name;
    ggml_type type;
    std::vector<std::uint64_t> sizes;
    std::span<const std::byte> data;
  };

  void start_pair(std::string_view key, gguf_kind kind) {
    if (key.empty() || key.size() > gguf_longest_key)
      throw value_error("[gguf] a key must have 1 to 65535 bytes, not " + std::to_string(key.size()));
    for (const std::string& other : keys_)
      if (other == key) throw value_error("[gguf] the key " + detail::in_quotes(key) + " was set before");
    keys_.emplace_back(key);
    append_text(pairs_, key);
    append_little_endian(pairs_, static_cast<std::uint32_t>(kind));
  }
  template <gguf_number T>
  void append_pair(std::string_view key, T value) {
    start_pair(key, *detail::find_gguf_kind<T>());
    append_little_endian(pairs_, value);
  }
  void start_array(std::string_view key, gguf_kind elements, std::size_t count) {
    start_pair(key, gguf_kind::array);
    append_little_endian(pairs_, static_cast<std::uint32_t>(elements));
    append_little_endian(pairs_, std::uint64_t{count});
  }
  static void append_text(std::string& out, std::string_view text) {
    append_little_endian(out, std::uint64_t{text.size()});
    out += text;
  }

  static std::optional<std::uint64_t> needed_bytes(ggml_type type, std::span<const std::uint64_t> sizes) noexcept {
    const ggml_type_info& info = info_of(type);
    const std::uint64_t row = sizes.empty() ? 1 : sizes.back();
    std::optional<std::uint64_t> bytes =
        row % info.elements == 0 ? checked_mul(row / info.elements, info.bytes) : std::nullopt;
    for (std::size_t axis = 0; axis + 1 < sizes.size(); ++axis)
      if (bytes) bytes = checked_mul(*bytes, sizes[axis]);
    return bytes;
  }

  static void describe(std::string& head, const waiting& tensor, std::uint64_t offset) {
    append_text(head, tensor.name);
    append_little_endian(head, static_cast<std::uint32_t>(tensor.sizes.size()));
    for (std::size_t axis = tensor.sizes.size(); axis-- > 0;) append_little_endian(head, tensor.sizes[axis]);
    append_little_endian(head, static_cast<std::uint32_t>(tensor.type));
    append_little_endian(head, offset);
  }

  // Blocks are bytes in the file's order already; plain elements are as in memory.
  static void write_data(atomic_file_writer& out, const waiting& tensor) {
    if (const auto type = detail::plain_dtype(tensor.type)) return write_elements(out, *type, tensor.data);
    out.write(tensor.data);
  }

  [[nodiscard]] std::size_t padding(std::size_t bytes) const noexcept {
    return (alignment_ - bytes % alignment_) % alignment_;
  }

  std::size_t alignment_;
  std::vector<std::string> keys_;
  std::string pairs_;  // the pairs as bytes of the file
  std::vector<waiting> tensors_;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
