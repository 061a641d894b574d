// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_SCHEDULE_PASSES_TD
#define COMMSCHED_PASSES_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ScheduleComm : Pass<"schedule-comm", "::mlir::ModuleOp"> {
  let summary = "start communication when its operand is there, await it at its first use";
  let description = [{
    Level 1 to level 2. Every collective becomes a `cs.start` in its place, and
    a `cs.await` directly before the first use of its result; a result that
    only the next step needs is awaited by the `deferred` fragment that makes
    it, so nothing in this step waits. The priority of a communication is the
    place of its first consumer in the order of compute: consumers in this step
    first, then those of the next step, through the parameters that it updates,
    then what is only reported.

    A `cs.send` to a parameter server gives its operand back, awaited where the
    step ends; the `cs.recv` of what the server makes of it starts `after` it,
    and both have the priority of the value received. A `cs.concat` moves to its
    first use. Functions of servers stay as they are.

    Runs before `--expand-collectives`, which works inside `cs.start`. A module
    that is scheduled already is refused.
  }];
  let dependentDialects = ["::commsched::cs::CsDialect"];
}

#endif // COMMSCHED_PASSES_SCHEDULE_PASSES_TD
