# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# CUDA, if it is there: COMMSCHED_BUILD_CUDA, and commsched_cuda_object(). nvcc is
# called directly, not as a language of the project: nothing else depends on it,
# and it knows none of the project's warning flags.
find_program(NVCC_PROGRAM nvcc)
if(NVCC_PROGRAM)
  find_package(CUDAToolkit QUIET)
endif()
if(NVCC_PROGRAM AND CUDA_cudart_static_LIBRARY AND NOT COMMSCHED_SANITIZE)
  set(cuda_found ON)
else()
  set(cuda_found OFF)
endif()
option(COMMSCHED_BUILD_CUDA "CUDA kernels (needs nvcc and the CUDA runtime)" ${cuda_found})

# commsched_cuda_object(<out> <source>): compiles a .cu file for sm_90, and to PTX
# that other devices from sm_80 on translate when it is loaded.
function(commsched_cuda_object out source)
  get_filename_component(name ${source} NAME)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${NVCC_PROGRAM} -std=c++20 -O3 -I${CMAKE_SOURCE_DIR} -Xcompiler -fPIC
            -ccbin ${CMAKE_CXX_COMPILER}
            -gencode arch=compute_90,code=sm_90 -gencode arch=compute_80,code=compute_80
            -MD -MF ${object}.d -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source}
    DEPFILE ${object}.d
    VERBATIM)
  set(${out} ${object} PARENT_SCOPE)
endfunction()
