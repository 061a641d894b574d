// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices in forms whose views of memory MLIR can take apart: memref.subview of MLIR
// 22.1 does not find the dimensions that it drops where steps are not 1 and there
// are more dimensions of one element than it drops, and dies.

#include "passes/plan/Stages.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace commsched::planexport {
namespace {

/// The step of a dimension of one element says nothing: 1.
template <typename Slice>
struct UnitSteps : OpRewritePattern<Slice> {
  using OpRewritePattern<Slice>::OpRewritePattern;
  LogicalResult matchAndRewrite(Slice op, PatternRewriter &rewriter) const override {
    SmallVector<int64_t> strides(op.getStaticStrides());
    bool changed = false;
    for (auto [stride, size] : llvm::zip(strides, op.getStaticSizes()))
      if (size == 1 && stride != 1 && !ShapedType::isDynamic(stride)) {
        stride = 1;
        changed = true;
      }
    if (!changed)
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.setStaticStrides(strides); });
    return success();
  }
};

/// Which dimensions are dropped is not plain from the sizes, nor from the steps.
template <typename Slice>
bool isAmbiguous(Slice op, int64_t reducedRank) {
  auto sizes = op.getStaticSizes();
  auto dropped = static_cast<int64_t>(sizes.size()) - reducedRank;
  return dropped > 0 && llvm::count(sizes, 1) > dropped &&
         llvm::any_of(op.getStaticStrides(), [](int64_t stride) { return stride != 1; });
}

/// Dropped dimensions go with the next one that stays, or the last.
SmallVector<ReassociationIndices> groupsOf(const llvm::SmallBitVector &dropped) {
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices open;
  for (unsigned d = 0; d < dropped.size(); ++d) {
    open.push_back(d);
    if (!dropped.test(d))
      groups.push_back(std::exchange(open, {}));
  }
  if (!groups.empty())
    groups.back().append(open);
  return groups;
}

struct SplitExtract : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = op.getType();
    if (!isAmbiguous(op, type.getRank()))
      return failure();
    Value whole = tensor::ExtractSliceOp::create(
        rewriter, op.getLoc(), RankedTensorType::get(op.getStaticSizes(), type.getElementType()),
        op.getSource(), op.getMixedOffsets(), op.getMixedSizes(), op.getMixedStrides());
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(op, type, whole,
                                                         groupsOf(op.getDroppedDims()));
    return success();
  }
};

struct SplitInsert : OpRewritePattern<tensor::InsertSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::InsertSliceOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = op.getSourceType();
    if (!isAmbiguous(op, type.getRank()))
      return failure();
    Value whole = tensor::ExpandShapeOp::create(
        rewriter, op.getLoc(), RankedTensorType::get(op.getStaticSizes(), type.getElementType()),
        op.getSource(), groupsOf(op.getDroppedDims()));
    rewriter.replaceOpWithNewOp<tensor::InsertSliceOp>(
        op, whole, op.getDest(), op.getMixedOffsets(), op.getMixedSizes(), op.getMixedStrides());
    return success();
  }
};

} // namespace

void populateSliceForms(RewritePatternSet &patterns) {
  patterns.add<UnitSteps<tensor::ExtractSliceOp>, UnitSteps<tensor::InsertSliceOp>, SplitExtract,
               SplitInsert>(patterns.getContext());
}

} // namespace commsched::planexport
