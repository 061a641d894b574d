// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// cs.exchange: messages in rounds, each combined with what the receiver has. Who adds
// what to what is defined, so a result has no other bound than its operands give it.

#include "reference/Collectives.h"

#include "ir/Cs.h"
#include "reference/InOrder.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;

namespace {

/// What a rank sends or receives in a round.
struct Side {
  bool acts = false;
  int64_t begin = 0, count = 0, peer = 0;
};

Side sideOf(cs::SideAttr side, int64_t rank, int64_t round) {
  int64_t at[] = {rank, round};
  if (!contains(side.getWhen(), at))
    return {};
  return {true, evaluate(side.getParts().getResult(0), at),
          evaluate(side.getParts().getResult(1), at),
          evaluate(side.getPeer().getResult(0), at)};
}

} // namespace

FailureOr<PerWorker> reference::exchange(ArrayRef<Operation *> ops,
                                         ArrayRef<ArrayPtr> operands) {
  auto ranks = static_cast<int64_t>(ops.size());
  auto first = cast<cs::ExchangeOp>(ops.front());
  auto chunks = static_cast<int64_t>(first.getChunks());
  auto rounds = static_cast<int64_t>(first.getRounds());
  for (Operation *op : ops) {
    auto other = cast<cs::ExchangeOp>(op);
    if (other.getChunksAttr() != first.getChunksAttr() ||
        other.getRoundsAttr() != first.getRoundsAttr() ||
        other.getCombine() != first.getCombine() || other.getScaleAttr() != first.getScaleAttr())
      return op->emitOpError("is not the exchange that rank 0 has here"), failure();
  }
  if (first.getCombine() != cs::Combine::replace)
    for (auto [op, operand] : llvm::zip(ops, operands))
      if (operand->hasUnwritten())
        return op->emitOpError("combines elements that were never written"), failure();
  std::optional<double> scale;
  if (first.getScale())
    scale = first.getScale()->convertToDouble();
  InOrder combination(operands.front()->elementType, first.getCombine(), scale);
  int64_t n = operands.front()->size();
  auto beginOf = [&](int64_t part) {
    return static_cast<int64_t>(static_cast<__int128>(part) * n / chunks);
  };

  PerWorker values(operands.begin(), operands.end());
  for (int64_t round = 0; round < rounds; ++round) {
    // All send what they had before the round.
    PerWorker before = values;
    for (ArrayPtr &value : values)
      value = std::make_shared<Array>(*value);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      auto op = cast<cs::ExchangeOp>(ops[rank]);
      auto refuse = [&](const Twine &what) {
        op.emitOpError() << "rank " << rank << " in round " << round << ": " << what;
        return failure();
      };
      Side sent = sideOf(op.getSend(), rank, round);
      if (sent.acts) {
        if (sent.peer < 0 || sent.peer >= ranks || sent.peer == rank)
          return refuse("sends to no other rank");
        Side there =
            sideOf(cast<cs::ExchangeOp>(ops[sent.peer]).getRecv(), sent.peer, round);
        if (!there.acts || there.peer != rank)
          return refuse("sends what is not received");
      }
      Side own = sideOf(op.getRecv(), rank, round);
      if (!own.acts)
        continue;
      if (own.peer < 0 || own.peer >= ranks || own.peer == rank)
        return refuse("receives from no other rank");
      Side there = sideOf(cast<cs::ExchangeOp>(ops[own.peer]).getSend(), own.peer, round);
      if (!there.acts || there.peer != rank)
        return refuse("receives what is not sent");
      auto isInside = [&](const Side &side) {
        return side.begin >= 0 && side.count >= 0 && side.begin + side.count <= chunks;
      };
      if (!isInside(own) || !isInside(there))
        return refuse("has no such parts");
      int64_t begin = beginOf(own.begin), from = beginOf(there.begin);
      int64_t count = beginOf(own.begin + own.count) - begin;
      if (beginOf(there.begin + there.count) - from != count)
        return refuse("receives another number of elements than is sent");
      for (int64_t i = 0; i < count; ++i)
        combination.apply(*values[rank], begin + i, *before[own.peer], from + i,
                          round + 1 == rounds);
    }
  }
  return values;
}
