// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// linalg: any op with indexing maps and a region, and the few without.

#include "reference/Ops.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/AffineMap.h"

using namespace mlir;
using namespace commsched::reference;

namespace {

/// Where an operand is read or written: `base` and a step for each loop; or, for a map
/// that is not linear, the map.
struct Access {
  int64_t base = 0;
  SmallVector<int64_t> steps;
  AffineMap map;
  SmallVector<int64_t> strides;
  bool linear = true;

  int64_t at(ArrayRef<int64_t> point) const {
    if (linear) {
      int64_t offset = base;
      for (auto [index, step] : llvm::zip(point, steps))
        offset += index * step;
      return offset;
    }
    SmallVector<int64_t> place = map.compose(point);
    int64_t offset = 0;
    for (auto [index, stride] : llvm::zip(place, strides))
      offset += index * stride;
    return offset;
  }
};

} // namespace

/// Fails if a point lies outside of the operand.
static LogicalResult makeAccess(Operation *op, unsigned operand, AffineMap map,
                                ArrayRef<int64_t> ranges, const Array &array,
                                Access &access) {
  access.map = map;
  access.strides = stridesOf(array.shape);
  access.steps.assign(ranges.size(), 0);
  if (map.getNumResults() != array.shape.size())
    return op->emitOpError() << "has a map of another rank for operand " << operand;
  bool empty = llvm::is_contained(ranges, 0);
  for (auto [r, expression] : llvm::enumerate(map.getResults())) {
    SmallVector<int64_t> flat;
    if (failed(getFlattenedAffineExpr(expression, map.getNumDims(), 0, &flat)) ||
        flat.size() != map.getNumDims() + 1) {
      access.linear = false;
      continue;
    }
    int64_t low = flat.back(), high = flat.back();
    for (unsigned d = 0; d < ranges.size(); ++d) {
      access.steps[d] += flat[d] * access.strides[r];
      (flat[d] < 0 ? low : high) += flat[d] * (ranges[d] - 1);
    }
    access.base += flat.back() * access.strides[r];
    if (!empty && (low < 0 || high >= array.shape[r]))
      return op->emitOpError() << "goes outside of dimension " << r << " of operand "
                               << operand << ", " << low << " to " << high;
  }
  if (access.linear || empty)
    return success();
  bool inside = true;
  forEachPoint(ranges, [&](ArrayRef<int64_t> point) {
    for (auto [index, size] : llvm::zip(map.compose(point), array.shape))
      inside &= index >= 0 && index < size;
  });
  if (!inside)
    return op->emitOpError() << "goes outside of operand " << operand;
  return success();
}

