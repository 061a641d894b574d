// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Level 1.

#include "ir/CsCommunication.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace commsched::cs;

//===----------------------------------------------------------------------===//
// Memory effects and names
//===----------------------------------------------------------------------===//

namespace {
/// The network: communications read and write it, so that they are neither
/// merged nor dropped, and stay in order.
struct NetworkResource
    : SideEffects::Resource::Base<NetworkResource> {
  StringRef getName() final { return "Network"; }
};
} // namespace

void common::useNetwork(common::Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), NetworkResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), NetworkResource::get());
}

std::string common::ssaName(StringRef text) {
  // The prefix keeps names that begin with a digit apart from numbered values.
  std::string name;
  if (text.empty() || llvm::isDigit(text.front()))
    name = "v";
  for (char c : text.take_front(40))
    name += llvm::isAlnum(c) ? c : '_';
  return name;
}

COMMSCHED_COMMUNICATION(AllReduceOp)
COMMSCHED_COMMUNICATION(ReduceOp)
COMMSCHED_COMMUNICATION(BroadcastOp)
COMMSCHED_COMMUNICATION(ReduceScatterOp)
COMMSCHED_COMMUNICATION(AllGatherOp)
COMMSCHED_COMMUNICATION(SendOp)
COMMSCHED_COMMUNICATION(RecvOp)
COMMSCHED_COMMUNICATION(StartOp)

void ExchangeOp::getEffects(common::Effects &effects) {
  common::useNetwork(effects);
}
void ExchangeOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "part");
}
void AwaitOp::getEffects(common::Effects &effects) {
  common::useNetwork(effects);
}

//===----------------------------------------------------------------------===//
// Fragment
//===----------------------------------------------------------------------===//

void FragmentOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (!getOutputs().empty())
    setName(getOutputs().front(), common::ssaName(getLabel()));
}

/// Checks that `values` are the tensors inside `placed`.
static LogicalResult verifyUnwrapped(Operation *op, StringRef what,
                                     TypeRange values, TypeRange placed) {
  if (values.size() != placed.size())
    return op->emitOpError() << "must have " << placed.size() << " " << what
                             << ", got: " << values.size();
  for (auto [index, pair] : llvm::enumerate(llvm::zip(values, placed))) {
    Type want = cast<PlacedType>(std::get<1>(pair)).getTensor();
    if (std::get<0>(pair) != want)
      return op->emitOpError() << "type of " << what << " " << index
                               << " must match " << want
                               << ", got: " << std::get<0>(pair);
  }
  return success();
}

LogicalResult FragmentOp::verify() {
  auto index = static_cast<int64_t>(getDevice());
  if (index < 0)
    return emitOpError() << "device must not be negative, got: " << index;
  auto onDevice = [&](TypeRange types, StringRef what) -> LogicalResult {
    for (auto [index, type] : llvm::enumerate(types)) {
      auto placed = cast<PlacedType>(type);
      if (placed.getDevice() != getDevice() ||
          placed.getMemory() != MemoryKind::device)
        return emitOpError() << what << " " << index << " must live on device "
                             << getDevice() << ", got: " << placed;
    }
    return success();
  };
  if (failed(onDevice(getInputs().getTypes(), "input")) ||
      failed(onDevice(getOutputs().getTypes(), "output")))
    return failure();
  if (!hasBody()) {
    if (!getCostAttr())
      return emitOpError("without a body needs a cost");
    return success();
  }
  Block &block = getBody().front();
  if (failed(verifyUnwrapped(*this, "body arguments", block.getArgumentTypes(),
                             getInputs().getTypes())))
    return failure();
  if (block.empty() || !isa<ReturnOp>(block.back()))
    return emitOpError("body must end in cs.return");
  return verifyUnwrapped(*this, "returned values",
                         block.back().getOperandTypes(),
                         getOutputs().getTypes());
}

//===----------------------------------------------------------------------===//
// Collectives and messages
//===----------------------------------------------------------------------===//

LogicalResult common::verifyKey(Operation *op, StringRef key) {
  if (key.empty())
    return op->emitOpError("needs a key");
  return success();
}

static LogicalResult verifyRoot(Operation *op, int64_t root) {
  if (root < 0)
    return op->emitOpError() << "root must not be negative, got: " << root;
  return success();
}

