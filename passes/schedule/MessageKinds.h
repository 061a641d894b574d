// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which communications of a step may share messages.

#ifndef COMMSCHED_PASSES_SCHEDULE_MESSAGEKINDS_H
#define COMMSCHED_PASSES_SCHEDULE_MESSAGEKINDS_H

#include "passes/schedule/ServerBlocks.h"
#include "passes/schedule/StepCosts.h"

#include <utility>
#include <vector>

namespace commsched {

/// Numbers kinds as it is asked: communications of one kind may share messages.
class MessageKinds {
public:
  /// Both outlive it.
  MessageKinds(const StepCommunications &step, const StepCosts &costs)
      : step(step), costs(costs) {}

  /// `late`: a communication of the next step. `block`: whose push this is, if it may share
  /// messages with others, else null.
  unsigned of(mlir::Operation *op, bool late, const ServerBlock *block);

private:
  unsigned ofReduction(cs::AllReduceOp reduce, bool late);
  unsigned ofBlock(const ServerBlock &block, bool late);

  struct Reduction {
    cs::Reduction reduction;
    mlir::Type element;
    unsigned device;
    cs::MemoryKind memory;
    bool late;
    mlir::Attribute group;
    bool operator==(const Reduction &) const = default;
  };
  /// One block of a kind that several may be of.
  struct Known {
    const ServerBlock *block;
    bool late;
    unsigned kind;
  };

  const StepCommunications &step;
  const StepCosts &costs;
  unsigned next = 0;
  std::vector<std::pair<Reduction, unsigned>> reductions;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Known, 1>> blocks; // by server
};

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_MESSAGEKINDS_H
