// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which thread computes what: by the sizes and strides of a nest alone, so that the order of a
// sum is that of the program on every device.

#include "passes/cuda/Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace commsched::cudaexport {

Operation *bodyOf(func::FuncOp nest) {
  Operation *body = nullptr;
  for (Operation &op : nest.getBody().front().without_terminator()) {
    if (planexport::isMemoryView(&op) || isa<memref::GetGlobalOp>(op) ||
        op.hasTrait<OpTrait::ConstantLike>())
      continue;
    if (body)
      return nullptr;
    body = &op;
  }
  return body;
}

std::optional<SmallVector<Operation *>> combinersOf(linalg::GenericOp op) {
  SmallVector<Operation *> combiners;
  Block *body = op.getBody();
  for (auto [i, init] : llvm::enumerate(op.getDpsInitsMutable())) {
    BlockArgument out = body->getArgument(init.getOperandNumber());
    if (!out.hasOneUse())
      return std::nullopt;
    Operation *combiner = *out.getUsers().begin();
    // A difference is not one: a - (b - c).
    if (combiner->getBlock() != body || combiner->getNumOperands() != 2 ||
        !combiner->hasTrait<OpTrait::IsCommutative>() || !arith::getNeutralElement(combiner) ||
        !combiner->hasOneUse() || body->getTerminator()->getOperand(i) != combiner->getResult(0))
      return std::nullopt;
    combiners.push_back(combiner);
  }
  return combiners;
}

bool isParallel(linalg::GenericOp op) {
  unsigned parallel = op.getNumParallelLoops();
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    if (!map.isProjectedPermutation() || map.getNumResults() != parallel ||
        llvm::any_of(map.getResults(), [&](AffineExpr expr) {
          return iterators[cast<AffineDimExpr>(expr).getPosition()] != utils::IteratorType::parallel;
        }))
      return false;
  }
  WalkResult walk = op.getBody()->walk([](Operation *inner) {
    bool harmless = isMemoryEffectFree(inner) || isa<memref::LoadOp>(inner) ||
                    inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
    return harmless ? WalkResult::advance() : WalkResult::interrupt();
  });
  return op.getNumDpsInits() > 0 && !walk.wasInterrupted();
}

// Loops in the order of an operand's memory, as far as it has them.
static void sortByStride(linalg::GenericOp op, OpOperand &operand, SmallVectorImpl<unsigned> &loops) {
  auto key = [&](unsigned loop) {
    std::optional<int64_t> stride = planexport::strideOf(op, operand, loop);
    return stride ? std::abs(*stride) : int64_t(0);
  };
  llvm::stable_sort(loops, [&](unsigned a, unsigned b) { return key(a) > key(b); });
}

// The input with the most elements.
static OpOperand *largestInput(linalg::GenericOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  OpOperand *best = nullptr;
  int64_t most = 0;
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (!isa<MemRefType>(input->get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(input);
    int64_t elements = 1;
    for (auto [loop, size] : llvm::enumerate(sizes))
      if (map.isFunctionOfDim(loop))
        elements *= size;
    if (elements > most) {
      best = input;
      most = elements;
    }
  }
  return best;
}

NestShape shapeOf(linalg::GenericOp op) {
  NestShape shape;
  if (!isParallel(op))
    return shape;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  for (auto [loop, iterator] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (ShapedType::isDynamic(sizes[loop]))
      return shape;
    bool parallel = iterator == utils::IteratorType::parallel;
    (parallel ? shape.parallel : shape.reduction).push_back(loop);
    (parallel ? shape.outputs : shape.terms) *= sizes[loop];
  }
  sortByStride(op, *op.getDpsInitOperand(0), shape.parallel);
  if (shape.reduction.empty()) {
    shape.form = NestShape::Form::Elementwise;
    return shape;
  }
  shape.form = NestShape::Form::Reduction;
  shape.columns = 128;
  OpOperand *input = largestInput(op);
  bool alongTerms = true;
  if (input) {
    sortByStride(op, *input, shape.reduction);
    for (unsigned loop : shape.reduction)
      if (sizes[loop] > 1)
        alongTerms = planexport::strideOf(op, *input, loop) == 1;
  }
  shape.chunk = shape.terms;
  // Few terms, or outputs enough to have a thread each.
  if (!combinersOf(op) || shape.terms < 16 || (!alongTerms && shape.outputs >= 1 << 15))
    return shape;
  shape.lanesFirst = alongTerms;
  // Columns of few outputs: by more lanes, as long as no second kernel is needed.
  bool few = shape.outputs <= 63 * 32 && shape.terms > 8 * 64 && shape.terms <= kWarp * 64;
  shape.lanes = !alongTerms ? (few ? kWarp : 8) : shape.terms > 1024 ? 256
                                                                     : kWarp;
  shape.columns = 256 / shape.lanes;
  int64_t blocks = shape.blocks();
  if (blocks < 64 && shape.terms > int64_t(shape.lanes) * 64) {
    int64_t wanted = std::min<int64_t>(llvm::divideCeil(shape.terms, int64_t(shape.lanes) * 32),
                                       256 / blocks);
    shape.chunk = llvm::divideCeil(shape.terms, wanted);
    shape.chunks = llvm::divideCeil(shape.terms, shape.chunk);
  }
  return shape;
}

} // namespace commsched::cudaexport
