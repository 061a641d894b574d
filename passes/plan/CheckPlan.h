// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the memory of a plan's function must hold, asked of the finished plan and
// not of what made it: every instruction reads the values that its operation has
// in the program, whichever order of instructions the dependences allow.

#ifndef COMMSCHED_PASSES_PLAN_CHECKPLAN_H
#define COMMSCHED_PASSES_PLAN_CHECKPLAN_H

#include "plan/plan.pb.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace commsched::planexport {

/// Runs the instructions one after the other over symbolic bytes, and `function`
/// over symbolic values: what is sent, reported and kept must be the same. Covers
/// the arena, slots, layouts of messages, staging and sums in place.
mlir::LogicalResult checkValues(mlir::func::FuncOp function, const plan::Plan &plan,
                                const plan::Function &made);

/// Two instructions that touch the same bytes, one of them writing, are ordered
/// by dependences and streams as they are listed, within a step and from one to
/// the next. Empty if so; else what is wrong.
std::string checkOrder(const plan::Function &function);

/// Bytes [begin, end) of some memory that an instruction reads or writes.
struct MemoryRange {
  enum Kind : uint8_t {
    Arena,
    SlotCurrent,
    SlotNext,
    Batch
  } kind;
  unsigned index; // slot or batch buffer; of arenas 1 is the host's
  uint64_t begin, end;
};

MemoryRange rangeOf(const plan::Function &function, unsigned buffer);

/// Buffers that an instruction reads and writes, as plan.proto says.
struct Touched {
  std::vector<unsigned> reads, writes;
};

Touched touchedBy(const plan::Instruction &instruction);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_CHECKPLAN_H
