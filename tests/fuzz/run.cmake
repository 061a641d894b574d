# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Runs cs-fuzz: mode=replay on what once crashed it (tests/fuzz/corpus),
# mode=mutate on `cases` mutants of all .mlir files of the tests and examples (see
# tests/cases.h for more of them, and others).
file(GLOB corpus ${source}/tests/fuzz/corpus/*.mlir)
if(mode STREQUAL replay)
  execute_process(COMMAND ${fuzz} --replay ${corpus} COMMAND_ERROR_IS_FATAL ANY)
  return()
endif()
file(GLOB_RECURSE texts ${source}/tests/*.mlir ${source}/examples/*.mlir)
list(SORT texts)
file(MAKE_DIRECTORY ${save})
execute_process(COMMAND ${fuzz} --cases ${cases} --save ${save} ${texts}
  COMMAND_ERROR_IS_FATAL ANY)
