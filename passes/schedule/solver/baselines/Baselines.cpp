// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The list of published policies.

#include "passes/schedule/solver/baselines/Baselines.h"

namespace commsched::schedule {

const std::vector<Baseline> &baselines() {
  static const std::vector<Baseline> list = {
      {"fifo", fifo},
      {"wfbp", waitFreeBackpropagation},
      {"fixed-buckets", [](const View &view) { return fixedBuckets(view); }},
      {"p3", p3, /*cheap=*/false},
      {"bytescheduler",
       [](const View &view) { return tunedByteScheduler(view); }},
      {"mg-wfbp", mgWfbp},
      {"pace", pace},
      {"dear", dear},
      {"tictac", ticTac},
      {"latency-hiding", latencyHiding},
  };
  return list;
}

} // namespace commsched::schedule
