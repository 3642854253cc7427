// Checks that a call throws an error of a kind, and that its text says what it should.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <tinygrad/core/error.hpp>

namespace tinygrad_test {

/// Runs f, which must throw a format_error whose text contains every one of `parts`. Gives the byte offset.
template <class F>
std::uint64_t expect_format_error(F f, std::initializer_list<std::string_view> parts) {
  try {
    f();
  } catch (const tinygrad::format_error& error) {
    const std::string text = error.what();
    for (const std::string_view part : parts) {
      CAPTURE(text);
      CAPTURE(part);
      CHECK(text.find(part) != std::string::npos);
    }
    return error.offset();
  } catch (const std::exception& error) {
    FAIL_CHECK("an error of another kind: ", error.what());
    return (std::numeric_limits<std::uint64_t>::max)();
  }
  FAIL_CHECK("nothing was thrown");
  return (std::numeric_limits<std::uint64_t>::max)();
}

}  // namespace tinygrad_test
