// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between memories of a node on streams of their own, in one function.

#ifndef COMMSCHED_PASSES_PLACE_OVERLAPPER_H
#define COMMSCHED_PASSES_PLACE_OVERLAPPER_H

#include "passes/place/Devices.h"
#include "passes/place/StagingPlaces.h"
#include "passes/support/HostCopies.h"

#include "llvm/ADT/StringSet.h"

namespace commsched::place {

/// What a start holds.
bool holdsCopy(cs::StartOp start);
/// NCCL reads and writes device memory.
bool staysOnDevice(cs::StartOp start);

/// Once.
class Overlapper {
public:
  Overlapper(mlir::func::FuncOp func, HostCopies copies, int64_t stagingBytes)
      : func(func), inLine(copies == HostCopies::inLine), stages(copies != HostCopies::none),
        limit(stagingBytes) {}

  llvm::LogicalResult run();

private:
  llvm::LogicalResult check();
  llvm::LogicalResult stage(cs::StartOp start);
  llvm::LogicalResult checkStaged(cs::StartOp start, mlir::Value input);
  void startDeviceCopies();
  void tell();

  int64_t priorityOf(cs::CopyOp copy);
  std::string keyOf(cs::CopyOp copy);
  std::string unique(std::string key);
  cs::StartOp createStart(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef key,
                          mlir::Value value, cs::PlacedType to, int64_t priority);
  /// Behind `op` (null: the beginning), and what was put there before.
  mlir::Value startBehind(mlir::Operation *op, mlir::Location loc, llvm::StringRef key, mlir::Value value,
                          cs::PlacedType to, int64_t priority, cs::StartOp &start);
  cs::AwaitOp awaitBefore(mlir::Operation *op, cs::StartOp start);

  mlir::func::FuncOp func;
  bool inLine;
  bool stages; // through memory of the host
  int64_t limit;
  llvm::StringSet<> keys;
  cs::StartOp previous; // communication
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> lastBehind;
  std::vector<Staging> stagings;
  unsigned deviceCopies = 0;
};

} // namespace commsched::place

#endif // COMMSCHED_PASSES_PLACE_OVERLAPPER_H
