// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages merged and split.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_MESSAGES_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_MESSAGES_H

#include "passes/schedule/solver/Order.h"

namespace commsched::schedule {

/// Whether they can be one message: of one kind, and no op of the same step that
/// needs a part of it comes before the producers of another.
bool compatible(const View &view, const Message &a, const Message &b);

/// Both in one message, as urgent as the more urgent of them in each stage.
Message merge(const Message &a, const Message &b);

int64_t messageBytes(const Message &message);

/// The first `bytes` of it, about, and the rest; false if that leaves nothing on one
/// side because tensors are indivisible.
bool split(const View &view, const Message &message, int64_t bytes, Message &first,
           Message &second);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_MESSAGES_H
