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

/// How many shards, of rows, each device takes of the gradient: as many as make its way
/// through the node and back shorter than by one owner, by the costs of the cluster; 0 if
/// none do. More copies of parts, and more messages, then take less than copies of all of
/// it to one device, one after the other; and with several shards the network need not
/// wait for the first copies of all. 0 for tensors with fewer rows than devices, and for
/// gradients that ask to be sparse.
int64_t shardsOfDevice(cs::AllReduceOp op, cs::ClusterOp cluster);

class GradientSharder {
public:
  explicit GradientSharder(mlir::func::FuncOp func);
  /// In front of `op`, whose operand is `values[d]` on device d: what takes its place, with
  /// so many shards on each. The devices take turns. Returns the whole result on each device. Sums are of the devices in their order, as
  /// on one owner.
  llvm::SmallVector<mlir::Value> shard(cs::AllReduceOp op, mlir::ValueRange values,
                                       int64_t ofDevice);

private:
  std::string unique(std::string key);
  llvm::StringSet<> keys;
};

} // namespace commsched::place

#endif // COMMSCHED_PASSES_PLACE_SHARDGRADIENTS_H
