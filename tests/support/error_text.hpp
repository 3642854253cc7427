// What an error says, for tests that pin the text.
#pragma once

#include <string>
#include <tinygrad/core/error.hpp>

namespace tinygrad_test {

/// The text of the error that `action` throws, or "no error".
template <class F>
[[nodiscard]] std::string error_text(F&& action) {
  try {
    action();
  } catch (const tinygrad::error& caught) {
    return caught.what();
  }
  return "no error";
}

}  // namespace tinygrad_test
