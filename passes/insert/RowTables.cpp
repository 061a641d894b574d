// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/RowTables.h"

#include <algorithm>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

#include "passes/insert/RowOps.h"
#include "passes/support/RowWise.h"

using namespace mlir;
using namespace commsched;
using cs::CsDialect;

bool commsched::isTable(const ProgramFunction &step, unsigned index) {
  func::FuncOp func = step.func;
  return step.arguments[index].kind == ArgumentRole::Param &&
         func.getArgAttr(index, CsDialect::kRowSparseAttr);
}

namespace {

InFlightDiagnostic refuse(Operation *op, StringRef table) {
  return op->emitOpError() << "of the row-sparse parameter \"" << table
                           << "\" ";
}

/// Operands of an elementwise sum of two tensors of floating-point numbers.
std::optional<std::pair<Value, Value>> addends(Operation *op) {
  if (auto add = dyn_cast<arith::AddFOp>(op))
    return std::pair(add.getLhs(), add.getRhs());
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !linalgOp.hasPureTensorSemantics() ||
      linalgOp.getNumDpsInputs() != 2 || linalgOp.getNumDpsInits() != 1 ||
      linalgOp.getNumReductionLoops() != 0 ||
      !llvm::all_of(linalgOp.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return std::nullopt;
  Block &body = *linalgOp.getBlock();
  auto sum = dyn_cast<arith::AddFOp>(body.front());
  if (!sum || &body.back() != sum->getNextNode() ||
      body.back().getNumOperands() != 1 ||
      body.back().getOperand(0) != sum.getResult())
    return std::nullopt;
  Value first = body.getArgument(0), second = body.getArgument(1);
  if (!(sum.getLhs() == first && sum.getRhs() == second) &&
      !(sum.getLhs() == second && sum.getRhs() == first))
    return std::nullopt;
  return std::pair(linalgOp.getDpsInputs()[0], linalgOp.getDpsInputs()[1]);
}

/// One table of the step.
class Table {
public:
  Table(ProgramFunction &step, unsigned argument)
      : table(step.func.getArgument(argument)),
        name(step.arguments[argument].name.getValue()) {}

  LogicalResult read(ProgramFunction &step);
  /// Adds what the ids of the lookups are made of.
  LogicalResult needForIds(ProgramFunction &step,
                           llvm::SetVector<Operation *> &ops) const;
  void joinLookups(Operation *before);
  void joinGradients();
  bool keeps(Operation *op) const { return op == lookup || op == sum; }

private:
  LogicalResult readGradient(Value value, Operation *user);
  static Value joinIds(OpBuilder &builder, Location loc, ArrayRef<Value> ids);
  static Value join(OpBuilder &builder, Location loc, ArrayRef<Value> parts);

  BlockArgument table;
  StringRef name;
  std::vector<cs::LookupOp> lookups;
  cs::GradientOp gradient;
  std::vector<cs::SegmentSumOp> sums; // whose sum is the gradient
  Operation *lookup = nullptr, *sum = nullptr;
};

LogicalResult Table::read(ProgramFunction &step) {
  func::FuncOp func = step.func;
  for (Operation &op : func.front()) {
    if (auto own = dyn_cast<cs::LookupOp>(op); own && own.getTable() == table)
      lookups.push_back(own);
    if (auto own = dyn_cast<cs::GradientOp>(op); own && own.getParam() == name)
      gradient = own;
  }
  if (!gradient)
    return func.emitOpError() << "has no cs.gradient of the row-sparse "
                                 "parameter \""
                              << name << "\"";
  if (failed(readGradient(gradient.getValue(), gradient)))
    return failure();
  auto checkCount = [&](auto &ops) -> LogicalResult {
    int64_t count = 0;
    for (auto op : ops) {
      auto ids = cast<RankedTensorType>(op.getIds().getType());
      if (llvm::AddOverflow(count, ids.getDimSize(0), count))
        return op->emitOpError() << "of the row-sparse parameter \"" << name
                                 << "\" makes too many rows of one step";
    }
    return success();
  };
  return success(succeeded(checkCount(lookups)) && succeeded(checkCount(sums)));
}

LogicalResult Table::readGradient(Value value, Operation *user) {
  // Deep sums must not end the stack.
  std::vector<std::pair<Value, Operation *>> queue = {{value, user}};
  while (!queue.empty()) {
    auto [next, from] = queue.back();
    queue.pop_back();
    Operation *op = next.getDefiningOp();
    if (!op) {
      refuse(from, name) << "must be a sum of cs.segment_sum, got an argument";
      return failure();
    }
    if (auto own = dyn_cast<cs::SegmentSumOp>(op)) {
      if (own.getResult().getType() != table.getType())
        return gradient.emitOpError()
               << "must match parameter \"" << name << "\", "
               << table.getType() << ", got: " << own.getResult().getType();
      sums.push_back(own);
      continue;
    }
    std::optional<std::pair<Value, Value>> both = addends(op);
    if (!both)
      return op->emitOpError()
             << "is part of the gradient of the row-sparse parameter \"" << name
             << "\", which must be a sum of cs.segment_sum";
    queue.push_back({both->second, op});
    queue.push_back({both->first, op});
  }
  return success();
}

LogicalResult Table::needForIds(ProgramFunction &step,
                                llvm::SetVector<Operation *> &ops) const {
  func::FuncOp func = step.func;
  for (cs::LookupOp own : lookups) {
    llvm::SetVector<Operation *> needed;
    auto visit = [&](Value value) {
      if (Operation *op = value.getDefiningOp())
        if (Operation *top = func.front().findAncestorOpInBlock(*op))
          needed.insert(top);
    };
    visit(cs::LookupOp(own).getIds());
    for (size_t next = 0; next < needed.size(); ++next) {
      Operation *op = needed[next];
      bool isRows = false;
      if (auto other = dyn_cast<cs::LookupOp>(op))
        if (auto from = dyn_cast<BlockArgument>(other.getTable()))
          isRows = from.getOwner() == &func.front() &&
                   isTable(step, from.getArgNumber());
      if (isRows || isa<cs::GradientOp>(op))
        return own->emitOpError()
               << "of the row-sparse parameter \"" << name
               << "\" needs ids that depend neither on rows of a table nor on a "
                  "gradient, got some made from "
               << op->getName();
      op->walk([&](Operation *nested) {
        for (Value operand : nested->getOperands())
          visit(operand);
      });
    }
    ops.insert(needed.begin(), needed.end());
  }
  return success();
}

/// The parts one behind the other along dimension 0.
Value Table::join(OpBuilder &builder, Location loc, ArrayRef<Value> parts) {
  if (parts.size() == 1)
    return parts[0];
  auto type = cast<RankedTensorType>(parts[0].getType());
  int64_t rows = 0;
  for (Value part : parts)
    rows += cast<RankedTensorType>(part.getType()).getDimSize(0);
  type = withRows(type, rows);
  Value result = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                         type.getElementType());
  int64_t begin = 0;
  for (Value part : parts) {
    SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
        sizes, strides(type.getRank(), builder.getIndexAttr(1));
    offsets[0] = builder.getIndexAttr(begin);
    for (int64_t dim : cast<RankedTensorType>(part.getType()).getShape())
      sizes.push_back(builder.getIndexAttr(dim));
    result = tensor::InsertSliceOp::create(builder, loc, part, result, offsets,
                                           sizes, strides);
    begin += cast<RankedTensorType>(part.getType()).getDimSize(0);
  }
  return result;
}

/// The same of ids, as i64 if they differ in type.
Value Table::joinIds(OpBuilder &builder, Location loc, ArrayRef<Value> ids) {
  auto elementOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  };
  SmallVector<Value> parts(ids);
  if (!llvm::all_equal(llvm::map_range(ids, elementOf)))
    for (Value &part : parts)
      if (elementOf(part).isInteger(32))
        part = arith::ExtSIOp::create(
            builder, loc,
            cast<RankedTensorType>(part.getType()).clone(builder.getI64Type()),
            part);
  return join(builder, loc, parts);
}

