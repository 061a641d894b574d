// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the fragments and messages of a step take, by the costs of fragments and the
// cluster's rates. docs/schedule-comm.md has the model.

#ifndef COMMSCHED_PASSES_SCHEDULE_STEPCOSTS_H
#define COMMSCHED_PASSES_SCHEDULE_STEPCOSTS_H

#include "passes/schedule/NcclLink.h"
#include "passes/schedule/StepProblem.h"

namespace commsched {

class StepCosts {
public:
  StepCosts(const StepCommunications &step, cs::ClusterOp cluster,
            llvm::StringRef algorithm);

  /// While nothing is communicated.
  schedule::Time durationOf(cs::FragmentOp fragment) const;
  /// Of that, what it has done without when it was measured.
  schedule::Time avoidableOf(cs::FragmentOp fragment) const;
  static int64_t widthOf(mlir::Value value); ///< bytes of an element
  static int64_t bytesOf(mlir::Value value);

  /// Those of a communication: a collective, a message of its own, or a push and
  /// the `pull` of what the server makes of it. Adds the links that they are on.
  std::vector<schedule::Stage> stagesOf(mlir::Operation *op, mlir::Operation *pull,
                                        schedule::Problem &problem);
  /// schedule::Communication::tail.
  int64_t tailOf(cs::AllReduceOp op) const;
  /// Whether the rank whose step the problem is takes part: of groups, the one that
  /// communicates most, and no bound for its step is too high for the whole.
  bool takesPart(mlir::Operation *collective) const;
  bool isNccls(mlir::Operation *op) const { return nccl && nccl->takes(op); }
  /// How many times the bytes of a message to or from this op's server are on the
  /// link that it is counted on.
  int64_t copiesOf(mlir::Operation *message) const;

  /// Of what shares a message with others: copying it on both ends takes no longer than the
  /// message that is saved. Nothing, where messages take next to no time.
  int64_t mostBytesToFuse() const;

  /// The stage has what the server takes to make what a pull brings.
  void setUpdate(schedule::Stage &stage, mlir::Operation *pull) const;

  /// Makes ops longer by what compute loses to communication.
  void slowDown(schedule::Problem &problem) const;

private:
  void findBusiest();
  int64_t ranksOf(mlir::Operation *collective) const;
  unsigned linkOf(schedule::Problem &problem, llvm::StringRef name);
  void setRounds(schedule::Link &link) const;
  schedule::Stage message(unsigned link, CollectiveCost cost) const;
  schedule::Stage countingLess(schedule::Stage stage, CollectiveLeast least) const;
  schedule::Stage messageTo(mlir::Operation *op, bool up,
                            schedule::Problem &problem);
  std::vector<schedule::Stage> rowsOf(mlir::Operation *op,
                                      schedule::Problem &problem);

  const StepCommunications &step;
  cs::ClusterOp cluster;
  llvm::StringRef algorithm;
  int64_t ranks;
  int64_t busiest = 0; // rank
  schedule::Time overhead, latency, avoidableOverhead, avoidableLatency;
  int64_t sends = 0, sentBytes = 0; ///< of a trainer, to servers
  int64_t servers = 0;              ///< that get something
  llvm::StringMap<unsigned> links;
  std::optional<NcclLink> nccl; ///< algorithm=nccl
  /// Servers whose link takes longer than a trainer's.
  llvm::DenseSet<mlir::Operation *> narrow;
};

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_STEPCOSTS_H
