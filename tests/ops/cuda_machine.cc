// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/ops/cuda_machine.h"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

#include "ops/sparse/cuda/quantize_cuda.h"

namespace commsched::testing {
namespace {

using ops::Element;
namespace sparse = ops::sparse;

void Check(int error, const char *what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(cudaError_t(error)));
  std::abort();
}
void Check(const absl::Status &status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();
}

}  // namespace

struct CudaMachine::Streams {
  cudaStream_t stream = nullptr;
};

CudaMachine::CudaMachine() : streams_(std::make_unique<Streams>()) {
  Check(cudaStreamCreate(&streams_->stream), "stream");
}
CudaMachine::~CudaMachine() {
  for (void *p : memory_) cudaFree(p);
  cudaStreamDestroy(streams_->stream);
}

void *CudaMachine::Allocate(size_t bytes) {
  // No size is refused, and each gets memory of its own.
  void *p = nullptr;
  Check(cudaMalloc(&p, bytes + (bytes == 0)), "memory");
  Check(FillMemory(p, bytes), "memory");
  memory_.push_back(p);
  return p;
}
void CudaMachine::Write(void *to, const void *from, size_t bytes) {
  Check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copy");
}
void CudaMachine::Read(void *to, const void *from, size_t bytes) {
  Check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copy");
}

void CudaMachine::RunGraph(const std::function<absl::Status()> &work,
                           const std::function<void()> &again) {
  cudaStream_t stream = streams_->stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  Check(work());
  Check(cudaStreamEndCapture(stream, &graph), "capture");
  Check(cudaGraphInstantiate(&exec, graph, 0), "graph");
  Check(cudaGraphLaunch(exec, stream), "launch");
  Check(cudaStreamSynchronize(stream), "kernels");
  if (again) {
    again();
    Check(cudaGraphLaunch(exec, stream), "launch");
    Check(cudaStreamSynchronize(stream), "kernels");
  }
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}

std::vector<sparse::NonFinite> CudaMachine::TopK(Element element, Element index,
                                                 const std::vector<sparse::cuda::Array> &arrays,
                                                 const sparse::cuda::TopKOptions &options,
                                                 const std::function<void()> &again) {
  auto *scratch = static_cast<std::byte *>(
      Allocate(sparse::cuda::TopKBatch::ScratchBytes(arrays, options.method)));
  auto batch = sparse::cuda::TopKBatch::Make(element, index, arrays, scratch, options);
  Check(batch.status());
  RunGraph([&] { return batch->Run(streams_->stream); }, again);
  auto result = batch->Wait(streams_->stream);
  Check(result.status());
  const sparse::cuda::Tables tables = LayOut(arrays, options.method, scratch);
  repaired_ = 0;
  for (size_t i = 0; i < arrays.size(); ++i) {
    uint32_t candidates = 0;
    const auto *state = reinterpret_cast<sparse::cuda::State *>(scratch + tables.states_at) + i;
    Read(&candidates, &state->candidates, sizeof(candidates));
    repaired_ += (*result)[i].count == 0 && tables.items[i].low_rank != 0 &&
                 candidates < arrays[i].k;
  }
  return *std::move(result);
}

template <class Batch, class List>
absl::Status CudaMachine::RunLists(const sparse::ListType &type, const std::vector<List> &lists) {
  auto batch = Batch::Make(type, lists, Allocate(Batch::ScratchBytes(type, lists)));
  Check(batch.status());
  RunGraph([&] { return batch->Run(streams_->stream); });
  return batch->Wait(streams_->stream);
}
absl::Status CudaMachine::Lists(const sparse::ListType &type,
                                const std::vector<sparse::cuda::List> &lists) {
  return RunLists<sparse::cuda::ListBatch>(type, lists);
}
absl::Status CudaMachine::TopKLists(const sparse::ListType &type,
                                    const std::vector<sparse::cuda::TopKList> &lists) {
  return RunLists<sparse::cuda::TopKListBatch>(type, lists);
}

sparse::NonFinite CudaMachine::Quantize(Element from, Element to, const void *values,
                                        int64_t count, int64_t block, void *quantized,
                                        float *scales) {
  auto *state =
      static_cast<sparse::cuda::QuantizeState *>(Allocate(sizeof(sparse::cuda::QuantizeState)));
  RunGraph([&] {
    return sparse::cuda::QuantizeOn(streams_->stream, from, to, values, count, block, quantized,
                                    scales, state);
  });
  const auto result = sparse::cuda::WaitForQuantize(streams_->stream, state);
  Check(result.status());
  return *result;
}
void CudaMachine::Dequantize(Element from, Element to, const void *quantized, int64_t count,
                             int64_t block, const float *scales, void *values) {
  Check(sparse::cuda::DequantizeOn(streams_->stream, from, to, quantized, count, block, scales,
                                   values));
  Check(cudaStreamSynchronize(streams_->stream), "dequantization");
}

std::unique_ptr<CudaMachine> MakeCudaMachine() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return nullptr;
  return std::make_unique<CudaMachine>();
}

}  // namespace commsched::testing
