// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "tests/ops/cuda_emulation_check.h"
#include "tests/ops/cuda_machine.h"

struct EmulatedGraph {
  std::vector<std::function<void()>> work;
};
struct EmulatedStream {
  EmulatedGraph *captured = nullptr;
};

namespace {

using commsched::testing::cuda::AddFinding;
using commsched::testing::cuda::Enqueue;
using commsched::testing::cuda::IsInMemory;
using commsched::testing::cuda::SetWritten;

int g_captures = 0;

cudaError_t Refuse(const char *why, cudaError_t error) {
  AddFinding(why);
  return error;
}
// Of the side that is the device's.
bool IsCopy(const void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  return bytes == 0 || IsInMemory(kind == cudaMemcpyHostToDevice ? to : from, bytes);
}
void Copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return;
  std::memcpy(to, from, bytes);
  if (kind == cudaMemcpyHostToDevice) SetWritten(to, bytes);
}

}  // namespace

namespace commsched::testing::cuda {

void Enqueue(cudaStream_t stream, std::function<void()> work) {
  if (stream != nullptr && stream->captured != nullptr)
    stream->captured->work.push_back(std::move(work));
  else
    work();
}

}  // namespace commsched::testing::cuda

cudaError_t cudaGetLastError() { return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
  }
  return "unknown error";
}
cudaError_t cudaGetDeviceCount(int *count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int) {
  *value = 3;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void **p, size_t bytes) {
  // Some of what a device fills with anything.
  *p = std::aligned_alloc(256, (bytes + 255) / 256 * 256 + 256);
  std::memset(*p, 0xa5, bytes);
  commsched::testing::cuda::AddMemory(*p, bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void *p) {
  if (p != nullptr) commsched::testing::cuda::RemoveMemory(p);
  std::free(p);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  if (g_captures != 0)
    return Refuse("cudaMemcpy while a stream is captured", cudaErrorStreamCaptureUnsupported);
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (!IsCopy(to, from, bytes, kind))
    return Refuse("a copy outside of memory", cudaErrorInvalidValue);
  Enqueue(stream, [=] { Copy(to, from, bytes, kind); });
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch)
    return Refuse("rows of a copy that overlap", cudaErrorInvalidValue);
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error =
        cudaMemcpyAsync(static_cast<char *>(to) + row * to_pitch,
                        static_cast<const char *>(from) + row * from_pitch, width, kind, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream) {
  if (bytes != 0 && !IsInMemory(p, bytes))
    return Refuse("a memset outside of memory", cudaErrorInvalidValue);
  Enqueue(stream, [=] {
    if (bytes == 0) return;
    std::memset(p, value, bytes);
    SetWritten(p, bytes);
  });
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
  *stream = new EmulatedStream;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream != nullptr && stream->captured != nullptr)
    return Refuse("a wait for a stream that is captured", cudaErrorStreamCaptureUnsupported);
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  ++g_captures;
  stream->captured = new EmulatedGraph;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  --g_captures;
  *graph = std::exchange(stream->captured, nullptr);
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long) {
  *exec = new EmulatedGraph(*graph);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  for (const std::function<void()> &work : exec->work) Enqueue(stream, work);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

namespace commsched::testing {

// What is new is not written yet, and says so.
int FillMemory(void *, size_t) { return cudaSuccess; }
std::vector<std::string> TakeFindings() { return cuda::TakeFindings(); }

}  // namespace commsched::testing
