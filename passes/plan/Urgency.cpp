// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/Urgency.h"

#include "ir/Cs.h"

using namespace mlir;

namespace commsched::planexport {

static bool communicates(Operation &op) {
  auto start = dyn_cast<cs::StartOp>(op);
  return start && !isa<cs::CopyOp>(start.getBody().front().front());
}

llvm::DenseSet<Operation *> findUrgent(func::FuncOp function) {
  llvm::DenseSet<Value> communicated, awaited;
  Block &body = function.getBody().front();
  for (Operation &op : body)
    if (communicates(op) || llvm::any_of(op.getOperands(), [&](Value operand) {
          return communicated.contains(operand);
        }))
      communicated.insert(op.getResults().begin(), op.getResults().end());
  llvm::DenseSet<Operation *> urgent;
  for (Operation &op : llvm::reverse(body)) {
    auto fragment = dyn_cast<cs::FragmentOp>(op);
    bool isAwaited = llvm::any_of(op.getResults(), [&](Value result) {
      return awaited.contains(result);
    });
    if (!communicates(op) && (!isAwaited || (fragment && !fragment.getDeferred())))
      continue;
    awaited.insert(op.operand_begin(), op.operand_end());
    if (fragment && !communicated.contains(fragment.getOutputs().front()))
      urgent.insert(&op);
  }
  return urgent;
}

} // namespace commsched::planexport
