// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between devices and the staging memory of their host, which --overlap-rpc-memcpy puts
// around messages behind the schedule.

#ifndef COMMSCHED_PASSES_SCHEDULE_STAGINGCOPIES_H
#define COMMSCHED_PASSES_SCHEDULE_STAGINGCOPIES_H

#include "passes/schedule/StepProblem.h"

#include <map>

namespace commsched {

StepProblem::HostEngine hostEngineOf(cs::ClusterOp cluster);

/// As stages of the messages, which a copy engine of the device takes one after the other:
/// one in front of what is sent, one behind what is received. A message is copied as a whole,
/// and the engine is busy for the latency too, so bounds hold with all of it.
class StagingStages {
public:
  explicit StagingStages(cs::ClusterOp cluster) : costs(hostEngineOf(cluster)) {}

  /// Of a communication that is not NCCL's.
  void addTo(schedule::Problem &problem, StepProblem::Part &part,
             schedule::Communication &communication);

  const StepProblem::HostEngine costs;

private:
  schedule::Stage stage(schedule::Problem &problem, unsigned device, bool toHost, int64_t bytes);

  std::map<std::pair<unsigned, bool>, unsigned> engines; // links, by device and whether to the host
};

/// Where they are ops of the compute streams (StepProblem::Part::copyBefore), each takes what the
/// copies of the schedule's messages take: one in front of a message, behind all that it carries,
/// and one at the first use of any of that. Until messages are known, an op takes what the bytes
/// of its communication do.
schedule::Problem withCopiesOf(const StepProblem &step, const schedule::Schedule &schedule);

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_STAGINGCOPIES_H
