// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_TESTS_PASSES_SCHEDULE_LITTLEEFFORT_H
#define COMMSCHED_TESTS_PASSES_SCHEDULE_LITTLEEFFORT_H

#include "passes/schedule/solver/Policy.h"

namespace commsched::schedule {

/// For tests that solve hundreds of problems.
inline SolverOptions little() {
  SolverOptions options;
  options.effort = 20;
  return options;
}

} // namespace commsched::schedule

#endif // COMMSCHED_TESTS_PASSES_SCHEDULE_LITTLEEFFORT_H
