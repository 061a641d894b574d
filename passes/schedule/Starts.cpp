// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/Starts.h"

#include "ir/CsGroups.h"
#include "mlir/IR/Builders.h"
#include "passes/support/Module.h"

using namespace mlir;
using namespace commsched;

namespace {

/// The value that a communication moves.
Value payloadOf(Operation *communication) {
  if (auto send = dyn_cast<cs::SendRowsOp>(communication))
    return send.getValues();
  return communication->getNumResults() ? communication->getResult(0)
                                        : communication->getOperand(0);
}

void addTurn(cs::StartOp start, const StartRequest &request) {
  if (request.turn)
    start->setAttr(kTurnAttr, Builder(start).getI64IntegerAttr(*request.turn));
}

IntegerAttr exclusiveOf(OpBuilder &builder, const StartRequest &request) {
  return request.exclusive ? builder.getI64IntegerAttr(request.exclusive) : IntegerAttr();
}

class Starts {
public:
  Starts(const StepCommunications &step, ArrayRef<StartRequest> requests)
      : step(step), requests(requests) {}
  void run();

private:
  struct Part {
    unsigned request;
    int64_t begin, end;
  };
  void startWhole(Operation *op, const StartRequest &request);
  void startPieces(Operation *op, unsigned index);
  void unpack(Operation *op);

