// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reference/Steps.h"

#include "reference/Combine.h"

#include "ir/Cs.h"
#include "ir/CsSparseOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;
using cs::CsDialect;

FailureOr<func::FuncOp> commsched::reference::findStep(ModuleOp module) {
  func::FuncOp step;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttr(CsDialect::kStepAttr))
      continue;
    if (step)
      return function.emitOpError("must be the only one with cs.step");
    step = function;
  }
  if (!step)
    return module.emitOpError("has no function with cs.step");
  return step;
}

/// Part r of `workers` of a global batch.
static FailureOr<PerWorker> splitBatch(func::FuncOp step, StringRef name, const Array &all,
                                       RankedTensorType part, int64_t workers) {
  SmallVector<int64_t> shape(part.getShape());
  if (!shape.empty())
    shape[0] *= workers;
  auto wanted = RankedTensorType::get(shape, part.getElementType());
  if (shape.empty() || all.type() != wanted)
    return step.emitOpError() << "batch \"" << name << "\" must match " << wanted
                              << ", got: " << all.type();
  PerWorker parts;
  for (int64_t w = 0; w < workers; ++w) {
    parts.push_back(makeZeros(part));
    int64_t size = parts.back()->size();
    for (int64_t e = 0; e < size; ++e)
      parts.back()->setFrom(e, all, w * size + e);
  }
  return parts;
}

static bool sameValues(const Array &a, const Array &b) {
  for (int64_t e = 0; e < a.size(); ++e) {
    if (a.isFloat() ? !(a.values[e] == b.values[e] ||
                        (std::isnan(a.values[e]) && std::isnan(b.values[e])))
                    : a.ints[e] != b.ints[e])
      return false;
  }
  return true;
}

