// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_RUNTIME_REPLANNING_REPLAN_EVENT_H
#define COMMSCHED_RUNTIME_REPLANNING_REPLAN_EVENT_H

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace commsched::runtime {

// What becomes of an attempt to change to another plan.
struct ReplanEvent {
  // kUnchanged: what was made is the plan that runs. kGivenUp: there is no plan. kKept: the plan that runs is
  // kept for good.
  enum Kind {
    kBegun,
    kDecided,
    kSwitched,
    kUnchanged,
    kGivenUp,
    kKept
  };
  Kind kind = kBegun;
  uint64_t attempt = 0;
  uint64_t call = 0;    // kDecided, kSwitched: the first of the new plan
  uint64_t digest = 0;  // of the new plan, if there is one; kKept: of the one that runs
  // kSwitched: how long this rank made no call because of it: waited to hear of
  // the call, completed those before, moved values.
  absl::Duration held, drained, moved;
  absl::Duration planned;  // kDecided: how long it took to make the plan
  std::string text;        // one line for people
};

// One object: "kind" ("begun", "decided", "switched", "unchanged",
// "given up", "kept"), "attempt",
// "text", and what else there is: "call", "plan" (the digest), "planned_ms",
// "held_ms", "drained_ms", "moved_ms".
std::string ToJson(const ReplanEvent &event);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_REPLANNING_REPLAN_EVENT_H
