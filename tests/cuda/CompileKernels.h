// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From kernels of passes/cuda to code of the host (HostKernels.h), in memory or in a file.

#ifndef COMMSCHED_TESTS_CUDA_COMPILEKERNELS_H
#define COMMSCHED_TESTS_CUDA_COMPILEKERNELS_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/cuda/CudaCompiler.h"
#include "tests/cuda/Context.h"
#include "tests/cuda/HostKernels.h"

#include <memory>
#include <string>

namespace commsched::cudatest {

/// The kernels of the level-2 module `text`, in the LLVM dialect. Null, and why, if it cannot be
/// compiled, or if the plan whose fragments are `expected` is not that of the module.
std::unique_ptr<cudaexport::CudaCompiler> lowerPlanKernels(Context &context, const std::string &text,
                                                           const plan::CudaModule &expected, std::string &error);

/// Of a module of kernels in the LLVM dialect. Null, and why, if it cannot be compiled.
/// `traced`: loads and stores are optimized, and recorded; so run() can tell what is touched.
std::unique_ptr<HostKernels> compileKernels(mlir::ModuleOp kernels, bool traced, std::string &error);

/// Writes a shared library that KernelFile.h can load. Why not, or nothing.
std::string writeKernels(mlir::ModuleOp kernels, const std::string &path);

} // namespace commsched::cudatest

#endif // COMMSCHED_TESTS_CUDA_COMPILEKERNELS_H