LogicalResult common::verifyReduction(Operation *op, StringRef key,
                                      Reduction reduction, PlacedType type) {
  if (failed(common::verifyKey(op, key)))
    return failure();
  Type element = type.getTensor().getElementType();
  if (reduction == Reduction::mean && !isa<FloatType>(element))
    return op->emitOpError()
           << "mean needs a floating-point element type, got: " << element;
  if (element.isInteger(1))
    return op->emitOpError() << "cannot combine elements of type " << element;
  if (type.getTensor().getEncoding())
    return op->emitOpError() << "cannot combine lists, got: " << type.getTensor();
  return success();
}

/// Checks that dimension 0 of `whole` is a multiple of that of `part`, the
/// others equal, on one device.
static LogicalResult verifyShards(Operation *op, PlacedType whole,
                                  PlacedType part) {
  RankedTensorType w = whole.getTensor(), p = part.getTensor();
  if (whole.getDevice() != part.getDevice() ||
      whole.getMemory() != part.getMemory())
    return op->emitOpError() << "must stay on its device, got: " << whole
                             << " and " << part;
  if (w.getRank() == 0 || w.getRank() != p.getRank() ||
      w.getElementType() != p.getElementType() ||
      w.getEncoding() != p.getEncoding() ||
      w.getShape().drop_front() != p.getShape().drop_front())
    return op->emitOpError()
           << "part must match the whole but for dimension 0, got: " << p
           << " of " << w;
  if (p.getDimSize(0) == 0 ? w.getDimSize(0) != 0
                           : w.getDimSize(0) % p.getDimSize(0) != 0)
    return op->emitOpError() << "dimension 0 of the whole must be a multiple "
                                "of the part's, got: "
                             << w.getDimSize(0) << " and " << p.getDimSize(0);
  return success();
}

LogicalResult AllReduceOp::verify() {
  return common::verifyReduction(*this, getKey(), getReduction(), getValue().getType());
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyRoot(*this, getRoot())))
    return failure();
  return common::verifyReduction(*this, getKey(), getReduction(), getValue().getType());
}

LogicalResult BroadcastOp::verify() {
  if (failed(verifyRoot(*this, getRoot())))
    return failure();
  return common::verifyKey(*this, getKey());
}

LogicalResult ReduceScatterOp::verify() {
  if (failed(common::verifyReduction(*this, getKey(), getReduction(),
                                     getValue().getType())))
    return failure();
  return verifyShards(*this, getValue().getType(), getResult().getType());
}

LogicalResult AllGatherOp::verify() {
  if (failed(common::verifyKey(*this, getKey())))
    return failure();
  return verifyShards(*this, getResult().getType(), getValue().getType());
}

static LogicalResult verifyPeer(Operation *op, StringRef key, AffineMap peer,
                                std::optional<IntegerSet> when) {
  if (failed(common::verifyKey(op, key)))
    return failure();
  if (peer.getNumDims() != 1 || peer.getNumSymbols() != 0 ||
      peer.getNumResults() != 1)
    return op->emitOpError() << "peer must map this rank to a rank, got: "
                             << AffineMapAttr::get(peer);
  if (when && (when->getNumDims() != 1 || when->getNumSymbols() != 0))
    return op->emitOpError() << "when must be a set of ranks, got: "
                             << IntegerSetAttr::get(*when);
  return success();
}

LogicalResult SendOp::verify() {
  return verifyPeer(*this, getKey(), getPeer(), getWhen());
}

LogicalResult RecvOp::verify() {
  return verifyPeer(*this, getKey(), getPeer(), getWhen());
}

//===----------------------------------------------------------------------===//
// Copy, split, concat
//===----------------------------------------------------------------------===//

LogicalResult CopyOp::verify() {
  if (getValue().getType().getTensor() != getResult().getType().getTensor())
    return emitOpError() << "result must match "
                         << getValue().getType().getTensor()
                         << ", got: " << getResult().getType().getTensor();
  return success();
}

OpFoldResult CopyOp::fold(FoldAdaptor) {
  return getValue().getType() == getResult().getType() ? getValue() : Value();
}

