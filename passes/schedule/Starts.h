// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From level 1 to level 2: a cs.start for each message, a cs.await before the first
// use of what it brings.

#ifndef COMMSCHED_PASSES_SCHEDULE_STARTS_H
#define COMMSCHED_PASSES_SCHEDULE_STARTS_H

#include "passes/schedule/StepCommunications.h"

#include <string>

namespace commsched {

/// One cs.start. Whole communications are one piece; others are all-reduces of one
/// reduction, element type and place.
struct StartRequest {
  struct Piece {
    mlir::Operation *op;
    int64_t begin, end; // elements of the operand
  };
  llvm::SmallVector<Piece, 1> pieces;
  bool whole = true; ///< one communication as it is
  std::string key;   ///< if not whole
  int64_t priority = 0;
  std::optional<int64_t> gatherPriority;
  std::optional<int64_t> turn; ///< kTurnAttr
  int64_t exclusive = 0;       ///< nanoseconds; 0: it is not
  bool byPart = false;         ///< of several pieces: each is read as soon as it is there
};

/// Each communication of the step is covered by requests exactly once. Requests of
/// several communications can start where the last one of them is: none is used
/// before.
void makeStarts(const StepCommunications &step,
                llvm::ArrayRef<StartRequest> requests);

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_STARTS_H
