// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions on buffers as library kernels.

#ifndef COMMSCHED_PASSES_PLAN_KERNELBUILDER_H
#define COMMSCHED_PASSES_PLAN_KERNELBUILDER_H

#include "passes/plan/Contraction.h"
#include "passes/plan/FragmentCompiler.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "plan/plan.pb.h"

namespace commsched::planexport {

/// A kernel and the buffers that it runs on, in the order of its operands.
struct KernelCall {
  plan::Kernel kernel;
  llvm::SmallVector<mlir::Value, 3> buffers;
};

/// A matrix product: kind "matmul", A [b.., m, k], B [b.., k, n], C [b.., m,
/// n]; an operand that does not depend on a batch dimension has stride 0 there.
/// Loops are merged where strides allow; operands that no library takes as
/// they lie are copied before (and C after) `op`. None if it does not fit.
/// For `form` Launches there is one batch dimension at most, if copies can see to that.
std::optional<KernelCall> buildMatmul(mlir::linalg::GenericOp op, const ContractionInfo &info, BodyForm form);

/// A convolution: kinds "convolution_forward" (source, weights, destination),
/// "convolution_backward_weights" (source, gradient of the destination,
/// gradient of the weights) or "convolution_backward_data" (gradient of the
/// destination, weights, gradient of the source). Dimensions are source (N, C,
/// space), weights (O, I / groups, space), destination (N, O, space). None if
/// it does not fit. As launches, which cuDNN runs: with as much padding behind the source as in
/// front (padding that is not stays a copy), and by packConvolution.
std::optional<KernelCall> buildConvolution(mlir::linalg::GenericOp op, const ContractionInfo &info,
                                           BodyForm form);

/// Makes all operands of a convolution dense in one order, channels innermost, or, if the large
/// operands lie so, samples, channels, space: the orders that cuDNN has. Others are copied
/// before (and the output behind) `op`.
void packConvolution(mlir::linalg::GenericOp op, KernelCall &call);

/// A memref of a loop nest: the loop of each dimension, and its stride in
/// elements.
struct StridedView {
  mlir::Value buffer;
  llvm::SmallVector<unsigned> loops;
  llvm::SmallVector<int64_t> strides;
  int64_t stride(unsigned loop) const;
};

/// One or several loops that are one dimension in memory.
struct Axis {
  int64_t size = 1;
  std::array<int64_t, 3> strides{};
  std::array<bool, 3> in{};
};

/// The loops with `mask`, merged where all operands in it allow, outermost
/// in operand `key` first. Loops of size 1 vanish.
llvm::SmallVector<Axis> mergeLoops(const std::array<StridedView, 3> &views,
                                   llvm::ArrayRef<unsigned> loops,
                                   llvm::ArrayRef<int64_t> sizes, unsigned mask,
                                   unsigned key);

plan::KernelTensor kernelTensor(mlir::Type element, llvm::ArrayRef<int64_t> dims,
                                llvm::ArrayRef<int64_t> strides);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_KERNELBUILDER_H
