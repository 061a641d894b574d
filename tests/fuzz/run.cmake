# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Runs cs-fuzz: mode=replay on what once crashed it (tests/fuzz/corpus),
# mode=mutate on mutants of all .mlir files of the tests and examples.
file(GLOB corpus ${source}/tests/fuzz/corpus/*.mlir)
if(mode STREQUAL replay)
  execute_process(COMMAND ${fuzz} --replay ${corpus} COMMAND_ERROR_IS_FATAL ANY)
  return()
endif()
file(GLOB_RECURSE texts ${source}/tests/*.mlir ${source}/examples/*.mlir)
list(SORT texts)
file(MAKE_DIRECTORY ${save})
execute_process(COMMAND ${fuzz} --runs ${runs} --seed ${seed} --save ${save} ${texts}
  COMMAND_ERROR_IS_FATAL ANY)
