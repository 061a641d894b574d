// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/combine/Combine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/place/Devices.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::combine;
using place::placedType;

/// Without casts that change no index that there is.
static Value withoutCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Whether `value`, in the body of a fragment, is the worker's number.
static bool isWorker(cs::FragmentOp fragment, func::FuncOp func, Value value) {
  auto extract = withoutCasts(value).getDefiningOp<tensor::ExtractOp>();
  if (!extract || !extract.getIndices().empty())
    return false;
  auto inside = dyn_cast<BlockArgument>(extract.getTensor());
  if (!inside || inside.getOwner() != &fragment.getBody().front())
    return false;
  auto outside = dyn_cast<BlockArgument>(fragment.getInputs()[inside.getArgNumber()]);
  return outside && func.getArgAttr(outside.getArgNumber(), cs::CsDialect::kWorkerIndexAttr);
}

/// Whether `value` is the worker's number times `size`.
static bool isBegin(cs::FragmentOp fragment, func::FuncOp func, Value value, int64_t size) {
  value = withoutCasts(value);
  if (size == 1 && isWorker(fragment, func, value))
    return true;
  auto product = value.getDefiningOp<arith::MulIOp>();
  if (!product)
    return false;
  for (unsigned i : {0u, 1u}) {
    APInt factor;
    if (matchPattern(withoutCasts(product->getOperand(i)), m_ConstantInt(&factor)) &&
        factor == static_cast<uint64_t>(size) &&
        isWorker(fragment, func, product->getOperand(1 - i)))
      return true;
  }
  return false;
}

static cs::AllReduceOp findReduce(cs::FragmentOp fragment, func::FuncOp func,
                                  tensor::ExtractSliceOp slice, int64_t nodes) {
  cs::AllReduceOp reduce = soleReduce(fragment, slice.getSource());
  RankedTensorType whole = slice.getSourceType(), part = slice.getResultType();
  if (!reduce || whole.getRank() != part.getRank() || whole.getRank() == 0 ||
      part.getDimSize(0) * nodes != whole.getDimSize(0) || part.getDimSize(0) == 0 ||
      part.getShape().drop_front() != whole.getShape().drop_front() || !slice.hasUnitStride())
    return {};
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
  for (OpFoldResult offset : ArrayRef(offsets).drop_front())
    if (getConstantIntValue(offset) != 0)
      return {};
  auto begin = dyn_cast<Value>(offsets.front());
  return begin && isBegin(fragment, func, begin, part.getDimSize(0)) ? reduce
                                                                     : cs::AllReduceOp();
}

void combine::scatterParts(func::FuncOp func, int64_t nodes, Tell tell) {
  for (auto fragment : func.front().getOps<cs::FragmentOp>()) {
    if (!fragment.hasBody())
      continue;
    for (auto slice :
         llvm::make_early_inc_range(fragment.getBody().front().getOps<tensor::ExtractSliceOp>())) {
      cs::AllReduceOp reduce = findReduce(fragment, func, slice, nodes);
      if (!reduce)
        continue;
      cs::PlacedType whole = placedType(reduce.getResult());
      auto part = cs::PlacedType::get(func.getContext(), slice.getResultType(),
                                      whole.getDevice(), whole.getMemory());
      OpBuilder builder(reduce);
      auto made = cs::ReduceScatterOp::create(builder, reduce.getLoc(), part,
                                              reduce.getKey(), reduce.getReduction(),
                                              reduce.getValue(), FlatSymbolRefAttr());
      auto argument = cast<BlockArgument>(slice.getSource());
      fragment.getInputsMutable()[argument.getArgNumber()].set(made.getResult());
      slice.getResult().replaceAllUsesWith(argument);
      slice.erase();
      argument.setType(part.getTensor());
      reduce.erase();
      tell(made, "a reduce-scatter for the parts of \"" + Twine(made.getKey()) +
                     "\" that the nodes use");
    }
  }
}
