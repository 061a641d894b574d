// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reference/Interpreter.h"

#include "reference/Ops.h"

#include "ir/Cs.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;

struct Interpreter::Frame {
  llvm::DenseMap<Value, ArrayPtr> values;
};

Interpreter::Interpreter() : compiled(std::make_unique<Cache>()) {}
Interpreter::~Interpreter() = default;

static const OpTable &opTable() {
  static const OpTable table = [] {
    OpTable all;
    addControlOps(all);
    addTensorOps(all);
    addCsOps(all);
    addSelectionOps(all);
    addListOps(all);
    addStructuredOps(all);
    return all;
  }();
  return table;
}

bool Interpreter::knows(StringRef opName) {
  return opTable().contains(opName) || scalarBuilder(opName) || opName == "cs.gradient" ||
         opName == "func.call";
}

Payload *Interpreter::Cache::payloadOf(Operation *op, Block &block, unsigned firstSum) {
  std::unique_ptr<Payload> &payload = payloads[op];
  if (!payload)
    payload = Payload::compile(block, firstSum);
  return payload.get();
}

Payload *Interpreter::Cache::payloadOf(Operation *op) {
  std::unique_ptr<Payload> &payload = payloads[op];
  if (!payload)
    payload = Payload::compile(op);
  return payload.get();
}

LogicalResult commsched::reference::checkWritten(OpContext &context, unsigned i) {
  if (context.operand(i).hasUnwritten())
    return context.op->emitOpError("reads an element that was never written");
  return success();
}

const ArrayPtr &Interpreter::lookup(Value value) const {
  static const ArrayPtr none;
  auto found = current->values.find(value);
  return found == current->values.end() ? none : found->second;
}

/// A value of a block ends with the last op of the block that uses it, itself or in a
/// region; unused results end at once.
static std::unique_ptr<BlockUses> findUses(Block &block) {
  auto uses = std::make_unique<BlockUses>();
  struct Last {
    Operation *op = nullptr;
    bool inRegion = false;
  };
  llvm::MapVector<Value, Last> last;
  for (Operation &op : block) {
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        if (operand.getParentBlock() != &block)
          continue;
        Last &known = last[operand];
        bool sameOp = known.op == &op;
        known = {&op, inner != &op || (sameOp && known.inRegion)};
      }
    });
    for (Value result : op.getResults())
      last[result] = {&op, false};
  }
  for (const auto &[value, known] : last)
    uses->lastUses[known.op].push_back({value, known.inRegion});
  return uses;
}

LogicalResult Interpreter::evaluateOp(Operation *op, SmallVectorImpl<ArrayPtr> &operands,
                                      SmallVectorImpl<ArrayPtr> &results, int64_t worker,
                                      int64_t workers) {
  for (Type type : op->getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if ((isa<ShapedType>(type) && (!tensor || !tensor.hasStaticShape())) ||
        (!isSupported(tensor ? tensor.getElementType() : type) &&
         !isa<cs::PlacedType, cs::FutureType>(type)))
      return op->emitOpError() << "has a result of a type that the reference does not know: "
                               << type;
  }
  OpContext context{*this, op, operands, results, worker, workers};
  StringRef name = op->getName().getStringRef();
  if (OpFunction function = opTable().lookup(name))
    return function(context);
  if (isa<linalg::LinalgOp>(op))
    return evaluateStructured(context);
  if (scalarBuilder(name))
    return evaluateElementwise(context);
  return op->emitOpError("is not known to the reference");
}

LogicalResult Interpreter::step(Operation *op, Frame &frame, int64_t worker,
                                int64_t workers) {
  Frame *outer = std::exchange(current, &frame);
  llvm::scope_exit restore([&] { current = outer; });
  Block &block = *op->getBlock();
  std::unique_ptr<BlockUses> &uses = compiled->uses[&block];
  if (!uses)
    uses = findUses(block);
  ArrayRef<BlockUses::LastUse> ending;
  if (auto found = uses->lastUses.find(op); found != uses->lastUses.end())
    ending = found->second;
  SmallVector<ArrayPtr> operands, results;
  for (OpOperand &operand : op->getOpOperands()) {
    auto found = frame.values.find(operand.get());
    if (found == frame.values.end() || !found->second)
      return op->emitOpError() << "uses a value that was not computed, operand "
                               << operand.getOperandNumber();
    operands.push_back(found->second);
  }
  for (const BlockUses::LastUse &use : ending)
    if (!use.inRegion) // regions look their values up
      frame.values.erase(use.value);
  if (failed(evaluateOp(op, operands, results, worker, workers)))
    return failure();
  for (const BlockUses::LastUse &use : ending)
    frame.values.erase(use.value);
  if (results.size() != op->getNumResults())
    return op->emitOpError("has no results in the reference");
  for (auto [value, array] : llvm::zip(op->getResults(), results))
    if (!value.use_empty())
      frame.values[value] = std::move(array);
  return success();
}

