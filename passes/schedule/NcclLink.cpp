// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/NcclLink.h"
#include "passes/lower/Communication.h"

#include "passes/schedule/StepCosts.h"

#include <cmath>

using namespace mlir;
using namespace commsched;

plan::NcclCosts commsched::ncclCostsOf(cs::ClusterOp cluster, int64_t ranks) {
  std::optional<cs::NcclCostsAttr> nccl = cluster.getNccl();
  if (nccl && nccl->getRanks() == ranks && ranks > 0) {
    std::vector<plan::NcclPoint> points;
    for (auto [bytes, ns] :
         llvm::zip_equal(nccl->getBytes().asArrayRef(), nccl->getNs().asArrayRef()))
      points.push_back({static_cast<uint64_t>(bytes), static_cast<double>(ns)});
    return plan::NcclCosts(plan::NcclTimes(std::move(points)));
  }
  plan::NcclMachines machines;
  machines.ranks = ranks;
  machines.machine_ranks = nccl ? nccl->getMachineRanks() : 1;
  machines.intra_mbit_per_s = static_cast<double>(cluster.getIntra().getMbitPerS());
  machines.inter_mbit_per_s = static_cast<double>(cluster.getInter().getMbitPerS());
  machines.inter_latency_ns = static_cast<double>(cluster.getInter().getLatencyNs());
  return plan::NcclCosts(machines);
}

StringRef commsched::algorithmWithoutNccl(StringRef algorithm) {
  return algorithm == NcclLink::kName ? "auto" : algorithm;
}

std::string commsched::checkAlgorithmName(StringRef algorithm) {
  if (llvm::is_contained({StringRef("auto"), StringRef("ring"), StringRef("halving-doubling"), NcclLink::kName},
                         algorithm))
    return "";
  return ("algorithm must be auto, ring, halving-doubling or nccl, got: " + algorithm).str();
}

LogicalResult commsched::checkAlgorithm(cs::ClusterOp cluster, StringRef algorithm) {
  if (algorithm != NcclLink::kName || cluster.getDevice().getKind() == cs::DeviceKind::cuda)
    return success();
  return cluster.emitOpError("must have devices of kind cuda for algorithm=nccl, got: ")
         << cs::stringifyDeviceKind(cluster.getDevice().getKind());
}

NcclLink::NcclLink(const StepCommunications &step, cs::ClusterOp cluster, int64_t ranks)
    : step(step) {
  const plan::NcclCosts costs = ncclCostsOf(cluster, ranks);
  const plan::NcclTimes::Line line = costs.TimesOf(plan::NcclCall::kAllReduce).LineBelow();
  nsPerByte = line.ns_per_byte;
  least = static_cast<schedule::Time>(line.ns);
  double beside = 0;
  int64_t count = 0;
  for (Operation *op : step.all()) {
    if (!takes(op))
      continue;
    int64_t bytes = StepCosts::bytesOf(op->getOperand(0));
    beside += costs.Ns(plan::NcclCall::kAllReduce, static_cast<uint64_t>(bytes)) -
              nsPerByte * static_cast<double>(bytes);
    ++count;
  }
  overhead = std::max<schedule::Time>(
      least, count ? std::llround(beside / static_cast<double>(count)) : 0);
}

bool NcclLink::takes(Operation *op) const {
  auto reduce = dyn_cast<cs::AllReduceOp>(op);
  return reduce && !step.groupOf(op) && reasonAgainstNccl(reduce).empty();
}

int64_t NcclLink::bytesPerSecond() const {
  // What is faster takes no time worth a schedule.
  constexpr double kMost = 1e15;
  return nsPerByte > 0 ? std::max<int64_t>(1, std::llround(std::min(kMost, 1e9 / nsPerByte)))
                       : static_cast<int64_t>(kMost);
}

schedule::Stage NcclLink::stageOf(Operation *op, unsigned link) const {
  return {link, StepCosts::bytesOf(op->getOperand(0)), overhead, /*latency=*/0, /*update=*/0,
          overhead - least};
}
