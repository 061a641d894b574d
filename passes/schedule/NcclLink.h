// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NCCL as a link of the scheduling problem: collectives occupy it one at a time, for as long as
// they take (plan/nccl_costs.h).

#ifndef COMMSCHED_PASSES_SCHEDULE_NCCLLINK_H
#define COMMSCHED_PASSES_SCHEDULE_NCCLLINK_H

#include "passes/schedule/StepCommunications.h"
#include "passes/schedule/solver/Problem.h"
#include "plan/nccl_costs.h"

namespace commsched {

/// As the cluster's `nccl` has them, if that was measured for so many ranks; else by the model.
plan::NcclCosts ncclCostsOf(cs::ClusterOp cluster, int64_t ranks);

/// Of the messages that --expand-collectives makes: those of what NCCL does not take.
llvm::StringRef algorithmWithoutNccl(llvm::StringRef algorithm);
/// Empty, or what is wrong with the name of an algorithm.
std::string checkAlgorithmName(llvm::StringRef algorithm);
/// Whether `algorithm` goes with the devices of a cluster; reports what does not.
llvm::LogicalResult checkAlgorithm(cs::ClusterOp cluster, llvm::StringRef algorithm);

/// A link has one rate, and its messages one overhead: the rate is that of the mean slope of
/// all-reduces, the overhead what one of the step takes beside its bytes at that rate, the mean of
/// them. Bounds count no more of it than any collective takes.
class NcclLink {
public:
  NcclLink(const StepCommunications &step, cs::ClusterOp cluster, int64_t ranks);

  static constexpr llvm::StringRef kName = "nccl";
  /// What --lower-to-nccl gives to NCCL; other communication goes as without it.
  bool takes(mlir::Operation *op) const;
  int64_t bytesPerSecond() const;
  /// Of what it takes.
  schedule::Stage stageOf(mlir::Operation *op, unsigned link) const;

private:
  const StepCommunications &step;
  double nsPerByte;
  schedule::Time overhead, least;
};

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_NCCLLINK_H
