// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_PROBLEM_PASSES_TD
#define COMMSCHED_PASSES_PROBLEM_PASSES_TD

include "passes/support/Options.td"

def ExtractProblem : CsPass<"extract-problem"> {
  let summary = "write the scheduling problem of a step of level 1";
  let description = [{
    The problem that `--schedule-comm` solves for the function with `cs.step`, by the
    costs of its fragments and the module's `cs.cluster`, as `cs.problem`: to see what
    a schedule was made for, to solve it with other policies, to report it. For
    the function @step it is @step.problem, in place of one of that name. The rest of
    the module stays as it is.
  }];
  let options = [
    CsOption<"algorithm", "algorithm", "std::string", "\"auto\"",
             "that of --expand-collectives, for what collectives cost: auto, ring or halving-doubling; "
             "nccl: they are NCCL's">,
    CsOption<"parts", "parts", "bool", "false",
             "whether what shares a message is read as soon as it is there: see --schedule-comm">,
    CsOption<"copies", "copies", "std::string", "\"none\"",
             "copies between devices and the host: see --schedule-comm">,
    CsOption<"file", "file", "::commsched::OptionText", "\"\"",
             "write the problem to this file (-: standard output) instead of into the module">,
  ];
  let dependentDialects = ["::commsched::cs::CsDialect"];
}

def SolveProblem : CsPass<"solve-problem"> {
  let summary = "add a schedule and its bounds to every scheduling problem";
  let description = [{
    A `cs.solution` goes into each `cs.problem`, with its period, the bound for its
    order of compute and that for any order; it takes the place of a solution of
    the same policy. A schedule of the solver has the name of a baseline if it
    found nothing better. The same problem and options give the same solution.
    Remarks say what limits the step, and which communication is exposed.
  }];
  let options = [
    CsOption<"policy", "policy", "std::string", "\"solver\"",
             "solver, or the name of a baseline: fifo, wfbp, fixed-buckets, p3, bytescheduler, mg-wfbp, pace, dear, tictac, latency-hiding">,
    CsOption<"effort", "effort", "int64_t", "0",
             "thousands of messages that the solver simulates; 0: by the size of the problem">,
    CsOption<"bucketBytes", "bucket-bytes", "int64_t", "26214400",
             "of fixed-buckets: bytes at which a bucket is closed">,
    CsOption<"firstBucketBytes", "first-bucket-bytes", "int64_t", "1048576",
             "of fixed-buckets: those of the first bucket">,
    CsOption<"reorder", "reorder", "bool", "true",
             "whether the solver may change the order of compute">,
  ];
  let dependentDialects = ["::commsched::cs::CsDialect"];
}

def VerifySolution : CsPass<"verify-solution"> {
  let summary = "check recorded schedules of scheduling problems";
  let description = [{
    Every `cs.solution` must be a schedule of its problem, with the period that the
    evaluator finds. A recorded bound may be lower than the one that is
    proved now, but not higher. Changes nothing.
  }];
}

#endif // COMMSCHED_PASSES_PROBLEM_PASSES_TD
