// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/Outline.h"
#include "passes/insert/Carrier.h"
#include "passes/insert/DataFlowGraph.h"
#include "passes/insert/Program.h"
#include "passes/insert/Remarks.h"

#include "ir/CsSparseOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace commsched;

namespace {

class Outliner {
public:
  Outliner(const ProgramFunction &function, const Partition &plan,
           GradientExchange &exchange)
      : func(function.func), plan(plan), exchange(exchange),
        oldBlock(&func.front()), newBlock(new Block),
        builder(atEndOf(newBlock)) {}

  LogicalResult run();

private:
  LogicalResult findExports();
  LogicalResult addExport(Value value, Operation *user);
  /// Blocks are filled before they are in a region.
  OpBuilder atEndOf(Block *block) {
    OpBuilder result(func.getContext());
    result.setInsertionPointToEnd(block);
    return result;
  }
  void emitFragment(unsigned number);
  Value localize(Value value, Block *body, unsigned number);
  void take(const PlannedCommunication &planned, Value result);
  void emitCommunications(ArrayRef<unsigned> first);
  void finish();

  func::FuncOp func;
  const Partition &plan;
  GradientExchange &exchange;
  Block *oldBlock, *newBlock;
  OpBuilder builder;
  /// By fragment: results that others use, in the order of their definition.
  std::vector<std::vector<Value>> exports;
  llvm::DenseSet<Value> exported;
  /// Level-0 values that are there at level 1.
  llvm::DenseMap<Value, Value> placed;
  /// Results of the function that are communicated first.
  llvm::DenseMap<unsigned, Value> reduced;
  /// Of the fragment at hand: outer values, as seen inside.
  llvm::DenseMap<Value, Value> local;
  llvm::SmallVector<Value> inputs;
};

LogicalResult Outliner::run() {
  if (failed(findExports())) {
    delete newBlock;
    return failure();
  }
  for (BlockArgument argument : oldBlock->getArguments())
    placed[argument] = newBlock->addArgument(
        placeOnDevice(cast<RankedTensorType>(argument.getType())),
        argument.getLoc());
  emitCommunications(plan.argumentCommunications);
  for (unsigned i = 0, e = plan.fragments.size(); i < e; ++i) {
    emitFragment(i);
    emitCommunications(plan.fragments[i].communications);
  }
  finish();
  return success();
}

LogicalResult Outliner::addExport(Value value, Operation *user) {
  Operation *def = value.getDefiningOp();
  auto home = def ? plan.fragmentOf.find(def) : plan.fragmentOf.end();
  if (home == plan.fragmentOf.end() || !exported.insert(value).second)
    return success();
  if (!carrierOf(value.getType()))
    return refuseCarrier(def, value.getType(), user->getLoc());
  exports[home->second].push_back(value);
  return success();
}

LogicalResult Outliner::findExports() {
  exports.resize(plan.fragments.size());
  for (auto [number, fragment] : llvm::enumerate(plan.fragments))
    for (Operation *op : fragment.ops) {
      LogicalResult result = success();
      forEachUse(op, [&](OpOperand &operand) {
        Value value = operand.get();
        Operation *def = value.getDefiningOp();
        if (succeeded(result) && def && value.getParentBlock() == oldBlock &&
            !plan.repeated.contains(def) &&
            plan.fragmentOf.lookup_or(def, number) != number)
          result = addExport(value, op);
      });
      if (failed(result))
        return failure();
    }
  for (const PlannedCommunication &planned : plan.communications)
    if (failed(addExport(planned.operand, oldBlock->getTerminator())) ||
        (planned.ids &&
         failed(addExport(planned.ids, oldBlock->getTerminator()))))
      return failure();
  for (Value value : oldBlock->getTerminator()->getOperands())
    if (failed(addExport(value, oldBlock->getTerminator())))
      return failure();
  // Discovery follows the users; definition order reads better.
  for (std::vector<Value> &values : exports)
    llvm::sort(values, [](Value a, Value b) {
      Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
      if (left != right)
        return left->isBeforeInBlock(right);
      return cast<OpResult>(a).getResultNumber() <
             cast<OpResult>(b).getResultNumber();
    });
  return success();
}

/// `value` as seen by ops in the fragment; what is needed for it goes to the
/// end of `body`.
Value Outliner::localize(Value value, Block *body, unsigned number) {
  Operation *def = value.getDefiningOp();
  if (!def) {
    if (value.getParentBlock() != oldBlock)
      return value; // of a region nested in the op
  } else {
    auto home = plan.fragmentOf.find(def);
    if (home != plan.fragmentOf.end() && home->second == number)
      return value;
    bool isRepeated = plan.repeated.contains(def);
    if (home == plan.fragmentOf.end() && !isRepeated &&
        !isa<cs::GradientOp, cs::LookupOp>(def))
      return value; // nested
    if (isRepeated) {
      if (Value known = local.lookup(value))
        return known;
      IRMapping mapping;
      for (Value operand : def->getOperands())
        mapping.map(operand, localize(operand, body, number));
      Operation *clone = atEndOf(body).clone(*def, mapping);
      for (auto [from, to] : llvm::zip(def->getResults(), clone->getResults()))
        local[from] = to;
      return local.lookup(value);
    }
  }
  if (Value known = local.lookup(value))
    return known;
  Value argument =
      body->addArgument(carrierOf(value.getType()), value.getLoc());
  inputs.push_back(placed.lookup(value));
  OpBuilder inside = atEndOf(body);
  Value seen = fromCarrier(inside, value.getLoc(), argument, value.getType());
  local[value] = seen;
  return seen;
}

void Outliner::emitFragment(unsigned number) {
  const PlannedFragment &fragment = plan.fragments[number];
  local.clear();
  inputs.clear();
  auto *body = new Block;
  for (Operation *op : fragment.ops) {
    forEachUse(op, [&](OpOperand &operand) {
      Value value = localize(operand.get(), body, number);
      if (value != operand.get())
        operand.set(value);
    });
    op->moveBefore(body, body->end());
  }
  Location loc = fragment.ops.front()->getLoc();
  OpBuilder inside = atEndOf(body);
  llvm::SmallVector<Value> results;
  llvm::SmallVector<Type> types;
  for (Value value : exports[number]) {
    results.push_back(toCarrier(inside, value.getLoc(), value));
    types.push_back(
        placeOnDevice(cast<RankedTensorType>(results.back().getType())));
  }
  Location last = fragment.ops.back()->getLoc();
  cs::ReturnOp::create(inside, last, results);
  auto cost = fragmentCost(func.getContext(), fragment.ops,
                           TypeRange(ValueRange(inputs)), types);
  auto op = cs::FragmentOp::create(builder, loc, types, fragment.label,
                                   kOnlyDevice, inputs, cost,
                                   fragment.deferred);
  op.getBody().push_back(body);
  for (auto [value, result] : llvm::zip(exports[number], op.getOutputs()))
    placed[value] = result;
}

/// What the workers have together.
void Outliner::take(const PlannedCommunication &planned, Value result) {
  if (planned.kind == PlannedCommunication::Gradient)
    placed[planned.gradient.getResult()] = result;
  else
    reduced[planned.result] = result;
}

void Outliner::emitCommunications(ArrayRef<unsigned> first) {
  // Those whose operand is the result of another follow it.
  std::vector<unsigned> queue(first);
  for (size_t next = 0; next < queue.size(); ++next) {
    const PlannedCommunication &planned = plan.communications[queue[next]];
    Value value = placed.lookup(planned.operand);
    RankedTensorType type = cast<cs::PlacedType>(value.getType()).getTensor();
    auto tell = [&](StringRef name, auto write) {
      remarkAt(planned.loc, func.getName(), name, [&](raw_ostream &os) {
        write(os);
        os << " of " << tensorBytes(type) << " bytes";
      });
    };
    if (planned.kind == PlannedCommunication::Rows)
      placed[planned.rows.getResult()] =
          exchange.fetchRows(builder, planned, value);
    else if (planned.ids)
      exchange.sendRows(builder, planned, placed.lookup(planned.ids), value);
    else if (Value result = exchange.begin(builder, planned, value))
      take(planned, result);
    switch (planned.kind) {
    case PlannedCommunication::Rows:
      tell("rows", [&](raw_ostream &os) {
        os << "rows of \"" << planned.key << "\": fetched by ids";
      });
      break;
    case PlannedCommunication::Gradient:
      tell("gradient", [&](raw_ostream &os) {
        os << "gradient \"" << planned.key << "\": ";
        exchange.describe(os, planned);
      });
      break;
    case PlannedCommunication::State:
      tell("state", [&](raw_ostream &os) {
        os << "\"" << planned.key << "\" differs between the workers: ";
        exchange.describe(os, planned);
      });
      break;
    case PlannedCommunication::Metric:
      tell("metric", [&](raw_ostream &os) {
        os << "\"" << planned.key << "\": ";
        exchange.describe(os, planned);
      });
      break;
    }
    llvm::append_range(queue, plan.chainedCommunications[queue[next]]);
  }
}

void Outliner::finish() {
  for (const PlannedCommunication &planned : plan.communications)
    if (planned.kind != PlannedCommunication::Rows && !planned.ids)
      if (Value result = exchange.end(builder, planned))
        take(planned, result);
  Operation *ret = oldBlock->getTerminator();
  llvm::SmallVector<Value> results;
  llvm::SmallVector<Type> types;
  for (auto [i, value] : llvm::enumerate(ret->getOperands())) {
    Value result = reduced.lookup(i);
    results.push_back(result ? result : placed.lookup(value));
    types.push_back(results.back().getType());
  }
  func::ReturnOp::create(builder, ret->getLoc(), results);
  // Left over: gradients, what fragments repeat, and dead ops.
  while (!oldBlock->empty()) {
    oldBlock->back().dropAllUses();
    oldBlock->back().erase();
  }
  func.getBody().push_back(newBlock);
  oldBlock->erase();
  func.setFunctionType(FunctionType::get(func.getContext(),
                                         newBlock->getArgumentTypes(), types));
}

} // namespace

