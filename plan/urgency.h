// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In which order a link takes what waits for it: the one rule of the runtime, which sends, and
// of the simulator and the compiler, which predict.
#ifndef COMMSCHED_PLAN_URGENCY_H
#define COMMSCHED_PLAN_URGENCY_H

#include <compare>
#include <cstdint>

namespace commsched::plan {

// Ascending. By the priority first, of whichever call a message is: what a call needs itself does
// not wait for what the call before has left for later. Of equal priorities the earlier call goes
// first, then what each link says (of a collective the order of beginning, of servers the block).
struct Urgency {
  int64_t priority = 0;
  uint64_t call = 0;  // of the step, counted over the run
  friend auto operator<=>(const Urgency &, const Urgency &) = default;
};

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_URGENCY_H
