// Every error the library throws. All derive from tinygrad::error, so one catch is enough.
//
// The text of an error reads "[op] what is wrong: operand (shape), operand (shape); the rule", for example
//   [matmul] inner sizes differ: lhs (2, 3), rhs (4, 5); lhs[-1] must equal rhs[-2]
// The types live outside the ABI namespace on purpose: see config.hpp.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tinygrad {

/// Base of all errors of this library.
class error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Shapes, ranks or axes that do not fit the operation.
class shape_error : public error {
  using error::error;
};

/// An index, id or position outside its range.
class index_error : public error {
  using error::error;
};

/// The autograd graph is used against its rules: consumed, changed after saving, no gradient to propagate.
class graph_error : public error {
  using error::error;
};

/// A number or option outside the values that make sense (a negative learning rate, a NaN temperature).
class value_error : public error {
  using error::error;
};

/// The operating system refused: file missing, disk full, permission.
class io_error : public error {
  using error::error;
};

/// A file's content breaks its format. Carries where: the path and the byte offset.
class format_error : public error {
 public:
  /// `what` says what is wrong and, where one is concerned, which tensor.
  format_error(const std::string& path, std::uint64_t offset, const std::string& what)
      : error(path + ": byte " + std::to_string(offset) + ": " + what), path_(path), offset_(offset) {}

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

 private:
  std::string path_;
  std::uint64_t offset_;
};

}  // namespace tinygrad
