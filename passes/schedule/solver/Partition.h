// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors and fused tensors in slices.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_PARTITION_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_PARTITION_H

#include "passes/schedule/solver/Order.h"

namespace commsched::schedule {

/// The tensors one after the other, cut into messages of at most `most` bytes that
/// differ by one byte or so; more where an indivisible tensor is larger. Slices do
/// not keep to the tensors' boundaries: a message may have the end of one and the
/// beginning of the next.
std::vector<Message> cutEvenly(const View &view, const std::vector<unsigned> &tensors,
                               int64_t most);

/// As that, but every message but the last has exactly `most` bytes if it can.
std::vector<Message> cutFull(const View &view, const std::vector<unsigned> &tensors,
                             int64_t most);

/// How many messages cutEvenly would make of each communication alone.
int64_t sliceCount(const Problem &problem, int64_t most);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_PARTITION_H
