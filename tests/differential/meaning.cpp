// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/differential/meaning.h"

#include "ir/Cs.h"
#include "ir/CsDevices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "reference/Collectives.h"
#include "reference/Ranks.h"

using namespace mlir;

namespace commsched::differential {

namespace {

// Whether workers have different values of it.
bool dependsOnBatch(Value value, func::FuncOp step, llvm::DenseMap<Value, bool> &known) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner() == &step.front() &&
           step.getArgAttr(argument.getArgNumber(), cs::CsDialect::kBatchAttr);
  auto [entry, isNew] = known.try_emplace(value, false);
  if (!isNew)
    return entry->second;
  Operation *op = value.getDefiningOp();
  bool depends = isa<cs::WorkerIndexOp>(op);
  if (!isa<cs::GradientOp>(op))
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (operand.getParentRegion() == &step.getBody())
          depends |= dependsOnBatch(operand, step, known);
    });
  known[value] = depends;
  return depends;
}

// What the mode means, in level 0 itself: sums of gradients instead of means, and means
// of state that workers make of their batches.
void spellOut(func::FuncOp step, const Mode &mode) {
  OpBuilder builder(step);
  auto scale = [&](Value value, Operation *behind) {
    auto type = cast<RankedTensorType>(value.getType());
    builder.setInsertionPointAfter(behind);
    auto workers = arith::ConstantOp::create(
        builder, step.getLoc(),
        DenseElementsAttr::get(
            type, builder.getFloatAttr(type.getElementType(), double(mode.workers()))));
    auto sum = arith::MulFOp::create(builder, step.getLoc(), value, workers);
    value.replaceAllUsesExcept(sum, sum);
  };
  if (mode.sum && mode.workers() > 1)
    for (auto gradient : llvm::make_early_inc_range(step.front().getOps<cs::GradientOp>()))
      scale(gradient.getResult(), gradient);
  llvm::DenseMap<Value, bool> known;
  Operation *end = step.front().getTerminator();
  for (unsigned i = 0; i < step.getNumResults(); ++i) {
    Value value = end->getOperand(i);
    auto name = step.getResultAttrOfType<StringAttr>(i, cs::CsDialect::kUpdatesAttr);
    if (!name || !isa<FloatType>(getElementTypeOrSelf(value)) ||
        !dependsOnBatch(value, step, known))
      continue;
    builder.setInsertionPoint(end);
    end->setOperand(i,
                    cs::GradientOp::create(builder, step.getLoc(), value.getType(), value, name));
  }
}

} // namespace

Meaning::Meaning(OwningOpRef<ModuleOp> program, func::FuncOp step, const Mode &mode)
    : program(std::move(program)), meant(step), mode(mode) {
  spellOut(meant, mode);
}

void Meaning::setSelected(OwningOpRef<ModuleOp> module) {
  selected = std::move(module);
  parts = batchParts(*selected);
}

int64_t batchParts(ModuleOp module) {
  int64_t parts = 1;
  for (auto function : module.getOps<func::FuncOp>())
    for (auto cluster : module.getOps<cs::ClusterOp>())
      if (function->hasAttr(cs::CsDialect::kStepAttr))
        parts = std::max(parts, cs::getBatchParts(function, cluster));
  return parts;
}

reference::ArrayPtr firstPart(const reference::Array &batch, int64_t part, int64_t of) {
  SmallVector<int64_t> shape(batch.shape.begin(), batch.shape.end());
  shape[0] = shape[0] / of * part;
  return reference::cut(batch, 0, shape);
}

// Batches of several steps as one, a step behind the other.
static reference::NamedArrays joined(ArrayRef<reference::NamedArrays> batches) {
  reference::NamedArrays whole;
  for (const auto &[name, first] : batches.front()) {
    SmallVector<int64_t> shape(first->shape.begin(), first->shape.end());
    shape[0] *= int64_t(batches.size());
    reference::ArrayPtr all = reference::makeZeros(first->elementType, shape);
    int64_t at = 0;
    for (const reference::NamedArrays &batch : batches)
      for (int64_t i = 0; i < first->size(); ++i)
        all->setFrom(at++, *batch.at(name), i);
    whole[name] = all;
  }
  return whole;
}

FailureOr<reference::StepResult> Meaning::step(size_t index, const reference::NamedArrays &slots,
                                               ArrayRef<reference::NamedArrays> batches) {
  if (selected) {
    reference::NamedArrays all = slots;
    all.insert(ownSlots.begin(), ownSlots.end());
    reference::NamedArrays batch;
    for (const auto &[name, array] : batches[index])
      batch[name] = firstPart(*array, parts, mode.devices);
    auto results = reference::runRankSteps(*selected, all, {batch});
    if (failed(results))
      return failure();
    reference::StepResult result;
    result.metrics = results->front().metrics;
    for (const auto &[name, array] : results->front().slots)
      (slots.count(name) ? result.slots : ownSlots)[name] = array;
    return result;
  }
  size_t merged = size_t(mode.merge());
  if (merged == 1)
    return reference::runStep(interpreter, meant, slots, batches[index], mode.workers());
  // Nothing is sent before the last of them, which is as if others had made the batches.
  reference::StepResult result;
  result.slots = slots;
  if ((index + 1) % merged)
    return result;
  auto sent = reference::runStep(interpreter, meant, slots,
                                 joined(batches.slice(index + 1 - merged, merged)),
                                 mode.workers() * int64_t(merged));
  if (failed(sent))
    return failure();
  result.slots = sent->slots;
  return result;
}

} // namespace commsched::differential
