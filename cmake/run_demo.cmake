# Target run_demo: builds and runs the first lesson and the matmul comparison, their output going straight to the
# terminal. A workflow preset can only configure, build, test and package, so the run is a build target.

set(programs "")
set(commands "")
if(TARGET example_part1_autograd)
  list(APPEND programs example_part1_autograd)
  list(APPEND commands COMMAND example_part1_autograd)
endif()
# Without Google Benchmark the lesson's own section on matmul still compares naive and packed.
if(TARGET matmul_bench)
  list(APPEND programs matmul_bench)
  list(APPEND commands COMMAND matmul_bench)
endif()

if(programs)
  add_custom_target(run_demo ${commands} USES_TERMINAL VERBATIM)
  add_dependencies(run_demo ${programs})
endif()
