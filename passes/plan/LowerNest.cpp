// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loop nests in the order that suits memory: neighbouring dimensions that are
// one run of memory become one loop, the innermost loop runs over neighbouring
// elements, and reductions may be reassociated, so that LLVM vectorises them.

#include "passes/plan/Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace commsched::planexport {

std::optional<int64_t> strideOf(linalg::GenericOp op, OpOperand &operand, unsigned loop) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type)
    return 0;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  int64_t total = 0;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  for (auto [expr, stride] : llvm::zip(map.getResults(), strides)) {
    if (!expr.isFunctionOfDim(loop))
      continue;
    int64_t factor = 1;
    if (!isa<AffineDimExpr>(expr))
      expr.walk([&](AffineExpr inner) {
        auto binary = dyn_cast<AffineBinaryOpExpr>(inner);
        if (binary && binary.getKind() == AffineExprKind::Mul &&
            binary.getLHS().isFunctionOfDim(loop))
          if (auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS()))
            factor = constant.getValue();
      });
    if (ShapedType::isDynamic(stride))
      return std::nullopt;
    total += stride * factor;
  }
  return total;
}

// Runs of loops that every operand walks as one.
static SmallVector<ReassociationIndices> collapsible(linalg::GenericOp op) {
  SmallVector<ReassociationIndices> result;
  if (op.hasIndexSemantics())
    return result;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  unsigned loops = op.getNumLoops();
  for (OpOperand &operand : op->getOpOperands())
    if (auto type = dyn_cast<MemRefType>(operand.get().getType()))
      if (!type.getLayout().isIdentity() ||
          !op.getMatchingIndexingMap(&operand).isProjectedPermutation())
        return result;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  ReassociationIndices run;
  auto finish = [&] {
    if (run.size() > 1)
      result.push_back(run);
    run.clear();
  };
  for (unsigned loop = 0; loop < loops; ++loop) {
    ReassociationIndices longer = run;
    longer.push_back(loop);
    if (!run.empty() && (iterators[loop] != iterators[run.back()] ||
                         !linalg::areDimSequencesPreserved(maps, {longer})))
      finish();
    run.push_back(loop);
  }
  finish();
  return result;
}

static SmallVector<unsigned> loopOrder(linalg::GenericOp op) {
  unsigned loops = op.getNumLoops();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  SmallVector<double> cost(loops, 0);
  SmallVector<int64_t> weight(loops, 0);
  for (unsigned loop = 0; loop < loops; ++loop) {
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<MemRefType>(operand.get().getType()))
        continue;
      bool output = op.isDpsInit(&operand);
      std::optional<int64_t> stride = strideOf(op, operand, loop);
      if (!stride) {
        cost[loop] += 1;
        continue;
      }
      int64_t magnitude = std::abs(*stride);
      if (magnitude == 0)
        cost[loop] += output ? 0.5 : 0.1;
      else if (magnitude > 1)
        cost[loop] += output ? 2 : 1;
      weight[loop] += magnitude * (output ? 2 : 1);
    }
    // Short inner loops are all overhead.
    if (sizes[loop] < 4)
      cost[loop] += 4;
    else if (sizes[loop] < 8)
      cost[loop] += 0.7;
  }
  SmallVector<unsigned> order(loops);
  std::iota(order.begin(), order.end(), 0);
  if (loops < 2)
    return order;
  unsigned inner = loops - 1;
  for (int loop = loops - 2; loop >= 0; --loop)
    if (cost[loop] < cost[inner])
      inner = loop;
  order.erase(order.begin() + inner);
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return weight[a] > weight[b];
  });
  order.push_back(inner);
  return order;
}

// The combiners of a reduction may be reassociated.
static void relaxReductions(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0)
    return;
  Block *body = op.getBody();
  auto flags = arith::FastMathFlagsAttr::get(
      op->getContext(), arith::FastMathFlags::reassoc | arith::FastMathFlags::contract);
  for (OpOperand &init : op.getDpsInitsMutable()) {
    Value out = body->getArgument(init.getOperandNumber());
    for (Operation *user : out.getUsers())
      if (auto math = dyn_cast<arith::ArithFastMathInterface>(user))
        user->setAttr(math.getFastMathAttrName(), flags);
  }
}

FailureOr<linalg::GenericOp> collapseLoops(RewriterBase &rewriter, linalg::LinalgOp op) {
  rewriter.setInsertionPoint(op);
  auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
  if (!generic) {
    FailureOr<linalg::GenericOp> general = linalg::generalizeNamedOp(rewriter, op);
    if (failed(general))
      return op->emitError("has no loops");
    generic = *general;
  }
  SmallVector<ReassociationIndices> runs = collapsible(generic);
  if (runs.empty())
    return generic;
  FailureOr<linalg::CollapseResult> collapsed =
      linalg::collapseOpIterationDims(generic, runs, rewriter);
  if (failed(collapsed))
    return generic;
  rewriter.eraseOp(generic);
  return cast<linalg::GenericOp>(collapsed->collapsedOp.getOperation());
}

LogicalResult lowerNest(func::FuncOp nest) {
  IRRewriter rewriter(nest->getContext());
  SmallVector<linalg::LinalgOp> ops;
  nest.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  for (linalg::LinalgOp op : ops) {
    FailureOr<linalg::GenericOp> collapsed = collapseLoops(rewriter, op);
    if (failed(collapsed))
      return failure();
    linalg::GenericOp generic = *collapsed;
    relaxReductions(generic);
    SmallVector<unsigned> order = loopOrder(generic);
    if (!llvm::is_sorted(order)) {
      FailureOr<linalg::GenericOp> ordered =
          linalg::interchangeGenericOp(rewriter, generic, order);
      if (succeeded(ordered))
        generic = *ordered;
    }
    rewriter.setInsertionPoint(generic);
    if (failed(linalg::linalgOpToLoops(rewriter, generic)))
      return generic->emitError("cannot be lowered to loops");
    rewriter.eraseOp(generic);
  }
  return success();
}

} // namespace commsched::planexport
