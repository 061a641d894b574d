// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Level 2.

#include "ir/Cs.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace commsched::cs;

LogicalResult StartOp::verify() {
  if (getKey().empty())
    return emitOpError("needs a key");
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
  Type element = getValue().getType().getTensor().getElementType();
  if (getScale() && !isa<FloatType>(element))
    return emitOpError()
           << "scale needs a floating-point element type, got: " << element;
  if (getCombine() != Combine::replace && element.isInteger(1))
    return emitOpError() << "cannot combine elements of type " << element;
  return success();
}
