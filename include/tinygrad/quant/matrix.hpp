// QuantMatrix: a weight matrix [rows, columns] in the format of its file, usually where the file is mapped.
//
//   QuantMatrix w(tensor.type, rows, columns, file.bytes(tensor), file.owner());
//   w.multiply<P>(x, y);          y [n, rows] = x [n, columns] w^T
//   w.dequantise_row(id, to);     an embedding
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <tinygrad/core/buffer.hpp>
#include <tinygrad/core/checked.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/fwd.hpp>
#include <tinygrad/kernel/policy.hpp>
#include <tinygrad/kernel/quant_dot.hpp>
#include <tinygrad/kernel/quant_tile.hpp>
#include <tinygrad/quant/all.hpp>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {

/// How products are computed.
enum class quant_precision {
  fast,  // activations rounded to 8 bits in blocks of 32, products in whole numbers, wherever the machine does that
         // faster; plain formats, and many rows on machines without byte products: exact
  exact  // weights as dequantised, activations as they are
};

/// A view of stored weights, with what keeps them alive. Copies share the weights.
class QuantMatrix {
 public:
  QuantMatrix() = default;
  /// `bytes` holds the blocks of all rows, row after row; `owner` keeps them in place (null: the caller does).
  /// Throws value_error for a type without arithmetic, shape_error for columns that are no whole number of blocks or
  /// bytes of another size.
  QuantMatrix(ggml_type type, std::size_t rows, std::size_t columns, std::span<const std::byte> bytes,
              std::shared_ptr<const void> owner = nullptr)
      : type_(type), rows_(rows), columns_(columns), data_(bytes.data()), owner_(std::move(owner)) {
    const std::size_t needed = checked_bytes(type, rows, columns);
    if (bytes.size() != needed)
      fail("sizes differ: " + text() + " has " + std::to_string(needed) + " bytes, not " +
           std::to_string(bytes.size()));
  }

  /// Stores values [rows, columns] in a format: the simple ones rounded as ggml's reference code rounds, the K formats
  /// with the least squared error that a search finds. Throws like the constructor; value_error too where values are
  /// not finite or too large for half-precision scales (65504).
  [[nodiscard]] static QuantMatrix quantise(ggml_type type, std::size_t rows, std::size_t columns,
                                            std::span<const float> values) {
    const std::size_t needed = checked_bytes(type, rows, columns);
    if (values.size() != rows * columns)
      fail("sizes differ: " + std::to_string(values.size()) + " values for " + describe(type, rows, columns));
    const auto memory = std::make_shared<scratch<std::byte>>(needed);
    quant::visit_format(type, [&](auto format) { quantise_as<decltype(format)>(values, memory->data()); });
    return QuantMatrix(type, rows, columns, {memory->data(), needed}, memory);
  }

