// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reference/Ops.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace commsched::reference;

LogicalResult commsched::reference::evaluateElementwise(OpContext &context) {
  Operation *op = context.op;
  Payload *payload = context.interpreter.cache().payloadOf(op);
  if (!payload)
    return failure();
  payload->bind(context.interpreter);
  int64_t count = 1;
  for (Value result : op->getResults()) {
    context.results.push_back(makeZeros(result.getType()));
    count = context.results.back()->size();
  }
  unsigned operands = op->getNumOperands();
  for (int64_t e = 0; e < count; ++e) {
    for (unsigned i = 0; i < operands; ++i) {
      // A scalar beside tensors: the condition of a select.
      const Array &array = context.operand(i);
      Scalar &to = payload->argument(i);
      load(to, array, array.size() == 1 ? 0 : e);
      if (isUnwritten(to.bound))
        payload->failUnwritten(op);
    }
    payload->run(nullptr);
    for (unsigned r = 0; r < context.results.size(); ++r)
      storeElement(*context.results[r], e, payload->result(r));
  }
  return payload->check();
}
