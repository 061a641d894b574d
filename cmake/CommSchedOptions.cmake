# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Compiler flags, sanitizers, ccache and linker for every target of the project.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the checkout are made relative before they are hashed, so that
  # every clone finds what another has compiled.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()
# -Wrestrict has false positives on std::string in g++ 12.
add_compile_options(-Wall -Wextra -Wno-unused-parameter -Wno-restrict)
find_program(LLD_PROGRAM ld.lld)
if(LLD_PROGRAM)
  add_link_options(-fuse-ld=lld)
endif()
if(COMMSCHED_SANITIZE)
  add_compile_options(-fsanitize=${COMMSCHED_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${COMMSCHED_SANITIZE})
  if(COMMSCHED_SANITIZE MATCHES "thread")
    # Protobuf's headers give map fields another layout under this macro than
    # the distribution's library has.
    add_compile_options(-U__SANITIZE_THREAD__)
  endif()
endif()
include_directories(${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
# Installed programs find MLIR where the build did.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
# As they are installed, programs of the build look for libraries of the project beside their folder,
# and all have their paths from the beginning: those that are to be edited end in an empty entry, which
# is the present folder, and whoever runs a tool in a hostile one loads its libraries.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")

# commsched_targets_below(<folder> <types> <out>): the targets made in a folder and
# below it whose type is one of the names, as "EXECUTABLE|STATIC_LIBRARY".
function(commsched_targets_below dir types out)
  get_property(targets DIRECTORY ${dir} PROPERTY BUILDSYSTEM_TARGETS)
  set(found)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "^(${types})$")
      list(APPEND found ${target})
    endif()
  endforeach()
  get_property(subdirs DIRECTORY ${dir} PROPERTY SUBDIRECTORIES)
  foreach(subdir IN LISTS subdirs)
    commsched_targets_below(${subdir} "${types}" more)
    list(APPEND found ${more})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()
