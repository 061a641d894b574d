// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/RowSparse.h"

#include <algorithm>

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

#include "passes/insert/Outline.h"
#include "passes/insert/RowTables.h"
#include "passes/insert/RowUpdates.h"
#include "passes/support/RowWise.h"

using namespace mlir;
using namespace commsched;

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

LogicalResult commsched::checkTables(const UpdateAnalysis &analysis) {
  const ProgramFunction &step = analysis.getDependences().getFunction();
  for (unsigned i = 0; i < step.arguments.size(); ++i) {
    if (!isTable(step, i))
      continue;
    StringRef name = step.arguments[i].name.getValue();
    int number = analysis.unitOf(-1 - int(i));
    if (number == UpdateAnalysis::kNone)
      return step.func.emitOpError()
             << "must update the row-sparse parameter \"" << name
             << "\" from its gradient";
    const UpdateUnit &unit = analysis.getUnits()[number];
    if (unit.gradients.size() > 1) {
      if (!unit.joinedAt)
        return step.func.emitOpError()
               << "joins the update of the row-sparse parameter \"" << name
               << "\", which must be row by row, with others";
      return unit.joinedAt->emitOpError()
             << "joins the update of the row-sparse parameter \"" << name
             << "\", which must be row by row, with others";
    }
    if (std::optional<NotByRows> why = whyNotByRows(analysis, unit))
      return emitError(why->loc)
             << "update of the row-sparse parameter \"" << name
             << "\" must be row by row: " << why->reason;
    // What goes over the rows of a table must be there for any of them.
    auto rows = cast<RankedTensorType>(step.func.getArgumentTypes()[i]);
    UpdateFragment probe(analysis, number, {0, rows.getDimSize(0)});
    llvm::SetVector<Value> roots;
    for (unsigned argument : unit.owned) {
      Value value = step.func.front().getTerminator()->getOperand(
          analysis.resultOf(argument));
      if (value.getDefiningOp() && !isa<cs::GradientOp>(value.getDefiningOp()))
        roots.insert(value);
    }
    if (failed(probe.build(roots.getArrayRef())))
      return failure();
    if (std::optional<Location> cut = probe.getCut())
      return emitError(*cut)
             << "update of the row-sparse parameter \"" << name
             << "\" must be row by row: this value of it has all rows at once";
  }
  return success();
}

LogicalResult
commsched::checkTrainersTables(const ProgramFunction &step) {
  func::FuncOp func = step.func;
  for (unsigned i = 0; i < step.arguments.size(); ++i) {
    if (!isTable(step, i))
      continue;
    for (Operation &op : func.front())
      if (!isa<cs::LookupOp>(op)) {
        Operation *reader = nullptr;
        forEachUse(&op, [&](OpOperand &operand) {
          // Trainers return it in the place of what servers make.
          bool isOwn = isa<func::ReturnOp>(op) &&
                       step.results[operand.getOperandNumber()].name ==
                           step.arguments[i].name;
          if (operand.get() == func.getArgument(i) && !isOwn)
            reader = operand.getOwner();
        });
        if (reader)
          return reader->emitOpError()
                 << "reads the row-sparse parameter "
                 << step.arguments[i].name
                 << " otherwise than by cs.lookup and for its own update";
      }
  }
  return success();
}

void commsched::dropTables(ProgramFunction &step) {
  func::FuncOp func = step.func;
  llvm::BitVector arguments(step.arguments.size()), results(step.results.size());
  for (unsigned i = 0; i < step.arguments.size(); ++i)
    if (isTable(step, i)) {
      arguments.set(i);
      for (unsigned j = 0; j < step.results.size(); ++j)
        if (step.results[j].kind == ResultRole::Updates &&
            step.results[j].name == step.arguments[i].name)
          results.set(j);
    }
  if (arguments.none())
    return;
  func.front().getTerminator()->eraseOperands(results);
  auto function = cast<FunctionOpInterface>(func.getOperation());
  (void)function.eraseResults(results);
  (void)function.eraseArguments(arguments);
}

int64_t commsched::chunkOf(RankedTensorType type, int64_t rows) {
  constexpr int64_t kBytes = 64 << 10;
  int64_t row = std::max<int64_t>(1, tensorBytes(withRows(type, 1)));
  return std::max<int64_t>(1, std::min(rows, kBytes / row));
}

//===----------------------------------------------------------------------===//
// Servers
//===----------------------------------------------------------------------===//

cs::UpdateRowsOp commsched::createUpdateRows(
    OpBuilder &builder, const RowUpdate &update, UpdateFragment *fragment,
    ArrayRef<Value> made,
    llvm::function_ref<Value(const PartOfValue &)> resolve) {
  auto chunkType = [&](Value value) {
    return withRows(cast<RankedTensorType>(value.getType()), update.chunk);
  };
  auto *body = new Block;
  llvm::DenseMap<Value, Value> inside;
  inside[update.gradient] =
      body->addArgument(chunkType(update.gradient), update.gradient.getLoc());
  for (Value argument : update.arguments)
    inside[argument] =
        body->addArgument(chunkType(argument), argument.getLoc());
  SmallVector<Value> others;
  if (fragment) {
    SmallVector<PartOfValue> inputs(fragment->getInputs());
    std::unique_ptr<Block> ops = fragment->takeBody();
    for (auto [input, argument] : llvm::zip(inputs, ops->getArguments())) {
      Value value;
      if (input.rows.isAll()) {
        others.push_back(resolve(input));
        value = body->addArgument(argument.getType(), argument.getLoc());
      } else {
        value = inside.lookup(input.value);
      }
      argument.replaceAllUsesWith(value);
    }
    Operation *ret = ops->getTerminator();
    for (auto [value, result] : llvm::zip(made, ret->getOperands()))
      inside[value] = result;
    ret->erase();
    body->getOperations().splice(body->end(), ops->getOperations());
  }
  SmallVector<Value> results;
  for (Value result : update.results)
    results.push_back(inside.lookup(result));
  OpBuilder end(builder.getContext());
  end.setInsertionPointToEnd(body);
  cs::ReturnOp::create(end, update.loc, results);
  auto op = cs::UpdateRowsOp::create(
      builder, update.loc, ValueRange(update.rows).getTypes(),
      builder.getStringAttr(update.key), update.reduction,
      FlatSymbolRefAttr::get(builder.getContext(), update.role), update.rows,
      others, builder.getI64IntegerAttr(update.chunk));
  op.getBody().push_back(body);
  return op;
}
