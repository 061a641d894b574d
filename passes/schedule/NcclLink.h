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
/// Whether `algorithm` goes with the devices of a cluster; reports what does not.
llvm::LogicalResult checkAlgorithm(cs::ClusterOp cluster, llvm::StringRef algorithm);

/// A link has one rate, and a kind of message one overhead: the rate is that of the mean slope of
/// all-reduces, the overhead what a collective of the step takes beside its bytes at that rate, the
/// mean of those of its kind. Bounds count no more of it than any collective takes.
class NcclLink {
public:
  NcclLink(const StepCommunications &step, cs::ClusterOp cluster, int64_t ranks);

  static constexpr llvm::StringRef kName = "nccl";
  /// Collectives of all ranks; other communication goes as without NCCL.
  bool takes(mlir::Operation *op) const;
  int64_t bytesPerSecond() const;
  /// Of what it takes.
  schedule::Stage stageOf(mlir::Operation *op, unsigned link) const;

private:
  struct Kind {
    schedule::Time overhead = 0, least = 0;
    double bytes = 1; ///< on the link, of a byte of the buffer
  };
  Kind &kindOf(mlir::Operation *op);
  const Kind &kindOf(mlir::Operation *op) const;

  const StepCommunications &step;
  double nsPerByte;
  Kind allReduce, half;
};

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_NCCLLINK_H
