// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/CsSparseOps.h"

#include "ir/CsCommunication.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace commsched::cs;

#define GET_OP_CLASSES
#include "ir/CsSparseOps.cpp.inc"

ArrayRef<StringRef> commsched::cs::exchangeMethods() {
  static const StringRef names[] = {"auto", "dense", "allgather", "hitopk", "gtopk",
                                    "oktopk"};
  return names;
}

ArrayRef<StringRef> commsched::cs::selectionMethods() {
  static const StringRef names[] = {"exact", "histogram", "sampled", "mstopk"};
  return names;
}

RankedTensorType commsched::cs::thresholdType(MLIRContext *context) {
  return RankedTensorType::get({2}, Float32Type::get(context));
}

RankedTensorType commsched::cs::stepNumberType(MLIRContext *context) {
  return RankedTensorType::get({1}, IntegerType::get(context, 32));
}

std::string commsched::cs::listOf(ArrayRef<StringRef> names) {
  std::string text = names.front().str();
  for (StringRef name : names.drop_front().drop_back())
    text += (", " + name).str();
  return text + (" or " + names.back()).str();
}

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Static shapes, one element type, and indices that reach all of `whole`.
static LogicalResult verifySelection(Operation *op, Value values, Value indices,
                                     Value whole) {
  for (Value value : {values, indices, whole})
    if (!tensorOf(value).hasStaticShape())
      return op->emitOpError() << "must have static shapes, got: " << value.getType();
  if (tensorOf(values).getRank() != 1)
    return op->emitOpError() << "values must have one dimension, got: "
                             << values.getType();
  if (tensorOf(values).getElementType() != tensorOf(whole).getElementType())
    return op->emitOpError() << "values must match the element type of "
                             << whole.getType() << ", got: " << values.getType();
  if (tensorOf(values).getDimSize(0) != tensorOf(indices).getDimSize(0))
    return op->emitOpError() << "must have as many indices as values, "
                             << tensorOf(values).getDimSize(0)
                             << ", got: " << tensorOf(indices).getDimSize(0);
  int64_t elements = tensorOf(whole).getNumElements();
  if (tensorOf(indices).getElementType().isInteger(32) &&
      elements > int64_t(1) << 31)
    return op->emitOpError() << "needs indices of i64 for " << elements << " elements";
  return success();
}

static LogicalResult verifyThreshold(TopKOp op) {
  auto every = static_cast<int64_t>(op.getEvery());
  if (!op.getThreshold() && every != 1)
    return op.emitOpError() << "needs a threshold to select exactly every " << every
                            << " steps";
  if (bool(op.getThreshold()) != bool(op.getNext()))
    return op.emitOpError() << "must have " << (op.getThreshold() ? 4 : 3) << " results "
                            << (op.getThreshold() ? "with" : "without")
                            << " a threshold, got: " << op->getNumResults();
  if (!op.getThreshold())
    return success();
  if (!op.getResidual())
    return op.emitOpError("needs a residual, to have a threshold");
  Type type = thresholdType(op.getContext());
  if (op.getThreshold().getType() != type)
    return op.emitOpError() << "threshold must match " << type
                            << ", got: " << op.getThreshold().getType();
  if (op.getNext().getType() != type)
    return op.emitOpError() << "next threshold must match " << type
                            << ", got: " << op.getNext().getType();
  if (every < 1 || every > kMaxThresholdSteps)
    return op.emitOpError() << "must select exactly every 1 to " << kMaxThresholdSteps
                            << " steps, got: " << every;
  return success();
}

/// What only MSTopK has.
static LogicalResult verifyMsTopK(TopKOp op) {
  auto samples = static_cast<int64_t>(op.getSamples());
  if (op.getMethod() != "mstopk") {
    StringRef name = op.getSeed() != 0           ? "seed"
                     : op.getStep()              ? "step"
                     : samples != kMsTopKSamples ? "samples"
                     : op.getEarlyStop()         ? "early_stop"
                                                 : "";
    if (!name.empty())
      return op.emitOpError() << name << " must go with method mstopk, got: "
                              << op.getMethodAttr();
  }
  if (samples < 1 || samples > kMaxMsTopKSamples)
    return op.emitOpError() << "samples must be 1 to " << kMaxMsTopKSamples
                            << ", got: " << samples;
  Type type = stepNumberType(op.getContext());
  if (op.getStep() && op.getStep().getType() != type)
    return op.emitOpError() << "step must match " << type << ", got: " << op.getStep().getType();
  return success();
}

