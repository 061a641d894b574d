// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Level 2.

#include "ir/Cs.h"
#include "ir/CsGroups.h"
#include "plan/exclusive.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace commsched::cs;

/// As plans have it.
static LogicalResult verifyPriority(Operation *op, StringRef name, std::optional<uint64_t> given) {
  if (given && !llvm::isInt<32>(static_cast<int64_t>(*given)))
    return op->emitOpError() << name << " must be a number of 32 bits, got: "
                             << static_cast<int64_t>(*given);
  return success();
}

/// Parts cover the message, which is received where it was sent from.
static LogicalResult verifyParts(StartOp start) {
  std::optional<ArrayRef<int64_t>> parts = start.getParts();
  if (!parts)
    return success();
  Block &block = start.getBody().front();
  if (!llvm::all_of(block.without_terminator(), llvm::IsaPred<AllReduceOp, ExchangeOp>) ||
      start.getInputs().size() != 1)
    return start.emitOpError("parts need an all_reduce");
  uint64_t chunks = 1;
  for (auto exchange : block.getOps<ExchangeOp>()) {
    if (chunks > 1 && exchange.getChunks() > 1 && exchange.getChunks() != chunks)
      return exchange.emitOpError() << "of a message with parts must have 1 or " << chunks
                                    << " chunks, got: " << exchange.getChunks();
    chunks = std::max(chunks, exchange.getChunks());
  }
  int64_t elements = start.getFuture().getType().getValue().getTensor().getNumElements();
  int64_t sum = 0;
  for (int64_t part : *parts) {
    if (part < 1)
      return start.emitOpError() << "parts must have elements, got: " << part;
    if (llvm::AddOverflow(sum, part, sum))
      return start.emitOpError("has more elements in parts than can be counted");
  }
  if (parts->size() < 2)
    return start.emitOpError() << "needs at least 2 parts, got: " << parts->size();
  if (sum != elements)
    return start.emitOpError() << "parts must have the " << elements
                               << " elements of the message, got: " << sum;
  return success();
}

/// A collective that NCCL makes. What is in the start has not been verified yet.
static LogicalResult verifyNccl(StartOp start) {
  StringRef name = CsDialect::kNcclAttr;
  if (!start->hasAttr(name))
    return success();
  Block &body = start.getBody().front();
  auto reduce = dyn_cast<AllReduceOp>(body.front());
  if (!reduce || body.getOperations().size() != 2)
    return start.emitOpError() << "'" << name << "' needs one cs.all_reduce";
  if (FlatSymbolRefAttr group = getGroupName(reduce))
    return start.emitOpError() << "'" << name << "' needs a cs.all_reduce of all ranks, got: " << group;
  PlacedType placed = start.getFuture().getType().getValue();
  if (placed.getMemory() != MemoryKind::device)
    return start.emitOpError() << "'" << name << "' needs a value in device memory, got: " << placed;
  Type element = placed.getTensor().getElementType();
  if (element.isInteger(1) || element.isInteger(8))
    return start.emitOpError() << "'" << name << "' is not for elements of one byte, got: " << element;
  if (start.getPartsAttr() || start.getGatherPriorityAttr())
    return start.emitOpError() << "'" << name << "' has neither parts nor gather_priority";
  if (start.getExclusiveAttr())
    return start.emitOpError() << "'" << name << "' is not exclusive";
  return success();
}

LogicalResult StartOp::verify() {
  if (getKey().empty())
    return emitOpError("needs a key");
  if (failed(verifyPriority(*this, "priority", getPriority())) ||
      failed(verifyPriority(*this, "gather_priority", getGatherPriority())))
    return failure();
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError() << "body arguments must match the inputs";
  if (block.empty() || !isa<ReturnOp>(block.back()))
    return emitOpError("body must end in cs.return");
  Operation &last = block.back();
  if (last.getNumOperands() != 1 ||
      last.getOperand(0).getType() != getFuture().getType().getValue())
    return emitOpError() << "must return one value of type "
                         << getFuture().getType().getValue();
  int64_t communications = 0, exchanges = 0, copies = 0;
  for (Operation &op : block.without_terminator()) {
    if (auto communication = dyn_cast<CommunicationOpInterface>(op)) {
      ++communications;
      if (communication.getCommunicationKey() != getKey())
        return emitOpError() << "key of the communication must match \""
                             << getKey() << "\", got: \""
                             << communication.getCommunicationKey() << "\"";
    } else if (isa<ExchangeOp, ShardOp, UnshardOp>(op)) {
      ++exchanges;
    } else if (isa<CopyOp>(op)) {
      ++copies;
    } else {
      return op.emitOpError("is not a communication");
    }
  }
  if (communications + copies > 1 ||
      (communications + copies == 1 && exchanges > 0))
    return emitOpError() << "must hold one communication or copy, got: "
                         << communications + copies + exchanges;
  if (getGatherPriority() &&
      llvm::none_of(block, llvm::IsaPred<AllReduceOp, ExchangeOp>))
    return emitOpError("gather_priority needs an all_reduce");
  if (std::optional<int64_t> exclusive = getExclusive()) {
    if (*exclusive < 1 || *exclusive > plan::kMostPatience)
      return emitOpError() << "exclusive must be 1 to " << plan::kMostPatience << " nanoseconds, got: " << *exclusive;
    if (llvm::none_of(block, [](Operation &op) {
          auto communication = dyn_cast<CommunicationOpInterface>(op);
          return isa<ExchangeOp>(op) || (communication && communication.isCollective());
        }))
      return emitOpError("exclusive needs a collective");
  }
  if (failed(verifyParts(*this)) || failed(verifyNccl(*this)))
    return failure();
  for (auto send : block.getOps<SendOp>())
    if (last.getOperand(0) != send.getValue())
      return emitOpError("of a send must give back what it sends");
  for (auto send : block.getOps<SendRowsOp>())
    if (last.getOperand(0) != send.getValues())
      return emitOpError("of a send must give back what it sends");
  return success();
}

