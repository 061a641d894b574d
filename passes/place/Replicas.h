// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of a step runs on every device of a node, for --replicate-devices.

#ifndef COMMSCHED_PASSES_PLACE_REPLICAS_H
#define COMMSCHED_PASSES_PLACE_REPLICAS_H

#include "ir/Cs.h"
#include "passes/place/Devices.h"
#include "llvm/ADT/StringSet.h"

namespace commsched::place {

/// Carried tensors that all devices hold, by name.
using Everywhere = llvm::StringSet<>;

/// How the devices' values combine for what `op` communicates, and its name. Requires that Replicas::find() found
/// nothing wrong with it.
std::pair<cs::Reduction, std::string> combination(mlir::Operation *op);

/// Of the function of a trainer, which outlives it.
class Replicas {
public:
  Replicas(mlir::func::FuncOp func, cs::ClusterOp cluster)
      : func(func), cluster(cluster), known(func) {}

  /// Finds what runs on every device, with `shards` also behind the gradients that it pays to reduce in shards; adds
  /// what it reads to `everywhere`. An error says what cannot differ between devices.
  llvm::LogicalResult find(bool shards, Everywhere &everywhere);

  bool runsEverywhere(mlir::Operation *fragment) const { return replicated.contains(fragment); }
  size_t size() const { return replicated.size(); }
  /// Shards of a device; 0: it is reduced whole.
  int64_t shardsOf(mlir::Operation *allReduce) const { return sharded.lookup(allReduce); }
  /// Whether all devices have an argument of their own: fragments read it, or it is combined.
  bool isRead(mlir::Value argument) const { return read.contains(argument); }
  const Origins &origins() const { return known; }

private:
  llvm::LogicalResult checkIsNew();
  llvm::LogicalResult check(mlir::Operation &op);
  void replicate(cs::FragmentOp fragment);
  void findSharded();

  mlir::func::FuncOp func;
  cs::ClusterOp cluster;
  Origins known;
  llvm::DenseMap<mlir::Operation *, int64_t> sharded;
  llvm::DenseSet<mlir::Operation *> replicated;
  llvm::DenseSet<mlir::Value> read;
};

} // namespace commsched::place

#endif // COMMSCHED_PASSES_PLACE_REPLICAS_H
