// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of parameter servers become parts: on their server as before, and of the same
// rows, but with messages, updates and slots of their own.

#ifndef COMMSCHED_PASSES_SCHEDULE_CUTBLOCKS_H
#define COMMSCHED_PASSES_SCHEDULE_CUTBLOCKS_H

#include "passes/schedule/ServerBlocks.h"

#include <string>

namespace commsched {

/// Rows of a block; "<key>.new" is the key of what comes back.
struct BlockPart {
  std::string key;
  int64_t begin, end;
};

/// A block, and the parts that it is cut into, which cover it; sent in this order.
struct CutBlock {
  const ServerBlock *block;
  std::vector<BlockPart> parts;
};

/// Where no schedule says which: parts that are small beside what their server gets in a
/// step, but worth their message.
std::vector<CutBlock> cutByBytes(const ServerBlocks &blocks, cs::ClusterOp cluster);

/// Rewrites the step and the functions of its servers. What was analysed of either is
/// not valid any more.
void cutBlocks(llvm::ArrayRef<CutBlock> cuts);

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_CUTBLOCKS_H
