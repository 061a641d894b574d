// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs callbacks one after the other instead of one inside the other.
#ifndef COMMSCHED_RUNTIME_BASE_RUN_FLAT_H
#define COMMSCHED_RUNTIME_BASE_RUN_FLAT_H

#include "absl/functional/any_invocable.h"

namespace commsched::runtime {

// Runs `work` now, unless this thread is inside RunFlat already: then it is
// kept, and runs on this thread before the outermost call returns, in the order
// of the calls. A callback may begin the next operation, whose callback begins
// another: chains of any length need no more stack. Thread-safe; threads do not
// wait for each other.
void RunFlat(absl::AnyInvocable<void()> work);

// Whether this thread is inside RunFlat: then what is given to it is kept.
bool RunsFlat();

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_BASE_RUN_FLAT_H
