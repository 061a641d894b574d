// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/sparse/ForwardUses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/place/Devices.h"
#include "passes/sparse/FragmentMaker.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::sparse;

FailureOr<ForwardUses> sparse::findForwardUses(func::FuncOp func,
                                               ArrayRef<Operation *> gradients) {
  llvm::SetVector<Operation *> computing;
  auto add = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *made = operand.getDefiningOp())
        computing.insert(made);
  };
  for (Operation *op : gradients)
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

void sparse::computeAhead(func::FuncOp func, Location loc, StringRef key,
                          const ForwardUses &forward, Value residual, double rate,
                          bool withBody) {
  auto found = forward.find(key);
  if (rate == 0 || found == forward.end())
    return;
  Value param = found->second.param;
  OpBuilder builder(&func.front(), func.front().begin());
  RankedTensorType type = place::placedType(param).getTensor();
  FragmentMaker maker(builder, loc, ("unsent." + key).str(), {param, residual}, type,
                      2 * type.getNumElements(), 3 * place::bytesOf(place::placedType(param)),
                      /*deferred=*/false, withBody);
  if (maker.hasBody()) {
    OpBuilder &in = maker.inside;
    Value factor = arith::ConstantOp::create(
        in, loc,
        DenseElementsAttr::get(type, FloatAttr::get(type.getElementType(), rate)));
    Value unsent = arith::MulFOp::create(in, loc, factor, maker.argument(1));
    Value ahead = arith::SubFOp::create(in, loc, maker.argument(0), unsent);
    maker.finish(loc, ahead);
  }
  for (OpOperand *use : found->second.uses)
    use->set(maker.fragment.getOutputs().front());
}
