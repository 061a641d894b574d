// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Level 1, parameter servers.

#include "ir/CsCommunication.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace commsched::cs;

COMMSCHED_COMMUNICATION(CollectOp)
COMMSCHED_COMMUNICATION(PublishOp)

static LogicalResult verifyOnServer(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  if (!function || !function->hasAttr(CsDialect::kServerAttr))
    return op->emitOpError() << "belongs into a function with '"
                             << CsDialect::kServerAttr << "'";
  return success();
}

LogicalResult CollectOp::verify() {
  if (failed(verifyOnServer(*this)))
    return failure();
  if (!getReduction())
    return common::verifyKey(*this, getKey());
  return common::verifyReduction(*this, getKey(), *getReduction(),
                                 getResult().getType());
}

LogicalResult PublishOp::verify() {
  if (failed(verifyOnServer(*this)))
    return failure();
  return common::verifyKey(*this, getKey());
}