/// What training of few elements or rows of gradients means is not what the step says.
static LogicalResult refuseSparse(func::FuncOp step) {
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (step.getArgAttr(i, CsDialect::kRowSparseAttr))
      return step.emitOpError() << "argument " << i
                                << " has cs.row_sparse, which changes what the step means: "
                                   "it cannot be interpreted";
  WalkResult found = step.walk([](cs::GradientOp gradient) {
    if (!gradient->hasAttr(cs::kDensityAttr))
      return WalkResult::advance();
    gradient.emitOpError("has cs.density, which changes what the step means: it cannot be "
                         "interpreted");
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}

/// Whether an op, or what it calls, asks which worker it is.
static bool asksForIndex(Operation *op) {
  return op->walk([](Operation *inner) {
             if (isa<cs::WorkerIndexOp>(inner))
               return WalkResult::interrupt();
             auto call = dyn_cast<func::CallOp>(inner);
             auto callee = call ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
                                      call, call.getCalleeAttr())
                                : func::FuncOp();
             return callee && asksForIndex(callee) ? WalkResult::interrupt()
                                                   : WalkResult::advance();
           })
      .wasInterrupted();
}

/// Results that a worker makes of its own part of the batch, or of its index, other
/// than through a cs.gradient.
static llvm::SmallDenseSet<unsigned> resultsOfBatch(func::FuncOp step) {
  llvm::DenseSet<Value> own;
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (step.getArgAttr(i, CsDialect::kBatchAttr) ||
        step.getArgAttr(i, CsDialect::kWorkerIndexAttr))
      own.insert(step.getArgument(i));
  llvm::SmallDenseSet<unsigned> results;
  for (Operation &op : step.getBody().front()) {
    bool reads = op.walk([&](Operation *inner) {
                     return llvm::any_of(inner->getOperands(),
                                         [&](Value value) { return own.contains(value); })
                                ? WalkResult::interrupt()
                                : WalkResult::advance();
                   }).wasInterrupted() ||
                 asksForIndex(&op);
    if (reads && !isa<cs::GradientOp>(op))
      own.insert(op.result_begin(), op.result_end());
    if (op.hasTrait<OpTrait::IsTerminator>())
      for (auto [i, operand] : llvm::enumerate(op.getOperands()))
        if (own.contains(operand))
          results.insert(i);
  }
  return results;
}

/// The new value of a slot: what all workers have; or, of state that depends on the
/// batch (running statistics), the mean.
static FailureOr<ArrayPtr> joinSlot(func::FuncOp step, StringAttr name,
                                    const PerWorker &arrays, bool isState, bool ofBatch) {
  if (isState && ofBatch && arrays[0]->isFloat())
    return combine(arrays, Combiner::mean);
  for (const ArrayPtr &array : arrays)
    if (!sameValues(*array, *arrays[0]))
      return step.emitOpError() << "makes another value of " << name
                                << " on each worker: they would drift apart";
  return arrays[0];
}

FailureOr<StepResult> commsched::reference::runStep(Interpreter &interpreter,
                                                    func::FuncOp step,
                                                    const NamedArrays &slots,
                                                    const NamedArrays &batch, int64_t workers,
                                                    bool ignoreSparse) {
  if (!ignoreSparse && failed(refuseSparse(step)))
    return failure();
  if (workers < 1)
    return step.emitOpError() << "must have at least 1 worker, got: " << workers;
  SmallVector<PerWorker> arguments;
  StepResult result;
  llvm::StringSet<> state;
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    auto type = dyn_cast<RankedTensorType>(step.getArgumentTypes()[i]);
    if (!type || !type.hasStaticShape() || !isSupported(type.getElementType()))
      return step.emitOpError() << "argument " << i << " must be a tensor of level 0, got: "
                                << step.getArgumentTypes()[i];
    if (auto name = step.getArgAttrOfType<StringAttr>(i, CsDialect::kBatchAttr)) {
      auto found = batch.find(name.str());
      if (found == batch.end())
        return step.emitOpError() << "has no batch " << name;
      FailureOr<PerWorker> parts =
          splitBatch(step, name.getValue(), *found->second, type, workers);
      if (failed(parts))
        return failure();
      arguments.push_back(std::move(*parts));
      continue;
    }
    if (step.getArgAttr(i, CsDialect::kWorkerIndexAttr)) {
      PerWorker indices;
      for (int64_t w = 0; w < workers; ++w) {
        indices.push_back(makeZeros(type));
        indices.back()->ints[0] = w;
      }
      arguments.push_back(std::move(indices));
      continue;
    }
    auto name = step.getArgAttrOfType<StringAttr>(i, CsDialect::kParamAttr);
    if (!name) {
      name = step.getArgAttrOfType<StringAttr>(i, CsDialect::kStateAttr);
      if (name)
        state.insert(name);
    }
    if (!name)
      return step.emitOpError() << "argument " << i
                                << " must have one of cs.param, cs.state, cs.batch, "
                                   "cs.worker_index";
    auto found = slots.find(name.str());
    if (found == slots.end())
      return step.emitOpError() << "has no value of " << name;
    if (found->second->type() != type)
      return step.emitOpError() << "value of " << name << " must match " << type
                                << ", got: " << found->second->type();
    result.slots[name.str()] = found->second;
    arguments.push_back(PerWorker(workers, found->second));
  }
  FailureOr<SmallVector<PerWorker>> made = interpreter.call(step, arguments, workers);
  if (failed(made))
    return failure();
  llvm::SmallDenseSet<unsigned> ofBatch = resultsOfBatch(step);
  for (auto [i, arrays] : llvm::enumerate(*made)) {
    if (auto name = step.getResultAttrOfType<StringAttr>(i, CsDialect::kUpdatesAttr)) {
      FailureOr<ArrayPtr> value =
          joinSlot(step, name, arrays, state.contains(name), ofBatch.contains(i));
      if (failed(value))
        return failure();
      result.slots[name.str()] = *value;
    } else if (auto name = step.getResultAttrOfType<StringAttr>(i, CsDialect::kMetricAttr)) {
      result.metrics[name.str()] = combine(arrays, Combiner::mean);
    } else {
      return step.emitOpError() << "result " << i
                                << " must have one of cs.updates, cs.metric";
    }
  }
  return result;
}

FailureOr<std::vector<StepResult>>
commsched::reference::runSteps(func::FuncOp step, NamedArrays slots,
                               ArrayRef<NamedArrays> batches, int64_t workers,
                               bool ignoreSparse) {
  Interpreter interpreter;
  std::vector<StepResult> results;
  for (const NamedArrays &batch : batches) {
    FailureOr<StepResult> result =
        runStep(interpreter, step, slots, batch, workers, ignoreSparse);
    if (failed(result))
      return failure();
    slots = result->slots;
    results.push_back(std::move(*result));
  }
  return results;
}
