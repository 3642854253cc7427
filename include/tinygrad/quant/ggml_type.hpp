// The tensor types of GGUF files: their numbers, names, and how many elements fill how many bytes.
//
// The list is complete so that any file can be opened, listed and copied; a type here need not have arithmetic. Numbers
// that ggml has removed (4 and 5, 31 to 33, 36 to 38) are unknown types.
// Source: ggml.h (enum ggml_type), ggml-common.h (block structures). gguf-py 0.19 agrees but for Q8_1, where it still
// counts two floats a block; ggml stores two halves, and only ever in memory.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tinygrad/core/config.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

enum class ggml_type : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q8_1 = 9,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  q8_k = 15,
  iq2_xxs = 16,
  iq2_xs = 17,
  iq3_xxs = 18,
  iq1_s = 19,
  iq4_nl = 20,
  iq3_s = 21,
  iq2_s = 22,
  iq4_xs = 23,
  i8 = 24,
  i16 = 25,
  i32 = 26,
  i64 = 27,
  f64 = 28,
  iq1_m = 29,
  bf16 = 30,
  tq1_0 = 34,
  tq2_0 = 35,
  mxfp4 = 39,
  nvfp4 = 40,
  q1_0 = 41
};

/// A row of such a tensor is a whole number of blocks: `elements` of it in `bytes`.
struct ggml_type_info {
  ggml_type type;
  std::string_view name;
  std::uint32_t elements;
  std::uint32_t bytes;
};

inline constexpr std::array<ggml_type_info, 34> ggml_types{{
    {ggml_type::f32, "F32", 1, 4},
    {ggml_type::f16, "F16", 1, 2},
    {ggml_type::q4_0, "Q4_0", 32, 18},
    {ggml_type::q4_1, "Q4_1", 32, 20},
    {ggml_type::q5_0, "Q5_0", 32, 22},
    {ggml_type::q5_1, "Q5_1", 32, 24},
    {ggml_type::q8_0, "Q8_0", 32, 34},
    {ggml_type::q8_1, "Q8_1", 32, 36},
    {ggml_type::q2_k, "Q2_K", 256, 84},
    {ggml_type::q3_k, "Q3_K", 256, 110},
    {ggml_type::q4_k, "Q4_K", 256, 144},
    {ggml_type::q5_k, "Q5_K", 256, 176},
    {ggml_type::q6_k, "Q6_K", 256, 210},
    {ggml_type::q8_k, "Q8_K", 256, 292},
    {ggml_type::iq2_xxs, "IQ2_XXS", 256, 66},
    {ggml_type::iq2_xs, "IQ2_XS", 256, 74},
    {ggml_type::iq3_xxs, "IQ3_XXS", 256, 98},
    {ggml_type::iq1_s, "IQ1_S", 256, 50},
    {ggml_type::iq4_nl, "IQ4_NL", 32, 18},
    {ggml_type::iq3_s, "IQ3_S", 256, 110},
    {ggml_type::iq2_s, "IQ2_S", 256, 82},
    {ggml_type::iq4_xs, "IQ4_XS", 256, 136},
    {ggml_type::i8, "I8", 1, 1},
    {ggml_type::i16, "I16", 1, 2},
    {ggml_type::i32, "I32", 1, 4},
    {ggml_type::i64, "I64", 1, 8},
    {ggml_type::f64, "F64", 1, 8},
    {ggml_type::iq1_m, "IQ1_M", 256, 56},
    {ggml_type::bf16, "BF16", 1, 2},
    {ggml_type::tq1_0, "TQ1_0", 256, 54},
    {ggml_type::tq2_0, "TQ2_0", 256, 66},
    {ggml_type::mxfp4, "MXFP4", 32, 17},
    {ggml_type::nvfp4, "NVFP4", 64, 36},
    {ggml_type::q1_0, "Q1_0", 128, 18},
}};

/// The entry of type number `id`, or null when no such type exists.
[[nodiscard]] constexpr const ggml_type_info* find_ggml_type(std::uint32_t id) noexcept {
  for (const ggml_type_info& each : ggml_types)
    if (static_cast<std::uint32_t>(each.type) == id) return &each;
  return nullptr;
}
[[nodiscard]] constexpr const ggml_type_info& info_of(ggml_type type) noexcept {
  return *find_ggml_type(static_cast<std::uint32_t>(type));
}
[[nodiscard]] constexpr std::string_view name_of(ggml_type type) noexcept { return info_of(type).name; }

}  // namespace tinygrad::inline TINYGRAD_ABI
