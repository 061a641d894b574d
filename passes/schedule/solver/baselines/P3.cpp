// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// P3: priority-based parameter propagation.

#include "passes/schedule/solver/Partition.h"
#include "passes/schedule/solver/baselines/Baselines.h"

namespace commsched::schedule {

// Jayarajan et al., Priority-based parameter propagation for distributed DNN
// training, MLSys 2019: slices of at most 50,000 parameters (of 4 bytes, here; its
// later copy in MXNet has 40,000), sent by calls that block, in the order of the
// forward pass, at the server as at the worker. A call blocks until the slice has
// arrived, so its latency is not hidden.
Schedule p3(const View &view) {
  constexpr int64_t kSlice = 50000 * 4;
  Schedule schedule = emptySchedule(view, "p3");
  for (const std::vector<unsigned> &kind : view.kinds)
    for (unsigned communication : kind)
      for (Message &slice : cutFull(view, {communication}, kSlice)) {
        prioritizeByConsumer(view, slice);
        schedule.messages.push_back(std::move(slice));
      }
  for (int64_t &credit : schedule.credit)
    credit = 1;
  return schedule;
}

} // namespace commsched::schedule