/// `target` is the tensor that a message says its lists are of.
static LogicalResult verifyLists(Operation *op, ArrayRef<Value> lists, Value target) {
  for (Value list : lists) {
    RankedTensorType dense = list ? tensorOfLists(list, /*selected=*/false) : nullptr;
    if (dense && dense != target.getType())
      return op->emitOpError() << "result must match " << dense
                               << ", which its lists are of, got: " << target.getType();
  }
  return success();
}

LogicalResult TopKOp::verify() {
  if (!llvm::is_contained(selectionMethods(), getMethod()))
    return emitOpError() << "method must be " << listOf(selectionMethods())
                         << ", got: " << getMethodAttr();
  if (failed(verifySelection(*this, getValues(), getIndices(), getValue())))
    return failure();
  if (getResidual() && getResidual().getType() != getValue().getType())
    return emitOpError() << "residual must match " << getValue().getType()
                         << ", got: " << getResidual().getType();
  if (getRest().getType() != getValue().getType())
    return emitOpError() << "rest must match " << getValue().getType()
                         << ", got: " << getRest().getType();
  int64_t k = tensorOf(getValues()).getDimSize(0);
  int64_t elements = tensorOf(getValue()).getNumElements();
  if (k < 1 || k > elements)
    return emitOpError() << "must select 1 to " << elements << " elements, got: " << k;
  if (failed(verifyMsTopK(*this)))
    return failure();
  return verifyThreshold(*this);
}

LogicalResult ScatterAddOp::verify() {
  if (failed(verifySelection(*this, getValues(), getIndices(), getResult())))
    return failure();
  if (failed(verifyLists(*this, {getIndices(), getExcept()}, getResult())))
    return failure();
  if (getInto() && getInto().getType() != getResult().getType())
    return emitOpError() << "operand to add to must match " << getResult().getType()
                         << ", got: " << getInto().getType();
  if (getExcept() && !getInto())
    return emitOpError("needs an operand to add to, to leave some indices out");
  if (getExcept() && getExcept().getType().getElementType() !=
                         getIndices().getType().getElementType())
    return emitOpError() << "indices to leave out must match the element type of "
                         << getIndices().getType()
                         << ", got: " << getExcept().getType();
  if (static_cast<int64_t>(getOver()) < 1)
    return emitOpError() << "must divide by 1 or more, got: "
                         << static_cast<int64_t>(getOver());
  if (getExcept() && getOver() != 1)
    return emitOpError("cannot divide and leave indices out");
  return success();
}

LogicalResult ScatterClearOp::verify() {
  for (Value value : {getValue(), getIndices()})
    if (!tensorOf(value).hasStaticShape())
      return emitOpError() << "must have static shapes, got: " << value.getType();
  return verifyLists(*this, {getIndices()}, getResult());
}

LogicalResult MergeTopKOp::verify() {
  if (failed(verifySelection(*this, getValues(), getIndices(), getValues())) ||
      failed(verifySelection(*this, getTopValues(), getTopIndices(), getValues())))
    return failure();
  if (getTopIndices().getType().getElementType() !=
      getIndices().getType().getElementType())
    return emitOpError() << "indices must match the element type of "
                         << getIndices().getType()
                         << ", got: " << getTopIndices().getType();
  return success();
}

/// Shifts of n - 1 cuts, and lists of n parts.
static LogicalResult verifyShifts(Operation *op, ArrayRef<Value> lists, Value counts,
                                  Value shifts, int64_t elements) {
  for (Value value : {lists.front(), counts, shifts})
    if (!tensorOf(value).hasStaticShape())
      return op->emitOpError() << "must have static shapes, got: " << value.getType();
  int64_t regions = tensorOf(counts).getDimSize(0);
  if (regions < 2)
    return op->emitOpError() << "needs counts of 2 or more regions, got: " << regions;
  if (tensorOf(shifts).getDimSize(0) != regions - 1)
    return op->emitOpError() << "must have " << regions - 1 << " shifts for " << regions
                             << " regions, got: " << tensorOf(shifts).getDimSize(0);
  if (int64_t entries = tensorOf(lists.front()).getDimSize(0); entries % regions != 0)
    return op->emitOpError() << "must have as many entries in each of " << regions
                             << " regions, got: " << entries;
  Type index = tensorOf(shifts).getElementType();
  for (Value value : lists)
    if (tensorOf(value).getElementType() != index)
      return op->emitOpError() << "indices must match the element type of "
                               << shifts.getType() << ", got: " << value.getType();
  if (tensorOf(counts).getElementType() != index)
    return op->emitOpError() << "counts must match the element type of "
                             << shifts.getType() << ", got: " << counts.getType();
  if (elements < 1 || (index.isInteger(32) && elements > int64_t(1) << 31))
    return op->emitOpError() << "elements must be 1 or more, and fit the indices, got: "
                             << elements;
  return success();
}

