// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/NcclLink.h"

#include "passes/schedule/StepCosts.h"

#include <cmath>

using namespace mlir;
using namespace commsched;

plan::NcclCosts commsched::ncclCostsOf(cs::ClusterOp cluster, int64_t ranks) {
  std::optional<cs::NcclAttr> nccl = cluster.getNccl();
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

LogicalResult commsched::checkAlgorithm(cs::ClusterOp cluster, StringRef algorithm) {
  if (algorithm != NcclLink::kName || cluster.getDevice().getKind() == cs::DeviceKind::cuda)
    return success();
  return cluster.emitOpError("must have devices of kind cuda for algorithm=nccl, got: ")
         << cs::stringifyDeviceKind(cluster.getDevice().getKind());
}

/// The whole buffer.
static int64_t bytesOf(Operation *op) {
  return StepCosts::bytesOf(isa<cs::AllGatherOp>(op) ? op->getResult(0) : op->getOperand(0));
}

NcclLink::NcclLink(const StepCommunications &step, cs::ClusterOp cluster, int64_t ranks)
    : step(step) {
  const plan::NcclCosts costs = ncclCostsOf(cluster, ranks);
  nsPerByte = costs.TimesOf(plan::NcclCall::kAllReduce).LineBelow().ns_per_byte;
  for (auto [kind, call] : {std::pair(&allReduce, plan::NcclCall::kAllReduce),
                            std::pair(&half, plan::NcclCall::kAllGather)}) {
    const plan::NcclTimes::Line line = costs.TimesOf(call).LineBelow();
    kind->least = static_cast<schedule::Time>(line.ns);
    if (nsPerByte > 0)
      kind->bytes = line.ns_per_byte / nsPerByte;
    double beside = 0;
    int64_t count = 0;
    for (Operation *op : step.all()) {
      if (!takes(op) || &kindOf(op) != kind)
        continue;
      const auto bytes = static_cast<double>(bytesOf(op));
      beside += costs.Ns(call, static_cast<uint64_t>(bytesOf(op))) - line.ns_per_byte * bytes;
      ++count;
    }
    kind->overhead = std::max<schedule::Time>(
        kind->least, count ? std::llround(beside / static_cast<double>(count)) : 0);
  }
}

bool NcclLink::takes(Operation *op) const {
  return isa<cs::AllReduceOp, cs::ReduceScatterOp, cs::AllGatherOp>(op) && !step.groupOf(op);
}

NcclLink::Kind &NcclLink::kindOf(Operation *op) {
  return isa<cs::AllReduceOp>(op) ? allReduce : half;
}
const NcclLink::Kind &NcclLink::kindOf(Operation *op) const {
  return const_cast<NcclLink *>(this)->kindOf(op);
}

int64_t NcclLink::bytesPerSecond() const {
  // What is faster takes no time worth a schedule.
  constexpr double kMost = 1e15;
  return nsPerByte > 0 ? std::max<int64_t>(1, std::llround(std::min(kMost, 1e9 / nsPerByte)))
                       : static_cast<int64_t>(kMost);
}

schedule::Stage NcclLink::stageOf(Operation *op, unsigned link) const {
  const Kind &kind = kindOf(op);
  const auto bytes =
      static_cast<int64_t>(std::floor(static_cast<double>(bytesOf(op)) * kind.bytes));
  return {link, bytes, kind.overhead, /*latency=*/0, /*update=*/0, kind.overhead - kind.least};
}
