// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/UpdateFragment.h"

#include "mlir/IR/IRMapping.h"

#include "passes/insert/Carrier.h"
#include "passes/insert/Program.h"
#include "passes/support/RowWise.h"

using namespace mlir;
using namespace commsched;

UpdateFragment::UpdateFragment(const UpdateAnalysis &analysis, int unit,
                               Rows rows)
    : analysis(analysis), graph(analysis.getDependences().getGraph()),
      unit(unit), rows(rows), body(new Block),
      builder(analysis.getDependences().getFunction().func.getContext()) {
  builder.setInsertionPointToEnd(body.get());
}

bool UpdateFragment::isCopied(int op) const {
  if (analysis.getDependences().gradientOf(op) >= 0)
    return false;
  int own = analysis.unitOf(op);
  if (own != UpdateAnalysis::kNone)
    return own == unit;
  return unit == UpdateAnalysis::kNone || analysis.isRepeated(op);
}

LogicalResult UpdateFragment::demand(Value value, bool wantRows,
                                     Operation *user) {
  Ref ref = graph.refOf(value);
  if (graph.isArgument(ref))
    return success();
  if (!isCopied(ref)) {
    if (!carrierOf(value.getType()))
      return refuseCarrier(graph[ref], value.getType(), user->getLoc());
    return success();
  }
  // What cannot be made for some rows is made as a whole, and cut.
  needed[ref] |= wantRows && rowOperands(graph[ref]) ? ByRows : Whole;
  return success();
}

LogicalResult UpdateFragment::build(ArrayRef<Value> roots) {
  bool isSliced = !rows.isAll();
  for (Value root : roots)
    if (failed(demand(root, isSliced, root.getDefiningOp())))
      return failure();
  // Users come later than what they use, so each op is complete in its turn.
  for (auto it = needed.begin(); it != needed.end(); ++it) {
    Operation *op = graph[it->first];
    std::optional<SmallVector<bool>> rowsOf;
    if (it->second & ByRows)
      rowsOf = rowOperands(op);
    LogicalResult result = success();
    forEachUse(op, [&](OpOperand &operand) {
      if (failed(result) || operand.get().getParentBlock() != op->getBlock())
        return;
      bool isNested = operand.getOwner() != op;
      if (it->second & ByRows)
        result = demand(operand.get(),
                        !isNested && (*rowsOf)[operand.getOperandNumber()], op);
      if (succeeded(result) && it->second & Whole)
        result = demand(operand.get(), false, op);
    });
    if (failed(result))
      return failure();
  }
  for (auto it = needed.rbegin(); it != needed.rend(); ++it)
    for (Mode mode : {Whole, ByRows})
      if (it->second & mode)
        copy(it->first, mode == ByRows);
  SmallVector<Value> values;
  for (Value root : roots) {
    values.push_back(
        toCarrier(builder, root.getLoc(), get(root, isSliced)));
    results.push_back(
        placeOnDevice(cast<RankedTensorType>(values.back().getType())));
  }
  Location last = copies.empty()
                      ? analysis.getDependences().getFunction().func.getLoc()
                      : copies.back()->getLoc();
  cs::ReturnOp::create(builder, last, values);
  return success();
}

void UpdateFragment::copy(int number, bool isByRows) {
  Operation *op = graph[number];
  IRMapping captures;
  SmallVector<Value> operands;
  std::optional<SmallVector<bool>> rowsOf;
  if (isByRows)
    rowsOf = rowOperands(op);
  forEachUse(op, [&](OpOperand &operand) {
    if (operand.get().getParentBlock() != op->getBlock())
      return;
    if (operand.getOwner() != op)
      captures.map(operand.get(), get(operand.get(), false));
    else
      operands.push_back(
          get(operand.get(),
              isByRows && (*rowsOf)[operand.getOperandNumber()]));
  });
  Operation *clone;
  if (isByRows) {
    clone = cloneForRows(builder, op, operands, captures,
                         rows.end - rows.begin);
  } else {
    clone = builder.clone(*op, captures);
    clone->setOperands(operands);
  }
  copies.push_back(clone);
  auto &made = isByRows ? byRows : whole;
  for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults()))
    made[from] = to;
}

Value UpdateFragment::get(Value value, bool wantRows) {
  auto &made = wantRows ? byRows : whole;
  if (Value known = made.lookup(value))
    return known;
  Ref ref = graph.refOf(value);
  Value result;
  if (!graph.isArgument(ref) && isCopied(ref))
    result = cutRows(get(value, false));
  else
    result = addInput(value, wantRows);
  made[value] = result;
  return result;
}

Value UpdateFragment::addInput(Value value, bool wantRows) {
  Ref ref = graph.refOf(value);
  bool isWhole;
  if (graph.isArgument(ref))
    isWhole = analysis.isFromSchedule(ref);
  else
    isWhole = analysis.getDependences().gradientOf(ref) < 0;
  if (wantRows && isWhole)
    return cutRows(get(value, false));
  RankedTensorType type = carrierOf(value.getType());
  if (wantRows)
    type = withRows(type, rows.end - rows.begin);
  inputs.push_back({value, wantRows ? rows : Rows()});
  BlockArgument argument = body->addArgument(type, value.getLoc());
  return wantRows
             ? argument
             : fromCarrier(builder, value.getLoc(), argument, value.getType());
}

Value UpdateFragment::cutRows(Value from) {
  Value part = commsched::cutRows(builder, from, rows.begin, rows.end);
  copies.push_back(part.getDefiningOp());
  if (!cut)
    cut = from.getLoc();
  return part;
}

cs::FragmentOp UpdateFragment::create(OpBuilder &outside, StringRef label,
                                      ValueRange operands) {
  Operation *first = copies.empty() ? body->getTerminator() : copies.front();
  auto cost = fragmentCost(outside.getContext(), copies, operands.getTypes(),
                           results);
  auto op = cs::FragmentOp::create(outside, first->getLoc(), results, label,
                                   kOnlyDevice, operands, cost,
                                   /*deferred=*/false);
  op.getBody().push_back(body.release());
  return op;
}
