# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Compiles sources in batches: three quarters of what a source of MLIR or gRPC costs are
# its headers. CMake's own UNITY_BUILD names sources by absolute paths, so that no clone
# would find in the compiler cache what another has compiled.
option(COMMSCHED_UNITY "compile sources in batches: headers are read once for a batch, and a change compiles all of it" OFF)
set(COMMSCHED_UNITY_BATCH 10 CACHE STRING "most sources of a batch")

# How a batch includes a source: relative to the checkout, or to the build folder where it
# is generated.
function(commsched_unity_name path out)
  file(RELATIVE_PATH name ${CMAKE_BINARY_DIR} ${path})
  if(name MATCHES "^[.][.]/")
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${path})
  endif()
  set(${out} ${name} PARENT_SCOPE)
endfunction()

# Which sources of a target can be with others: those of this repository, compiled as C++
# with the target's own options. Of generated ones, gRPC's: their headers, which stay
# sources of the target, see to it that they are made in time. Two files of protobuf's
# messages define the same names.
function(commsched_unity_sources target folder out)
  get_target_property(sources ${target} SOURCES)
  set(result)
  foreach(source IN LISTS sources)
    if(NOT source MATCHES "[.](cc|cpp)$")
      continue()
    endif()
    get_filename_component(path ${source} ABSOLUTE BASE_DIR ${folder})
    commsched_unity_name(${path} name)
    foreach(property LANGUAGE COMPILE_OPTIONS COMPILE_DEFINITIONS SKIP_UNITY_BUILD_INCLUSION)
      get_source_file_property(${property} ${path} TARGET_DIRECTORY ${target} ${property})
    endforeach()
    if((LANGUAGE AND NOT LANGUAGE STREQUAL "CXX") OR COMPILE_OPTIONS OR COMPILE_DEFINITIONS OR SKIP_UNITY_BUILD_INCLUSION
       OR name MATCHES "^[.][.]/" OR (path MATCHES "^${CMAKE_BINARY_DIR}/" AND NOT path MATCHES "[.]grpc[.]pb[.]cc$"))
      continue()
    endif()
    list(APPEND result ${source})
  endforeach()
  set(${out} ${result} PARENT_SCOPE)
endfunction()

# commsched_unity(<folder>...): all targets made there and below.
function(commsched_unity)
  foreach(below IN LISTS ARGN)
    commsched_targets_below(${CMAKE_SOURCE_DIR}/${below}
      "STATIC_LIBRARY|SHARED_LIBRARY|MODULE_LIBRARY|OBJECT_LIBRARY|EXECUTABLE" targets)
    foreach(target IN LISTS targets)
      get_target_property(folder ${target} SOURCE_DIR)
      commsched_unity_sources(${target} ${folder} sources)
      list(LENGTH sources count)
      if(count LESS 2)
        continue()
      endif()
      get_target_property(all ${target} SOURCES)
      list(REMOVE_ITEM all ${sources})
      # Batches of about one size.
      math(EXPR batches "(${count} + ${COMMSCHED_UNITY_BATCH} - 1) / ${COMMSCHED_UNITY_BATCH}")
      set(at 0)
      foreach(batch RANGE 1 ${batches})
        math(EXPR length "${count} * ${batch} / ${batches} - ${at}")
        list(SUBLIST sources ${at} ${length} part)
        math(EXPR at "${at} + ${length}")
        set(text "")
        foreach(source IN LISTS part)
          get_filename_component(path ${source} ABSOLUTE BASE_DIR ${folder})
          commsched_unity_name(${path} name)
          string(APPEND text "#include \"${name}\"\n")
        endforeach()
        get_target_property(binary ${target} BINARY_DIR)
        set(file ${binary}/unity/${target}_${batch}.cpp)
        file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
        list(APPEND all ${file})
      endforeach()
      set_property(TARGET ${target} PROPERTY SOURCES ${all})
    endforeach()
  endforeach()
endfunction()

# The other way, for builds that compile what depends on one source again and again
# (bench/machine_mutants.py): the headers of others are read once for a target.
option(COMMSCHED_PRECOMPILED "precompile the headers that most sources of the runtime include" OFF)

# commsched_precompiled(<folder>...): all targets made there and below.
function(commsched_precompiled)
  foreach(below IN LISTS ARGN)
    commsched_targets_below(${CMAKE_SOURCE_DIR}/${below} "STATIC_LIBRARY|SHARED_LIBRARY|EXECUTABLE" targets)
    foreach(target IN LISTS targets)
      target_precompile_headers(${target} PRIVATE <algorithm> <atomic> <chrono> <deque> <functional> <map> <memory>
        <optional> <random> <set> <string> <thread> <vector>
        <absl/container/flat_hash_map.h> <absl/functional/any_invocable.h> <absl/status/statusor.h>
        <absl/strings/str_cat.h> <absl/strings/str_format.h> <absl/strings/str_join.h> <absl/strings/str_split.h>
        <absl/synchronization/mutex.h> <absl/time/time.h>)
    endforeach()
  endforeach()
endfunction()
