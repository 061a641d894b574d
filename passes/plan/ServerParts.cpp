// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/ServerParts.h"
#include "passes/plan/RowFunction.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace commsched::planexport {

static bool isParam(func::FuncOp server, BlockArgument argument) {
  return bool(server.getArgAttr(argument.getArgNumber(), cs::CsDialect::kParamAttr));
}

func::FuncOp buildServerPart(Block *module, const ServerParts &parts, int part,
                             ArrayRef<Operation *> ops, MutableArrayRef<cs::CollectOp> messages,
                             StringRef name) {
  func::FuncOp server = parts.server;
  MLIRContext *context = server.getContext();
  OpBuilder builder = OpBuilder::atBlockEnd(module);
  auto function = func::FuncOp::create(builder, server.getLoc(), name,
                                       FunctionType::get(context, {}, {}));
  function->setAttr(cs::CsDialect::kServerAttr, server->getAttr(cs::CsDialect::kServerAttr));
  Block *block = function.addEntryBlock();
  IRMapping mapping;
  SmallVector<Type> inputs;
  SmallVector<DictionaryAttr> attributes;
  auto add = [&](Value value, StringRef kind, StringRef name) {
    mapping.map(value, block->addArgument(value.getType(), value.getLoc()));
    inputs.push_back(value.getType());
    attributes.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr(kind, builder.getStringAttr(name))));
  };
  auto isRead = [&](Value value) {
    return llvm::any_of(ops, [&](Operation *op) {
             return llvm::is_contained(op->getOperands(), value);
           }) ||
           llvm::any_of(parts.results, [&](const ServerParts::Result &result) {
             return result.part == part && result.value == value;
           });
  };
  const bool isSchedule = part == ServerParts::kSchedule;
  for (cs::CollectOp message : messages)
    add(message.getResult(), cs::CsDialect::kBatchAttr, message.getKey());
  for (BlockArgument argument : server.getArguments()) {
    bool isPassed = parts.passed.contains(argument);
    if (isSchedule ? isRead(argument) || isPassed : isRead(argument) && !isPassed)
      add(argument,
          isParam(server, argument) ? cs::CsDialect::kParamAttr : cs::CsDialect::kStateAttr,
          parts.slotOf.lookup(argument));
  }
  if (!isSchedule)
    for (const auto &[value, slot] : parts.passed)
      if (isRead(value))
        add(value, cs::CsDialect::kStateAttr, slot);

  builder.setInsertionPointToEnd(block);
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  SmallVector<Value> returned;
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> resultAttributes;
  auto give = [&](Value value, StringRef slot) {
    returned.push_back(mapping.lookup(value));
    types.push_back(value.getType());
    resultAttributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(cs::CsDialect::kUpdatesAttr, builder.getStringAttr(slot))));
  };
  for (const ServerParts::Result &result : parts.results)
    if (result.part == part)
      give(result.value, result.slot);
  if (isSchedule)
    for (const auto &[value, slot] : parts.passed)
      give(value, slot);
  func::ReturnOp::create(builder, server.front().getTerminator()->getLoc(), returned);
  function.setType(FunctionType::get(context, inputs, types));
  function.setAllArgAttrs(attributes);
  function.setAllResultAttrs(resultAttributes);
  return function;
}

func::FuncOp buildRowsPart(Block *module, const ServerParts &parts, cs::UpdateRowsOp update,
                           StringRef name) {
  RowFunction rows;
  for (Value value : update.getRows())
    rows.rows.push_back(parts.slotOf.lookup(value));
  for (Value value : update.getOthers()) {
    auto slot = parts.passed.find(value);
    if (slot != parts.passed.end())
      rows.others.push_back({slot->second, false});
    else
      rows.others.push_back({parts.slotOf.lookup(value),
                             isParam(parts.server, cast<BlockArgument>(value))});
  }
  // What stays as it is needs no new value.
  for (auto [i, result] : llvm::enumerate(update.getResults()))
    if (llvm::any_of(parts.results, [value = Value(result)](const ServerParts::Result &own) {
          return own.value == value;
        }))
      rows.changed.push_back(i);
  return buildRowFunction(module, update, name, rows);
}

} // namespace commsched::planexport
