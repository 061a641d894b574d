// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/support/HostCopies.h"

#include "ir/Cs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace commsched;

bool commsched::needsHostCopies(ModuleOp module) {
  bool cuda = false, computes = false;
  for (auto cluster : module.getOps<cs::ClusterOp>())
    cuda |= cluster.getDevice().getKind() == cs::DeviceKind::cuda;
  for (auto func : module.getOps<func::FuncOp>())
    if (!func->hasAttr(cs::CsDialect::kServerAttr))
      func.walk([&](cs::FragmentOp op) { computes |= op.hasBody(); });
  return cuda && computes;
}

std::optional<HostCopies> commsched::hostCopiesOf(StringRef name, ModuleOp module) {
  if (name == "auto")
    return needsHostCopies(module) ? HostCopies::overlap : HostCopies::none;
  if (name == "none")
    return HostCopies::none;
  if (name == "overlap")
    return HostCopies::overlap;
  if (name == "in-line")
    return HostCopies::inLine;
  return std::nullopt;
}
