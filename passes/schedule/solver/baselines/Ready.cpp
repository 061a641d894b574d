// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Policies that send tensors as they become ready.

#include "passes/schedule/solver/Fusion.h"
#include "passes/schedule/solver/baselines/Baselines.h"

#include <functional>

namespace commsched::schedule {

static Schedule oneEach(const View &view, const char *name,
                        void (*prioritize)(const View &, Message &)) {
  Schedule schedule = emptySchedule(view, name);
  for (const std::vector<unsigned> &kind : view.kinds)
    for (unsigned communication : kind) {
      schedule.messages.push_back(wholeMessage(view, {communication}));
      prioritize(view, schedule.messages.back());
    }
  return schedule;
}

static Schedule byDivision(
    const View &view, const char *name,
    const std::function<Division(const View &, const std::vector<unsigned> &)> &fuse,
    void (*prioritize)(const View &, Message &)) {
  Schedule schedule = emptySchedule(view, name);
  for (const std::vector<unsigned> &kind : view.kinds)
    for (const std::vector<unsigned> &group : divide(view, kind, fuse(view, kind))) {
      schedule.messages.push_back(wholeMessage(view, group));
      prioritize(view, schedule.messages.back());
    }
  return schedule;
}

// What MXNet's key-value store and others do without a scheduler, and what the
// papers on ByteScheduler (Peng et al., SOSP 2019) and P3 compare with.
Schedule fifo(const View &view) { return oneEach(view, "fifo", prioritizeByRelease); }

// Zhang et al., Poseidon, USENIX ATC 2017: the communication of a layer starts as
// soon as its gradient is there; a step ends when all layers are synchronised.
Schedule waitFreeBackpropagation(const View &view) {
  Schedule schedule = oneEach(view, "wfbp", prioritizeByRelease);
  schedule.barrier = true;
  return schedule;
}

// Li et al., PyTorch Distributed, VLDB 2020: gradients go into buckets in the
// reverse order of the parameters, which are rebuilt after the first step in the
// order of arrival (that is what is modelled; so the small bucket is the first to
// go). A bucket is closed by the tensor that reaches its limit; buckets are sent in
// order; the optimizer waits for all.
Schedule fixedBuckets(const View &view, BucketLimits limits) {
  Schedule schedule = byDivision(
      view, "fixed-buckets",
      [&](const View &v, const std::vector<unsigned> &kind) {
        return fuseBySize(v, kind, limits.bytes, limits.first);
      },
      prioritizeByRelease);
  schedule.barrier = true;
  return schedule;
}

// Shi et al., MG-WFBP, INFOCOM 2019: merges so that the start-up cost of a message
// is saved where waiting costs less. The optimizer waits for all tensors.
Schedule mgWfbp(const View &view) {
  Schedule schedule = byDivision(
      view, "mg-wfbp",
      [](const View &v, const std::vector<unsigned> &kind) {
        return fuseGreedily(fusionCosts(v, kind, /*withLatency=*/true));
      },
      prioritizeByRelease);
  schedule.barrier = true;
  return schedule;
}

// Bao et al., Preemptive all-reduce scheduling for expediting distributed DNN
// training (PACE), INFOCOM 2020: a dynamic program divides the tensors into blocks,
// judged by the best preemptive schedule of the profiled step. Here the program
// minimises when the last block is through, for which its recursion is exact, and
// preemption happens between blocks.
Schedule pace(const View &view) {
  return byDivision(
      view, "pace",
      [](const View &v, const std::vector<unsigned> &kind) {
        FusionCosts costs = fusionCosts(v, kind, /*withLatency=*/true);
        return fuseExactly(costs, /*most=*/1e300);
      },
      prioritizeByConsumer);
}

// Zhang et al., DeAR, ICDCS 2023: all-reduce as a reduce-scatter in the backward
// pass and an all-gather just before the forward op that needs it, in buckets of
// less than 25 MiB that are filled in the order of the forward pass (its tuning of
// that size is left out, and so is the wait of the first all-gather for the last
// reduce-scatter). Communication with one stage only is sent by release, as its
// reduce-scatter would be.
Schedule dear(const View &view) {
  return byDivision(
      view, "dear",
      [](const View &v, const std::vector<unsigned> &kind) {
        return fuseUpTo(v, kind, (25 << 20) - 1, /*fromLast=*/true);
      },
      [](const View &v, Message &message) {
        if (v.problem.communications[message.pieces.front().communication]
                .stages.size() > 1)
          prioritizeLastStage(v, message);
        else
          prioritizeByRelease(v, message);
      });
}

// Hashemi et al., TicTac, MLSys 2019: gradients are pushed as they come, parameters
// are pulled in the order in which ops of the graph need them (TIC). TAC's
// comparison by durations gives the same order where the ops of a stream run in a
// fixed order. With one stage only, that has the priority.
Schedule ticTac(const View &view) {
  return oneEach(view, "tictac", prioritizeLastStage);
}

// In the manner of Inductor's reordering of collectives and of XLA's latency-hiding
// scheduler: a list scheduler that sees one step. What an op of the step needs goes
// first, in that order; what none needs goes last, as it comes. Collectives are
// combined up to 30 MiB (XLA's default), at most 5 GiB are on the way (Inductor's),
// and the step ends with all of them.
Schedule latencyHiding(const View &view) {
  Schedule schedule = byDivision(
      view, "latency-hiding",
      [](const View &v, const std::vector<unsigned> &kind) {
        return fuseUpTo(v, kind, 30 << 20);
      },
      [](const View &v, Message &message) {
        int64_t ops = static_cast<int64_t>(v.problem.ops.size());
        prioritizeByConsumer(v, message);
        int64_t first = message.priorities.front();
        prioritizeByRelease(v, message);
        for (int64_t &priority : message.priorities)
          priority = first < ops ? first : ops + priority;
      });
  for (int64_t &credit : schedule.credit)
    credit = int64_t{5} << 30;
  schedule.barrier = true;
  return schedule;
}

} // namespace commsched::schedule