LogicalResult SplitRegionsOp::verify() {
  if (failed(verifySelection(*this, getValues(), getIndices(), getValues())) ||
      failed(verifySelection(*this, getSplitValues(), getSplitIndices(), getValues())))
    return failure();
  return verifyShifts(*this, {getSplitIndices(), getIndices()}, getCounts(), getShifts(),
                      static_cast<int64_t>(getElements()));
}

LogicalResult BalanceRegionsOp::verify() {
  return verifyShifts(*this, {getIndices()}, getCounts(), getShifts(),
                      static_cast<int64_t>(getElements()));
}

COMMSCHED_COMMUNICATION(PairExchangeOp)

LogicalResult PairExchangeOp::verify() {
  if (failed(common::verifyKey(*this, getKey())))
    return failure();
  auto distance = static_cast<int64_t>(getDistance());
  if (distance < 1 || !llvm::isPowerOf2_64(distance))
    return emitOpError() << "distance must be a power of two, got: " << distance;
  RankedTensorType type = getValue().getType().getTensor();
  if (type.getRank() == 0 || type.getDimSize(0) % 2 != 0)
    return emitOpError() << "must have two halves along dimension 0, got: " << type;
  return success();
}

COMMSCHED_COMMUNICATION(AllToAllOp)

LogicalResult AllToAllOp::verify() {
  if (failed(common::verifyKey(*this, getKey())))
    return failure();
  RankedTensorType type = getValue().getType().getTensor();
  if (type.getRank() == 0 || type.getDimSize(0) % 2 != 0)
    return emitOpError() << "must have two halves along dimension 0, got: " << type;
  return success();
}

MutableOperandRange KernelOp::getDpsInitsMutable() { return getOutsMutable(); }

LogicalResult KernelOp::verify() {
  if (getKind().empty())
    return emitOpError("needs a kind");
  if (!llvm::equal(getResultTypes(), getOuts().getTypes()))
    return emitOpError("results must match what the kernel writes");
  for (NamedAttribute setting : getSettings())
    if (!isa<IntegerAttr>(setting.getValue()))
      return emitOpError() << "setting " << setting.getName()
                           << " must be an integer, got: " << setting.getValue();
  return success();
}

LogicalResult commsched::cs::verifySparseAttribute(Operation *op, NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == kPerRankAttr)
    return op->emitOpError() << "'" << name << "' belongs on an argument";
  if (name != kDensityAttr && name != kSparseMethodAttr)
    return success();
  if (!isa<GradientOp, AllReduceOp, SendOp>(op))
    return op->emitOpError() << "'" << name
                             << "' belongs on a cs.gradient, cs.all_reduce or cs.send";
  if (name == kDensityAttr) {
    auto density = dyn_cast<FloatAttr>(attr.getValue());
    if (!density || !density.getType().isF64() ||
        !(density.getValueAsDouble() > 0 && density.getValueAsDouble() <= 1))
      return op->emitOpError() << "'" << name
                               << "' must be an f64 above 0 and at most 1, got: "
                               << attr.getValue();
    return success();
  }
  auto method = dyn_cast<StringAttr>(attr.getValue());
  if (!method || !llvm::is_contained(exchangeMethods(), method.getValue()))
    return op->emitOpError() << "'" << name << "' must be "
                             << listOf(exchangeMethods()) << ", got: " << attr.getValue();
  return success();
}

LogicalResult commsched::cs::verifyPerRank(Operation *op, NamedAttribute attr,
                                           unsigned index) {
  StringRef name = attr.getName();
  if (!isa<UnitAttr>(attr.getValue()))
    return op->emitOpError() << "argument " << index << ": '" << name
                             << "' must be a unit attribute, got: " << attr.getValue();
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || !function.getArgAttr(index, CsDialect::kStateAttr))
    return op->emitOpError() << "argument " << index << ": '" << name
                             << "' belongs beside '" << CsDialect::kStateAttr << "'";
  return success();
}
