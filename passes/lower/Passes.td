// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_LOWER_PASSES_TD
#define COMMSCHED_PASSES_LOWER_PASSES_TD

include "passes/support/Options.td"

def ExpandCollectives : CsPass<"expand-collectives"> {
  let summary = "writes every collective as exchanges between pairs of nodes";
  let description = [{
    Replaces the collective in each `cs.start` by `cs.exchange`, `cs.shard` and
    `cs.unshard`, for transports without collectives of their own. The number
    of nodes P is that of the module's `cs.cluster`, or the number of members of
    the `cs.group` that the collective is in; any P works, and any number
    of elements (the parts of a tensor may differ by one element, or be empty).
    The result of a reduction is bitwise the same on all nodes: each part is
    reduced on one node and copied from there; with recursive doubling, all nodes
    add the same numbers in the same tree, and a sum of two floating-point numbers
    does not depend on which comes first. The tree is that of halving-doubling, so
    those two give the same bits; a ring adds in another order.

    | collective | ring | halving-doubling |
    |---|---|---|
    | `all_reduce` | 2 (P - 1) rounds of 1/P of the tensor | 2 log2 Q exchanges of halves, quarters, ...; if P is not a power of two, the P - Q nodes beyond the largest power of two Q send all they have to a partner first, and get the result from it at the end |
    | `reduce_scatter`, `all_gather` | P - 1 rounds | half of the above; only for P a power of two, else ring |

    Recursive doubling is for sums and means (`all_reduce`) of few bytes: log2 Q
    exchanges of the whole tensor, with two nodes a single one; what is received
    is added when all of it is there, which counts as 4 bytes per nanosecond.

    `reduce` and `broadcast` go along a binomial tree, ceil(log2 P) exchanges. An
    `algorithm` is refused where there is nothing else, such as all-reduces of NCCL.
    With `algorithm=auto` each collective gets the algorithm that takes less
    time by the cluster's `inter` link (latency and overhead per round + bytes / bandwidth;
    an overhead of 0 counts 20 us, as in schedules; around a ring, parts of 1 MiB and more
    travel in slices, of which one hides the latency of another where they do not share
    a packet); a remark states the times. With one node a collective is the identity, and
    goes away.

    The `cs.start` keeps what it was in `cs.collective`, `cs.reduction` and
    `cs.root`: `--verify-distributed` proves that the exchanges compute it.

    Needs level 2: run `--schedule-comm` first.
  }];
  let options = [
    CsOption<"algorithm", "algorithm", "std::string", /*default=*/"\"auto\"",
             "auto, ring, halving-doubling or recursive-doubling">
  ];
  let dependentDialects = ["::commsched::cs::CsDialect"];
}

def LowerToNccl : CsPass<"lower-to-nccl"> {
  let summary = "gives all-reduces to NCCL, in an order that is the same on all nodes";
  let description = [{
    Of a cluster of nodes with one device of kind `cuda`: every `cs.start` of a `cs.all_reduce`
    gets `cs.nccl = #cs.nccl<lane = 0, number = n>`. NCCL's kernels wait for those of the other
    nodes and are matched by their order alone, so the order is the program's: a
    communicator takes the collectives of a step by their numbers, whatever is ready first.

    Numbers are those of the schedule: by `cs.turn` (`--schedule-comm=turns=true`), as far as
    nobody waits for a collective before one with a smaller number begins; without turns that of the
    program. The starts are put into this order. `gather_priority` and `exclusive` go away, as nothing overtakes; `parts` are
    refused: a collective is there when all of it is.

    Such a collective stays a collective (`--expand-collectives` leaves it) and in device memory
    (`--overlap-rpc-memcpy` makes no copies for it). Other collectives go through the host, and so do
    all-reduces of elements of one byte, which a remark says. All-reduces of groups or of some of the nodes (`cs.count`), and messages between two nodes, are refused.

    Needs level 2 before `--expand-collectives`.
  }];
  let dependentDialects = ["::commsched::cs::CsDialect"];
}

def SpecializeRanks : CsPass<"specialize-ranks"> {
  let summary = "makes one function per rank";
  let description = [{
    Replaces each function that communicates, `@step`, by `@step.rank0`,
    `@step.rank1`, ... with `cs.rank = 0 : i64`, ..., in which the maps and sets
    of communications have this rank filled in: to see, or to edit and verify
    by `--verify-distributed`, what one node does. Grows with the number of
    nodes, at most 1024; not part of a pipeline. Functions of parameter servers
    are of one process already, and stay.
  }];
  let dependentDialects = ["::commsched::cs::CsDialect"];
}

def VerifyDistributed : CsPass<"verify-distributed"> {
  let summary = "proves that the nodes' programs fit together";
  let description = [{
    Proves, or ends with a diagnostic at the op that is at fault:

    1. every future is awaited exactly once, on every path;
    2. a key names one communication of a function;
    3. any two nodes issue the collectives that they share in the same order,
       with the same types, reductions, roots, groups and parts (compares the functions
       of `--specialize-ranks`; without them nodes run the same function);
    4. every `cs.send` has its `cs.recv` of the same type, and the reverse;
    5. in every round of every `cs.exchange`, what a node sends is what its peer
       receives; peers and parts exist; no node sends and receives the same part
       in one round, which would make the result depend on timing;
    6. the exchanges that a collective was expanded into compute it: every
       element of the result has the contribution of every node exactly once,
       scaled once for a mean, and bitwise the same on all nodes;
    7. roots, and the leading dimensions of `reduce_scatter`, `all_gather`,
       `cs.shard` and `cs.unshard`, fit the number of nodes;
    8. what trainers send to a parameter server is collected there, once and
       from all of them, and what they receive from it is published there, with
       the same types; every server has one function, and every row of a
       parameter is on one server;
    9. nobody waits in a circle, even if every await blocks its node, for all of a
       message that may be read by `parts`; a trainer
       that waits for a value of a server waits for all trainers to send what it
       is made of (in the asynchronous modes, to have sent its own); a collective of NCCL is
       complete only when those with smaller numbers on its lane are;
    10. the numbers of NCCL's collectives are 0, 1, 2, ... on each lane, the same on all
       nodes, and they are of all nodes, each with one device of kind `cuda`.

    Equal exchanges are checked once. Beyond about 1 million (node, round) pairs
    of a communication, 4 and 5 are checked on a sample, 6 up to 256 nodes, and
    9 up to 4 million awaits of all nodes; the remark says so.
  }];
  let dependentDialects = ["::commsched::cs::CsDialect"];
}

#endif // COMMSCHED_PASSES_LOWER_PASSES_TD