  [[nodiscard]] bool defined() const noexcept { return data_ != nullptr; }
  [[nodiscard]] ggml_type type() const noexcept { return type_; }
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return bytes_of_row(type_, columns_); }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, rows_ * row_bytes()}; }
  [[nodiscard]] const std::shared_ptr<const void>& owner() const noexcept { return owner_; }

  /// How multiply computes where its caller does not say; fast unless set. Copies carry it along.
  [[nodiscard]] quant_precision precision() const noexcept { return precision_; }
  void set_precision(quant_precision precision) noexcept { precision_ = precision; }

  /// y [n, rows] = x [n, columns] w^T; n follows from the size of x. Does not allocate once the pool is warm.
  template <class P = default_policy>
  void multiply(std::span<const float> x, std::span<float> y) const {
    multiply<P>(x, y, precision_);
  }
  template <class P = default_policy>
  void multiply(std::span<const float> x, std::span<float> y, quant_precision precision) const {
    const std::size_t n = columns_ == 0 ? (rows_ == 0 ? 0 : y.size() / rows_) : x.size() / columns_;
    if (x.size() != n * columns_ || y.size() != n * rows_)
      fail("sizes differ: x of " + std::to_string(x.size()) + ", y of " + std::to_string(y.size()) + " for " + text() +
           "; x is [n, columns], y [n, rows]");
    if (y.empty()) return;
    quant::visit_format(type_,
                        [&](auto format) { multiply_as<P, decltype(format)>(x.data(), n, y.data(), precision); });
  }

  /// All values, row after row.
  template <class P = default_policy>
  void dequantise(std::span<float> to) const {
    if (to.size() != rows_ * columns_) fail("sizes differ: " + std::to_string(to.size()) + " values for " + text());
    quant::visit_format(type_,
                        [&](auto format) { quant_dequantise<P, decltype(format)>(view(), 0, rows_, to.data()); });
  }
  /// The values of one row. Throws index_error.
  void dequantise_row(std::size_t row, std::span<float> to) const {
    if (row >= rows_) throw index_error("[quant] row " + std::to_string(row) + " of " + text());
    if (to.size() != columns_) fail("sizes differ: " + std::to_string(to.size()) + " values for a row of " + text());
    quant::visit_format(type_,
                        [&](auto format) { quant_dequantise<packed, decltype(format)>(view(), row, 1, to.data()); });
  }

 private:
  static constexpr std::size_t panel_bytes = std::size_t{1} << 20;  // of dequantised weights

  /// Up to so many rows of x the blocks are read in place: beyond, one dequantising and a gemm cost less. Measured.
  template <class F>
  [[nodiscard]] static constexpr std::size_t few_rows(quant_precision precision) noexcept {
    const bool unpacks_to_floats = quant::block_format<F> && precision == quant_precision::exact;
    return std::is_same_v<F, quant::f32> || unpacks_to_floats ? 4 : 8;
  }

  /// Rows of x from which tiles of whole numbers are faster than the blocks in place. Measured.
  template <class F>
  static constexpr std::size_t tile_rows = F::bits <= 5 ? 4 : 9;

  [[noreturn]] TINYGRAD_COLD static void fail(const std::string& what) { throw shape_error("[quant] " + what); }
  [[nodiscard]] static std::string describe(ggml_type type, std::size_t rows, std::size_t columns) {
    return "a matrix (" + std::to_string(rows) + ", " + std::to_string(columns) + ") of " + std::string(name_of(type));
  }
  [[nodiscard]] std::string text() const { return describe(type_, rows_, columns_); }

  [[nodiscard]] static std::size_t bytes_of_row(ggml_type type, std::size_t columns) noexcept {
    return columns / info_of(type).elements * info_of(type).bytes;
  }
  static std::size_t checked_bytes(ggml_type type, std::size_t rows, std::size_t columns) {
    quant::visit_format(type, [](auto) {});
    if (columns % info_of(type).elements != 0)
      fail(describe(type, rows, columns) + ": columns must be a multiple of " + std::to_string(info_of(type).elements));
    const auto values = checked_mul(std::uint64_t{rows}, std::uint64_t{columns});
    const auto bytes = checked_mul(std::uint64_t{rows}, std::uint64_t{bytes_of_row(type, columns)});
    if (!values || !bytes || *values > PTRDIFF_MAX / sizeof(float) || *bytes > PTRDIFF_MAX)
      fail(describe(type, rows, columns) + " is too large");
    return static_cast<std::size_t>(*bytes);
  }

  [[nodiscard]] quant_rows view() const noexcept { return {data_, rows_, columns_, row_bytes()}; }

  template <class P, class F>
  void multiply_as(const float* x, std::size_t n, float* y, quant_precision precision) const {
    if constexpr (has_quant_tiles<P, F>) {
      if (precision == quant_precision::fast && n >= tile_rows<F> && columns_ != 0) {
        using tiles = quant_tiles<P, F>;
        const scratch<std::byte> memory(tiles::memory_for(n, columns_));
        return tiles(view(), n, memory.data()).run(x, y);
      }
    }
    if (n > few_rows<F>(precision)) {
      if constexpr (std::is_same_v<F, quant::f32>) {
        if (reinterpret_cast<std::uintptr_t>(data_) % alignof(float) == 0) return multiply_floats<P>(x, n, y);
      }
      const std::size_t panel_rows = rows_per_panel();
      const scratch<float> panel(panel_rows * columns_);
      return quant_gemm<P, F>(view(), x, n, y, panel.data(), panel_rows);
    }
    if constexpr (quant::block_format<F>) {
      if (precision == quant_precision::fast) {
        const scratch<std::byte> memory(byte_activations::memory_for(n, columns_));
        return quant_dot_bytes<P, F>(view(), x, n, y, memory.data());
      }
    }
    quant_dot_exact<P, F>(view(), x, n, y);
  }
  template <class P>
  void multiply_floats(const float* x, std::size_t n, float* y) const {
    const auto k = static_cast<std::ptrdiff_t>(columns_);
    P::gemm(gemm_args<float>{n, rows_, columns_, x, k, 1, reinterpret_cast<const float*>(data_), 1, k, y,
                             static_cast<std::ptrdiff_t>(rows_), false});
  }
  [[nodiscard]] std::size_t rows_per_panel() const noexcept {
    const std::size_t fitting = panel_bytes / sizeof(float) / (columns_ == 0 ? 1 : columns_) / 64 * 64;
    const std::size_t count = fitting == 0 ? 64 : fitting;
    return rows_ < count ? rows_ : count;
  }

  template <class F>
  static void quantise_as(std::span<const float> values, std::byte* to) {
    if constexpr (F::type != ggml_type::f32 && F::type != ggml_type::bf16) check_range(values, F::type);
    for (std::size_t i = 0; i < values.size(); i += F::elements, to += F::bytes) F::quantise(values.data() + i, to);
  }
  static void check_range(std::span<const float> values, ggml_type type) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!(values[i] >= -65504.0f && values[i] <= 65504.0f))
        throw value_error("[quant] value " + std::to_string(i) + " is " + std::to_string(values[i]) + "; " +
                          std::string(name_of(type)) + " holds finite numbers up to 65504");
  }

  ggml_type type_ = ggml_type::f32;
  quant_precision precision_ = quant_precision::fast;
  std::size_t rows_ = 0, columns_ = 0;
  const std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
