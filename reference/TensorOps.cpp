// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tensor, and constants: elements that are moved, with their bounds, written or not.

#include "reference/Ops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace commsched::reference;

static LogicalResult evaluateConstant(OpContext &context) {
  auto op = cast<arith::ConstantOp>(context.op);
  ArrayPtr array = makeConstant(op.getValue(), op.getType());
  if (!array)
    return op.emitOpError("has a value that the reference does not know");
  context.results.push_back(std::move(array));
  return success();
}

static LogicalResult evaluateEmpty(OpContext &context) {
  context.results.push_back(makeUnwritten(context.op->getResult(0).getType()));
  return success();
}

/// Same elements in the same order, another shape: casts and reshapes.
static LogicalResult evaluateSame(OpContext &context) {
  ArrayPtr array = owned(std::move(context.operands[0]));
  auto type = cast<RankedTensorType>(context.op->getResult(0).getType());
  if (array->size() != type.getNumElements())
    return context.op->emitOpError("changes the number of elements");
  array->shape.assign(type.getShape().begin(), type.getShape().end());
  context.results.push_back(std::move(array));
  return success();
}

static LogicalResult evaluateDim(OpContext &context) {
  const Array &index = context.operand(1);
  int64_t number = index.ints[0];
  auto type = dyn_cast<RankedTensorType>(context.op->getOperand(0).getType());
  if (!type || index.bounds[0] != 0 || number < 0 || number >= type.getRank())
    return context.op->emitOpError("must name a dimension of its operand");
  context.results.push_back(
      makeInt(context.op->getResult(0).getType(), type.getDimSize(number)));
  return success();
}

static LogicalResult evaluateRank(OpContext &context) {
  auto type = cast<RankedTensorType>(context.op->getOperand(0).getType());
  context.results.push_back(makeInt(context.op->getResult(0).getType(), type.getRank()));
  return success();
}

static LogicalResult evaluateSplat(OpContext &context) {
  ArrayPtr array = makeZeros(context.op->getResult(0).getType());
  for (int64_t e = 0; e < array->size(); ++e)
    array->setFrom(e, context.operand(0), 0);
  context.results.push_back(std::move(array));
  return success();
}

static LogicalResult evaluateFromElements(OpContext &context) {
  ArrayPtr array = makeZeros(context.op->getResult(0).getType());
  for (int64_t e = 0; e < array->size(); ++e)
    array->setFrom(e, context.operand(e), 0);
  context.results.push_back(std::move(array));
  return success();
}

/// The element that `indices` name. `exact` is false if it may be another one; fails
/// outside of the tensor, if that is certain, and is -1 if it is not.
static FailureOr<int64_t> placeOf(OpContext &context, const Array &array,
                                  ArrayRef<ArrayPtr> indices, bool &exact) {
  int64_t place = 0;
  bool inside = true;
  for (auto [index, size] : llvm::zip(indices, array.shape)) {
    if (index->hasUnwritten())
      return context.op->emitOpError("reads an element that was never written");
    exact &= index->bounds[0] == 0;
    inside &= index->ints[0] >= 0 && index->ints[0] < size;
    place = place * size + index->ints[0];
  }
  if (inside)
    return place;
  if (exact)
    return context.op->emitOpError("goes outside of its tensor");
  return -1;
}

