// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/CsServerFunctions.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace commsched::cs;

std::optional<int64_t> commsched::cs::getServerIndex(Operation *function) {
  auto index = function->getAttrOfType<IntegerAttr>(CsDialect::kServerAttr);
  if (!index)
    return std::nullopt;
  return index.getInt();
}

FunctionOpInterface commsched::cs::getServerOf(Operation *message,
                                               SymbolTableCollection *symbols) {
  FlatSymbolRefAttr role;
  if (auto send = dyn_cast<SendOp>(message))
    role = send.getRoleAttr();
  else if (auto recv = dyn_cast<RecvOp>(message))
    role = recv.getRoleAttr();
  if (!role)
    return {};
  auto function =
      symbols ? symbols->lookupNearestSymbolFrom<FunctionOpInterface>(message, role)
              : SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(message, role);
  return function && getServerIndex(function) ? function
                                              : FunctionOpInterface();
}

std::string commsched::cs::getBlockKey(StringRef key, size_t block,
                                       size_t blocks) {
  if (blocks == 1)
    return key.str();
  return (key + ".block" + Twine(block)).str();
}

std::string commsched::cs::getNewKey(StringRef key) { return (key + ".new").str(); }

ServerDependences::ServerDependences(FunctionOpInterface function) {
  for (Operation &op : function.getFunctionBody().front()) {
    Collects own;
    for (Value operand : op.getOperands())
      for (CollectOp collect : of(operand))
        if (!llvm::is_contained(own, collect))
          own.push_back(collect);
    llvm::sort(own, [](CollectOp a, CollectOp b) {
      return a->isBeforeInBlock(b);
    });
    if (auto collect = dyn_cast<CollectOp>(op))
      own.push_back(collect);
    auto update = dyn_cast<UpdateRowsOp>(op);
    for (Value operand : op.getOperands())
      if (Operation *from = operand.getDefiningOp())
        if (auto other = updates.lookup(from))
          if (!update || other->isBeforeInBlock(update))
            update = other;
    if (update)
      updates[&op] = update;
    if (!own.empty())
      collects[&op] = std::move(own);
  }
}

const ServerDependences::Collects &ServerDependences::of(Operation *op) const {
  auto it = collects.find(op);
  return it == collects.end() ? none : it->second;
}

const ServerDependences::Collects &ServerDependences::of(Value value) const {
  Operation *op = value.getDefiningOp();
  return op ? of(op) : none;
}
