// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What collectives of NCCL take: by the model with which NCCL itself chooses between its
// algorithms, or as measured (nccl_tests_log.h). For the compiler, the simulator and emulation,
// which predict the same. Plain C++, without Abseil and LLVM.
#ifndef COMMSCHED_PLAN_NCCL_COSTS_H
#define COMMSCHED_PLAN_NCCL_COSTS_H

#include <cstdint>
#include <vector>

namespace commsched::plan {

enum class NcclCall {
  kAllReduce,
  kReduceScatter,
  kAllGather
};

// What the model knows of a cluster. Devices are of the generation for which fragments are
// compiled (sm_90).
struct NcclMachines {
  int64_t ranks = 1;          // of the communicator
  int64_t machine_ranks = 1;  // of them on one machine
  // What one rank sends of payload while it receives as much: inside a machine, and over the
  // network, where each has a link of its own.
  double intra_mbit_per_s = 0, inter_mbit_per_s = 0;
  double inter_latency_ns = 0;  // of the network, beside what NCCL itself counts
};

// Nanoseconds of a call on `bytes`: of the whole buffer, which for a reduce-scatter is what goes
// in and for an all-gather what comes out. The least over rings and trees and the protocols LL,
// LL128 and Simple that NCCL would have to choose from; one rank takes none. The formulas, and the
// constants, are those of NVIDIA's NCCL 2.30, src/graph/tuning.cc (ncclTopoTuneModel,
// ncclTopoGetAlgoTime). Not counted: NVLS, CollNet and PAT, which need switches that a cluster
// does not speak of.
double NcclModelNs(const NcclMachines &of, NcclCall call, uint64_t bytes);

struct NcclPoint {
  uint64_t bytes = 0;
  double ns = 0;
};

// Time by size that never falls: between two points on the line between them, before the first
// point as long as there, and behind the last with the mean slope of all points.
class NcclTimes {
 public:
  NcclTimes() = default;  // 0 everywhere
  // In any order. Of several points of one size the median counts (of an even number the lower of
  // the middle two); where times fall with the size, those concerned get their mean, as the least
  // squares that do not fall have it (pool adjacent violators: Ayer et al., 1955).
  explicit NcclTimes(std::vector<NcclPoint> points);

  double At(uint64_t bytes) const;
  const std::vector<NcclPoint> &points() const { return points_; }

  // ns + bytes * ns_per_byte, nowhere above the times, with the mean slope of all points.
  struct Line {
    double ns = 0, ns_per_byte = 0;
  };
  Line LineBelow() const;
  NcclTimes Scaled(double factor) const;  // factor positive
  // Of whole nanoseconds, as clusters in modules and plans have them.
  NcclTimes Whole() const;

 private:
  double slope() const;

  std::vector<NcclPoint> points_;  // ascending
};

// Times of all calls.
class NcclCosts {
 public:
  NcclCosts() = default;
  explicit NcclCosts(const NcclMachines &of);  // by the model, at powers of two
  // All-reduces as measured; the others are half of one, as around a ring.
  explicit NcclCosts(NcclTimes all_reduce);

  double Ns(NcclCall call, uint64_t bytes) const { return TimesOf(call).At(bytes); }
  const NcclTimes &TimesOf(NcclCall call) const {
    return call == NcclCall::kAllReduce ? all_reduce_ : half_;
  }

 private:
  NcclTimes all_reduce_, half_;  // a reduce-scatter takes as long as an all-gather
};

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_NCCL_COSTS_H
