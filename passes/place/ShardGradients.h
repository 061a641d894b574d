// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The all-reduce of a gradient by all devices of a node: reduce-scatter between them, an
// all-reduce between nodes by each of its shard, all-gather between them.

#ifndef COMMSCHED_PASSES_PLACE_SHARDGRADIENTS_H
#define COMMSCHED_PASSES_PLACE_SHARDGRADIENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

#include "ir/Cs.h"

namespace commsched::place {

/// Whether shards, one for each device and of rows, make the way of the gradient through
/// the node and back shorter, by the costs of the cluster: a copy of all of it to one
/// device after the other takes longer than more copies of parts, and more messages. Of
/// tensors with fewer rows than devices, and gradients that ask to be sparse, never.
bool paysToShard(cs::AllReduceOp op, cs::ClusterOp cluster);

class GradientSharder {
public:
  explicit GradientSharder(mlir::func::FuncOp func);
  /// In front of `op`, whose operand is `values[d]` on device d: what takes its place.
  /// Returns the whole result on each device. Sums are of the devices in their order, as
  /// on one owner.
  llvm::SmallVector<mlir::Value> shard(cs::AllReduceOp op, mlir::ValueRange values);

private:
  std::string unique(std::string key);
  llvm::StringSet<> keys;
};

} // namespace commsched::place

#endif // COMMSCHED_PASSES_PLACE_SHARDGRADIENTS_H