static LogicalResult evaluateExtract(OpContext &context) {
  const Array &array = context.operand(0);
  bool exact = true;
  FailureOr<int64_t> place =
      placeOf(context, array, context.operands.drop_front(1), exact);
  if (failed(place))
    return failure();
  ArrayPtr result = makeZeros(context.op->getResult(0).getType());
  if (*place >= 0)
    result->setFrom(0, array, *place);
  if (isUnwritten(result->bounds[0]))
    return context.op->emitOpError("reads an element that was never written");
  if (!exact)
    result->bounds[0] = kUndetermined;
  context.results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateInsert(OpContext &context) {
  bool exact = true;
  FailureOr<int64_t> place =
      placeOf(context, context.operand(1), context.operands.drop_front(2), exact);
  if (failed(place))
    return failure();
  ArrayPtr result = owned(std::move(context.operands[1]));
  if (*place >= 0)
    result->setFrom(*place, context.operand(0), 0);
  if (!exact) // any element may have it
    std::fill(result->bounds.begin(), result->bounds.end(), kUndetermined);
  context.results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

namespace {

struct Slice {
  SmallVector<int64_t> offsets, sizes, strides;
  bool exact = true;

  int64_t at(ArrayRef<int64_t> point, ArrayRef<int64_t> tensorStrides) const {
    int64_t place = 0;
    for (size_t d = 0; d < point.size(); ++d)
      place += (offsets[d] + point[d] * strides[d]) * tensorStrides[d];
    return place;
  }
};

/// Reads the offsets, sizes and strides of `op`, whose dynamic ones begin at operand
/// `first`; fails if they go outside of `shape`.
template <typename Op>
FailureOr<Slice> readSlice(OpContext &context, Op op, unsigned first,
                           ArrayRef<int64_t> shape) {
  Slice slice;
  unsigned next = first;
  auto read = [&](ArrayRef<int64_t> fixed, SmallVector<int64_t> &numbers) {
    for (int64_t number : fixed) {
      if (ShapedType::isDynamic(number)) {
        const Array &operand = context.operand(next++);
        slice.exact &= operand.bounds[0] == 0;
        number = operand.ints[0];
      }
      numbers.push_back(number);
    }
  };
  read(op.getStaticOffsets(), slice.offsets);
  read(op.getStaticSizes(), slice.sizes);
  read(op.getStaticStrides(), slice.strides);
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t last = slice.offsets[d] + (slice.sizes[d] - 1) * slice.strides[d];
    if (slice.sizes[d] == 0)
      continue;
    if (slice.sizes[d] < 0 || std::min(slice.offsets[d], last) < 0 ||
        std::max(slice.offsets[d], last) >= shape[d])
      return op.emitOpError() << "goes outside of dimension " << d << ", of size " << shape[d]
                              << ": " << slice.offsets[d] << " to " << last;
  }
  return slice;
}

} // namespace

static LogicalResult evaluateExtractSlice(OpContext &context) {
  auto op = cast<tensor::ExtractSliceOp>(context.op);
  const Array &array = context.operand(0);
  FailureOr<Slice> slice = readSlice(context, op, 1, array.shape);
  if (failed(slice))
    return failure();
  ArrayPtr result = makeZeros(op.getType());
  SmallVector<int64_t> strides = stridesOf(array.shape);
  int64_t e = 0;
  forEachPoint(slice->sizes, [&](ArrayRef<int64_t> point) {
    if (e < result->size())
      result->setFrom(e, array, slice->at(point, strides));
    ++e;
  });
  if (e != result->size())
    return op.emitOpError() << "has sizes of " << e << " elements, which must match "
                            << op.getType();
  if (!slice->exact)
    std::fill(result->bounds.begin(), result->bounds.end(), kUndetermined);
  context.results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateInsertSlice(OpContext &context) {
  auto op = cast<tensor::InsertSliceOp>(context.op);
  FailureOr<Slice> slice = readSlice(context, op, 2, context.operand(1).shape);
  if (failed(slice))
    return failure();
  ArrayPtr result = owned(std::move(context.operands[1]));
  const Array &source = context.operand(0);
  SmallVector<int64_t> strides = stridesOf(result->shape);
  int64_t e = 0;
  forEachPoint(slice->sizes, [&](ArrayRef<int64_t> point) {
    if (e < source.size())
      result->setFrom(slice->at(point, strides), source, e);
    ++e;
  });
  if (e != source.size())
    return op.emitOpError() << "has sizes of " << e << " elements, which must match "
                            << op.getSourceType();
  if (!slice->exact)
    std::fill(result->bounds.begin(), result->bounds.end(), kUndetermined);
  context.results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateConcat(OpContext &context) {
  auto op = cast<tensor::ConcatOp>(context.op);
  ArrayPtr result = makeZeros(op.getResultType());
  int64_t dimension = static_cast<int64_t>(op.getDim());
  SmallVector<int64_t> strides = stridesOf(result->shape);
  int64_t base = 0;
  for (const ArrayPtr &part : context.operands) {
    int64_t e = 0;
    forEachPoint(part->shape, [&](ArrayRef<int64_t> point) {
      int64_t place = base * strides[dimension];
      for (size_t d = 0; d < point.size(); ++d)
        place += point[d] * strides[d];
      result->setFrom(place, *part, e++);
    });
    base += part->shape[dimension];
  }
  context.results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Elements that a region computes
//===----------------------------------------------------------------------===//

static LogicalResult evaluateGenerate(OpContext &context) {
  auto op = cast<tensor::GenerateOp>(context.op);
  Payload *payload = context.interpreter.cache().payloadOf(
      op, op.getBody().front(), op.getBody().front().getNumArguments());
  if (!payload)
    return failure();
  payload->bind(context.interpreter);
  ArrayPtr result = makeZeros(op.getType());
  int64_t e = 0;
  forEachPoint(result->shape, [&](ArrayRef<int64_t> point) {
    for (auto [d, index] : llvm::enumerate(point)) {
      payload->argument(d).integer = index;
      payload->argument(d).bound = 0;
    }
    payload->run(point.data());
    storeElement(*result, e++, payload->result(0));
  });
  payload->release();
  context.results.push_back(std::move(result));
  return payload->check();
}

static LogicalResult evaluatePad(OpContext &context) {
  auto op = cast<tensor::PadOp>(context.op);
  Block &body = op.getRegion().front();
  Payload *payload =
      context.interpreter.cache().payloadOf(op, body, body.getNumArguments());
  if (!payload)
    return failure();
  payload->bind(context.interpreter);
  const Array &source = context.operand(0);
  SmallVector<int64_t> low;
  unsigned next = 1;
  for (int64_t number : op.getStaticLow()) {
    if (ShapedType::isDynamic(number)) {
      const Array &operand = context.operand(next++);
      if (operand.bounds[0] != 0)
        return op.emitOpError("must have known sizes to be interpreted");
      number = operand.ints[0];
    }
    low.push_back(number);
  }
  ArrayPtr result = makeZeros(op.getResultType());
  SmallVector<int64_t> strides = stridesOf(source.shape);
  int64_t e = 0;
  forEachPoint(result->shape, [&](ArrayRef<int64_t> point) {
    int64_t place = 0;
    bool inside = true;
    for (size_t d = 0; d < point.size(); ++d) {
      int64_t at = point[d] - low[d];
      inside &= at >= 0 && at < source.shape[d];
      place += at * strides[d];
    }
    if (inside) {
      result->setFrom(e++, source, place);
      return;
    }
    for (auto [d, index] : llvm::enumerate(point)) {
      payload->argument(d).integer = index;
      payload->argument(d).bound = 0;
    }
    payload->run(point.data());
    storeElement(*result, e++, payload->result(0));
  });
  payload->release();
  context.results.push_back(std::move(result));
  return payload->check();
}

void commsched::reference::addTensorOps(OpTable &table) {
  table["arith.constant"] = evaluateConstant;
  table["tensor.empty"] = evaluateEmpty;
  table["tensor.cast"] = evaluateSame;
  table["tensor.collapse_shape"] = evaluateSame;
  table["tensor.expand_shape"] = evaluateSame;
  table["tensor.reshape"] = evaluateSame;
  table["tensor.dim"] = evaluateDim;
  table["tensor.rank"] = evaluateRank;
  table["tensor.splat"] = evaluateSplat;
  table["tensor.from_elements"] = evaluateFromElements;
  table["tensor.extract"] = evaluateExtract;
  table["tensor.insert"] = evaluateInsert;
  table["tensor.extract_slice"] = evaluateExtractSlice;
  table["tensor.insert_slice"] = evaluateInsertSlice;
  table["tensor.concat"] = evaluateConcat;
  table["tensor.generate"] = evaluateGenerate;
  table["tensor.pad"] = evaluatePad;
}
