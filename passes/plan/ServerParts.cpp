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
  llvm::DenseSet<Value> read;
  for (Operation *op : ops)
    read.insert(op->operand_begin(), op->operand_end());
  const std::vector<unsigned> own = parts.resultsOf.lookup(part);
  for (unsigned result : own)
    read.insert(parts.results[result].value);
  const bool isSchedule = part == ServerParts::kSchedule;
  for (cs::CollectOp message : messages)
    add(message.getResult(), cs::CsDialect::kBatchAttr, message.getKey());
  // Not all of the server, which may have as many as it has parts.
  SmallVector<BlockArgument> arguments;
  for (Value value : read)
    if (auto argument = dyn_cast<BlockArgument>(value); argument && (isSchedule || !parts.passed.contains(value)))
      arguments.push_back(argument);
  if (isSchedule)
    for (const auto &[value, slot] : parts.passed)
      if (auto argument = dyn_cast<BlockArgument>(value); argument && !read.contains(value))
        arguments.push_back(argument);
  llvm::sort(arguments, [](BlockArgument a, BlockArgument b) { return a.getArgNumber() < b.getArgNumber(); });
  for (BlockArgument argument : arguments)
    add(argument,
        isParam(server, argument) ? cs::CsDialect::kParamAttr : cs::CsDialect::kStateAttr,
        parts.slotOf.lookup(argument));
  if (!isSchedule)
    for (const auto &[value, slot] : parts.passed)
      if (read.contains(value))
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
  for (unsigned result : own)
    give(parts.results[result].value, parts.results[result].slot);
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
    if (parts.changed.contains(result))
      rows.changed.push_back(i);
  return buildRowFunction(module, update, name, rows);
}

} // namespace commsched::planexport
