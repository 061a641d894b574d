// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several blocks of a parameter server become one message up and one down. The server
// combines the message, updates each tensor from its piece as before, and hands out what
// the updates make as one message again.

#ifndef COMMSCHED_PASSES_SCHEDULE_FUSEBLOCKS_H
#define COMMSCHED_PASSES_SCHEDULE_FUSEBLOCKS_H

#include "passes/schedule/ServerBlocks.h"

#include <string>

namespace commsched {

/// Blocks that share messages, in this order; "<key>.new" is the key of what comes back.
struct FusedBlocks {
  std::string key;
  std::vector<const ServerBlock *> blocks;
};

/// Rewrites the step and the functions of its servers. Blocks of one message are such
/// that sharesMessagesWith() one another, and none of them comes back before the last one
/// is sent. What was analysed of either is not valid any more.
void fuseBlocks(llvm::ArrayRef<FusedBlocks> fused);

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_FUSEBLOCKS_H
