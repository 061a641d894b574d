// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/place/Passes.h"
#include "passes/support/OptionError.h"

#include "passes/place/Devices.h"
#include "passes/place/Overlapper.h"
#include "passes/support/HostCopies.h"
#include "passes/support/Module.h"

namespace commsched {
#define GEN_PASS_DEF_OVERLAPRPCMEMCPY
#include "passes/place/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;
using namespace commsched::place;

namespace {

/// Whether something in device memory is sent from the host or received there.
bool hasHostCommunication(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal() || func->hasAttr(cs::CsDialect::kServerAttr))
      continue;
    for (auto start : func.getOps<cs::StartOp>())
      if (!holdsCopy(start) && !staysOnDevice(start) &&
          start.getFuture().getType().getValue().getMemory() == cs::MemoryKind::device)
        return true;
  }
  return false;
}

struct OverlapRpcMemcpy
    : commsched::impl::OverlapRpcMemcpyBase<OverlapRpcMemcpy> {
  using OverlapRpcMemcpyBase::OverlapRpcMemcpyBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    std::optional<HostCopies> copies = hostCopiesOf(mode, module);
    if (!copies)
      return emitOptionError(*this, &getContext())
             << "mode must be " << kHostCopiesNames << ", got: " << mode.getValue();
    if (stagingBytes > 0 && copies != HostCopies::overlap)
      return emitOptionError(*this, &getContext())
             << "staging-bytes must go with mode=overlap, got: "
             << (copies == HostCopies::none ? "none" : mode.getValue());
    if (copies == HostCopies::none && needsHostCopies(module) && hasHostCommunication(module))
      return emitOptionError(*this, &getContext())
             << "mode (copies of the pipelines) must be overlap or in-line where devices of kind cuda "
                "communicate through the host, got: "
             << mode.getValue();
    if (stagingBytes < 0)
      return emitOptionError(*this, &getContext())
             << "staging-bytes must not be negative, got: "
             << stagingBytes.getValue();
    for (auto func : module.getOps<func::FuncOp>()) {
      if (func.isExternal() || func->hasAttr(cs::CsDialect::kServerAttr))
        continue;
      if (!func.getBody().hasOneBlock() && !isDistributed(func))
        continue;
      if (!func.getBody().hasOneBlock())
        return func.emitOpError("must have one block");
      if (failed(Overlapper(func, *copies, stagingBytes).run()))
        return failure();
    }
    return success();
  }
};

} // namespace
