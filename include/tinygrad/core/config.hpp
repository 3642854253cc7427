// Compile-time configuration: version, compiler attributes, and the ABI namespace.
//
// Everything in the library lives in an inline namespace whose name spells the instruction set and the pack
// back end of the translation unit. Two translation units built with different -m flags therefore never share a
// symbol: the linker cannot hand an AVX-512 body to code that runs on a plain x86-64 machine.
// Exception types are the exception: they stay outside, so that a catch in one unit sees a throw from another.
//
// Switches a build may set (all optional):
//   TINYGRAD_NO_SIMD   one lane a pack; the fallback for compilers without any vector support
//   TINYGRAD_STD_SIMD  packs on std::experimental::simd instead of the compiler's vector extension (g++ only)
#pragma once

#include <version>

#define TINYGRAD_VERSION_MAJOR 0
#define TINYGRAD_VERSION_MINOR 1
#define TINYGRAD_VERSION_PATCH 0

// Which pack back end: 0 one lane, 1 compiler vector extension, 2 std::experimental::simd.
// The vector extension is the default because both give the same machine code, but <experimental/simd> costs more than
// a second of every translation unit (g++ 12), and libstdc++ 12's has defects: under clang its AVX-512 blend takes the
// mask for one boolean (simd_x86.h, _S_blend_avx512, says so), and with AVX but no AVX2 its integers are no plain bits.
#if defined(TINYGRAD_NO_SIMD)
#define TINYGRAD_PACK_BACKEND 0
#elif defined(TINYGRAD_STD_SIMD) && defined(__GLIBCXX__) && __has_include(<experimental/simd>) && \
    !defined(__clang__) && (!defined(__AVX__) || defined(__AVX2__))
#define TINYGRAD_PACK_BACKEND 2
#elif defined(__GNUC__)
#define TINYGRAD_PACK_BACKEND 1
#else
#define TINYGRAD_PACK_BACKEND 0
#endif

// The instruction set, widest first; FMA is part of the tag because it changes code and rounding.
#if defined(__AVX512F__) && defined(__AVX512VNNI__) && defined(__AVX512VL__)
#define TINYGRAD_ISA avx512_vnni
#elif defined(__AVX512F__)
#define TINYGRAD_ISA avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define TINYGRAD_ISA avx2_fma
#elif defined(__AVX2__)
#define TINYGRAD_ISA avx2
#elif defined(__AVX__)
#define TINYGRAD_ISA avx
#elif defined(__SSE4_1__)
#define TINYGRAD_ISA sse4
#elif defined(__ARM_NEON)
#define TINYGRAD_ISA neon
#else
#define TINYGRAD_ISA base
#endif

#define TINYGRAD_JOIN_(a, b, c) a##_##b##c
#define TINYGRAD_JOIN(a, b, c) TINYGRAD_JOIN_(a, b, c)
#if defined(__F16C__)
#define TINYGRAD_ABI TINYGRAD_JOIN(TINYGRAD_ISA, f16c_pack, TINYGRAD_PACK_BACKEND)
#else
#define TINYGRAD_ABI TINYGRAD_JOIN(TINYGRAD_ISA, pack, TINYGRAD_PACK_BACKEND)
#endif

#if defined(__GNUC__)
#define TINYGRAD_ALWAYS_INLINE inline __attribute__((always_inline))
#define TINYGRAD_INLINE_LAMBDA __attribute__((always_inline))
#define TINYGRAD_NOINLINE __attribute__((noinline))
#define TINYGRAD_COLD __attribute__((noinline, cold))
#define TINYGRAD_RESTRICT __restrict__
#else
#define TINYGRAD_ALWAYS_INLINE inline
#define TINYGRAD_INLINE_LAMBDA
#define TINYGRAD_NOINLINE
#define TINYGRAD_COLD
#define TINYGRAD_RESTRICT
#endif
