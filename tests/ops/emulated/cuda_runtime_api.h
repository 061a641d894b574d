// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the library and its tests use of the CUDA runtime, with the memory of the
// host in place of a device's: for the emulation. Work on a stream runs at once, and
// while a stream is captured, when the graph is launched. Ranges that are not within
// memory of cudaMalloc are refused.
#ifndef COMMSCHED_TESTS_OPS_EMULATED_CUDA_RUNTIME_API_H
#define COMMSCHED_TESTS_OPS_EMULATED_CUDA_RUNTIME_API_H

#include <cstddef>
#include <functional>

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorStreamCaptureUnsupported = 900,
};
enum cudaMemcpyKind {
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2
};
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount = 16
};
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal = 0
};

using cudaStream_t = struct EmulatedStream *;
using cudaGraph_t = struct EmulatedGraph *;
using cudaGraphExec_t = struct EmulatedGraph *;

cudaError_t cudaGetLastError();
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
// So few that a block has much to do.
template <typename Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Kernel, int, size_t) {
  *blocks = 2;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

namespace commsched::testing::cuda {

// Runs `work` in the order of the stream; null is the stream of streamless calls.
void Enqueue(cudaStream_t stream, std::function<void()> work);

}  // namespace commsched::testing::cuda

#endif  // COMMSCHED_TESTS_OPS_EMULATED_CUDA_RUNTIME_API_H
