// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/RowFunction.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace commsched::planexport {

func::FuncOp buildRowFunction(Block *module, cs::UpdateRowsOp update,
                              StringRef name, const RowFunction &parts) {
  MLIRContext *context = update.getContext();
  OpBuilder builder = OpBuilder::atBlockEnd(module);
  Location loc = update.getLoc();
  auto function = func::FuncOp::create(builder, loc, name,
                                       FunctionType::get(context, {}, {}));
  function->setAttr(cs::CsDialect::kServerAttr,
                    update->getParentOfType<func::FuncOp>()->getAttr(
                        cs::CsDialect::kServerAttr));
  Block *block = function.addEntryBlock();
  unsigned device =
      cast<cs::PlacedType>(update.getRows()[0].getType()).getDevice();
  auto place = [&](Type tensor) {
    return cs::PlacedType::get(context, cast<RankedTensorType>(tensor), device,
                               cs::MemoryKind::device);
  };
  auto named = [&](StringRef kind, StringRef name) {
    return builder.getDictionaryAttr(
        builder.getNamedAttr(kind, builder.getStringAttr(name)));
  };
  SmallVector<DictionaryAttr> attributes, resultAttributes;
  Block &inner = update.getBody().front();
  for (BlockArgument argument : inner.getArguments())
    block->addArgument(place(argument.getType()), argument.getLoc());
  attributes.push_back(named(cs::CsDialect::kBatchAttr, update.getKey()));
  for (const std::string &slot : parts.rows)
    attributes.push_back(named(cs::CsDialect::kBatchAttr, slot));
  for (const RowFunction::Other &other : parts.others)
    attributes.push_back(named(other.isParam ? cs::CsDialect::kParamAttr
                                             : cs::CsDialect::kStateAttr,
                               other.slot));
  builder.setInsertionPointToEnd(block);
  SmallVector<Type> types;
  for (unsigned i : parts.changed) {
    types.push_back(place(inner.getTerminator()->getOperand(i).getType()));
    resultAttributes.push_back(
        named(cs::CsDialect::kMetricAttr, parts.rows[i]));
  }
  auto fragment = cs::FragmentOp::create(
      builder, loc, types, ("update." + update.getKey()).str(), device,
      block->getArguments(), cs::CostAttr(), /*deferred=*/false);
  IRMapping mapping;
  update.getBody().cloneInto(&fragment.getBody(), mapping);
  Operation *ret = fragment.getBody().front().getTerminator();
  SmallVector<Value> returned;
  for (unsigned i : parts.changed)
    returned.push_back(ret->getOperand(i));
  ret->setOperands(returned);
  func::ReturnOp::create(builder, loc, fragment.getOutputs());
  function.setType(
      FunctionType::get(context, block->getArgumentTypes(), types));
  function.setAllArgAttrs(attributes);
  function.setAllResultAttrs(resultAttributes);
  return function;
}

} // namespace commsched::planexport
