// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which instruction waits for which, in a step and across steps.

#ifndef COMMSCHED_PASSES_PLAN_PLANDEPENDENCES_H
#define COMMSCHED_PASSES_PLAN_PLANDEPENDENCES_H

#include "plan/plan.pb.h"

#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace commsched::planexport {

/// What an instruction touches. A buffer may be in both lists. Buffers that are
/// parts of another are in conflict with what they overlap only.
struct Access {
  llvm::SmallVector<unsigned, 4> reads;
  llvm::SmallVector<unsigned, 4> writes;
  /// Instructions that must have completed before, apart from data.
  llvm::SmallVector<unsigned, 2> after;
  /// The same, of the step before.
  llvm::SmallVector<unsigned, 1> afterPrevious;
  /// In list order on its device's stream: computes, not deferred.
  bool stream = false;
};

/// Fills Instruction.dependences. `accesses` has one entry per instruction. Who reads
/// what a Communicate with parts has written in this step waits for those parts alone;
/// who writes there waits for all of it.
void addDependences(plan::Function &function, const std::vector<Access> &accesses);

/// Gives ARENA buffers their offsets and sets arena_bytes and host_arena_bytes. A buffer that only
/// the compute stream touches shares memory with others of that kind;
/// `keep`[b]: read after the step (a metric).
void assignArena(plan::Function &function, const std::vector<Access> &accesses,
                 const std::vector<bool> &keep);

/// Bytes of a tensor.
uint64_t tensorBytes(const plan::TensorType &type);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_PLANDEPENDENCES_H
