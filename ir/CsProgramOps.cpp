// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Level 0, and the generated definitions of all ops.

#include "ir/CsCommunication.h"
#include "ir/CsPieceSyntax.h"
#include "ir/CsRegionSyntax.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "plan/limits.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::cs;

#define GET_OP_CLASSES
#include "ir/CsOps.cpp.inc"

LogicalResult ClusterOp::verify() {
  auto nodes = static_cast<int64_t>(getNodes());
  auto devices = static_cast<int64_t>(getDevices());
  if (nodes <= 0)
    return emitOpError() << "must have at least 1 node, got: " << nodes;
  if (devices <= 0)
    return emitOpError() << "must have at least 1 device per node, got: "
                         << devices;
  auto slowdown = static_cast<int64_t>(getSlowdownPercent());
  if (slowdown < 0 || slowdown > 100000)
    return emitOpError() << "slowdown_percent must be 0 to 100000, got: "
                         << slowdown;
  for (auto [name, least, of] :
       {std::tuple("least_overhead_ns", getLeastOverheadNs(), getInter().getOverheadNs()),
        std::tuple("least_latency_ns", getLeastLatencyNs(), getInter().getLatencyNs())})
    if (least && static_cast<int64_t>(*least) > of)
      return emitOpError() << name << " must be 0 to that of the link, " << of
                           << ", got: " << static_cast<int64_t>(*least);
    else if (least && static_cast<int64_t>(*least) < 0)
      return emitOpError() << name << " must not be negative, got: "
                           << static_cast<int64_t>(*least);
  if (std::optional<NcclCostsAttr> nccl = getNccl()) {
    if (getDevice().getKind() != DeviceKind::cuda)
      return emitOpError() << "with nccl must have devices of kind cuda, got: "
                           << stringifyDeviceKind(getDevice().getKind());
    if (nccl->getRanks() != 0 && nccl->getRanks() != nodes)
      return emitOpError() << "must have the nodes for which nccl was measured, "
                           << nccl->getRanks() << ", got: " << nodes;
  }
  if (nodes > kMaxNodes)
    return emitOpError() << "must have at most " << kMaxNodes << " nodes, got: " << nodes;
  if (devices > kMaxDevices)
    return emitOpError() << "must have at most " << kMaxDevices
                         << " devices per node, got: " << devices;
  return success();
}

int64_t ClusterOp::leastOverhead() {
  return static_cast<int64_t>(getLeastOverheadNs().value_or(getInter().getOverheadNs()));
}

int64_t ClusterOp::leastLatency() {
  return static_cast<int64_t>(getLeastLatencyNs().value_or(getInter().getLatencyNs()));
}

std::string ClusterOp::whatBoundsAssume() {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "this order of fragments but for deferred ones, " << getInter().getMbitPerS() << " mbit/s, of a message no less than "
     << leastOverhead() << " ns of its link beside the bytes and " << leastLatency()
     << " ns on the way, fragments that take what is said of them alone, measured ones no less than the least that was measured";
  if (getSlowdownPercent() != 0)
    os << " and, while links are busy, " << getSlowdownPercent() << " percent more in all";
  return text;
}

LogicalResult GradientOp::verify() {
  if (getParam().empty())
    return emitOpError("needs the name of a parameter");
  if (!isa<FloatType>(
          cast<RankedTensorType>(getValue().getType()).getElementType()))
    return emitOpError() << "must be of a floating-point type, got: "
                         << getValue().getType();
  return success();
}

LogicalResult WorkerIndexOp::verify() {
  if ((*this)->getParentOfType<FragmentOp>())
    return emitOpError() << "does not belong in a cs.fragment, whose operand is an argument of "
                            "the function with '"
                         << CsDialect::kWorkerIndexAttr << "'";
  return success();
}

void ProfiledOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (!getOutputs().empty())
    setName(getOutputs().front(), common::ssaName(getLabel()));
}

LogicalResult ProfiledOp::verify() {
  if (getLabel().empty())
    return emitOpError("needs a label");
  if (!getElementwise())
    return success();
  // The state of an optimizer may have scalars beside it: a rate, a count.
  for (auto [index, type] : llvm::enumerate(getOutputs().getTypes()))
    if (!llvm::is_contained(getInputs().getTypes(), type))
      return emitOpError() << "type of elementwise result " << index
                           << " must match that of an operand, got: " << type;
  return success();
}
