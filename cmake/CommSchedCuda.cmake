# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# CUDA, if it is there: COMMSCHED_BUILD_CUDA, and commsched_cuda_objects(). nvcc is
# called directly, not as a language of the project: nothing else depends on it,
# and it knows none of the project's warning flags. It is that of PATH, of
# /usr/local/cuda, or the one that scripts/setup.sh --tests puts into .venv.
file(GLOB cuda_wheels ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu13/bin)
find_program(NVCC_PROGRAM nvcc PATHS /usr/local/cuda/bin ${cuda_wheels})
if(NVCC_PROGRAM)
  # It may be a script that calls another: what does that one say where it is?
  execute_process(COMMAND ${NVCC_PROGRAM} --dryrun --compile x.cu
                  ERROR_VARIABLE cuda_dryrun OUTPUT_QUIET)
  if(cuda_dryrun MATCHES "[$] TOP=([^\r\n]+)")
    set(cuda_top ${CMAKE_MATCH_1})
  endif()
  file(GLOB cuda_targets ${cuda_top}/targets/${CMAKE_SYSTEM_PROCESSOR}-linux)
  find_path(CUDA_RUNTIME_INCLUDE_DIR cuda_runtime_api.h
            HINTS ${cuda_top}/include ${cuda_targets}/include)
  # CUB has DeviceTopK from CCCL 3.2 on, which comes with CUDA 13.2; an older nvcc takes the one of the wheels.
  file(GLOB cuda_cccl ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu13/include/cccl)
  find_path(CUB_TOP_K_INCLUDE_DIR cub/device/device_topk.cuh
            HINTS ${cuda_top}/include/cccl ${cuda_targets}/include/cccl ${cuda_cccl})
  find_library(CUDA_RUNTIME_LIBRARY cudart_static
               HINTS ${cuda_top} ${cuda_targets} PATH_SUFFIXES lib64 lib)
endif()
if(NVCC_PROGRAM AND CUDA_RUNTIME_INCLUDE_DIR AND CUDA_RUNTIME_LIBRARY)
  set(cuda_found ON)
else()
  set(cuda_found OFF)
endif()
set(COMMSCHED_BUILD_CUDA AUTO CACHE STRING "CUDA kernels: ON, OFF, or AUTO, where nvcc is")
set(cuda_build ${COMMSCHED_BUILD_CUDA})
if(cuda_build STREQUAL AUTO)
  set(cuda_build ${cuda_found})
endif()
if(COMMSCHED_SANITIZE)
  set(cuda_build OFF)
elseif(cuda_build AND NOT cuda_found)
  message(FATAL_ERROR "COMMSCHED_BUILD_CUDA=ON needs nvcc and the static CUDA runtime: "
                      "scripts/setup.sh --tests installs them")
endif()

# commsched_cuda_objects(<out> [INCLUDE <directory>...] <source>...): compiles .cu files for sm_90, and to
# PTX that other devices from sm_80 on translate when it is loaded. Products and
# sums are rounded one by one, as the kernels of the CPU do it.
function(commsched_cuda_objects out)
  cmake_parse_arguments(arg "" "" "INCLUDE" ${ARGN})
  list(TRANSFORM arg_INCLUDE PREPEND -I)
  foreach(source ${arg_UNPARSED_ARGUMENTS})
    get_filename_component(name ${source} NAME)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${NVCC_PROGRAM} -std=c++20 -O3 --fmad=false -I${CMAKE_SOURCE_DIR} ${arg_INCLUDE} -Xcompiler -fPIC
              -ccbin ${CMAKE_CXX_COMPILER}
              -gencode arch=compute_90,code=sm_90 -gencode arch=compute_80,code=compute_80
              -MD -MF ${object}.d -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source}
      DEPFILE ${object}.d
      VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()
