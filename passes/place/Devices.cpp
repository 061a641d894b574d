// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/place/Devices.h"

#include "ir/CsGroups.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::place;

FailureOr<SmallVector<func::FuncOp>>
place::trainerFunctions(ModuleOp module, StringRef pass) {
  SmallVector<func::FuncOp> functions;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal() || func->hasAttr(cs::CsDialect::kServerAttr))
      continue;
    bool isPlaced = llvm::any_of(func.getArgumentTypes(),
                                 llvm::IsaPred<cs::PlacedType>) ||
                    llvm::any_of(func.getResultTypes(),
                                 llvm::IsaPred<cs::PlacedType>);
    if (!isPlaced && func->hasAttr(cs::CsDialect::kStepAttr) &&
        llvm::any_of(func.getArgumentTypes(), llvm::IsaPred<RankedTensorType>))
      return func.emitOpError("is of level 0: run --insert-dist-comm before --") << pass;
    if (!isPlaced)
      continue;
    if (func->hasAttr(cs::CsDialect::kCountAttr))
      return func.emitOpError() << "is run by some of the nodes, as '"
                                << cs::CsDialect::kCountAttr
                                << "' says: --" << pass << " takes functions of all";
    if (!func.getBody().hasOneBlock() ||
        !isa<func::ReturnOp>(func.front().back()))
      return func.emitOpError("must have one block, and end in func.return");
    for (Operation &op : func.front()) {
      if (isa<cs::StartOp, cs::AwaitOp>(op))
        return op.emitOpError("must not be there yet: run --")
               << pass << " before --schedule-comm";
      if (isa<cs::CopyOp>(op) && !isDeviceCopy(&op))
        return op.emitOpError("must be between devices, got a copy to or from "
                              "the host: run --")
               << pass << " before --overlap-rpc-memcpy";
    }
    functions.push_back(func);
  }
  return functions;
}

cs::PlacedType place::onDevice(cs::PlacedType type, unsigned device) {
  return cs::PlacedType::get(type.getContext(), type.getTensor(), device,
                             type.getMemory());
}

int64_t place::bytesOf(cs::PlacedType type) {
  RankedTensorType tensor = type.getTensor();
  unsigned bits = tensor.getElementType().getIntOrFloatBitWidth();
  return tensor.getNumElements() * std::max<int64_t>(1, bits / 8);
}

StringAttr place::carriedName(func::FuncOp func, unsigned argument) {
  if (auto name =
          func.getArgAttrOfType<StringAttr>(argument, cs::CsDialect::kParamAttr))
    return name;
  return func.getArgAttrOfType<StringAttr>(argument, cs::CsDialect::kStateAttr);
}

StringAttr place::updatedName(func::FuncOp func, unsigned result) {
  return func.getResultAttrOfType<StringAttr>(result,
                                              cs::CsDialect::kUpdatesAttr);
}

bool place::isDeviceCopy(Operation *op) {
  auto copy = dyn_cast<cs::CopyOp>(op);
  return copy && copy.getValue().getType().getMemory() == cs::MemoryKind::device &&
         copy.getResult().getType().getMemory() == cs::MemoryKind::device;
}

Value place::sourceOf(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!isDeviceCopy(def))
      break;
    value = cast<cs::CopyOp>(def).getValue();
  }
  return value;
}

/// Whether the nodes get different results of a communication.
static bool givesEachNodeItsOwn(Operation *op) {
  if (isa<cs::AllReduceOp, cs::BroadcastOp, cs::AllGatherOp>(op))
    return bool(cs::getGroupName(op));
  auto recv = dyn_cast<cs::RecvOp>(op);
  return !recv || !recv.getRole(); // what servers hand out is the same for all
}

Origins::Origins(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments())
    for (StringRef local :
         {cs::CsDialect::kBatchAttr, cs::CsDialect::kWorkerIndexAttr})
      if (func.getArgAttr(argument.getArgNumber(), local))
        known[argument] = kLocal;
  for (Operation &op : func.front()) {
    if (auto fragment = dyn_cast<cs::FragmentOp>(op)) {
      visitFragment(fragment);
      continue;
    }
    unsigned all = 0;
    if (isa<cs::CommunicationOpInterface>(op))
      all = kCommunicated | (givesEachNodeItsOwn(&op) ? kOfNode : 0);
    else
      for (Value operand : op.getOperands())
        all |= bits(operand);
    for (Value result : op.getResults())
      known[result] = all;
  }
}

void Origins::visitFragment(cs::FragmentOp op) {
  if (!op.hasBody()) {
    unsigned all = 0;
    for (Value input : op.getInputs())
      all |= bits(input);
    for (Value output : op.getOutputs())
      known[output] = all;
    return;
  }
  Block &body = op.getBody().front();
  for (auto [argument, input] : llvm::zip(body.getArguments(), op.getInputs()))
    known[argument] = bits(input);
  for (Operation &inner : body) {
    unsigned all = 0;
    inner.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        all |= bits(operand);
    });
    for (Value result : inner.getResults())
      known[result] = all;
  }
  for (auto [output, value] :
       llvm::zip(op.getOutputs(), body.getTerminator()->getOperands()))
    known[output] = bits(value);
}

Value CopyMaker::get(Value value, unsigned device) {
  if (deviceOf(value) == device)
    return value;
  Value &copy = made[{value, device}];
  if (copy)
    return copy;
  OpBuilder builder(value.getContext());
  Operation *def = value.getDefiningOp();
  Operation *&previous =
      def ? last[def] : lastAtBegin[value.getParentBlock()];
  if (previous)
    builder.setInsertionPointAfter(previous);
  else if (def)
    builder.setInsertionPointAfter(def);
  else
    builder.setInsertionPointToStart(value.getParentBlock());
  previous = cs::CopyOp::create(builder, value.getLoc(),
                                onDevice(placedType(value), device), value);
  copy = previous->getResult(0);
  return copy;
}
