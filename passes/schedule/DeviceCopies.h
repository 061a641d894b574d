// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between the devices of a node, as stages of the communications that they lead to
// or come from.

#ifndef COMMSCHED_PASSES_SCHEDULE_DEVICECOPIES_H
#define COMMSCHED_PASSES_SCHEDULE_DEVICECOPIES_H

#include "passes/schedule/StepCommunications.h"
#include "passes/schedule/solver/Problem.h"

namespace commsched {

/// The copy engines of all devices of a node are taken as one link that is as fast as all
/// of them together. No schedule of the engines is done earlier than one of that link,
/// whose bytes can go in any portions: a bound with it holds for the engines.
///
/// A copy takes its link for the latency too; that is counted as the bytes that the link
/// carries meanwhile, so that cutting and fusing messages, which leaves copies as they
/// are, costs and saves nothing of it.
class DeviceCopies {
public:
  DeviceCopies(const StepCommunications &step, cs::ClusterOp cluster);

  /// Whether any copy belongs to a communication: all have both stages then.
  bool any() const { return !before.empty() || !after.empty(); }
  /// Adds the link; once.
  void addLink(schedule::Problem &problem);
  /// Puts the copies that `first` waits for in front, and those that wait for `last`
  /// behind.
  void addStages(mlir::Operation *first, mlir::Operation *last,
                 std::vector<schedule::Stage> &stages) const;

private:
  int64_t bytesPerSecond, latency;
  unsigned engines, link = 0;
  llvm::DenseMap<mlir::Operation *, int64_t> before, after; // bytes, by communication
};

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_DEVICECOPIES_H
