# How this project's own programs (tests, benchmarks, examples) are compiled. Users of the library never see this file.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

option(TINYGRAD_NATIVE "Compile our own programs for this machine's instruction set" ON)

# Warnings are errors with the compilers that are tested. A newer one may find something new to warn about, and
# that must not stop a newcomer's first build.
set(tested_compiler OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  set(tested_compiler ON)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 23)
  set(tested_compiler ON)
endif()
option(TINYGRAD_WERROR "Warnings are errors in our own programs" ${tested_compiler})

add_library(tinygrad_own INTERFACE)
target_link_libraries(tinygrad_own INTERFACE $<IF:$<BOOL:${TINYGRAD_NATIVE}>,tinygrad::native,tinygrad::tinygrad>)
target_compile_options(tinygrad_own INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                              $<$<BOOL:${TINYGRAD_WERROR}>:-Werror>)
# g++ 12 takes "text" + std::string for an overlapping copy at -O3 (GCC bug 105651).
target_compile_options(tinygrad_own INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# doctest and Google Benchmark count with __COUNTER__, which clang 22 calls an extension of a future C. The option must
# follow -Wpedantic, which would turn the warning on again.
target_compile_options(tinygrad_own INTERFACE
  $<$<AND:$<CXX_COMPILER_ID:Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,22>>:-Wno-c2y-extensions>)
