// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The all-reduce of a gradient as selections that are exchanged.

#ifndef COMMSCHED_PASSES_SPARSE_EXCHANGE_H
#define COMMSCHED_PASSES_SPARSE_EXCHANGE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "ir/Cs.h"
#include "passes/sparse/ForwardUses.h"
#include "passes/sparse/Policy.h"
#include "passes/sparse/Selection.h"

namespace commsched::sparse {

/// How many of `elements` travel: at least one.
int64_t selected(double density, int64_t elements);

/// What an all-reduce takes, and what devices of the node it was combined from.
class NodeGradient {
public:
  NodeGradient(cs::AllReduceOp op, unsigned devices);

  /// Whether the gradients of all devices are there.
  bool isOfDevices() const { return parts.size() > 1; }
  /// The shards that its rows are cut into: one per device, or all of it.
  llvm::SmallVector<mlir::RankedTensorType> shardTypes() const;
  /// By device; the whole alone if they are not there.
  llvm::ArrayRef<mlir::Value> ofDevices() const { return parts; }
  mlir::Value whole() const { return combined; }
  /// Its fragment, which combines those of the devices, else null.
  cs::FragmentOp sum() const { return sumOp; }
  /// Whether what makes it really computes.
  bool hasBody() const;

private:
  mlir::Value combined;
  mutable cs::FragmentOp sumOp; // a handle
  llvm::SmallVector<mlir::Value> parts;
};

struct ExchangeOptions {
  Method method; // of those that select
  double density;
  SelectionRules rules;
  mlir::Type values; // what they travel as
};

/// Replaces `op`, adds the residuals to the arguments and results of `func`, and with
/// an unsent rate puts the parameter less its residual in the place of `forward`. An
/// error if the name of a residual is taken.
mlir::LogicalResult exchange(mlir::func::FuncOp func, cs::AllReduceOp op,
                             const NodeGradient &gradient, cs::ClusterOp cluster,
                             const ExchangeOptions &options, const ForwardUses &forward);

/// Of a gradient that stays dense, momentum and the like, which stand in place of the
/// optimizer's own for all gradients: behind `op`. Errors as above.
mlir::LogicalResult correctDense(mlir::func::FuncOp func, cs::AllReduceOp op,
                                 const NodeGradient &gradient, cs::ClusterOp cluster,
                                 const ExchangeOptions &options);

} // namespace commsched::sparse

#endif // COMMSCHED_PASSES_SPARSE_EXCHANGE_H
