// What this build computes with. Benchmarks and examples print it, and warn when it is not what the machine could do.
#pragma once

#include <string_view>

#include <tinygrad/simd/pack.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

struct build_description {
  std::string_view isa;      // the instruction set the compiler was told of: "avx512", "avx2_fma", ..., "base"
  std::string_view backend;  // how packs are made: "std::experimental::simd", "vector extension", "one lane"
  int float_lanes;           // numbers a native pack<float> holds
  bool has_fma;              // whether a * b + c may round once
};

#define TINYGRAD_TEXT_(x) #x
#define TINYGRAD_TEXT(x) TINYGRAD_TEXT_(x)

constexpr build_description build_info() {
  constexpr std::string_view backends[] = {"one lane", "vector extension", "std::experimental::simd"};
  return {TINYGRAD_TEXT(TINYGRAD_ISA), backends[TINYGRAD_PACK_BACKEND], native_lanes<float>, detail::has_fma};
}

#undef TINYGRAD_TEXT
#undef TINYGRAD_TEXT_

}  // namespace tinygrad::inline TINYGRAD_ABI
