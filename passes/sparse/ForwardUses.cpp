// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/sparse/ForwardUses.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::sparse;

FailureOr<ForwardUses> sparse::findForwardUses(func::FuncOp func,
                                               ArrayRef<cs::AllReduceOp> gradients) {
  llvm::SetVector<Operation *> computing;
  auto add = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *made = operand.getDefiningOp())
        computing.insert(made);
  };
  for (cs::AllReduceOp op : gradients)
    add(op);
  for (size_t i = 0; i < computing.size(); ++i)
    add(computing[i]);

  ForwardUses found;
  llvm::SetVector<Operation *> own; // what is each rank's own
  for (BlockArgument argument : func.getArguments()) {
    auto name = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                  cs::CsDialect::kParamAttr);
    if (!name)
      continue;
    ForwardUse &use = found[name.getValue()];
    use.param = argument;
    for (OpOperand &operand : argument.getUses())
      if (computing.contains(operand.getOwner())) {
        use.uses.push_back(&operand);
        own.insert(operand.getOwner());
      }
  }
  for (size_t i = 0; i < own.size(); ++i) {
    if (isa<cs::AllReduceOp, cs::AllGatherOp>(own[i]))
      continue;
    for (Value result : own[i]->getResults())
      for (OpOperand &operand : result.getUses()) {
        if (!isa<func::ReturnOp>(operand.getOwner())) {
          own.insert(operand.getOwner());
          continue;
        }
        // Metrics are not carried to the next step.
        if (auto name = func.getResultAttrOfType<StringAttr>(operand.getOperandNumber(),
                                                             cs::CsDialect::kUpdatesAttr))
          return own[i]->emitOpError()
                 << "makes a new value of " << name
                 << " of parameters, which an unsent rate makes each rank's own, without a "
                    "communication: ranks would drift apart";
      }
  }
  return found;
}
