// The library survives the macros that other people's headers define: this file defines the worst known ones and then
// includes every header. Standard headers come first, as they do in real programs, where they would be broken too.
// No test framework in here: it would not survive.
#include "standard_headers.hpp"  // generated: everything the library includes from elsewhere

// windows.h
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define small char
#define near
#define far
#define interface struct
#define ERROR 0
#define NO_ERROR 0
#define IN
#define OUT
#define OPTIONAL
#define CONST const
#define VOID void
#define TRUE 1
#define FALSE 0
#define DELETE 0x00010000L
// math.h and complex.h of C
#define PI 3.14159265358979323846
#define complex _Complex
#define I (1.0 / 0)
#define DOMAIN 1
#define OVERFLOW 3
#define NAN_ 0
// test frameworks, loggers, kernels, X11, Arduino
#define CHECK(condition) static_assert(false, "CHECK")
#define REQUIRE(condition) static_assert(false, "REQUIRE")
#define FAIL(text) static_assert(false, "FAIL")
#define ASSERT(condition) static_assert(false, "ASSERT")
#define LOG(level) static_assert(false, "LOG")
#define VLOG(level) static_assert(false, "VLOG")
#define DEBUG 1
#define INFO 2
#define OK 0
#define Bool int
#define Status int
#define None 0
#define Success 0
#define abs(x) ((x) > 0 ? (x) : -(x))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define unix 1
#define linux 1

#include "all_headers.hpp"  // generated: every header of the library

// A training step, so that templates are instantiated among the macros too.
bool trains_among_hostile_macros() {
  tinygrad::Random rng(1);
  const auto x = tinygrad::Tensor<float>::randn({4, 3}, rng);
  const auto w = tinygrad::Tensor<float>::randn({3, 2}, rng).requires_grad();
  const auto loss = mean(tanh(matmul(x, w)));
  loss.backward();
  return w.grad().shape() == tinygrad::Shape{3, 2} && rng.permutation(3).size() == 3;
}
