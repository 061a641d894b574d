# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Finds what the tests need and defines commsched_gtest().
find_package(GTest REQUIRED)
find_package(Threads REQUIRED)
if(EXISTS ${CMAKE_SOURCE_DIR}/.venv/bin/python)
  set(Python3_EXECUTABLE ${CMAKE_SOURCE_DIR}/.venv/bin/python)
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# commsched_gtest(<name> SOURCES <files> [LINK <targets>] [TIMEOUT <seconds>]
#                 [PROCESSORS <n>] [SHARDS <n>] [ENVIRONMENT <NAME=value>...] [NOT_TSAN]):
# a gtest/gmock program and a ctest test, both called <name>; of SHARDS, as many tests,
# <name>_1 and so on, with a share of its tests each. The time limit
# only ends a hang; it says nothing about speed. What has NOT_TSAN is left out
# of a build with the thread sanitizer, which would find nothing new in it.
function(commsched_gtest name)
  cmake_parse_arguments(ARG "NOT_TSAN" "TIMEOUT;PROCESSORS;SHARDS" "SOURCES;LINK;ENVIRONMENT" ${ARGN})
  if(ARG_NOT_TSAN AND COMMSCHED_SANITIZE MATCHES "thread")
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest_main Threads::Threads)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  if(NOT ARG_PROCESSORS)
    set(ARG_PROCESSORS 1)
  endif()
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    set(test ${name})
    set(environment ${ARG_ENVIRONMENT})
    if(ARG_SHARDS GREATER 1)
      set(test ${name}_${shard})
      math(EXPR index "${shard} - 1")
      list(APPEND environment GTEST_TOTAL_SHARDS=${ARG_SHARDS} GTEST_SHARD_INDEX=${index})
    endif()
    add_test(NAME ${test} COMMAND ${name})
    set_tests_properties(${test} PROPERTIES
      TIMEOUT ${ARG_TIMEOUT} PROCESSORS ${ARG_PROCESSORS} ENVIRONMENT "${environment}")
  endforeach()
endfunction()

# commsched_gtests(<program> TESTS <name>=<file>... [NOT_TSAN <name>=<file>...]
#                  [SOURCES <files>] [LINK <targets>] [PROCESSORS <n>]
#                  [ENVIRONMENT <NAME=value>...]):
# one program of the tests of many files, which is built much faster than a program
# for each, and a ctest test for each file, which runs its tests only. <program>_others
# runs what was not found in the files, as macros may define tests.
function(commsched_gtests program)
  cmake_parse_arguments(ARG "" "TIMEOUT;PROCESSORS" "TESTS;NOT_TSAN;SOURCES;LINK;ENVIRONMENT" ${ARGN})
  if(NOT COMMSCHED_SANITIZE MATCHES "thread")
    list(APPEND ARG_TESTS ${ARG_NOT_TSAN})
  endif()
  if(NOT ARG_TESTS)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  if(NOT ARG_PROCESSORS)
    set(ARG_PROCESSORS 1)
  endif()
  add_executable(${program} ${ARG_SOURCES})
  target_link_libraries(${program} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest_main Threads::Threads)
  set(known)
  set(names)
  foreach(test IN LISTS ARG_TESTS)
    string(REGEX MATCH "^([^=]+)=(.+)$" test "${test}")
    set(name ${CMAKE_MATCH_1})
    set(file ${CMAKE_MATCH_2})
    target_sources(${program} PRIVATE ${file})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(REGEX MATCHALL "\nTEST(_F|_P)?\\([ \n]*[A-Za-z0-9_]+,[ \n]*[A-Za-z0-9_]+" tests "${text}")
    set(filter)
    foreach(each IN LISTS tests)
      string(REGEX MATCH "([A-Za-z0-9_]+),[ \n]*([A-Za-z0-9_]+)$" each "${each}")
      set(each ${CMAKE_MATCH_1}.${CMAKE_MATCH_2})
      list(APPEND filter ${each} */${each}/*)
    endforeach()
    if(NOT filter)
      message(FATAL_ERROR "${file} has no test")
    endif()
    list(APPEND known ${filter})
    list(APPEND names ${name})
    list(JOIN filter ":" filter)
    add_test(NAME ${name} COMMAND ${program} --gtest_filter=${filter})
  endforeach()
  list(JOIN known ":" known)
  add_test(NAME ${program}_others COMMAND ${program} --gtest_filter=-${known})
  set_tests_properties(${names} ${program}_others PROPERTIES
    TIMEOUT ${ARG_TIMEOUT} PROCESSORS ${ARG_PROCESSORS} ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()

# commsched_pytest(<name> <file or folder> [TIMEOUT <seconds>] [PROCESSORS <n>]
#                  [COST <n>] [ENVIRONMENT <NAME=value>...]):
# a ctest test that runs pytest. COMMSCHED_BIN names the folder of the tools.
# What has a higher COST begins earlier: a long test that begins last keeps the
# other processors waiting.
# Nothing may be skipped but what tests/nothing_skipped.py allows. JAX, with which
# much is compared, takes longer to compile its steps than to run them.
function(commsched_pytest name path)
  cmake_parse_arguments(ARG "" "TIMEOUT;PROCESSORS;COST" "ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 1800)
  endif()
  if(NOT ARG_PROCESSORS)
    set(ARG_PROCESSORS 1)
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 10)
  endif()
  add_test(NAME ${name}
    COMMAND ${Python3_EXECUTABLE} -m pytest -q -rs -p no:cacheprovider -p nothing_skipped ${path}
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} PROCESSORS ${ARG_PROCESSORS} COST ${ARG_COST}
    SKIP_RETURN_CODE 77
    ENVIRONMENT "COMMSCHED_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};PYTHONPATH=${PROJECT_SOURCE_DIR}/tests;PYTHONDONTWRITEBYTECODE=1;JAX_DISABLE_MOST_OPTIMIZATIONS=1;${ARG_ENVIRONMENT}")
endfunction()

# commsched_pytest_files(<prefix> ...): one test for each file test_NAME.py of the
# folder, called <prefix>_NAME, so that they run beside each other.
function(commsched_pytest_files prefix)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/test_*.py)
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WE)
    string(REGEX REPLACE "^test_" "${prefix}_" name ${name})
    commsched_pytest(${name} ${file} ${ARGN})
  endforeach()
endfunction()
