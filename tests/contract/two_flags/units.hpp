// What each translation unit of this program offers. They share one source, work.inc, and differ in compiler flags.
#pragma once

#include <string>
#include <vector>

#define TINYGRAD_TEST_UNIT(unit)                                                \
  namespace unit {                                                              \
  std::string build();        /* the name of the library's ABI namespace */     \
  std::vector<float> train(); /* values and gradients of a small computation */ \
  void fail();                /* throws a shape_error */                        \
  }

TINYGRAD_TEST_UNIT(plain)
TINYGRAD_TEST_UNIT(native)
TINYGRAD_TEST_UNIT(one_lane)
