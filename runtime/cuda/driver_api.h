// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of NVIDIA's driver that the runtime calls, and their types, declared here:
// nothing of CUDA is needed to build, and only libcuda.so.1 to run on a device.
// tests/runtime/cuda/headers_test.cc compares them with NVIDIA's headers where these are.
#ifndef COMMSCHED_RUNTIME_CUDA_DRIVER_API_H
#define COMMSCHED_RUNTIME_CUDA_DRIVER_API_H

#include <cstddef>
#include <cstdint>

namespace commsched::runtime::cuda {

// Of CUresult only what is told apart from other errors.
enum class DriverResult : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidHandle = 400,
  kNotReady = 600,
};
using Device = int;
using DevicePtr = uint64_t;  // an address of device memory, or of mapped pinned memory
using Context = struct ContextHandle *;
using Stream = struct StreamHandle *;
using Event = struct EventHandle *;
using Module = struct ModuleHandle *;
using Function = struct FunctionHandle *;
using Graph = struct GraphHandle *;
using GraphExec = struct GraphExecHandle *;

// Does not wait for the default stream.
inline constexpr unsigned kStreamNonBlocking = 1;
// With the time at which the device has come to it; or cheaper: only its order is of interest.
inline constexpr unsigned kEventDefault = 0, kEventDisableTiming = 2;
// int32(*address - value) >= 0.
inline constexpr unsigned kWaitValueGreaterEqual = 0;
// What other threads do meanwhile is not forbidden.
inline constexpr int kCaptureThreadLocal = 1;
// Pinned for all contexts.
inline constexpr unsigned kHostAllocPortable = 1;
// Attributes of a device.
inline constexpr int kComputeCapabilityMajor = 75, kComputeCapabilityMinor = 76;

// F(name, symbol, parameters). Symbols have the suffix of the version that CUDA 12 and 13 give
// a name in their headers, but for cuEventElapsedTime, whose version 2 only drivers of CUDA 12.8 and later have.
#define COMMSCHED_CUDA_DRIVER_FUNCTIONS(F)                                                  \
  F(GetErrorName, cuGetErrorName, (DriverResult, const char **name))                        \
  F(GetErrorString, cuGetErrorString, (DriverResult, const char **text))                    \
  F(Init, cuInit, (unsigned flags))                                                         \
  F(DriverGetVersion, cuDriverGetVersion, (int *version))                                   \
  F(DeviceGetCount, cuDeviceGetCount, (int *count))                                         \
  F(DeviceGet, cuDeviceGet, (Device *, int ordinal))                                        \
  F(DeviceGetName, cuDeviceGetName, (char *name, int bytes, Device))                        \
  F(DeviceGetAttribute, cuDeviceGetAttribute, (int *value, int attribute, Device))          \
  F(PrimaryContextRetain, cuDevicePrimaryCtxRetain, (Context *, Device))                    \
  F(PrimaryContextRelease, cuDevicePrimaryCtxRelease_v2, (Device))                          \
  F(ContextSetCurrent, cuCtxSetCurrent, (Context))                                          \
  F(MemAlloc, cuMemAlloc_v2, (DevicePtr *, size_t bytes))                                   \
  F(MemFree, cuMemFree_v2, (DevicePtr))                                                     \
  F(MemHostAlloc, cuMemHostAlloc, (void **, size_t bytes, unsigned flags))                  \
  F(MemFreeHost, cuMemFreeHost, (void *))                                                   \
  F(MemGetInfo, cuMemGetInfo_v2, (size_t *free, size_t *total))                             \
  F(MemcpyAsync, cuMemcpyAsync, (DevicePtr to, DevicePtr from, size_t bytes, Stream))       \
  F(MemsetD8Async, cuMemsetD8Async, (DevicePtr, unsigned char value, size_t bytes, Stream)) \
  F(StreamCreateWithPriority, cuStreamCreateWithPriority, (Stream *, unsigned flags, int))  \
  F(StreamDestroy, cuStreamDestroy_v2, (Stream))                                            \
  F(StreamWaitEvent, cuStreamWaitEvent, (Stream, Event, unsigned flags))                    \
  F(StreamWaitValue32, cuStreamWaitValue32_v2,                                              \
    (Stream, DevicePtr address, uint32_t value, unsigned flags))                            \
  F(StreamBeginCapture, cuStreamBeginCapture_v2, (Stream, int mode))                        \
  F(StreamEndCapture, cuStreamEndCapture, (Stream, Graph *))                                \
  F(GraphInstantiate, cuGraphInstantiateWithFlags,                                          \
    (GraphExec *, Graph, unsigned long long flags))                                         \
  F(GraphUpload, cuGraphUpload, (GraphExec, Stream))                                        \
  F(GraphLaunch, cuGraphLaunch, (GraphExec, Stream))                                        \
  F(GraphDestroy, cuGraphDestroy, (Graph))                                                  \
  F(GraphExecDestroy, cuGraphExecDestroy, (GraphExec))                                      \
  F(EventCreate, cuEventCreate, (Event *, unsigned flags))                                  \
  F(EventDestroy, cuEventDestroy_v2, (Event))                                               \
  F(EventRecord, cuEventRecord, (Event, Stream))                                            \
  F(EventQuery, cuEventQuery, (Event))                                                      \
  F(EventElapsedTime, cuEventElapsedTime, (float *milliseconds, Event begin, Event end))    \
  F(ModuleLoadData, cuModuleLoadData, (Module *, const void *image))                        \
  F(ModuleUnload, cuModuleUnload, (Module))                                                 \
  F(ModuleGetFunction, cuModuleGetFunction, (Function *, Module, const char *name))         \
  F(LaunchKernel, cuLaunchKernel,                                                           \
    (Function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,         \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream, void **parameters,  \
     void **extra))

struct DriverApi {
#define COMMSCHED_CUDA_MEMBER(name, symbol, parameters) DriverResult(*name) parameters = nullptr;
  COMMSCHED_CUDA_DRIVER_FUNCTIONS(COMMSCHED_CUDA_MEMBER)
#undef COMMSCHED_CUDA_MEMBER
  // cuFuncLoad, of drivers of CUDA 12.4 and later; else null.
  DriverResult (*FuncLoad)(Function) = nullptr;
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_DRIVER_API_H
