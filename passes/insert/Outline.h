// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_INSERT_OUTLINE_H
#define COMMSCHED_PASSES_INSERT_OUTLINE_H

#include "passes/insert/Partition.h"

namespace mlir {
class OpBuilder;
} // namespace mlir
namespace llvm {
class raw_ostream;
} // namespace llvm

namespace commsched {

/// How the gradients of the workers get together.
class GradientExchange {
public:
  virtual ~GradientExchange() = default;
  /// Emits what is to happen directly behind the op that makes the gradient
  /// `value`. Gives what the workers have together, or null if that comes at
  /// the end of the function.
  virtual mlir::Value begin(mlir::OpBuilder &builder,
                            const PlannedCommunication &planned,
                            mlir::Value value) = 0;
  /// Called at the end of the function, for each gradient in turn. Gives null
  /// if `begin` gave the value.
  virtual mlir::Value end(mlir::OpBuilder &builder,
                          const PlannedCommunication &planned) {
    return nullptr;
  }
  /// For the remark; the size follows.
  virtual void describe(llvm::raw_ostream &os,
                        const PlannedCommunication &planned) = 0;
};

class AllReduceExchange : public GradientExchange {
public:
  explicit AllReduceExchange(cs::Reduction reduction) : reduction(reduction) {}
  mlir::Value begin(mlir::OpBuilder &builder,
                    const PlannedCommunication &planned,
                    mlir::Value value) override;
  void describe(llvm::raw_ostream &os,
                const PlannedCommunication &planned) override;

private:
  cs::Reduction reduction;
};

/// Rewrites the function to level 1: fragments and communications as planned,
/// all on device 0. The ops move; nothing is copied but what each fragment
/// repeats for itself. Gradients travel by `exchange`; all else is averaged.
mlir::LogicalResult outline(const ProgramFunction &function,
                            const Partition &partition,
                            GradientExchange &exchange);

/// Floating-point operations of `op`, estimated; loops of unknown length count
/// once. Never negative; saturates.
int64_t estimateFlops(mlir::Operation *op);

/// Bytes of a dense tensor as it is stored (i1 takes one byte per element).
int64_t tensorBytes(mlir::RankedTensorType type);

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_OUTLINE_H
