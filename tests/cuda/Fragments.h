// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fragments twice: as plans have them, on the host, and as launches, emulated.

#ifndef COMMSCHED_TESTS_CUDA_FRAGMENTS_H
#define COMMSCHED_TESTS_CUDA_FRAGMENTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "ops/base/kernel.h"
#include "passes/cuda/CudaCompiler.h"
#include "runtime/loading/code_object.h"
#include "tests/cuda/CompileKernels.h"
#include "tests/cuda/Context.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace commsched::cudatest {

using Bytes = std::vector<char>;
using Buffers = std::vector<Bytes>;

/// The fragments of a module: the bodies of its cs.fragment, and of functions without
/// these.
class Fragments {
public:
  /// `change`, if not empty, is called of the kernels before they become code, and of the
  /// launches: faults to be found.
  using Change = std::function<void(mlir::ModuleOp kernels, cudaexport::CompiledCuda &)>;
  Fragments(Context &context, mlir::ModuleOp module, const Change &change = {});
  ~Fragments();

  /// Why there is nothing to run; empty if there is.
  std::string refusal;

  size_t size() const { return compiled.module.fragments.size(); }
  const cudaexport::CompiledCuda &cuda() const { return compiled; }
  mlir::TypeRange inputs(size_t fragment) const { return types[fragment].inputs; }
  mlir::TypeRange outputs(size_t fragment) const { return types[fragment].outputs; }

  /// Whether all its nests compute elements of their own.
  bool isElementwise(size_t fragment) const;

  Buffers runOnHost(size_t fragment, const Buffers &inputs);
  /// The fault goes to `fault`. Memory that nothing was written to has what `seed` gives.
  Buffers emulate(size_t fragment, const Buffers &inputs, uint64_t seed, std::string &fault);

private:
  struct Types {
    llvm::SmallVector<mlir::Type> inputs, outputs;
  };
  Buffers makeOutputs(size_t fragment, int fill) const;
  void callKernel(unsigned index, void **operands);

  std::vector<Types> types;
  planexport::CompiledFragments host;
  cudaexport::CompiledCuda compiled;
  runtime::CodeLibrary library;
  std::vector<std::unique_ptr<ops::KernelInstance>> hostKernels, deviceKernels;
  std::vector<std::unique_ptr<ops::KernelInstance>> *current = nullptr;
  std::unique_ptr<HostKernels> kernels;
};

/// Random numbers for a tensor: floats around 1, small integers.
Bytes randomTensor(mlir::Type type, std::mt19937_64 &random);
/// The same, but of floats some are zeros of both signs, infinite, NaN or subnormal.
Bytes specialTensor(mlir::Type type, std::mt19937_64 &random);

size_t bytesOf(mlir::Type tensor);

/// How many elements differ in bits, NaN being NaN; and the largest difference of floats
/// relative to the largest of `a`.
struct Difference {
  size_t elements = 0, differing = 0;
  double relative = 0;
};
Difference compare(mlir::Type tensor, const Bytes &a, const Bytes &b);

/// What is wrong with launches: a fault, results that depend on the order of threads, or differ from the host's by more
/// than `tolerance`, relative to the largest (0: in a bit). Empty if nothing is.
std::string findingOf(Fragments &fragments, size_t fragment, const Buffers &inputs, uint64_t seed, double tolerance = 0);

} // namespace commsched::cudatest

#endif // COMMSCHED_TESTS_CUDA_FRAGMENTS_H
