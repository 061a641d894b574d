// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "ops/sparse/cuda/lists_cuda.h"
#include "ops/sparse/cuda/quantize_cuda.h"
#include "tests/ops/cuda_machine.h"

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

class Device : public CudaMachine {
 public:
  Device() { Check(cudaStreamCreate(&stream_), "stream"); }
  ~Device() override {
    for (void *p : memory_) cudaFree(p);
    cudaStreamDestroy(stream_);
  }
  void *Allocate(size_t bytes) override {
    void *p = nullptr;
    Check(cudaMalloc(&p, bytes + 1), "memory");
    Check(cudaMemset(p, 0xa5, bytes + 1), "memory");
    memory_.push_back(p);
    return p;
  }
  void Write(void *to, const void *from, size_t bytes) override {
    Check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copy");
  }
  void Read(void *to, const void *from, size_t bytes) override {
    Check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copy");
  }
  bool Damaged() override { return false; }  // compute-sanitizer sees more

  std::vector<sparse::NonFinite> TopK(Element element, Element index,
                                      const std::vector<sparse::cuda::Array> &arrays,
                                      const sparse::cuda::TopKOptions &options) override {
    void *scratch = Allocate(sparse::cuda::TopKBatch::ScratchBytes(arrays, options.method));
    auto batch = sparse::cuda::TopKBatch::Make(element, index, arrays, scratch, options);
    Check(batch.status());
    RunGraph([&] { return batch->Run(stream_); });
    auto result = batch->Wait(stream_);
    Check(result.status());
    return *std::move(result);
  }
  int Repaired() override { return -1; }

  absl::Status Lists(const sparse::ListType &type,
                     const std::vector<sparse::cuda::List> &lists) override {
    return RunLists<sparse::cuda::ListBatch>(type, lists);
  }
  absl::Status TopKLists(const sparse::ListType &type,
                         const std::vector<sparse::cuda::TopKList> &lists) override {
    return RunLists<sparse::cuda::TopKListBatch>(type, lists);
  }

  sparse::NonFinite Quantize(Element from, Element to, const void *values, int64_t count,
                             int64_t block, void *quantized, float *scales) override {
    auto *state = static_cast<sparse::cuda::QuantizeState *>(
        Allocate(sizeof(sparse::cuda::QuantizeState)));
    RunGraph([&] {
      return sparse::cuda::QuantizeOn(stream_, from, to, values, count, block, quantized, scales,
                                      state);
    });
    const auto result = sparse::cuda::WaitForQuantize(stream_, state);
    Check(result.status());
    return *result;
  }
  void Dequantize(Element from, Element to, const void *quantized, int64_t count, int64_t block,
                  const float *scales, void *values) override {
    Check(
        sparse::cuda::DequantizeOn(stream_, from, to, quantized, count, block, scales, values));
    Check(cudaStreamSynchronize(stream_), "dequantization");
  }

 private:
  template <class Batch, class List>
  absl::Status RunLists(const sparse::ListType &type, const std::vector<List> &lists) {
    auto batch = Batch::Make(type, lists, Allocate(Batch::ScratchBytes(type, lists)));
    Check(batch.status());
    RunGraph([&] { return batch->Run(stream_); });
    return batch->Wait(stream_);
  }
  void RunGraph(const std::function<absl::Status()> &work) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    Check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), "capture");
    Check(work());
    Check(cudaStreamEndCapture(stream_, &graph), "capture");
    Check(cudaGraphInstantiate(&exec, graph, 0), "graph");
    Check(cudaGraphLaunch(exec, stream_), "launch");
    Check(cudaStreamSynchronize(stream_), "kernels");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  }

  cudaStream_t stream_ = nullptr;
  std::vector<void *> memory_;
};

}  // namespace

std::unique_ptr<CudaMachine> MakeCudaMachine() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return nullptr;
  return std::make_unique<Device>();
}

}  // namespace commsched::testing
