// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/spread/Predict.h"

#include "passes/lower/ExchangeAlgorithms.h"
#include "passes/place/Devices.h"
#include "passes/schedule/StepProblem.h"
#include "passes/support/LinkCosts.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::spread;

/// Of the fastest algorithm.
static double fastest(CollectiveKind kind, int64_t bytes, int64_t nodes, cs::LinkAttr link) {
  double best = std::numeric_limits<double>::infinity();
  for (ExchangeAlgorithm algorithm :
       {ExchangeAlgorithm::ring, ExchangeAlgorithm::halvingDoubling,
        ExchangeAlgorithm::recursiveDoubling, ExchangeAlgorithm::tree})
    if (isApplicable(algorithm, kind, nodes))
      best = std::min(best, predictNanoseconds(kind, algorithm, nodes, bytes, link));
  return best;
}

/// As --schedule-comm counts it: it is busy for overhead and bytes, not for the latency.
static cs::LinkAttr linkOf(cs::ClusterOp cluster, bool withLatency) {
  cs::LinkAttr link = cluster.getInter();
  int64_t overhead = overheadOf(link);
  return cs::LinkAttr::get(link.getContext(), link.getMbitPerS(),
                           withLatency ? link.getLatencyNs() : 0, overhead);
}

MessageTimes spread::predictAllReduce(int64_t bytes, cs::ClusterOp cluster) {
  int64_t nodes = cluster.getNodes();
  return {fastest(CollectiveKind::allReduce, bytes, nodes, linkOf(cluster, true)),
          fastest(CollectiveKind::allReduce, bytes, nodes, linkOf(cluster, false))};
}

double spread::readTime(double bytes, cs::ClusterOp cluster) {
  return bytes / static_cast<double>(cluster.getDevice().getGbPerS());
}

StepTimes spread::predictStep(func::FuncOp func, cs::ClusterOp cluster) {
  StepTimes times;
  SmallVector<double> compute(cluster.getDevices(), 0);
  cs::LinkAttr link = linkOf(cluster, false);
  for (Operation &op : func.front()) {
    if (auto fragment = dyn_cast<cs::FragmentOp>(op)) {
      std::optional<cs::CostAttr> cost = fragment.getCost();
      auto device = static_cast<size_t>(fragment.getDevice());
      if (cost && device < compute.size())
        compute[device] += static_cast<double>(cost->nanosecondsOn(cluster.getDevice()));
      continue;
    }
    if (!isa<cs::CommunicationOpInterface>(op) || op.getNumResults() != 1)
      continue;
    CollectiveKind kind = CollectiveKind::broadcast; // as long as any other
    Value whole = op.getResult(0);
    if (isa<cs::AllReduceOp>(op))
      kind = CollectiveKind::allReduce;
    else if (isa<cs::AllGatherOp>(op))
      kind = CollectiveKind::allGather;
    else if (isa<cs::ReduceScatterOp>(op))
      kind = CollectiveKind::reduceScatter, whole = op.getOperand(0);
    times.link += fastest(kind, place::bytesOf(place::placedType(whole)),
                          cluster.getNodes(), link);
  }
  times.compute = *std::max_element(compute.begin(), compute.end());
  return times;
}