/// All ids in one lookup, each once, before `before`, where they are there. The
/// others are left without users.
void Table::joinLookups(Operation *before) {
  if (lookups.empty())
    return;
  llvm::SetVector<Value> ids;
  for (cs::LookupOp own : lookups)
    ids.insert(own.getIds());
  OpBuilder builder(before);
  Location loc = lookups.front().getLoc();
  Value all = joinIds(builder, loc, ids.getArrayRef());
  auto type = withRows(cast<RankedTensorType>(table.getType()),
                       cast<RankedTensorType>(all.getType()).getDimSize(0));
  auto joined = cs::LookupOp::create(builder, loc, type, table, all);
  llvm::DenseMap<Value, Value> rows;
  int64_t begin = 0;
  for (Value own : ids) {
    int64_t count = cast<RankedTensorType>(own.getType()).getDimSize(0);
    if (ids.size() == 1) {
      rows[own] = joined;
      break;
    }
    RankedTensorType part = withRows(type, count);
    SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
        sizes, strides(type.getRank(), builder.getIndexAttr(1));
    offsets[0] = builder.getIndexAttr(begin);
    for (int64_t dim : part.getShape())
      sizes.push_back(builder.getIndexAttr(dim));
    // Where the rows are used: a fragment begins there.
    auto first = llvm::find_if(
        lookups, [&](cs::LookupOp op) { return op.getIds() == own; });
    OpBuilder there(*first);
    rows[own] = tensor::ExtractSliceOp::create(there, first->getLoc(), part,
                                               joined, offsets, sizes, strides);
    begin += count;
  }
  for (cs::LookupOp own : lookups)
    own.getResult().replaceAllUsesWith(rows.lookup(own.getIds()));
  lookup = joined;
}

