// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_RUNTIME_DATA_BATCH_ROWS_H
#define COMMSCHED_RUNTIME_DATA_BATCH_ROWS_H

#include <cstddef>
#include <memory>
#include <vector>

namespace commsched::runtime {

// The parts of this rank's devices of each batch argument, in the order of
// FunctionProgram::batches, aligned to 64 bytes where that matters for speed.
struct BatchRows {
  std::vector<const std::byte *> data;
  std::shared_ptr<const void> owner;  // released when the call has completed
  int rank = -1;                      // whose parts they are, where that is another rank
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_DATA_BATCH_ROWS_H