/// Checks that `blocks` laid one after the other along dimension 0 are `whole`.
static LogicalResult verifyBlocks(Operation *op, PlacedType whole,
                                  TypeRange blocks) {
  if (blocks.empty())
    return op->emitOpError("needs at least one block");
  RankedTensorType w = whole.getTensor();
  if (w.getRank() == 0)
    return op->emitOpError("cannot cut a scalar");
  int64_t rows = 0;
  for (auto [index, type] : llvm::enumerate(blocks)) {
    auto block = cast<PlacedType>(type);
    RankedTensorType b = block.getTensor();
    if (block.getDevice() != whole.getDevice() ||
        block.getMemory() != whole.getMemory() || b.getRank() != w.getRank() ||
        b.getElementType() != w.getElementType() ||
        b.getEncoding() != w.getEncoding() ||
        b.getShape().drop_front() != w.getShape().drop_front())
      return op->emitOpError()
             << "block " << index << " must match " << whole
             << " but for dimension 0, got: " << block;
    rows += b.getDimSize(0);
  }
  if (rows != w.getDimSize(0))
    return op->emitOpError() << "rows of the blocks must add up to "
                             << w.getDimSize(0) << ", got: " << rows;
  return success();
}

LogicalResult SplitOp::verify() {
  return verifyBlocks(*this, getValue().getType(), getBlocks().getTypes());
}

LogicalResult ConcatOp::verify() {
  return verifyBlocks(*this, getResult().getType(), getBlocks().getTypes());
}

LogicalResult ConcatOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location,
    ConcatOp::Adaptor adaptor, SmallVectorImpl<Type> &results) {
  if (adaptor.getBlocks().empty())
    return emitOptionalError(location, "cs.concat needs at least one block");
  auto first = dyn_cast<PlacedType>(adaptor.getBlocks().front().getType());
  if (!first || first.getTensor().getRank() == 0)
    return emitOptionalError(location,
                             "cs.concat needs placed tensors with rows");
  SmallVector<int64_t> shape(first.getTensor().getShape());
  shape[0] = 0;
  for (Value block : adaptor.getBlocks()) {
    auto type = dyn_cast<PlacedType>(block.getType());
    if (!type || type.getTensor().getRank() != int64_t(shape.size()))
      return emitOptionalError(location, "cs.concat needs blocks of one rank");
    shape[0] += type.getTensor().getDimSize(0);
  }
  results.push_back(PlacedType::get(
      context,
      RankedTensorType::get(shape, first.getTensor().getElementType(),
                            first.getTensor().getEncoding()),
      first.getDevice(), first.getMemory()));
  return success();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  // concat(a) -> a
  if (getBlocks().size() == 1)
    return getBlocks().front();
  // concat(split(a)) -> a
  auto split = getBlocks().front().getDefiningOp<SplitOp>();
  if (split && llvm::equal(getBlocks(), split.getBlocks()))
    return split.getValue();
  return {};
}

namespace {

/// split(a) into one block -> a
struct SplitIntoOne : OpRewritePattern<SplitOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SplitOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getBlocks().size() != 1)
      return failure();
    rewriter.replaceOp(op, op.getValue());
    return success();
  }
};

/// split(concat(a, b)) into the same blocks -> a, b
struct SplitOfConcat : OpRewritePattern<SplitOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SplitOp op,
                                PatternRewriter &rewriter) const override {
    auto concat = op.getValue().getDefiningOp<ConcatOp>();
    if (!concat || !llvm::equal(concat.getBlocks().getTypes(),
                                op.getBlocks().getTypes()))
      return failure();
    rewriter.replaceOp(op, concat.getBlocks());
    return success();
  }
};

/// Joins blocks that are themselves joined: concat(concat(a, b), c).
struct FlattenConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> blocks;
    for (Value block : op.getBlocks()) {
      if (auto inner = block.getDefiningOp<ConcatOp>())
        llvm::append_range(blocks, inner.getBlocks());
      else
        blocks.push_back(block);
    }
    if (blocks.size() == op.getBlocks().size())
      return failure();
    rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getResult().getType(), blocks);
    return success();
  }
};

} // namespace

void SplitOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<SplitIntoOne, SplitOfConcat>(context);
}

void ConcatOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<FlattenConcat>(context);
}

//===----------------------------------------------------------------------===//
// Shard, unshard (verified like reduce_scatter and all_gather)
//===----------------------------------------------------------------------===//

LogicalResult ShardOp::verify() {
  return verifyShards(*this, getValue().getType(), getResult().getType());
}

LogicalResult UnshardOp::verify() {
  return verifyShards(*this, getResult().getType(), getValue().getType());
}