Value AllReduceExchange::begin(OpBuilder &builder,
                               const PlannedCommunication &planned,
                               Value value) {
  switch (planned.kind) {
  case PlannedCommunication::Gradient: {
    auto reduce = cs::AllReduceOp::create(builder, planned.loc, planned.key,
                                          reduction, value, FlatSymbolRefAttr());
    for (StringRef name : {cs::kDensityAttr, cs::kSparseMethodAttr})
      if (Attribute own = planned.gradient->getAttr(name))
        reduce->setAttr(name, own);
    return reduce;
  }
  case PlannedCommunication::State:
    return cs::AllReduceOp::create(builder, planned.loc, planned.key,
                                   cs::Reduction::mean, value, FlatSymbolRefAttr());
  case PlannedCommunication::Metric:
    return cs::ReduceOp::create(builder, planned.loc, planned.key,
                                cs::Reduction::mean, value, /*root=*/0,
                                FlatSymbolRefAttr());
  case PlannedCommunication::Rows:
    break;
  }
  llvm_unreachable("no such communication");
}

void AllReduceExchange::describe(raw_ostream &os,
                                 const PlannedCommunication &planned) {
  switch (planned.kind) {
  case PlannedCommunication::Gradient:
    os << "all-reduce, " << cs::stringifyReduction(reduction);
    break;
  case PlannedCommunication::State:
    os << "averaged over the workers, all-reduce";
    break;
  case PlannedCommunication::Metric:
    os << "averaged over the workers at rank 0, reduce";
    break;
  case PlannedCommunication::Rows:
    break;
  }
}

void GradientExchange::sendRows(OpBuilder &, const PlannedCommunication &,
                                Value, Value) {
  llvm_unreachable("tables have been refused");
}

Value GradientExchange::fetchRows(OpBuilder &, const PlannedCommunication &,
                                  Value) {
  llvm_unreachable("tables have been refused");
}

void NoExchange::describe(raw_ostream &os, const PlannedCommunication &) {
  os << "stays each worker's own";
}

LogicalResult commsched::outline(const ProgramFunction &function,
                                 const Partition &partition,
                                 GradientExchange &exchange) {
  return Outliner(function, partition, exchange).run();
}
