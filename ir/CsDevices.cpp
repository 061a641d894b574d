// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/CsDevices.h"

using namespace mlir;
using namespace commsched::cs;

int64_t commsched::cs::getBatchParts(FunctionOpInterface function, ClusterOp cluster) {
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
    auto placed = dyn_cast<PlacedType>(function.getArgumentTypes()[i]);
    if (placed && placed.getDevice() > 0 &&
        (function.getArgAttr(i, CsDialect::kBatchAttr) || function.getArgAttr(i, CsDialect::kWorkerIndexAttr)))
      return static_cast<int64_t>(cluster.getDevices());
  }
  return 1;
}

LogicalResult commsched::cs::verifyDevices(FunctionOpInterface function, ClusterOp cluster) {
  auto devices = static_cast<unsigned>(cluster.getDevices());
  auto own = function->getAttrOfType<IntegerAttr>(CsDialect::kDevicesAttr);
  if (own && own.getInt() != static_cast<int64_t>(devices))
    return function.emitOpError("is on ") << own.getInt() << " devices of each node, as '" << CsDialect::kDevicesAttr
                                          << "' says, and must match the cluster's, " << devices;
  auto beyond = [&](Type type) {
    if (auto future = dyn_cast<FutureType>(type))
      type = future.getValue();
    auto placed = dyn_cast<PlacedType>(type);
    return placed && placed.getDevice() >= devices;
  };
  for (Type type : function.getArgumentTypes())
    if (beyond(type))
      return function.emitOpError("argument device must be below the cluster's ") << devices << ", got: " << type;
  WalkResult walked = function->walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (beyond(type)) {
        op->emitOpError("device must be below the cluster's ") << devices << ", got: " << type;
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}
