// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fusion on tensors. Fusing an elementwise producer saves a round trip through
// memory, but a producer with several users would be computed several times:
// only cheap ones are.

#include "passes/plan/Contraction.h"
#include "passes/plan/HalfSums.h"
#include "passes/plan/Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace commsched::planexport {
namespace {

// A large constant of one value is a fill: no bytes in the object, and it fuses.
struct SplatToFill : OpRewritePattern<arith::ConstantOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ConstantOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<RankedTensorType>(op.getType());
    auto value = dyn_cast<SplatElementsAttr>(op.getValue());
    if (!type || !value || type.getNumElements() <= 1)
      return failure();
    auto scalar = arith::ConstantOp::create(
        rewriter, op.getLoc(), cast<TypedAttr>(value.getSplatValue<Attribute>()));
    auto empty = tensor::EmptyOp::create(rewriter, op.getLoc(), type.getShape(),
                                         type.getElementType());
    rewriter.replaceOpWithNewOp<linalg::FillOp>(op, ValueRange{scalar},
                                                ValueRange{empty});
    return success();
  }
};

struct SplatOpToFill : OpRewritePattern<tensor::SplatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::SplatOp op,
                                PatternRewriter &rewriter) const override {
    auto type = op.getType();
    auto empty = tensor::EmptyOp::create(rewriter, op.getLoc(), type.getShape(),
                                         type.getElementType());
    rewriter.replaceOpWithNewOp<linalg::FillOp>(op, ValueRange{op.getInput()},
                                                ValueRange{empty});
    return success();
  }
};

struct GenerateToGeneric : OpRewritePattern<tensor::GenerateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::GenerateOp op,
                                PatternRewriter &rewriter) const override {
    return linalg::rewriteInDestinationPassingStyle(rewriter, op);
  }
};

// All shapes are static, so a reshape is a collapse and an expansion.
struct ReshapeToViews : OpRewritePattern<tensor::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto from = dyn_cast<RankedTensorType>(op.getSource().getType());
    auto to = dyn_cast<RankedTensorType>(op.getType());
    if (!from || !to || !from.hasStaticShape() || !to.hasStaticShape())
      return failure();
    auto all = [](int64_t rank) {
      ReassociationIndices indices(rank);
      std::iota(indices.begin(), indices.end(), 0);
      SmallVector<ReassociationIndices> result;
      if (rank)
        result.push_back(indices);
      return result;
    };
    Value value = op.getSource();
    auto flat = RankedTensorType::get({from.getNumElements()},
                                      from.getElementType());
    if (from.getRank() == 0)
      value = tensor::ExpandShapeOp::create(rewriter, op.getLoc(), flat, value,
                                            all(0));
    else if (from.getRank() > 1)
      value = tensor::CollapseShapeOp::create(rewriter, op.getLoc(), flat, value,
                                              all(from.getRank()));
    if (to.getRank() == 0)
      value = tensor::CollapseShapeOp::create(rewriter, op.getLoc(), to, value,
                                              all(0));
    else if (to.getRank() > 1)
      value = tensor::ExpandShapeOp::create(rewriter, op.getLoc(), to, value,
                                            all(to.getRank()));
    rewriter.replaceOp(op, value);
    return success();
  }
};

// Fills keep their name: they are recognised as initial values, and fold into
// their users anyway.
struct Generalize : OpInterfaceRewritePattern<linalg::LinalgOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(linalg::LinalgOp op,
                                PatternRewriter &rewriter) const override {
    if (isa<linalg::GenericOp, linalg::FillOp>(op))
      return failure();
    return linalg::generalizeNamedOp(rewriter, op);
  }
};

// linalg.softmax and the like.
struct Decompose : OpInterfaceRewritePattern<linalg::AggregatedOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(linalg::AggregatedOpInterface op,
                                PatternRewriter &rewriter) const override {
    FailureOr<SmallVector<Value>> results = op.decomposeOperation(rewriter);
    if (failed(results))
      return failure();
    rewriter.replaceOp(op, *results);
    return success();
  }
};

bool isCheap(linalg::GenericOp op) {
  unsigned ops = 0;
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (inner.getDialect()->getNamespace() != "arith" &&
        !isa<linalg::IndexOp>(inner))
      return false;
    if (isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp,
            arith::RemUIOp, arith::RemFOp>(inner))
      return false;
    ++ops;
  }
  return ops <= 3;
}

