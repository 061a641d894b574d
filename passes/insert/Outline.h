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

/// How gradients, metrics and state that depends on the batch get together over
/// the workers.
class GradientExchange {
public:
  virtual ~GradientExchange() = default;
  /// Emits what is to happen directly behind the op that makes `value`. Gives
  /// what the workers have together, or null if that comes at the end of the
  /// function.
  virtual mlir::Value begin(mlir::OpBuilder &builder,
                            const PlannedCommunication &planned,
                            mlir::Value value) = 0;
  /// The same of rows of a gradient, whose table has no new value here.
  virtual void sendRows(mlir::OpBuilder &builder,
                        const PlannedCommunication &planned, mlir::Value ids,
                        mlir::Value values);
  /// Rows of a table, behind the op that makes their ids.
  virtual mlir::Value fetchRows(mlir::OpBuilder &builder,
                                const PlannedCommunication &planned,
                                mlir::Value ids);
  /// Called at the end of the function, for each communication in turn. Gives
  /// null if `begin` gave the value.
  virtual mlir::Value end(mlir::OpBuilder &builder,
                          const PlannedCommunication &planned) {
    return nullptr;
  }
  /// For the remark; the size follows.
  virtual void describe(llvm::raw_ostream &os,
                        const PlannedCommunication &planned) = 0;
};

/// Gradients and state by all-reduce; of metrics rank 0 gets the mean.
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

/// Every worker keeps what it has: of functions besides a step that exchanges
/// values with parameter servers, which count its calls only.
class NoExchange : public GradientExchange {
public:
  mlir::Value begin(mlir::OpBuilder &, const PlannedCommunication &,
                    mlir::Value value) override {
    return value;
  }
  void describe(llvm::raw_ostream &os, const PlannedCommunication &) override;
};

/// Rewrites the function to level 1: fragments and communications as planned,
/// all on device 0. The ops move; nothing is copied but what each fragment
/// repeats for itself.
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
