// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages whose pieces can lie side by side in memory, so that neither fusing nor
// cutting copies anything.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_CHAINS_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_CHAINS_H

#include "passes/schedule/solver/Schedule.h"

namespace commsched::schedule {

/// The same messages, changed as little as it takes: a message is a piece of one
/// tensor, or a chain: the tail of a tensor, whole tensors, the head of another. The
/// tensors of all chains together can be laid out in rows, each next to those
/// that it shares messages with.
///
/// All bytes of a tensor come and are needed at once, so each message keeps as many of
/// a tensor as it has; which of them is chosen so that it fits. A tensor has two ends
/// only: what has no place in a chain becomes a message of its own, with the same
/// priorities, behind the one that it was in.
///
/// Cuts move down to multiples of `units` (by communication: bytes of an element,
/// or more; positive).
std::vector<Message> chainMessages(const Problem &problem,
                                   const std::vector<Message> &messages,
                                   const std::vector<int64_t> &units);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_CHAINS_H
