// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Row-sparse gradients (docs/row-sparse.md) at level 0: what a step reads of its
// tables, and what their gradients are made of.

#ifndef COMMSCHED_PASSES_INSERT_ROWTABLES_H
#define COMMSCHED_PASSES_INSERT_ROWTABLES_H

#include "passes/insert/Program.h"

namespace commsched {

/// Whether argument `index` of the step is a table with row-sparse gradients.
bool isTable(const ProgramFunction &step, unsigned index);

/// Settles cs.lookup and cs.segment_sum of all functions. Of each table of the
/// step, one cs.lookup is left, of all ids that the step reads, made as early as
/// they are; and one cs.segment_sum, whose only user is the table's cs.gradient,
/// of all rows. All others become ordinary compute.
/// Refuses tables unless `areServers`, and gradients that are something else than
/// a sum of cs.segment_sum.
mlir::LogicalResult settleRowOps(Program &program, bool areServers);

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_ROWTABLES_H
