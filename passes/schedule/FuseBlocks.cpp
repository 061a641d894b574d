// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/FuseBlocks.h"

#include "ir/CsServerFunctions.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace commsched;

namespace {

/// What a message is made of.
struct Pieces {
  llvm::SmallVector<Value> values;
  llvm::SmallVector<int64_t> bounds; ///< of each, all of its elements
  cs::PlacedType message;

  explicit Pieces(llvm::ArrayRef<Value> pieces) : values(pieces) {
    auto first = cast<cs::PlacedType>(values.front().getType());
    int64_t elements = 0;
    for (Value value : values) {
      int64_t own = cast<cs::PlacedType>(value.getType()).getTensor().getNumElements();
      bounds.append({0, own});
      elements += own;
    }
    message = cs::PlacedType::get(
        first.getContext(),
        RankedTensorType::get({elements}, first.getTensor().getElementType()),
        first.getDevice(), first.getMemory());
  }

  Value pack(OpBuilder &builder, Location loc) const {
    return cs::PackOp::create(builder, loc, message, values, bounds);
  }
  /// What used the pieces takes them out of `from`.
  void replaceBy(OpBuilder &builder, Value from) {
    int64_t at = 0;
    for (auto [i, value] : llvm::enumerate(values)) {
      int64_t end = at + bounds[2 * i + 1];
      Value own = cs::UnpackOp::create(builder, value.getLoc(), value.getType(), from,
                                       llvm::ArrayRef<int64_t>({at, end}));
      value.replaceAllUsesWith(own);
      at = end;
    }
  }
};

template <typename Op>
Op firstOf(llvm::ArrayRef<Op> ops) {
  return *llvm::min_element(ops, [](Op a, Op b) { return a->isBeforeInBlock(b); });
}
template <typename Op>
Op lastOf(llvm::ArrayRef<Op> ops) {
  return *llvm::max_element(ops, [](Op a, Op b) { return a->isBeforeInBlock(b); });
}

/// Of each block the op that `member` is.
template <typename Op>
llvm::SmallVector<Op> opsOf(const FusedBlocks &fused, Op ServerBlock::*member) {
  llvm::SmallVector<Op> ops;
  for (const ServerBlock *block : fused.blocks)
    ops.push_back(block->*member);
  return ops;
}

template <typename Op>
Location locationOf(llvm::ArrayRef<Op> ops) {
  llvm::SmallVector<Location> locations;
  for (Op op : ops)
    locations.push_back(op->getLoc());
  return FusedLoc::get(locations.front().getContext(), locations);
}

/// One message in the place of the last of several.
template <typename Op>
Op giveTogether(llvm::ArrayRef<Op> ops, llvm::StringRef key) {
  llvm::SmallVector<Value> values;
  for (Op op : ops)
    values.push_back(op.getValue());
  Op last = lastOf(ops);
  OpBuilder builder(last);
  Location loc = locationOf(ops);
  auto one = cast<Op>(builder.clone(*last));
  one->setLoc(loc);
  one.setKey(key);
  builder.setInsertionPoint(one);
  one.getValueMutable().assign(Pieces(values).pack(builder, loc));
  return one;
}

/// One message at `builder`, of which each piece is taken.
template <typename Op>
void takeTogether(llvm::ArrayRef<Op> ops, llvm::StringRef key, OpBuilder builder) {
  llvm::SmallVector<Value> values;
  for (Op op : ops)
    values.push_back(op.getResult());
  Pieces pieces(values);
  auto one = cast<Op>(builder.clone(*ops.front()));
  one->setLoc(locationOf(ops));
  one.setKey(key);
  one.getResult().setType(pieces.message);
  pieces.replaceBy(builder, one.getResult());
}

template <typename Op>
void erase(llvm::ArrayRef<Op> ops) {
  for (Op op : ops)
    op->erase();
}

void fuse(const FusedBlocks &fused) {
  llvm::SmallVector<cs::SendOp> sends = opsOf(fused, &ServerBlock::send);
  llvm::SmallVector<cs::RecvOp> recvs = opsOf(fused, &ServerBlock::recv);
  llvm::SmallVector<cs::CollectOp> collects = opsOf(fused, &ServerBlock::collect);
  llvm::SmallVector<cs::PublishOp> publishes = opsOf(fused, &ServerBlock::publish);
  std::string back = cs::getNewKey(fused.key);
  cs::SendOp send = giveTogether<cs::SendOp>(sends, fused.key);
  // What comes back does so behind all that it is made of.
  OpBuilder builder(firstOf<cs::RecvOp>(recvs));
  if (firstOf<cs::RecvOp>(recvs)->isBeforeInBlock(send))
    builder.setInsertionPointAfter(send);
  takeTogether<cs::RecvOp>(recvs, back, builder);
  takeTogether<cs::CollectOp>(collects, fused.key, OpBuilder(firstOf<cs::CollectOp>(collects)));
  giveTogether<cs::PublishOp>(publishes, back);
  erase<cs::SendOp>(sends);
  erase<cs::RecvOp>(recvs);
  erase<cs::CollectOp>(collects);
  erase<cs::PublishOp>(publishes);
}

} // namespace

void commsched::fuseBlocks(ArrayRef<FusedBlocks> fused) {
  for (const FusedBlocks &one : fused)
    fuse(one);
}
