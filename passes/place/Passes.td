// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_PLACE_PASSES_TD
#define COMMSCHED_PASSES_PLACE_PASSES_TD

include "passes/support/Options.td"

def ReplicateDevices : CsPass<"replicate-devices"> {
  let summary = "run the program of one device on all devices of a node";
  let description = [{
    Level 1 to level 1, directly behind `--insert-dist-comm`, for clusters with
    `devices` > 1. What depends on the batch or on the worker's index, other than
    through a communication, is computed once per device, on the device's own
    samples and with its own index. What a communication then takes is copied to
    device 0 and combined there in a fragment `sum.<name>`, by the reduction of
    the communication; the communication, the updates and the state that only
    they use stay on device 0; new values of what the fragments of other devices
    read are copied to them.

    With `hierarchical`, gradients that it pays for by the costs of `cs.cluster` are reduced
    by all devices: every device combines a shard of the rows, takes part in the
    all-reduce of that shard (`<key>.shard<d>`) with the same device of the other nodes,
    and gets the shards of the others; what depends on the result, the update above all,
    runs on every device, and so does the state that it reads. The others keep one owner.
    Elements are summed in the same order.

    The step has `cs.devices` then. With it, or on several devices already, functions are left alone, as are those of
    parameter servers, so that a second run changes nothing. Broadcasts and all-gathers of values that differ
    between the devices are refused, and so is what other passes have made of a step for one device:
    `--assign-devices` and `--lower-sparse-comm` come later.

    With `by-block` what goes to servers in blocks is combined and copied back
    block by block: every device splits its own value, and joins the new blocks
    itself. A block is on its way when only it has been combined, and
    `--assign-devices` gives each an owner of its own.
  }];
  let options = [
    CsOption<"byBlock", "by-block", "bool", "false",
             "combine and copy the blocks of a cs.split one by one">,
    CsOption<"hierarchical", "hierarchical", "bool", "false",
             "all-reduce large gradients by all devices, a shard on each">,
  ];
  let dependentDialects = ["::commsched::cs::CsDialect", "::mlir::arith::ArithDialect"];
}

def AssignDevices : CsPass<"assign-devices"> {
  let summary = "give every gradient an owner among the devices of a node";
  let description = [{
    Level 1 to level 1. The owner of a gradient is the device with the least
    bytes assigned so far (the first of equals), in the order in which gradients
    are made. Everything of the gradient moves there: the copies of its parts,
    their sum, `cs.split`, sends, receives, `cs.concat`, `cs.all_reduce`, the
    update, and the state that only the update uses. Copies of the new parameter
    start from there. So every device has its part of the traffic between device
    and host, and of the updates.

    A gradient is what a communication takes whose key is a `cs.param` of the
    step, or a block of one (`<param>.block<b>`). The blocks of a `cs.split` have
    one owner; those that have been combined one by one
    (`--replicate-devices=by-block`) have one each. What communicates under other
    keys stays where it is. The result depends on the module only; a second run
    changes nothing.
  }];
  let dependentDialects = ["::commsched::cs::CsDialect"];
}

def OverlapRpcMemcpy : CsPass<"overlap-rpc-memcpy"> {
  let summary = "copy to and from the host beside compute and communication";
  let description = [{
    Level 2 to level 2, behind `--schedule-comm` or `--expand-collectives`, for
    devices whose memory is not that of the host. What a communication takes is
    copied to the staging memory of its device, what it gives is copied back;
    the communication itself works on host memory. Each of these copies, and
    each copy between devices, gets a `cs.start` of its own, begun when its
    operand is there and awaited at its first use.

    At most `staging-bytes` of staging memory of a node are in use at once: the
    staging area is a ring in which every buffer has a place, and the start that
    fills a buffer is `after` what frees those that had its place before. Places are
    given by the turns of `--schedule-comm=turns=true`, as far as data allows, in whose
    order the ops are put; without turns, in the order of the program.

    With `mode=none` device and host have one memory: only copies between devices
    are started; refused where devices of kind `cuda` have code to run and communicate through the host.
    `mode=auto` is `overlap` for these, else `none`. What NCCL communicates (`--lower-to-nccl`) stays where it is. With `mode=in-line` the same copies are `cs.copy` ops between the others,
    which hold up the compute of their device: a baseline to compare with.

    Functions of parameter servers are left alone; a second run changes nothing, and is refused where it asks for other
    copies, or for a bound that the first did not keep.
  }];
  let options = [
    CsOption<"mode", "mode", "std::string", "\"overlap\"",
             "overlap; in-line: copies hold up compute; none: only those between devices; auto">,
    CsOption<"stagingBytes", "staging-bytes", "int64_t", "0",
             "most bytes of staging memory in use at once on a node; 0: no bound">,
  ];
  let dependentDialects = ["::commsched::cs::CsDialect"];
}

def MergeFragments : CsPass<"merge-fragments"> {
  let summary = "make one fragment of a function in which nothing is communicated";
  let description = [{
    Level 2 to level 2, behind all passes that schedule, for devices of kind `cuda`. Fragments are
    cut where gradients are made and parameters are first read, for the sake of communication. Where there
    is none, as on one node, the cuts only make values go through memory: all fragments of the
    function become one, named after the function, with the sum of their costs. It reads what they read from
    elsewhere, and gives what the function returns.

    Functions with anything but fragments on one device that have bodies are left alone. A second run
    changes nothing.
  }];
  let dependentDialects = ["::commsched::cs::CsDialect"];
}

#endif // COMMSCHED_PASSES_PLACE_PASSES_TD
