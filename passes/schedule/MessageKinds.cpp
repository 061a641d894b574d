// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/MessageKinds.h"

using namespace mlir;
using namespace commsched;

unsigned MessageKinds::of(Operation *op, bool late, const ServerBlock *block) {
  // What has no elements is no piece of a message.
  if (op->getNumOperands() && StepCosts::bytesOf(op->getOperand(0)) == 0)
    return next++;
  if (auto reduce = dyn_cast<cs::AllReduceOp>(op))
    return ofReduction(reduce, late);
  return block ? ofBlock(*block, late) : next++;
}

/// Gradients that are reduced alike, of one type and place and over the same nodes, may
/// share messages.
unsigned MessageKinds::ofReduction(cs::AllReduceOp reduce, bool late) {
  cs::PlacedType placed = reduce.getValue().getType();
  Reduction own{reduce.getReduction(), placed.getTensor().getElementType(), placed.getDevice(),
                placed.getMemory(), late, cs::getGroupName(reduce)};
  for (const auto &[known, kind] : reductions)
    if (known == own)
      return kind;
  reductions.emplace_back(own, next);
  return next++;
}

/// Blocks of a server that are combined alike, of one type and place, may share messages, if
/// copying one out of its message, here and there, takes less than a message of its own.
unsigned MessageKinds::ofBlock(const ServerBlock &block, bool late) {
  Operation *send = cs::SendOp(block.send);
  if (StepCosts::bytesOf(send->getOperand(0)) > costs.mostBytesToFuse())
    return next++;
  auto &known = blocks[step.serverOf(send)];
  for (const Known &other : known)
    if (block.sharesMessagesWith(*other.block) && late == other.late)
      return other.kind;
  known.push_back({&block, late, next});
  return next++;
}
