// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between the devices of a node, as stages of the communications that they lead to
// or come from.

#ifndef COMMSCHED_PASSES_SCHEDULE_DEVICECOPIES_H
#define COMMSCHED_PASSES_SCHEDULE_DEVICECOPIES_H

#include "passes/schedule/StepProblem.h"

namespace commsched {

/// What the links of these stages are, so that a bound with them holds for the copy engines
/// of the devices, which each take one copy after the other:
///
/// - Before a communication, that of its device's engine, which has all copies to it.
/// - Behind one, whose copies go to several devices at once, one that is as fast as all
///   engines together. Whatever they do at once, it can do, and is done no later with any
///   part of their bytes.
///
/// So an engine's work is in two links. Where engines need longer than the network, it is
/// all in the second one.
///
/// A copy takes its engine for the latency too; that is counted as the bytes that the link
/// carries meanwhile, so that cutting and fusing messages, which leaves copies as they
/// are, costs and saves nothing of it.
class DeviceCopies {
public:
  DeviceCopies(const StepCommunications &step, cs::ClusterOp cluster);

  /// Whether any copy belongs to a communication.
  bool any() const { return !before.empty() || !after.empty(); }
  /// Adds a stage in front of those of each communication, and one behind.
  void addTo(StepProblem &step) const;

private:
  bool areSlow(const schedule::Problem &problem) const;

  int64_t bytesPerSecond, latency, engines;
  struct Incoming {
    int64_t bytes = 0; ///< to whatever device
    int64_t toOwn = 0; ///< to that of the communication
  };
  llvm::DenseMap<mlir::Operation *, Incoming> before; // by communication
  llvm::DenseMap<mlir::Operation *, int64_t> after;   // bytes
};

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_DEVICECOPIES_H
