# cmake -DWAY=install|add_subdirectory|fetch_content -DSOURCE= -DWORK= -DCOMPILER= -DFLAGS= -DGENERATOR= -P consume.cmake
# Builds and runs the project in consumer/ against the library, taken in one of three ways.

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER} "-DCMAKE_CXX_FLAGS=${FLAGS}"
              -DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM} -DCMAKE_BUILD_TYPE=Debug)
file(REMOVE_RECURSE ${WORK})

if(WAY STREQUAL "install")
  run(${configure} -S ${SOURCE} -B ${WORK}/library -DCMAKE_INSTALL_PREFIX=${WORK}/prefix -DTINYGRAD_BUILD_TESTS=OFF
      -DTINYGRAD_BUILD_BENCH=OFF -DTINYGRAD_BUILD_EXAMPLES=OFF)
  run(${CMAKE_COMMAND} --install ${WORK}/library)
  set(way_arguments -DCMAKE_PREFIX_PATH=${WORK}/prefix)
else()
  set(way_arguments -DTINYGRAD_SOURCE=${SOURCE})
endif()

run(${configure} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${WORK}/build -DWAY=${WAY} ${way_arguments})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