LogicalResult commsched::reference::evaluateStructured(OpContext &context) {
  auto op = cast<linalg::LinalgOp>(context.op);
  if (!op.hasPureTensorSemantics())
    return op.emitOpError("must be on tensors to be interpreted");
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  if (llvm::any_of(ranges, ShapedType::isDynamic))
    return op.emitOpError("must have static shapes to be interpreted");
  Block &body = *op.getBlock();
  unsigned inputs = op.getNumDpsInputs(), outs = op.getNumDpsInits();
  bool reduces = op.getNumReductionLoops() > 0;
  Payload *payload = context.interpreter.cache().payloadOf(
      op, body, reduces ? inputs : body.getNumArguments());
  if (!payload)
    return failure();
  payload->bind(context.interpreter);

  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<Access> accesses(inputs + outs);
  SmallVector<const Array *> arrays;
  // Arguments of the block follow the operands.
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    arrays.push_back(&context.operand(i));
    if (failed(makeAccess(op, i, maps[i], ranges, *arrays[i], accesses[i])))
      return failure();
  }

  SmallVector<ArrayPtr> results;
  // Of sums: what they are of, beside their value and bound.
  SmallVector<std::vector<Scalar>> sums(outs);
  for (unsigned o = 0; o < outs; ++o) {
    results.push_back(owned(std::move(context.operands[inputs + o])));
    if (!payload->termsOfSum(inputs + o))
      continue;
    sums[o].resize(results[o]->size());
    for (int64_t e = 0; e < results[o]->size(); ++e) {
      load(sums[o][e], *results[o], e);
      if (isUnwritten(sums[o][e].bound))
        continue; // an error if it is read
      beginSum(sums[o][e]);
    }
  }

  int64_t terms = 1; // of each element of a result
  for (auto [range, kind] : llvm::zip(ranges, op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      terms *= range;

  SmallVector<int64_t> at(inputs + outs);
  forEachPoint(ranges, [&](ArrayRef<int64_t> point) {
    for (unsigned i = 0; i < inputs + outs; ++i) {
      if (i >= inputs || payload->isUsed(i))
        at[i] = accesses[i].at(point);
      if (!payload->isUsed(i))
        continue;
      Scalar &argument = payload->argument(i);
      if (i < inputs)
        load(argument, *arrays[i], at[i]);
      else if (!sums[i - inputs].empty())
        argument = sums[i - inputs][at[i]];
      else
        load(argument, *results[i - inputs], at[i]);
      if (isUnwritten(argument.bound))
        payload->failUnwritten(op);
    }
    payload->run(point.data());
    for (unsigned o = 0; o < outs; ++o) {
      const Scalar &made = payload->result(o);
      if (!sums[o].empty())
        sums[o][at[inputs + o]] = made;
      else
        storeElement(*results[o], at[inputs + o], made);
    }
  });
  payload->release();
  if (failed(payload->check()))
    return failure();
  // A map that is not of all parallel loops adds up more than the reduction loops.
  for (unsigned o = 0; o < outs; ++o) {
    if (sums[o].empty() || llvm::is_contained(ranges, 0))
      continue;
    int64_t points = 1;
    for (int64_t range : ranges)
      points *= range;
    double each = std::max<double>(terms, static_cast<double>(points) / results[o]->size());
    const FloatFormat &format = *formatOf(results[o]->elementType);
    for (int64_t e = 0; e < results[o]->size(); ++e) {
      endSum(sums[o][e], format, each * payload->termsOfSum(inputs + o));
      storeElement(*results[o], e, sums[o][e]);
    }
  }
  for (unsigned r = 0; r < op->getNumResults(); ++r)
    context.results.push_back(std::move(results[r]));
  return success();
}

/// softmax: exp(x - max) / sum of them, along one dimension.
static LogicalResult evaluateSoftmax(OpContext &context) {
  auto op = cast<linalg::SoftmaxOp>(context.op);
  if (failed(checkWritten(context, 0)))
    return failure();
  const Array &input = context.operand(0);
  ArrayPtr result = makeZeros(input.elementType, input.shape);
  const FloatFormat &format = *formatOf(input.elementType);
  int64_t dimension = static_cast<int64_t>(op.getDimension());
  int64_t size = input.shape[dimension];
  int64_t stride = stridesOf(input.shape)[dimension];

  // Registers: 0, 1 operands, 2 result.
  Machine machine;
  machine.registers.resize(3);
  auto compute = [&](StringRef name, Scalar a, Scalar b) {
    Instruction i;
    i.op = op;
    i.operands = {0, 1};
    i.result = 2;
    i.format = i.from = &format;
    scalarBuilder(name)(op, i);
    machine.registers[0] = a;
    machine.registers[1] = b;
    i.run(i, machine);
    return machine.registers[2];
  };
  for (int64_t e = 0; e < input.size(); ++e) {
    if (e / stride % size != 0)
      continue;
    Scalar most, sum;
    load(most, input, e);
    std::vector<Scalar> powers(size);
    for (int64_t k = 1; k < size; ++k) {
      Scalar x;
      load(x, input, e + k * stride);
      most = compute("arith.maximumf", most, x);
    }
    beginSum(sum);
    for (int64_t k = 0; k < size; ++k) {
      load(powers[k], input, e + k * stride);
      powers[k] = compute("math.exp", compute("arith.subf", powers[k], most), {});
      Instruction add;
      add.operands = {0, 1};
      add.result = 0;
      machine.registers[0] = sum;
      machine.registers[1] = powers[k];
      runAccumulate(add, machine);
      sum = machine.registers[0];
    }
    endSum(sum, format, static_cast<double>(size));
    for (int64_t k = 0; k < size; ++k)
      storeElement(*result, e + k * stride, compute("arith.divf", powers[k], sum));
  }
  context.results.push_back(std::move(result));
  return success();
}

void commsched::reference::addStructuredOps(OpTable &table) {
  table["linalg.softmax"] = evaluateSoftmax;
}
