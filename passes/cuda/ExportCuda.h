// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_CUDA_EXPORTCUDA_H
#define COMMSCHED_PASSES_CUDA_EXPORTCUDA_H

#include "passes/cuda/CudaCompiler.h"
#include "passes/plan/DeviceCompiler.h"

namespace commsched {

namespace cudaexport {

/// Compiles all fragments of a level-2 module that have a body. `labels`: of each compiled
/// fragment, the ops that it is the code of.
mlir::LogicalResult exportCuda(mlir::ModuleOp module, const CudaOptions &options, CompiledCuda &result,
                               std::vector<std::vector<std::string>> &labels);

/// For plans of clusters with CUDA devices.
std::unique_ptr<planexport::DeviceCompiler> makePlanCompiler(mlir::MLIRContext *context,
                                                             CudaOptions options);

/// Launches and PTX as text.
std::string printCuda(const CompiledCuda &compiled, const std::vector<std::vector<std::string>> &labels);

} // namespace cudaexport

/// Registers --mlir-to-cuda with cs-translate, and for --mlir-to-plan what compiles for CUDA devices.
void registerCudaTranslations();

} // namespace commsched

#endif // COMMSCHED_PASSES_CUDA_EXPORTCUDA_H