// Yields an input under a permutation: a transpose.
bool isPermutation(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1)
    return false;
  Block *body = op.getBody();
  if (!llvm::hasSingleElement(*body) ||
      body->getTerminator()->getOperand(0) != body->getArgument(0))
    return false;
  AffineMap in = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  AffineMap out = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  return in.isPermutation() && out.isPermutation();
}

bool shouldFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer || producer->getNumResults() != 1)
    return false;
  if (isMultiplyAdd(consumer) && consumer.getNumReductionLoops() > 0)
    return isPermutation(producer);
  // Many operands need many registers.
  if (producer.getNumDpsInputs() + consumer.getNumDpsInputs() > 20)
    return false;
  int64_t computed = 1, domain = 1;
  for (int64_t size : producer.getStaticLoopRanges())
    computed *= size;
  for (int64_t size : consumer.getStaticLoopRanges())
    domain *= size;
  // What adds to its initial value does so once for each element: not where the
  // consumer repeats an element.
  if (domain > computed &&
      llvm::any_of(producer.getDpsInitsMutable(), [&](OpOperand &init) {
        return producer.payloadUsesValueFromOperand(&init);
      }))
    return false;
  if (isCheap(producer)) {
    unsigned large = 0;
    for (OpOperand *input : producer.getDpsInputOperands())
      if (auto type = dyn_cast<RankedTensorType>(input->get().getType()))
        large += type.getNumElements() * 2 > computed;
    if (large <= 1)
      return true;
  }
  return producer->hasOneUse() && domain <= computed;
}

} // namespace

static LogicalResult runPasses(func::FuncOp function) {
  PassManager pm(function->getContext(), func::FuncOp::getOperationName());
  pm.enableVerifier(false);
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  return pm.run(function);
}

LogicalResult fuseFragment(func::FuncOp function) {
  MLIRContext *context = function->getContext();
  keepAnglesOfZero(function);
  {
    RewritePatternSet patterns(context);
    patterns.add<SplatToFill, SplatOpToFill, GenerateToGeneric, ReshapeToViews,
                 Generalize, Decompose>(context);
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    linalg::populateDecomposePadPatterns(patterns);
    tensor::populateDecomposeTensorConcatPatterns(patterns);
    populateSliceForms(patterns);
    if (failed(applyPatternsGreedily(function, std::move(patterns))))
      return failure();
  }
  if (failed(runPasses(function)))
    return failure();
  // Before fusion, so that the conversion behind a sum goes into its users.
  widenSums(function);
  {
    RewritePatternSet patterns(context);
    linalg::populateElementwiseOpsFusionPatterns(patterns, shouldFuse);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    tensor::populateFoldTensorEmptyPatterns(patterns);
    linalg::GenericOp::getCanonicalizationPatterns(patterns, context);
    tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
    tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
    // Top-down, so that a chain fuses from its beginning.
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(true);
    if (failed(applyPatternsGreedily(function, std::move(patterns), config)))
      return failure();
  }
  if (failed(runPasses(function)))
    return failure();
  SmallVector<Operation *> fills;
  function.walk([&](linalg::GenericOp op) {
    if (std::optional<StringRef> family = kernelFamily(op)) {
      op->setAttr(kKernelAttr, StringAttr::get(op->getContext(), *family));
      OpOperand *init = op.getDpsInitOperand(0);
      auto fill = init->get().getDefiningOp<linalg::FillOp>();
      if (fill && matchPattern(fill.getInputs()[0], m_AnyZeroFloat())) {
        OpBuilder builder(op);
        auto type = cast<RankedTensorType>(init->get().getType());
        init->set(tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(),
                                          type.getElementType()));
        op->setAttr(kOverwriteAttr, builder.getUnitAttr());
        fills.push_back(fill);
      }
    }
  });
  // What fusion made of products that are no kernels.
  widenSums(function);
  llvm::sort(fills);
  fills.erase(llvm::unique(fills), fills.end());
  for (Operation *fill : fills)
    if (fill->use_empty())
      fill->erase();
  return success();
}

} // namespace commsched::planexport
