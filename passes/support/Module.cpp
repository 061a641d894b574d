// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/support/Module.h"

#include "ir/CsServerFunctions.h"
#include "ir/CsSparseOps.h"

using namespace mlir;
using namespace commsched;

FailureOr<cs::ClusterOp> commsched::findCluster(ModuleOp module) {
  cs::ClusterOp found;
  for (cs::ClusterOp cluster : module.getOps<cs::ClusterOp>()) {
    if (found) {
      InFlightDiagnostic diagnostic =
          cluster.emitOpError("is the second of the module");
      diagnostic.attachNote(found.getLoc()) << "the first is here";
      return diagnostic;
    }
    found = cluster;
  }
  if (!found)
    return module.emitError(
        "has no cs.cluster, so the number of nodes is unknown");
  return found;
}

bool commsched::isDistributed(func::FuncOp function) {
  if (function.isExternal())
    return false;
  if (cs::getServerIndex(function))
    return true;
  for (Block &block : function.getBody())
    for (Operation &op : block)
      if (isa_and_nonnull<cs::CsDialect>(op.getDialect()) &&
          !isa<cs::GradientOp, cs::WorkerIndexOp, cs::ProfiledOp, cs::LookupOp, cs::SegmentSumOp,
               cs::TopKOp, cs::ScatterAddOp, cs::ScatterClearOp, cs::MergeTopKOp,
               cs::SplitRegionsOp, cs::BalanceRegionsOp>(op))
        return true;
  // A function that only passes placed values on.
  return llvm::any_of(function.getArgumentTypes(),
                      llvm::IsaPred<cs::PlacedType>);
}

int64_t commsched::getRankCount(func::FuncOp function, cs::ClusterOp cluster) {
  if (cs::getServerIndex(function))
    return 1;
  auto count = function->getAttrOfType<IntegerAttr>(cs::CsDialect::kCountAttr);
  return count ? count.getInt() : static_cast<int64_t>(cluster.getNodes());
}

std::optional<int64_t> commsched::getRank(func::FuncOp function) {
  auto rank = function->getAttrOfType<IntegerAttr>(cs::CsDialect::kRankAttr);
  if (!rank)
    return std::nullopt;
  return rank.getInt();
}

std::string commsched::getRankName(StringRef role, int64_t rank) {
  return (role + ".rank" + Twine(rank)).str();
}

std::optional<StringRef> commsched::getRole(func::FuncOp function) {
  StringRef name = function.getName();
  std::optional<int64_t> rank = getRank(function);
  if (!rank)
    return name;
  size_t at = name.rfind(".rank");
  if (at == StringRef::npos || name != getRankName(name.take_front(at), *rank))
    return std::nullopt;
  return name.take_front(at);
}
