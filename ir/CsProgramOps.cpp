// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Level 0, and the generated definitions of all ops.

#include "ir/Cs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace commsched::cs;

#define GET_OP_CLASSES
#include "ir/CsOps.cpp.inc"

LogicalResult ClusterOp::verify() {
  if (getNodes() <= 0)
    return emitOpError() << "must have at least 1 node, got: " << getNodes();
  if (getDevices() <= 0)
    return emitOpError() << "must have at least 1 device per node, got: "
                         << getDevices();
  // Bounds what passes multiply; far beyond any machine.
  constexpr int64_t kMost = int64_t(1) << 24;
  if (getNodes() > kMost || getDevices() > kMost)
    return emitOpError() << "must have at most " << kMost
                         << " nodes and devices, got: " << getNodes() << " and "
                         << getDevices();
  return success();
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