/// All rows of the gradient in one segment sum, where the last of them is made.
void Table::joinGradients() {
  Operation *last = nullptr;
  SmallVector<Value> ids, values;
  for (cs::SegmentSumOp own : sums) {
    ids.push_back(own.getIds());
    values.push_back(own.getValues());
    for (Value value : own->getOperands())
      if (Operation *op = value.getDefiningOp())
        if (!last || last->isBeforeInBlock(op))
          last = op;
  }
  OpBuilder builder(gradient.getContext());
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointToStart(table.getOwner());
  Location loc = sums.front().getLoc();
  Value allIds = joinIds(builder, loc, ids);
  Value allValues = join(builder, loc, values);
  auto joined = cs::SegmentSumOp::create(builder, loc, table.getType(), allIds,
                                         allValues);
  Operation *old = gradient.getValue().getDefiningOp();
  gradient.getValueMutable().assign(joined.getResult());
  // What is left of the sum has other users or none.
  SmallVector<Operation *> queue = {old};
  while (!queue.empty()) {
    Operation *op = queue.pop_back_val();
    if (!op || !op->use_empty() || isa<cs::SegmentSumOp>(op))
      continue;
    std::optional<std::pair<Value, Value>> both = addends(op);
    if (!both)
      continue;
    SmallVector<Operation *> next = {both->first.getDefiningOp()};
    if (both->second.getDefiningOp() != next[0])
      next.push_back(both->second.getDefiningOp());
    op->erase();
    llvm::append_range(queue, next);
  }
  sum = joined;
}

LogicalResult settleTables(ProgramFunction &step, std::vector<Table> &tables) {
  func::FuncOp func = step.func;
  llvm::SetVector<Operation *> early;
  for (unsigned i = 0; i < step.arguments.size(); ++i) {
    if (!isTable(step, i))
      continue;
    Table &table = tables.emplace_back(step, i);
    if (failed(table.read(step)) || failed(table.needForIds(step, early)))
      return failure();
  }
  if (tables.empty())
    return success();
  // What ids are made of comes first, so that rows are fetched early.
  Operation *anchor = &func.front().front();
  for (Operation &op : llvm::make_early_inc_range(func.front())) {
    if (!early.contains(&op))
      continue;
    if (&op == anchor)
      anchor = anchor->getNextNode();
    else
      op.moveBefore(anchor);
  }
  for (Table &table : tables)
    table.joinLookups(anchor);
  for (Table &table : tables)
    table.joinGradients();
  return success();
}

} // namespace

LogicalResult commsched::settleRowOps(Program &program, bool areServers) {
  for (ProgramFunction &function : program.functions) {
    std::vector<Table> tables;
    if (function.isStep) {
      for (unsigned i = 0; i < function.arguments.size(); ++i)
        if (isTable(function, i) && !areServers)
          return function.func.emitOpError()
                 << "parameter " << function.arguments[i].name
                 << " is row-sparse, which needs mode=parameter-server";
      if (failed(settleTables(function, tables)))
        return failure();
    }
    lowerRowOps(function.func, [&](Operation *op) {
      return llvm::any_of(
          tables, [&](const Table &table) { return table.keeps(op); });
    });
  }
  return success();
}
