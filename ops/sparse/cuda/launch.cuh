// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels on a stream, and the element and index types of a call. For nvcc, and
// for the tests for a C++ compiler with an emulation of CUDA, EmulateLaunch in
// it.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_LAUNCH_CUH
#define COMMSCHED_OPS_SPARSE_CUDA_LAUNCH_CUH

#include <cstdint>

#include "ops/base/element.h"
#include "ops/sparse/cuda/device.cuh"

namespace commsched::ops::sparse::cuda {

// What the functions that put kernels in order launch them with.
struct StreamLaunch {
  cudaStream_t stream;
  template <typename Kernel, typename... Arguments>
  void operator()(Kernel kernel, uint32_t blocks, int threads,
                  Arguments... arguments) const {
#ifdef __CUDACC__
    kernel<<<blocks, threads, 0, stream>>>(arguments...);
#else
    EmulateLaunch(stream, kernel, blocks, threads, arguments...);
#endif
  }
};

// function(DeviceF32{}), (DeviceF16{}) or (DeviceBF16{}).
template <typename Function>
void WithDeviceFloat(int element, Function function) {
  switch (Element(element)) {
    case Element::kF16:
      return function(DeviceF16{});
    case Element::kBF16:
      return function(DeviceBF16{});
    default:
      return function(DeviceF32{});
  }
}
// function(int32_t{}) or function(int64_t{}).
template <typename Function>
void WithDeviceIndex(int index, Function function) {
  if (Element(index) == Element::kI32) return function(int32_t{});
  return function(int64_t{});
}

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_LAUNCH_CUH
