// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// cs: rows of tables, and which worker it is.

#include "reference/Ops.h"

#include "ir/Cs.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;

static int64_t rowSize(const Array &array) {
  return array.shape.empty() || array.shape[0] == 0 ? 0 : array.size() / array.shape[0];
}

static LogicalResult evaluateLookup(OpContext &context) {
  if (failed(checkWritten(context, 1)))
    return failure();
  const Array &table = context.operand(0), &ids = context.operand(1);
  ArrayPtr result = makeZeros(context.op->getResult(0).getType());
  int64_t row = rowSize(table);
  for (int64_t i = 0; i < ids.size(); ++i) {
    int64_t id = std::clamp<int64_t>(ids.ints[i], 0, table.shape[0] - 1);
    for (int64_t e = 0; e < row; ++e) {
      result->setFrom(i * row + e, table, id * row + e);
      if (ids.bounds[i] != 0)
        result->bounds[i * row + e] = kUndetermined;
    }
  }
  context.results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateSegmentSum(OpContext &context) {
  if (failed(checkWritten(context, 0)) || failed(checkWritten(context, 1)))
    return failure();
  const Array &ids = context.operand(0), &values = context.operand(1);
  ArrayPtr result = makeZeros(context.op->getResult(0).getType());
  const FloatFormat *format = formatOf(result->elementType);
  unsigned width = widthOf(result->elementType);
  int64_t row = rowSize(*result);
  std::vector<Scalar> sums(result->size());
  std::vector<int64_t> terms(row == 0 ? 0 : result->shape[0]);
  if (format)
    for (Scalar &sum : sums)
      beginSum(sum);
  Machine machine;
  machine.registers.resize(2);
  Instruction add;
  add.operands = {0, 1};
  add.result = 0;
  for (int64_t i = 0; i < ids.size() && row != 0; ++i) {
    int64_t id = ids.ints[i];
    if (ids.bounds[i] != 0)
      return context.op->emitOpError("has ids that depend on rounding, and cannot be interpreted");
    if (id < 0 || id >= result->shape[0])
      continue;
    ++terms[id];
    for (int64_t e = 0; e < row; ++e) {
      Scalar &sum = sums[id * row + e];
      Scalar term;
      load(term, values, i * row + e);
      if (format) {
        machine.registers[0] = sum;
        machine.registers[1] = term;
        runAccumulate(add, machine);
        sum = machine.registers[0];
      } else {
        storeInt(sum, width, static_cast<__int128>(sum.integer) + term.integer,
                 sum.bound + term.bound);
      }
    }
  }
  for (int64_t e = 0; e < result->size(); ++e) {
    if (format)
      endSum(sums[e], *format, static_cast<double>(terms[e / row]));
    storeElement(*result, e, sums[e]);
  }
  context.results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateWorkerIndex(OpContext &context) {
  ArrayPtr result = makeZeros(context.op->getResult(0).getType());
  result->ints[0] = context.worker;
  context.results.push_back(std::move(result));
  return success();
}

static LogicalResult refuseProfiled(OpContext &context) {
  return context.op->emitOpError(
      "computes nothing that is known: a profiled layer cannot be interpreted");
}

static LogicalResult refuseGradient(OpContext &context) {
  return context.op->emitOpError("must be in the body of a function to be interpreted");
}

void commsched::reference::addCsOps(OpTable &table) {
  table["cs.lookup"] = evaluateLookup;
  table["cs.segment_sum"] = evaluateSegmentSum;
  table["cs.worker_index"] = evaluateWorkerIndex;
  table["cs.profiled"] = refuseProfiled;
  table["cs.gradient"] = refuseGradient;
}
