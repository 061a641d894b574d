// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values to begin with.

#ifndef COMMSCHED_TESTS_DIFFERENTIAL_VALUES_H
#define COMMSCHED_TESTS_DIFFERENTIAL_VALUES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "reference/Steps.h"

namespace commsched::differential {

struct Inputs {
  reference::NamedArrays slots;
  std::vector<reference::NamedArrays> batches; // by step, of all workers
};

// Numbers in [-1, 1), integers in 0 .. 7; the same for the same seed, name and step.
Inputs inputsOf(mlir::func::FuncOp step, int64_t workers, int steps, uint64_t seed);

} // namespace commsched::differential

#endif // COMMSCHED_TESTS_DIFFERENTIAL_VALUES_H
