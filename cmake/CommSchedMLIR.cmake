# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Finds MLIR 22 and defines commsched_mlir_library(). Only the shared libraries
# MLIR and LLVM are linked, or in a bundle only archives (tools/bundle): mixing in a
# static component duplicates its state.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)

add_library(commsched_mlir INTERFACE)
target_include_directories(commsched_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_definitions(commsched_mlir INTERFACE ${LLVM_DEFINITIONS_LIST})
# Ours have no exceptions; the headers do with them, and who links the libraries may throw.
target_compile_options(commsched_mlir INTERFACE $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>>)
if(COMMSCHED_BUNDLE)
  target_link_libraries(commsched_mlir INTERFACE $<INSTALL_INTERFACE:MLIR> $<INSTALL_INTERFACE:LLVM>)
else()
  target_link_libraries(commsched_mlir INTERFACE MLIR LLVM)
endif()

# commsched_tablegen(<output> <td file> <mlir-tblgen arguments...>): generates
# <output> in the current binary directory and adds it to TABLEGEN_OUTPUTS in
# the caller's scope.
function(commsched_tablegen output td)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${output})
  add_custom_command(
    OUTPUT ${out}
    COMMAND mlir-tblgen ${ARGN} -I ${MLIR_INCLUDE_DIRS} -I ${CMAKE_SOURCE_DIR}
            ${CMAKE_CURRENT_SOURCE_DIR}/${td} -o ${out} -d ${out}.d
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${td}
    DEPFILE ${out}.d
    VERBATIM)
  list(APPEND TABLEGEN_OUTPUTS ${out})
  set(TABLEGEN_OUTPUTS ${TABLEGEN_OUTPUTS} PARENT_SCOPE)
endfunction()

# commsched_mlir_library(<name> SOURCES... DEPENDS... LINK...)
function(commsched_mlir_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC commsched_mlir ${ARG_LINK})
endfunction()
