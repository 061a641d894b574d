// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes the scheduling problem of a step: its ops are in ProblemOps.cpp, its communications in
// StepProblem.cpp, what they cost in StepCosts.cpp.

#ifndef COMMSCHED_PASSES_SCHEDULE_PROBLEMBUILDER_H
#define COMMSCHED_PASSES_SCHEDULE_PROBLEMBUILDER_H

#include "passes/schedule/DeviceCopies.h"
#include "passes/schedule/MessageKinds.h"
#include "passes/schedule/StagingCopies.h"
#include "passes/schedule/StepCosts.h"

#include <map>

namespace commsched {

class ProblemBuilder {
public:
  using Operations = StepCommunications::Operations;

  ProblemBuilder(const StepCommunications &step, cs::ClusterOp cluster,
                 llvm::StringRef algorithm)
      : step(step), costs(step, cluster, algorithm), copies(step, cluster), staging(cluster), kinds(step, costs) {}

  StepProblem build(BlockFreedom blocks, bool parts, HostCopies hostCopies);

private:
  void findLate();
  void findStreams();
  void addBegins();
  void addOps();
  void addFragment(cs::FragmentOp fragment);
  void addRelay(mlir::Operation *communication);
  void addInLine(mlir::Operation *communication, bool toHost);
  void addDependences();
  void addCommunication(mlir::Operation *op, bool parts);
  void addStaging();
  bool isPaired(mlir::Operation *send) const;
  Operations awaitedBy(mlir::Operation *communication) const;
  std::vector<unsigned> producersOf(mlir::Operation *communication);
  void throughCopies(mlir::Operation *op, mlir::Operation *last, schedule::Communication &communication);
  std::vector<schedule::Consumer> consumersOf(mlir::Operation *op);

  unsigned shiftOf(mlir::Operation *op) const { return isLate.contains(op); }
  static unsigned deviceOf(mlir::Operation *communication) {
    mlir::Value value = communication->getNumOperands() ? communication->getOperand(0)
                                                        : communication->getResult(0);
    return llvm::cast<cs::PlacedType>(value.getType()).getDevice();
  }

  const StepCommunications &step;
  StepCosts costs;
  DeviceCopies copies;
  StagingStages staging;
  StepProblem result;
  llvm::DenseSet<mlir::Operation *> isLate;         // of the next step
  std::map<unsigned, unsigned> streamOf;            // by device
  llvm::DenseMap<mlir::Operation *, unsigned> opOf; // by fragment
  // By communication, where copies to the host and from it are in line.
  llvm::DenseMap<mlir::Operation *, unsigned> copyBefore, copyBehind;
  // By communication: what it starts after, where that is communication too, and
  // what starts after it.
  llvm::DenseMap<mlir::Operation *, unsigned> relayBefore;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<schedule::Consumer, 1>> relaysAfter;
  std::map<Operations, unsigned> relays;             // only looked up, never walked
  llvm::DenseMap<unsigned, unsigned> begins;         // by device
  llvm::DenseMap<mlir::Attribute, unsigned> servers; // by role
  MessageKinds kinds;
  BlockFreedom freedom;
};

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_PROBLEMBUILDER_H
