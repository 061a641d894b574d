// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

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

 private:
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
