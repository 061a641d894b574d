// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random training steps with all sorts of updates.

#ifndef COMMSCHED_TESTS_PASSES_INSERT_RANDOMUPDATES_H
#define COMMSCHED_TESTS_PASSES_INSERT_RANDOMUPDATES_H

#include <string>

namespace commsched::testing {

/// A level-0 @step of one to three parameters of a few rows, with state of all
/// elements, of rows, and of the run. Most updates act row by row; some count,
/// mix or reduce rows, or join parameters. Finite in whatever order it runs.
/// With `tables`, the parameters are tables with row-sparse gradients, whose
/// updates are not joined; "ids<n>" of the batch are the rows that are read.
std::string randomUpdates(unsigned seed, bool tables = false);

} // namespace commsched::testing

#endif // COMMSCHED_TESTS_PASSES_INSERT_RANDOMUPDATES_H
