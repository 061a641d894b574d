// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that is measured of links and of compute beside them, and its file (docs/costs.md).
#ifndef COMMSCHED_RUNTIME_CALIBRATION_RANK_COSTS_H
#define COMMSCHED_RUNTIME_CALIBRATION_RANK_COSTS_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/calibration/measure.h"
#include "runtime/calibration/peer_exchanges.h"
#include "runtime/transport/transport.h"

namespace commsched::calibration {

struct Link {
  std::string from, to;  // "rank 0"
  LinkCost cost;
};

// Between a device and pinned memory of its host. A copy of n bytes takes the latency and its bytes at the rate.
struct DeviceCopy {
  int rank = 0;
  bool to_host = false;
  int64_t latency_ns = 0, bytes_per_second = 0;
  int64_t both_bytes_per_second = 0;  // while the other direction copies as much
};
// Of NCCL, by all ranks.
struct AllReduce {
  uint64_t bytes = 0;
  int64_t ns = 0;
};

struct Costs {
  std::string transport;
  std::vector<Link> links;
  // By rank.
  std::vector<Exchange> exchanges;
  std::vector<Slowdown> compute;
  // Of plans for CUDA devices; else there are none.
  std::vector<DeviceCopy> copies;
  std::vector<AllReduce> all_reduces;
};

// Of the ranks of a transport, on which nothing else is; all call it together, and get the same. `exchanges` is
// this one's.
absl::Status MeasureRanks(runtime::Transport *transport, PeerExchanges *exchanges,
                          absl::Duration deadline, Costs *out);

// The text of the file.
std::string ToJson(const Costs &costs, const std::string &module, int ranks, size_t servers);

}  // namespace commsched::calibration

#endif  // COMMSCHED_RUNTIME_CALIBRATION_RANK_COSTS_H
