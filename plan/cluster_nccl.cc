// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/cluster_nccl.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace commsched::plan {

NcclMachines MachinesOf(const Cluster &cluster) {
  NcclMachines machines;
  machines.ranks = cluster.nodes();
  machines.machine_ranks = std::max<int64_t>(1, cluster.nccl().machine_ranks());
  machines.intra_mbit_per_s = double(cluster.intra_mbit_per_s());
  machines.inter_mbit_per_s = double(cluster.inter_mbit_per_s());
  machines.inter_latency_ns = double(cluster.inter_latency_ns());
  return machines;
}

NcclCosts NcclCostsOf(const Cluster &cluster) {
  const NcclTable &measured = cluster.nccl();
  if (measured.bytes_size() == 0) return NcclCosts(MachinesOf(cluster));
  std::vector<NcclPoint> points;
  for (int i = 0; i < std::min(measured.bytes_size(), measured.ns_size()); ++i)
    points.push_back({measured.bytes(i), double(measured.ns(i))});
  return NcclCosts(NcclTimes(std::move(points)));
}

NcclCall CallOf(int kind) {
  return kind == Nccl::REDUCE_SCATTER ? NcclCall::kReduceScatter
         : kind == Nccl::ALL_GATHER   ? NcclCall::kAllGather
                                      : NcclCall::kAllReduce;
}

}  // namespace commsched::plan