LogicalResult
AwaitOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                          AwaitOp::Adaptor adaptor,
                          SmallVectorImpl<Type> &results) {
  auto future = dyn_cast<FutureType>(adaptor.getFuture().getType());
  if (!future)
    return emitOptionalError(location, "cs.await needs a future");
  results.push_back(future.getValue());
  return success();
}

LogicalResult ExchangeOp::verify() {
  if (!isa_and_nonnull<StartOp>((*this)->getParentOp()))
    return emitOpError("belongs into cs.start");
  auto chunks = static_cast<int64_t>(getChunks());
  auto rounds = static_cast<int64_t>(getRounds());
  if (chunks < 1)
    return emitOpError() << "needs at least 1 chunk, got: " << chunks;
  if (rounds < 1)
    return emitOpError() << "needs at least 1 round, got: " << rounds;
  for (auto [what, number] : {std::pair("chunks", chunks), std::pair("rounds", rounds)})
    if (number > std::numeric_limits<uint32_t>::max()) // what a plan counts to
      return emitOpError() << "must have at most " << std::numeric_limits<uint32_t>::max() << " "
                           << what << ", got: " << number;
  if (failed(verifyPriority(*this, "priority", getPriority())))
    return failure();
  Type element = getValue().getType().getTensor().getElementType();
  if (getScale() && !isa<FloatType>(element))
    return emitOpError()
           << "scale needs a floating-point element type, got: " << element;
  if (getCombine() != Combine::replace && element.isInteger(1))
    return emitOpError() << "cannot combine elements of type " << element;
  if (getCombine() != Combine::replace && getValue().getType().getTensor().getEncoding())
    return emitOpError() << "cannot combine lists, got: "
                         << getValue().getType().getTensor();
  return success();
}

//===----------------------------------------------------------------------===//
// Pack, unpack
//===----------------------------------------------------------------------===//

/// Checks that `bounds` cut pieces out of `pieces` that have as many elements as
/// `result`, of its type and in its place.
static LogicalResult verifyPieces(Operation *op, OperandRange pieces,
                                  ArrayRef<int64_t> bounds, PlacedType result) {
  if (pieces.empty())
    return op->emitOpError("needs at least one piece");
  if (bounds.size() != 2 * pieces.size())
    return op->emitOpError() << "must have two bounds for each of "
                             << pieces.size() << " pieces, got: "
                             << bounds.size();
  int64_t sum = 0;
  for (auto [index, piece] : llvm::enumerate(pieces)) {
    auto type = cast<PlacedType>(piece.getType());
    if (type.getDevice() != result.getDevice() ||
        type.getMemory() != result.getMemory() ||
        type.getTensor().getElementType() != result.getTensor().getElementType())
      return op->emitOpError()
             << "piece " << index << " must match " << result
             << " in element type and place, got: " << type;
    int64_t begin = bounds[2 * index], end = bounds[2 * index + 1];
    int64_t count = type.getTensor().getNumElements();
    if (begin < 0 || end <= begin || end > count)
      return op->emitOpError()
             << "piece " << index << " must be elements of 0 to " << count
             << ", at least one, got: [" << begin << ", " << end << "]";
    if (llvm::AddOverflow(sum, end - begin, sum))
      return op->emitOpError("has more elements than can be counted");
  }
  if (sum != result.getTensor().getNumElements())
    return op->emitOpError() << "elements of the pieces must add up to "
                             << result.getTensor().getNumElements()
                             << ", got: " << sum;
  return success();
}

/// The operand if it is the only one, taken as it is.
static Value wholePiece(OperandRange pieces, PlacedType result) {
  // All of its elements, as the verifier knows.
  bool whole = pieces.size() == 1 && pieces.front().getType() == result;
  return whole ? pieces.front() : Value();
}

LogicalResult PackOp::verify() {
  if (getResult().getType().getTensor().getRank() != 1)
    return emitOpError() << "message must have one dimension, got: "
                         << getResult().getType();
  return verifyPieces(*this, getPieces(), getBounds(), getResult().getType());
}

LogicalResult UnpackOp::verify() {
  return verifyPieces(*this, getPieces(), getBounds(), getResult().getType());
}

OpFoldResult PackOp::fold(FoldAdaptor) {
  return wholePiece(getPieces(), getResult().getType());
}

OpFoldResult UnpackOp::fold(FoldAdaptor) {
  return wholePiece(getPieces(), getResult().getType());
}
