// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exclusive messages, while which are in their rounds less urgent ones wait (plan/exclusive.h).

#include "passes/schedule/solver/Execution.h"

#include <algorithm>

namespace commsched::schedule {

void Execution::beginExclusive(uint64_t step, unsigned message, unsigned stage) {
  if (message != firstSliceOf(message) || !isRound(message, stage) || (stage > 0 && isRound(message, stage - 1)))
    return;
  int64_t last = priorities[stageBegin[message] + stage];
  for (unsigned i = stage; i < stagesOf(message).size() && isRound(message, i); ++i)
    last = std::max(last, priorities[stageBegin[message] + i]);
  unfinished.resize(3 * schedule.messages.size());
  unfinished[3 * message + step % 3] = slices.empty() ? 1 : slices[message];
  exclusives.Begin(step * schedule.messages.size() + message, {last, step}, schedule.messages[message].exclusive, current);
  holdBack();
}

void Execution::endExclusive(uint64_t step, unsigned message, unsigned stage, unsigned next) {
  if (!isRound(message, stage))
    return;
  const unsigned first = firstSliceOf(message);
  const uint64_t id = step * schedule.messages.size() + first;
  const bool goesOn = next < stagesOf(message).size() && isRound(message, next);
  if (!goesOn && --unfinished[3 * first + step % 3] == 0)
    exclusives.End(id);
  else
    exclusives.Progress(id, current);
  holdBack();
}

void Execution::holdBack() {
  const std::optional<plan::Urgency> now = exclusives.Least(current);
  if (const Time until = exclusives.Until(current); until != plan::Exclusives::kNever)
    events.push({until, 0, kHold, 0});
  if (now == least)
    return;
  least = now;
  for (unsigned i = 0; i < links.size(); ++i) {
    if (!connections[i] || sharing.sends[i] != Sharing::Sends::rounds)
      continue;
    Medium &medium = shared[mediumOf(i)];
    count(medium);
    connections[i]->hold(least, medium.clock);
    touch(i);
  }
}

} // namespace commsched::schedule
