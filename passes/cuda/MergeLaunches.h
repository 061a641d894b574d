// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_CUDA_MERGELAUNCHES_H
#define COMMSCHED_PASSES_CUDA_MERGELAUNCHES_H

#include "passes/cuda/Stages.h"

#include "llvm/ADT/StringMap.h"

#include <map>
#include <string>

namespace commsched::cudaexport {

/// Merges launches of fragments, as MergeLaunches.cpp says. Kernels that it makes are functions of `module`.
class LaunchMerger {
public:
  /// nests: by the symbols of their kernels, those of one kernel whose accesses are known.
  LaunchMerger(mlir::ModuleOp module, const llvm::StringMap<NestKernels> &nests) : module(module), nests(nests) {}

  void run(plan::CudaFragment &fragment);

  struct Made {
    std::string symbol;
    uint32_t block = 1;
    NestShape shape;
  };
  llvm::ArrayRef<Made> kernels() const { return made; }

private:
  /// Null if its accesses are not known.
  const NestKernels *nestOf(const plan::CudaLaunch &launch) const;
  bool mayShareThreads(const plan::CudaLaunch &a, const NestKernels &nestOfA, const plan::CudaLaunch &b,
                       const NestKernels &nestOfB) const;
  bool mayChangePlaces(const plan::CudaLaunch &a, const plan::CudaLaunch &b) const;
  /// Of launches that follow each other.
  void mergeSome(llvm::ArrayRef<const plan::CudaLaunch *> launches, plan::CudaFragment &fragment);
  /// Of launches that follow each other, as SideBySide.cpp says.
  void putSideBySide(llvm::ArrayRef<plan::CudaLaunch> launches, plan::CudaFragment &fragment);
  plan::CudaLaunch sideBySide(llvm::ArrayRef<const plan::CudaLaunch *> group);
  plan::CudaLaunch merge(llvm::ArrayRef<const plan::CudaLaunch *> group);

  mlir::ModuleOp module;
  const llvm::StringMap<NestKernels> &nests;
  llvm::StringMap<NestKernels> merged;      // by symbol
  std::map<std::string, std::string> known; // symbols, by what was merged how
  llvm::SmallVector<Made> made;
};

} // namespace commsched::cudaexport

#endif // COMMSCHED_PASSES_CUDA_MERGELAUNCHES_H
