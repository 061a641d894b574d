// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles the bodies of fragments to launches and PTX (docs/fragments.md).

#ifndef COMMSCHED_PASSES_CUDA_CUDACOMPILER_H
#define COMMSCHED_PASSES_CUDA_CUDACOMPILER_H

#include "passes/cuda/NestShape.h"
#include "passes/plan/FragmentCompiler.h"
#include "plan/cuda_launch.h"

#include <map>

namespace commsched::cudaexport {

struct CudaOptions {
  /// Path of NVIDIA's libdevice.10.bc, for functions that have no polynomial here; empty: such
  /// functions are refused.
  std::string libdevice;
  /// If not empty, the module is printed here after the named stage.
  std::string printStage;
};

struct CompiledCuda {
  plan::CudaModule module;
  std::vector<plan::Kernel> kernels;       // that CudaLibraryCall names
  std::map<std::string, NestShape> shapes; // of the nests, by the kernel's symbol
  unsigned nests = 0;
  double checkSeconds = 0;
};

class CudaCompiler {
public:
  CudaCompiler(mlir::MLIRContext *context, CudaOptions options);

  /// As FragmentCompiler::add: the index of the fragment among result.module.fragments.
  unsigned add(mlir::Block &body, mlir::Location loc) { return compiler.add(body, loc); }

  /// Up to kernels in the LLVM dialect, in getModule(), and all of `result` but PTX. Errors are
  /// reported at the op.
  mlir::LogicalResult lower(CompiledCuda &result);

  /// lower(), and PTX for sm_90. The same input gives the same text on every machine.
  mlir::LogicalResult compile(CompiledCuda &result);

  unsigned size() const { return compiler.size(); }
  mlir::ModuleOp getModule() { return compiler.getModule(); }

private:
  CudaOptions options;
  planexport::FragmentCompiler compiler;
  std::vector<std::pair<std::string, uint32_t>> entries; // kernels, and threads of a block
};

} // namespace commsched::cudaexport

#endif // COMMSCHED_PASSES_CUDA_CUDACOMPILER_H
