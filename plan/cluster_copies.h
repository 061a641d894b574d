// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_PLAN_CLUSTER_COPIES_H
#define COMMSCHED_PLAN_CLUSTER_COPIES_H

#include <cmath>
#include <cstdint>

#include "plan/plan.pb.h"

namespace commsched::plan {

// Nanoseconds of a copy between a device and its host: the latency, and the bytes at the rate of a copy engine, else of
// the device's memory; without a rate bytes take no time. Rounded up. The latency is at most an hour.
inline uint64_t HostCopyNs(const Cluster &cluster, uint64_t bytes) {
  uint64_t ns = cluster.device_copy_latency_ns();
  if (const double rate = double(cluster.device_copy_mb_per_s()); rate != 0)
    ns += uint64_t(std::ceil(double(bytes) * 1000 / rate));
  else if (const uint64_t memory = cluster.device_gb_per_s(); memory != 0)
    ns += (bytes + memory - 1) / memory;  // 1 GB/s is a byte in a nanosecond
  return ns;
}

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_CLUSTER_COPIES_H
