// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When the pieces of a message are there, and in which order it should have them.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_ARRIVALS_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_ARRIVALS_H

#include "passes/schedule/solver/Schedule.h"

namespace commsched::schedule {

/// By piece: how long before its message is complete it has arrived, by the tails of its
/// communications; rounded down. The last piece has 0.
std::vector<Time> leadsOf(const Problem &problem, const Message &message);

/// Whether some communication has a tail.
bool hasTails(const Problem &problem);

/// Pieces that are whole tensors change places, so that what the order of ops needs first
/// arrives first; others stay where they are. Nothing changes without tails.
void arrangePieces(const Problem &problem, Schedule &schedule);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_ARRIVALS_H