  const StepCommunications &step;
  ArrayRef<StartRequest> requests;
  llvm::DenseMap<Operation *, llvm::SmallVector<Part, 1>> partsOf; // of each op
  llvm::DenseMap<Operation *, Operation *> firstUsers;
  std::vector<unsigned> missing;                   // by request: pieces not come to yet
  std::vector<cs::AwaitOp> awaits;                 // by request
  llvm::DenseMap<Operation *, unsigned> missingOf; // by op: requests not started
  llvm::DenseMap<Operation *, cs::StartOp> starts; // of what is whole
  llvm::SmallVector<Operation *> done;
};

void Starts::startWhole(Operation *op, const StartRequest &request) {
  auto communication = cast<cs::CommunicationOpInterface>(op);
  llvm::SmallVector<Value> after;
  for (Operation *send : step.sendsOf(op))
    after.push_back(starts.lookup(send).getFuture());
  if (Operation *fetch = step.fetchOf(op))
    after.push_back(starts.lookup(fetch).getFuture());
  auto placed = cast<cs::PlacedType>(payloadOf(op).getType());
  OpBuilder builder(op);
  IntegerAttr gather;
  if (request.gatherPriority)
    gather = builder.getI64IntegerAttr(*request.gatherPriority);
  auto start = cs::StartOp::create(
      builder, op->getLoc(), cs::FutureType::get(op->getContext(), placed),
      communication.getCommunicationKey(), op->getOperands(), after,
      request.priority, gather, /*parts=*/DenseI64ArrayAttr(), exclusiveOf(builder, request));
  addTurn(start, request);
  starts[op] = start;
  builder.setInsertionPoint(firstUsers.lookup(op));
  auto await = cs::AwaitOp::create(builder, op->getLoc(), start.getFuture());
  if (op->getNumResults())
    op->getResult(0).replaceAllUsesWith(await.getResult());
  Block *body = builder.createBlock(&start.getBody());
  for (OpOperand &operand : op->getOpOperands())
    operand.set(
        body->addArgument(operand.get().getType(), operand.get().getLoc()));
  op->moveBefore(body, body->end());
  builder.setInsertionPointToEnd(body);
  // A send gives back the memory that it has sent.
  cs::ReturnOp::create(builder, op->getLoc(), payloadOf(op));
}

/// Behind the last of the communications, which is where its value is made.
void Starts::startPieces(Operation *op, unsigned index) {
  const StartRequest &request = requests[index];
  OpBuilder builder(op);
  llvm::SmallVector<Value> values;
  llvm::SmallVector<int64_t> bounds, parts;
  llvm::SmallVector<Location> locations;
  int64_t elements = 0;
  Operation *user = step.function().front().getTerminator();
  for (const StartRequest::Piece &piece : request.pieces) {
    values.push_back(piece.op->getOperand(0));
    bounds.append({piece.begin, piece.end});
    parts.push_back(piece.end - piece.begin);
    locations.push_back(piece.op->getLoc());
    elements += piece.end - piece.begin;
    if (Operation *other = firstUsers.lookup(piece.op);
        step.placeOf(other) < step.placeOf(user))
      user = other;
  }
  Location loc = builder.getFusedLoc(locations);
  auto placed = cast<cs::PlacedType>(values.front().getType());
  auto type = cs::PlacedType::get(
      op->getContext(),
      RankedTensorType::get({elements}, placed.getTensor().getElementType()),
      placed.getDevice(), placed.getMemory());
  Value packed = cs::PackOp::create(builder, loc, type, values, bounds);
  IntegerAttr gather;
  if (request.gatherPriority)
    gather = builder.getI64IntegerAttr(*request.gatherPriority);
  auto start = cs::StartOp::create(builder, loc,
                                   cs::FutureType::get(op->getContext(), type),
                                   request.key, packed, ValueRange(),
                                   request.priority, gather,
                                   request.byPart && parts.size() > 1
                                       ? builder.getDenseI64ArrayAttr(parts)
                                       : DenseI64ArrayAttr(),
                                   exclusiveOf(builder, request));
  addTurn(start, request);
  builder.setInsertionPoint(user);
  awaits[index] = cs::AwaitOp::create(builder, loc, start.getFuture());
  Block *body = builder.createBlock(&start.getBody());
  Value argument = body->addArgument(type, loc);
  builder.setInsertionPointToEnd(body);
  Value reduced = cs::AllReduceOp::create(builder, loc, type, request.key,
                                          cast<cs::AllReduceOp>(op).getReduction(),
                                          argument, cs::getGroupName(op));
  cs::ReturnOp::create(builder, loc, reduced);
}

/// The tensor, of the messages that have its pieces.
void Starts::unpack(Operation *op) {
  llvm::SmallVector<Part, 1> &parts = partsOf[op];
  llvm::sort(parts, [](const Part &a, const Part &b) { return a.begin < b.begin; });
  llvm::SmallVector<Value> values;
  llvm::SmallVector<int64_t> bounds;
  for (const Part &part : parts) {
    values.push_back(awaits[part.request].getResult());
    int64_t offset = 0;
    for (const StartRequest::Piece &piece : requests[part.request].pieces) {
      if (piece.op == op && piece.begin == part.begin)
        break;
      offset += piece.end - piece.begin;
    }
    bounds.append({offset, offset + part.end - part.begin});
  }
  OpBuilder builder(firstUsers.lookup(op));
  Value whole = cs::UnpackOp::create(builder, op->getLoc(),
                                     op->getResult(0).getType(), values, bounds);
  op->getResult(0).replaceAllUsesWith(whole);
  done.push_back(op);
}

void Starts::run() {
  awaits.resize(requests.size());
  for (auto [index, request] : llvm::enumerate(requests)) {
    missing.push_back(static_cast<unsigned>(request.pieces.size()));
    for (const StartRequest::Piece &piece : request.pieces) {
      partsOf[piece.op].push_back(
          {static_cast<unsigned>(index), piece.begin, piece.end});
      ++missingOf[piece.op];
    }
  }
  for (Operation *op : step.all())
    firstUsers[op] = step.firstUserOf(op);
  // Of several that can start now, the most urgent first, then from the front.
  auto moreUrgent = [&](const Part &a, const Part &b) {
    return std::pair(requests[a.request].priority, a.begin) <
           std::pair(requests[b.request].priority, b.begin);
  };
  for (Operation *op : step.all()) {
    llvm::SmallVector<Part, 1> parts = partsOf.lookup(op);
    llvm::stable_sort(parts, moreUrgent);
    for (const Part &part : parts) {
      const StartRequest &request = requests[part.request];
      if (request.whole) {
        startWhole(op, request);
        continue;
      }
      if (--missing[part.request])
        continue;
      startPieces(op, part.request);
      for (const StartRequest::Piece &piece : request.pieces)
        if (--missingOf[piece.op] == 0)
          unpack(piece.op);
    }
  }
  for (Operation *op : done)
    op->erase();
}

} // namespace

void commsched::makeStarts(const StepCommunications &step,
                           ArrayRef<StartRequest> requests) {
  Starts(step, requests).run();
}
