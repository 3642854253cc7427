// Reference data that is not part of the repository (real tokenizers, published checkpoints, logits of other
// programs). Where it is comes from the environment variable TINYGRAD_SHARED_DATA, which ctest sets from the CMake
// cache variable of the same name. A test that needs a missing file says so and passes:
//
//   const auto path = shared_data("models/stories260K/stories260K.bin");
//   if (!path) return;
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace tinygrad_test {

// The path of a file or folder below the data folder, or nothing (with a MESSAGE) when it is not there.
inline std::optional<std::filesystem::path> shared_data(const std::string& relative) {
  const char* root = std::getenv("TINYGRAD_SHARED_DATA");
  if (root == nullptr || *root == '\0') {
    MESSAGE("skipped: TINYGRAD_SHARED_DATA is not set, wanted ", relative);
    return std::nullopt;
  }
  auto path = std::filesystem::path(root) / relative;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    MESSAGE("skipped: not found: ", path.string());
    return std::nullopt;
  }
  return path;
}

}  // namespace tinygrad_test