FailureOr<SmallVector<ArrayPtr>>
Interpreter::evaluateRegion(Region &region, SmallVector<ArrayPtr> arguments, int64_t worker,
                            int64_t workers) {
  Operation *parent = region.getParentOp();
  if (!region.hasOneBlock())
    return parent->emitOpError("must have a region of one block");
  Block &block = region.front();
  bool isolated = parent->hasTrait<OpTrait::IsIsolatedFromAbove>() || !current;
  Frame own;
  Frame &frame = isolated ? own : *current;
  if (block.getNumArguments() != arguments.size())
    return parent->emitOpError() << "takes " << block.getNumArguments()
                                 << " arguments in its region, got: " << arguments.size();
  for (auto [value, array] : llvm::zip(block.getArguments(), arguments))
    frame.values[value] = std::move(array);
  for (Operation &op : block.without_terminator())
    if (failed(step(&op, frame, worker, workers)))
      return failure();
  SmallVector<ArrayPtr> results;
  for (Value value : block.getTerminator()->getOperands()) {
    const ArrayPtr &array = frame.values[value];
    if (!array)
      return block.getTerminator()->emitOpError("uses a value that was not computed");
    results.push_back(array);
  }
  // So that what a loop carries has one holder.
  if (!isolated) {
    for (Value value : block.getArguments())
      frame.values.erase(value);
    for (Value value : block.getTerminator()->getOperands())
      if (value.getParentBlock() == &block)
        frame.values.erase(value);
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Functions, on several workers
//===----------------------------------------------------------------------===//

LogicalResult Interpreter::callInto(func::FuncOp function,
                                    MutableArrayRef<std::unique_ptr<Frame>> frames,
                                    SmallVectorImpl<PerWorker> &results) {
  int64_t workers = static_cast<int64_t>(frames.size());
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("must have a body of one block");
  for (Operation &op : function.getBody().front()) {
    if (isa<func::ReturnOp>(op))
      break;
    if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
          call, call.getCalleeAttr());
      if (!callee || callee.isExternal())
        return call.emitOpError("calls a function that has no body");
      SmallVector<std::unique_ptr<Frame>> inner;
      for (std::unique_ptr<Frame> &frame : frames) {
        inner.push_back(std::make_unique<Frame>());
        for (auto [argument, value] : llvm::zip(callee.getArguments(), call.getOperands()))
          inner.back()->values[argument] = frame->values[value];
      }
      SmallVector<PerWorker> made;
      if (failed(callInto(callee, inner, made)))
        return failure();
      for (auto [value, arrays] : llvm::zip(call.getResults(), made))
        for (int64_t w = 0; w < workers; ++w)
          frames[w]->values[value] = arrays[w];
      continue;
    }
    if (auto gradient = dyn_cast<cs::GradientOp>(op)) {
      PerWorker all;
      for (std::unique_ptr<Frame> &frame : frames)
        all.push_back(frame->values[gradient.getValue()]);
      if (llvm::any_of(all, [](const ArrayPtr &array) { return array->hasUnwritten(); }))
        return op.emitOpError("reads an element that was never written");
      ArrayPtr sum = combine(all, reduction);
      for (std::unique_ptr<Frame> &frame : frames)
        frame->values[gradient.getResult()] = sum;
      continue;
    }
    for (int64_t w = 0; w < workers; ++w)
      if (failed(step(&op, *frames[w], w, workers)))
        return failure();
  }
  Operation *end = function.getBody().front().getTerminator();
  if (!isa<func::ReturnOp>(end))
    return end->emitOpError("is not known to the reference");
  for (Value value : end->getOperands()) {
    PerWorker arrays;
    for (std::unique_ptr<Frame> &frame : frames) {
      const ArrayPtr &array = frame->values[value];
      if (!array || array->hasUnwritten())
        return end->emitOpError("returns an element that was never written");
      arrays.push_back(array);
    }
    results.push_back(std::move(arrays));
  }
  return success();
}

FailureOr<SmallVector<PerWorker>> Interpreter::call(func::FuncOp function,
                                                    ArrayRef<PerWorker> arguments,
                                                    int64_t workers) {
  if (function.isExternal())
    return function.emitOpError("has no body");
  if (arguments.size() != function.getNumArguments())
    return function.emitOpError() << "takes " << function.getNumArguments()
                                  << " arguments, got: " << arguments.size();
  SmallVector<std::unique_ptr<Frame>> frames;
  for (int64_t w = 0; w < workers; ++w)
    frames.push_back(std::make_unique<Frame>());
  for (auto [i, values] : llvm::enumerate(arguments)) {
    Type type = function.getArgumentTypes()[i];
    for (int64_t w = 0; w < workers; ++w) {
      if (static_cast<int64_t>(values.size()) != workers ||
          Type(values[w]->type()) != type)
        return function.emitOpError()
               << "argument " << i << " must match " << type << " on " << workers
               << " workers, got: " << values[std::min<size_t>(w, values.size() - 1)]->type();
      frames[w]->values[function.getArgument(i)] = values[w];
    }
  }
  SmallVector<PerWorker> results;
  if (failed(callInto(function, frames, results)))
    return failure();
  return results;
}
