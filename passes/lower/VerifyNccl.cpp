// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/lower/DistributedModel.h"

#include "passes/support/Module.h"

#include <map>

using namespace mlir;
using namespace commsched;
using namespace commsched::cs;

/// Of one rank, or of all that run the function.
static LogicalResult verifyNumbers(const FunctionModel &function, bool &any) {
  std::map<int64_t, std::map<int64_t, Operation *>> lanes; // number -> start
  for (const Communication &communication : function.communications) {
    NcclAttr nccl = communication.nccl();
    if (!nccl)
      continue;
    any = true;
    if (function.function->hasAttr(CsDialect::kCountAttr))
      return communication.op->emitOpError()
             << "\"" << communication.key
             << "\" is of some of the nodes, NCCL's communicator of all";
    auto [other, fresh] = lanes[nccl.getLane()].try_emplace(nccl.getNumber(), communication.op);
    if (fresh)
      continue;
    InFlightDiagnostic diagnostic = communication.op->emitOpError()
                                    << "\"" << communication.key << "\" has number "
                                    << nccl.getNumber() << " of NCCL's lane " << nccl.getLane()
                                    << ", which must be unique in the function";
    diagnostic.attachNote(other->second->getLoc()) << "the other use is here";
    return diagnostic;
  }
  for (const auto &[lane, numbers] : lanes) {
    int64_t expected = 0;
    for (const auto &[number, op] : numbers)
      if (number != expected++)
        return op->emitOpError() << "\"" << cast<StartOp>(op).getKey()
                                 << "\" must have a number of NCCL's lane " << lane << " from 0 to "
                                 << numbers.size() - 1 << ", one for each, got: " << number;
  }
  return success();
}

LogicalResult commsched::verifyNccl(const DistributedModel &model) {
  for (const Role &role : model.roles) {
    bool any = false;
    for (const FunctionModel &function : role.functions)
      if (failed(verifyNumbers(function, any)))
        return failure();
    if (!any)
      continue;
    Operation *function = role.functions.front().function;
    FailureOr<ClusterOp> cluster = findCluster(function->getParentOfType<ModuleOp>());
    if (failed(cluster))
      return failure();
    if (cluster->getDevice().getKind() != DeviceKind::cuda || cluster->getDevices() != 1)
      return function->emitOpError("has collectives of NCCL, which need nodes of one device of kind cuda");
  }
  return success();
}
