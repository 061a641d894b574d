// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The launches of a plan's step on a device, on memory that is placed as the runtime places it.
#ifndef COMMSCHED_BENCH_CUDA_PLACED_STEP_H
#define COMMSCHED_BENCH_CUDA_PLACED_STEP_H

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/cuda_bench.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/cuda/library_kernels.h"
#include "runtime/cuda/plan_graph.h"

namespace commsched::bench {

// Loads the plan's kernels and prepares those of libraries. An error ends the program.
class PlacedStep {
 public:
  struct Step {
    const plan::CudaLaunch *kernel = nullptr;  // null: a library's
    uint32_t library_kernel = 0;
    std::vector<runtime::cuda::DevicePtr> addresses;
  };
  struct Launch {
    const plan::CudaFragment *fragment = nullptr;
    const runtime::LaunchProgram *launch = nullptr;
    std::vector<runtime::cuda::DevicePtr> places;  // of the operands, then the scratch memory
    std::vector<Step> steps;                       // of the fragment
  };

  // Both outlive it. Slots and batches are drawn; below: from which on integers of a batch argument are
  // not, by default 2. What comes from elsewhere, other ranks and the step before, is zero.
  PlacedStep(CudaBench &bench, const runtime::Program &program,
             const std::map<std::string, uint32_t> &below);
  ~PlacedStep();
  PlacedStep(const PlacedStep &) = delete;
  PlacedStep &operator=(const PlacedStep &) = delete;

  const runtime::FunctionProgram &function() const { return function_; }
  // In the order of the runtime.
  const std::vector<Launch> &launches() const { return launches_; }
  void Enqueue(const Step &step);
  // That it is for the driver, at most.
  uint32_t Commands(const Step &step) const;
  // Pinned.
  uint32_t *MakeFlag();

 private:
  template <typename T>
  T Value(absl::StatusOr<T> of) const {
    bench_.Check(of.status());
    return *std::move(of);
  }
  void Place();
  void Fill(const std::map<std::string, uint32_t> &below);
  void FillOne(ops::Element element, uint64_t bytes, uint32_t below, runtime::cuda::DevicePtr at);
  void PrepareLibraries();

  CudaBench &bench_;
  const runtime::Program &program_;
  const runtime::FunctionProgram &function_;
  runtime::cuda::DeviceMemory memory_;
  runtime::cuda::SlotPlaces slots_;
  runtime::cuda::PlanGraph graph_;
  std::array<runtime::cuda::DevicePtr, runtime::cuda::kMemoryKinds> at_ = {};
  std::vector<Launch> launches_;
  std::unique_ptr<runtime::cuda::LibraryKernels> libraries_;
};

}  // namespace commsched::bench

#endif  // COMMSCHED_BENCH_CUDA_PLACED_STEP_H
