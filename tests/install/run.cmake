# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(flags)
if(sanitize)
  set(flags -D CMAKE_CXX_FLAGS=-fsanitize=${sanitize})
endif()

file(REMOVE_RECURSE ${work})
run(${CMAKE_COMMAND} --install ${build} --prefix ${work}/prefix)
run(${CMAKE_COMMAND} -G Ninja -S ${project} -B ${work}/build
  -D CMAKE_BUILD_TYPE=Release -D CMAKE_PREFIX_PATH=${work}/prefix
  -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_CXX_COMPILER_LAUNCHER=${launcher}
  ${flags})
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/distribute)
if(runtime)
  run(${work}/build/load)
  run(${work}/build/call)
endif()
run(${work}/prefix/bin/cs-opt --version)
