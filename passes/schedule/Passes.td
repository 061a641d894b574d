// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_SCHEDULE_PASSES_TD
#define COMMSCHED_PASSES_SCHEDULE_PASSES_TD

include "passes/support/Options.td"

def ScheduleComm : CsPass<"schedule-comm"> {
  let summary = "decide in which messages, in which order and when communication runs";
  let description = [{
    Level 1 to level 2. Every message becomes a `cs.start` where what it sends has been
    made, and a `cs.await` directly before the first use of what it brings; a result
    that only the next step needs is awaited by the `deferred` fragment that takes
    it, so nothing in this step waits.

    `policy=priority` makes a message of each communication. Its priority is the
    place of its first consumer in the order of compute: consumers in this step
    first, then those of the next step, through the parameters that it updates,
    then what is only reported.

    Other policies schedule the function with `cs.step` as a cycle of steps, by the
    costs of its fragments and the module's `cs.cluster`: `solver`, or one of the
    published ones (docs/schedule-comm.md). Gradients of an all-reduce are cut
    (`"w.part0"`) and fused (`"w+2"`: "w" and two others) with `cs.pack` and
    `cs.unpack`, so that they can lie side by side in memory. Blocks of parameter
    servers are cut between rows, where their update acts row by row, and small ones of one
    server are fused (`"b+3"`), and with them the functions of the servers. The result says what it is predicted to take, and how far
    that is from the best, in `cs.schedule`; remarks (`--remarks-filter=schedule-comm`)
    say for each tensor how it is sent, and why. Functions that are not repeated, steps
    on one node, and those with more ops than `size-limit` get priorities only.

    A `cs.send` to a parameter server gives its operand back, awaited where the
    step ends; the `cs.recv` of what the server makes of it starts `after` it. A
    `cs.concat` moves to its first use.

    Runs before `--expand-collectives`, which works inside `cs.start`. A module
    that is scheduled already is refused.
  }];
  let dependentDialects = ["::commsched::cs::CsDialect", "::mlir::tensor::TensorDialect"];
  let options = [
    CsOption<"policy", "policy", "std::string", "\"solver\"",
             "solver, priority, fifo, wfbp, fixed-buckets, p3, bytescheduler, mg-wfbp, "
             "pace, dear, tictac or latency-hiding">,
    CsOption<"algorithm", "algorithm", "std::string", "\"auto\"",
             "that of --expand-collectives, for what collectives cost: auto, ring or "
             "halving-doubling; nccl: they are NCCL's, one at a time">,
    CsOption<"effort", "effort", "int64_t", "0",
             "how much the solver searches: thousands of messages that it "
             "simulates; 0: by the size of the step">,
    CsOption<"reorder", "reorder", "bool", "false",
             "whether the solver may change the order of fragments">,
    CsOption<"memoryLimit", "memory-limit", "int64_t", "0",
             "bytes that results of fragments may hold at once more than in the order "
             "of the program">,
    CsOption<"messageBytes", "message-bytes", "int64_t", "0",
             "most bytes of a message that cuts or fuses tensors, as it must fit into "
             "staging memory; 0: any">,
    CsOption<"cutBlocks", "cut-blocks", "bool", "true",
             "whether blocks of parameter servers may be cut into parts">,
    CsOption<"fuseBlocks", "fuse-blocks", "bool", "true",
             "whether small blocks of one parameter server may share a message">,
    CsOption<"turns", "turns", "bool", "false",
             "say on each cs.start when it is expected to be sent (cs.turn), for "
             "--overlap-rpc-memcpy with staging-bytes">,
    CsOption<"cutAs", "cut-as", "::commsched::OptionText", "\"\"",
             "the policy whose schedule says how blocks are cut and fused, so that plans of several "
             "policies have the same ones; empty: that of `policy`">,
    CsOption<"parts", "parts", "bool", "false",
             "whether what shares a message is read as soon as it is there, and not when all "
             "of the message is">,
    CsOption<"exclusive", "exclusive", "bool", "true",
             "whether the solver may have urgent all-reduces go alone, while what is less "
             "urgent waits">,
    CsOption<"copies", "copies", "std::string", "\"none\"",
             "copies between devices and the host that --overlap-rpc-memcpy will make, which "
             "messages wait for: none, overlap, in-line or auto">,
    CsOption<"bucketBytes", "bucket-bytes", "int64_t", "26214400",
             "of fixed-buckets: bytes at which a bucket is closed">,
    CsOption<"firstBucketBytes", "first-bucket-bytes", "int64_t", "1048576",
             "of fixed-buckets: those of the first bucket">,
    CsOption<"sizeLimit", "size-limit", "int64_t", "100000",
             "ops of a step up to which it is scheduled">
  ];
}

def ReadCosts : CsPass<"read-costs"> {
  let summary = "take measured costs of fragments and links from files";
  let description = [{
    Level 1, before `--schedule-comm`, which then has measured costs to work with.

    `profile` names files of `cs-run --profile`: every fragment that they have gets
    its time as `ns` of its cost, the median over the processes that measured it.
    `calibration` names files of `cs-run --calibrate`: the medians of their links
    (those to parameter servers, if there are any) become the `inter` link of the
    module's `cs.cluster`, and that of their slowdowns its `slowdown_percent`. With a
    calibration, times are those measured while nothing was communicated, where
    there are enough of them: the slowdown comes on top. `nccl-tests` is the output of
    all_reduce_perf of NVIDIA's nccl-tests, as many ranks as the cluster has nodes: it
    becomes `nccl` of the cluster, whose devices are of kind cuda.

    Fragments are found by function, label and device, so the profiled plan must
    come from the same program by the same options; what is scheduled otherwise, or
    runs on another cluster, has the same fragments. What a file has and the module
    has not is an error; a fragment that no file has keeps its cost, and leaves a remark
    (`--remarks-filter-missed=read-costs`). All files of a kind must be of one
    program, and all ranks have the same fragments. docs/costs.md has the formats.
  }];
  let dependentDialects = ["::commsched::cs::CsDialect"];
  let options = [
    ListOption<"profile", "profile", "std::string",
               "files with the times of fragments">,
    ListOption<"calibration", "calibration", "std::string",
               "files with the costs of links">,
    CsOption<"ncclTests", "nccl-tests", "::commsched::OptionText", "\"\"",
             "output of all_reduce_perf of nccl-tests; empty: none">
  ];
}

#endif // COMMSCHED_PASSES_SCHEDULE_PASSES_TD
