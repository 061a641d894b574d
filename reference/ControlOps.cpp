// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// scf: loops and conditions, of one worker.

#include "reference/Ops.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace commsched::reference;

/// What depends on a decision that may have been another one.
static void forgetAll(SmallVectorImpl<ArrayPtr> &arrays) {
  for (ArrayPtr &array : arrays) {
    array = owned(std::move(array));
    std::fill(array->bounds.begin(), array->bounds.end(), kUndetermined);
  }
}

static SmallVector<ArrayPtr> takeFrom(OpContext &context, unsigned first) {
  SmallVector<ArrayPtr> arrays;
  for (ArrayPtr &array : context.operands.drop_front(first))
    arrays.push_back(std::move(array));
  return arrays;
}

/// Fails if `op` reads a scalar that was never written; `exact` becomes false if its
/// value may be another one.
static FailureOr<int64_t> readScalar(Operation *op, const Array &array, bool &exact) {
  if (array.hasUnwritten())
    return op->emitOpError("reads an element that was never written");
  exact &= array.bounds[0] == 0;
  return array.ints[0];
}

static LogicalResult evaluateFor(OpContext &context) {
  auto op = cast<scf::ForOp>(context.op);
  bool exact = true;
  int64_t range[3];
  for (unsigned i = 0; i < 3; ++i) {
    FailureOr<int64_t> number = readScalar(op, context.operand(i), exact);
    if (failed(number))
      return failure();
    range[i] = *number;
  }
  if (range[2] <= 0)
    return op.emitOpError() << "must have a positive step, got: " << range[2];
  Type indexType = op.getInductionVar().getType();
  SmallVector<ArrayPtr> carried = takeFrom(context, 3);
  for (int64_t i = range[0]; i < range[1]; i += range[2]) {
    SmallVector<ArrayPtr> arguments = {makeInt(indexType, i)};
    llvm::append_range(arguments, carried);
    carried.clear();
    FailureOr<SmallVector<ArrayPtr>> next = context.interpreter.evaluateRegion(
        op.getRegion(), std::move(arguments), context.worker, context.workers);
    if (failed(next))
      return failure();
    carried = std::move(*next);
    if (range[1] - i <= range[2])
      break;
  }
  if (!exact)
    forgetAll(carried);
  context.results.append(carried.begin(), carried.end());
  return success();
}

static LogicalResult evaluateWhile(OpContext &context) {
  auto op = cast<scf::WhileOp>(context.op);
  SmallVector<ArrayPtr> carried = takeFrom(context, 0);
  bool exact = true;
  while (true) {
    FailureOr<SmallVector<ArrayPtr>> before = context.interpreter.evaluateRegion(
        op.getBefore(), std::move(carried), context.worker, context.workers);
    if (failed(before))
      return failure();
    FailureOr<int64_t> goesOn = readScalar(op, *before->front(), exact);
    if (failed(goesOn))
      return failure();
    before->erase(before->begin());
    if (!*goesOn) {
      carried = std::move(*before);
      break;
    }
    FailureOr<SmallVector<ArrayPtr>> after = context.interpreter.evaluateRegion(
        op.getAfter(), std::move(*before), context.worker, context.workers);
    if (failed(after))
      return failure();
    carried = std::move(*after);
  }
  if (!exact)
    forgetAll(carried);
  context.results.append(carried.begin(), carried.end());
  return success();
}

/// The other branch of a condition that may be another one: its results, or none if
/// they cannot be computed.
static FailureOr<SmallVector<ArrayPtr>> tryRegion(OpContext &context, Region &region) {
  ScopedDiagnosticHandler silence(context.op->getContext(),
                                  [](Diagnostic &) { return success(); });
  if (region.empty())
    return failure();
  return context.interpreter.evaluateRegion(region, {}, context.worker, context.workers);
}

static void hullOf(Array &chosen, const Array &other) {
  for (int64_t e = 0; e < chosen.size(); ++e) {
    Scalar a, b;
    load(a, chosen, e);
    load(b, other, e);
    if (isUnwritten(a.bound) || isUnwritten(b.bound)) {
      chosen.bounds[e] = kUnwritten;
      continue;
    }
    storeElement(chosen, e, hull(a, b, chosen.isFloat()));
    if (chosen.elementType.isInteger(1) && chosen.bounds[e] != 0)
      chosen.bounds[e] = 1;
  }
}

static LogicalResult evaluateIf(OpContext &context) {
  auto op = cast<scf::IfOp>(context.op);
  bool exact = true;
  FailureOr<int64_t> condition = readScalar(op, context.operand(0), exact);
  if (failed(condition))
    return failure();
  Region &taken = *condition ? op.getThenRegion() : op.getElseRegion();
  Region &other = *condition ? op.getElseRegion() : op.getThenRegion();
  if (taken.empty())
    return success(); // without results
  FailureOr<SmallVector<ArrayPtr>> made =
      context.interpreter.evaluateRegion(taken, {}, context.worker, context.workers);
  if (failed(made))
    return failure();
  if (!exact) {
    FailureOr<SmallVector<ArrayPtr>> rest = tryRegion(context, other);
    if (failed(rest))
      forgetAll(*made);
    else
      for (auto [array, second] : llvm::zip(*made, *rest)) {
        array = std::make_shared<Array>(*array);
        hullOf(*array, *second);
      }
  }
  context.results.append(made->begin(), made->end());
  return success();
}

static LogicalResult evaluateSwitch(OpContext &context) {
  auto op = cast<scf::IndexSwitchOp>(context.op);
  bool exact = true;
  FailureOr<int64_t> number = readScalar(op, context.operand(0), exact);
  if (failed(number))
    return failure();
  Region *taken = &op.getDefaultRegion();
  for (auto [value, region] : llvm::zip(op.getCases(), op.getCaseRegions()))
    if (value == *number)
      taken = &region;
  FailureOr<SmallVector<ArrayPtr>> made =
      context.interpreter.evaluateRegion(*taken, {}, context.worker, context.workers);
  if (failed(made))
    return failure();
  if (!exact)
    forgetAll(*made);
  context.results.append(made->begin(), made->end());
  return success();
}

static LogicalResult evaluateExecute(OpContext &context) {
  auto op = cast<scf::ExecuteRegionOp>(context.op);
  FailureOr<SmallVector<ArrayPtr>> made = context.interpreter.evaluateRegion(
      op.getRegion(), {}, context.worker, context.workers);
  if (failed(made))
    return failure();
  context.results.append(made->begin(), made->end());
  return success();
}

void commsched::reference::addControlOps(OpTable &table) {
  table["scf.for"] = evaluateFor;
  table["scf.while"] = evaluateWhile;
  table["scf.if"] = evaluateIf;
  table["scf.index_switch"] = evaluateSwitch;
  table["scf.execute_region"] = evaluateExecute;
}
