// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Published policies of communication scheduling, each as a schedule of the same
// problem. They differ in the messages, the priorities, the credit and the
// barrier; all of them keep the program's order of ops. What a policy does at run
// time beyond that (negotiation, copies into buckets) costs nothing here, so the
// comparison is in their favour.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_BASELINES_BASELINES_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_BASELINES_BASELINES_H

#include "passes/schedule/solver/Order.h"
#include "passes/schedule/solver/Solve.h"

#include <string>
#include <vector>

namespace commsched::schedule {

/// One message for each tensor, first come, first served; each op waits only for
/// the tensors that it reads.
Schedule fifo(const View &view);
/// Wait-free back-propagation: as fifo, but the next step begins when all tensors
/// have arrived.
Schedule waitFreeBackpropagation(const View &view);
/// DistributedDataParallel's buckets: of 25 MiB, of which the first has 1 MiB.
Schedule fixedBuckets(const View &view, BucketLimits limits = {});
/// Slices of 50,000 parameters, one on the way at a time, by order of use.
Schedule p3(const View &view);
/// Slices and credit of this size (bytes), by order of use.
Schedule byteScheduler(const View &view, int64_t slice, int64_t credit);
/// ByteScheduler with slice and credit found by Bayesian optimisation.
Schedule tunedByteScheduler(const View &view, unsigned trials = 15);
/// Greedy merging of gradients.
Schedule mgWfbp(const View &view);
/// Fusion by dynamic program, preemption by order of use.
Schedule pace(const View &view);
/// Reduce-scatter by release, all-gather by order of use.
Schedule dear(const View &view);
/// Pulls of parameters in the order in which the graph needs them.
Schedule ticTac(const View &view);
/// List scheduling within one step, as compilers do it to hide latency.
Schedule latencyHiding(const View &view);

struct Baseline {
  const char *name;
  Schedule (*make)(const View &view);
  /// False: makes messages in proportion to the bytes.
  bool cheap = true;
};
/// All of them, in this order.
const std::vector<Baseline> &baselines();

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_BASELINES_BASELINES_H
