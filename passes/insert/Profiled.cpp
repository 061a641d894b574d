// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/Profiled.h"

#include "ir/CsServerFunctions.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/support/RowFragment.h"

using namespace mlir;
using namespace commsched;

namespace {

void addTo(int64_t &sum, int64_t more) {
  if (llvm::AddOverflow(sum, more, sum))
    sum = std::numeric_limits<int64_t>::max();
}

bool isMeasured(cs::CostAttr cost) { return cost.getNs() != 0; }
bool isFree(cs::CostAttr cost) {
  return cost.getNs() == 0 && cost.getFlops() == 0 && cost.getBytes() == 0;
}

cs::CostAttr sumOf(ArrayRef<cs::ProfiledOp> ops, cs::DeviceAttr device) {
  bool anyMeasured = llvm::any_of(
      ops, [](cs::ProfiledOp op) { return isMeasured(op.getCost()); });
  int64_t flops = 0, bytes = 0, ns = 0;
  for (cs::ProfiledOp op : ops) {
    cs::CostAttr cost = op.getCost();
    addTo(flops, cost.getFlops());
    addTo(bytes, cost.getBytes());
    if (anyMeasured && !isFree(cost))
      addTo(ns, cost.nanosecondsOn(device));
  }
  return cs::CostAttr::get(device.getContext(), flops, bytes, ns);
}

LogicalResult dropBody(cs::FragmentOp fragment, cs::DeviceAttr device) {
  Block &body = fragment.getBody().front();
  SmallVector<cs::ProfiledOp> profiled(body.getOps<cs::ProfiledOp>());
  if (profiled.empty())
    return success();
  // Constants that only profiled ops use may go.
  llvm::DenseSet<Operation *> constant;
  for (Operation &op : body.without_terminator()) {
    if (isa<cs::ProfiledOp>(op))
      continue;
    bool isConstant = llvm::all_of(op.getOperands(), [&](Value operand) {
      return constant.contains(operand.getDefiningOp());
    });
    if (!isConstant || llvm::is_contained(op.getUsers(), body.getTerminator())) {
      InFlightDiagnostic diag = op.emitOpError(
          "must not be in one fragment with what has only a cost");
      diag.attachNote(profiled.front().getLoc()) << "such as this op";
      return diag;
    }
    constant.insert(&op);
  }
  fragment.setCostAttr(sumOf(profiled, device));
  // --schedule-comm asks it of servers.
  std::optional<SmallVector<RowUse>> uses;
  if (cs::getServerIndex(fragment->getParentOp()))
    uses = rowUses(fragment);
  body.dropAllReferences();
  fragment.getBody().getBlocks().clear();
  SmallVector<bool> byRows;
  for (const RowUse &use : uses.value_or(SmallVector<RowUse>()))
    byRows.push_back(use.byRows && !use.whole);
  if (llvm::is_contained(byRows, true))
    fragment->setAttr(cs::CsDialect::kByRowsAttr,
                      DenseBoolArrayAttr::get(fragment.getContext(), byRows));
  return success();
}

} // namespace

LogicalResult commsched::dropProfiledBodies(ModuleOp module) {
  cs::DeviceAttr device;
  for (auto cluster : module.getOps<cs::ClusterOp>())
    device = cluster.getDevice();
  WalkResult walked = module.walk([&](cs::FragmentOp fragment) {
    if (fragment.hasBody() && failed(dropBody(fragment, device)))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}
