// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_SPARSE_PASSES_TD
#define COMMSCHED_PASSES_SPARSE_PASSES_TD

include "passes/support/Options.td"

def LowerSparseComm : CsPass<"lower-sparse-comm"> {
  let summary = "exchange the largest elements of gradients only, and keep the others for the next step";
  let description = [{
    Level 1 to level 1, behind `--insert-dist-comm`, `--replicate-devices` and
    `--assign-devices`, in front of `--schedule-comm` (docs/sparse.md). In the
    training step each `cs.all_reduce` of a parameter's gradient that has
    `cs.density`, or that the options take, becomes a selection on every rank
    (`cs.top_k`, which adds the residual of the step before), a `cs.all_gather` of
    what was selected, and a `cs.scatter_add`. The residual is state of the step,
    each rank's own (`cs.per_rank`): `<parameter>.residual`.

    | method | selects | nodes exchange |
    |---|---|---|
    | `allgather` | each device, of its own gradient | all selections |
    | `hitopk` | each device, of its shard of the node's gradient | the selections of equal shards |
    | `gtopk` | as `hitopk` | in log2 rounds the k largest sums, selected again in each |
    | `oktopk` | as `hitopk` | with the owners of regions what lies there, then the largest sums of each region |
    | `dense` | nobody | the gradient |
    | `auto` | | what takes the least time by the cluster's links and memory |

    `rules` are looked through in their order, and the first whose pattern (a
    regular expression) matches the whole name of the parameter counts:
    `rules=embed.*=0.001:allgather,.*bias=1`. Others have `density` and `method`. A
    density of 1 means dense. What `cs.gradient` says counts more than both.

    With `momentum` m, each rank keeps a velocity u = m u + g beside the sum v of the
    velocities, and selects from v (momentum correction, Lin et al., "Deep gradient
    compression", ICLR 2018): in place of the momentum of the optimizer, which then
    has to be without. `mask`: both are cleared where something is sent (factor
    masking). With `second-moment` b, u = m u + (1-m) g, s = b s + (1-b) g^2, and what
    v sums up is u / (sqrt(s) + epsilon), both divided by the weights that they have:
    Adam on each rank (Chen et al., "Quantized Adam with error feedback", ACM TIST
    2021), in front of an optimizer that is gradient descent without momentum. The mean
    over P ranks has a P-th of the noise of one: so of the square s, both divided by their
    weights, what u does not explain, n = max(0, s - u^2), counts 1/P (`squares=own`: all of
    it). Gradients that stay dense get the same behind their all-reduce. `clip` scales what a rank selects from before all that, so that its
    norm is clip / sqrt(ranks) at most.

    Small selections, neighbours in the order of the step, travel together: their
    lists side by side in one message (`join.`), `"w+2"` that of "w" and two others, cut
    again where it arrives (`cut.`). It has no more bytes than `fuse-bytes`.

    With `exact-every` n, a threshold serves for n steps (Ok-Topk, see `cs.top_k`): a
    rank selects exactly in one of them, and in the others what is not below the
    threshold of that step, at most as much. It is state of the step like the
    residual: `<parameter>.threshold`.

    With `select=mstopk`, where no threshold leaves exactly k elements, a run of those
    between the two closest is taken to fill up; where it begins changes from step to
    step. The number of the step is state: `<parameter>.step`.

    `values`: selected values are rounded where they have more bits than that, int8 by a
    scale for each list, and what is rounded off them goes to the residual
    (`#cs.coordinates`). Not with `gtopk` and `oktopk`, where sums travel.

    With `unsent-rate` r a rank computes its gradients, and metrics, at w - r residual
    in place of its parameter w (the fragment `unsent.<parameter>`); the parameter
    itself is the same on all ranks. r is the learning rate, or a part of it. Nodes have
    one device then.

    With parameter servers (in synchronous mode) a trainer selects from each block of a
    gradient, and the `cs.send` of the block has a list in place of it, which the server adds
    into what it combines (`cs.collect`). The methods are `auto` (lists, if they have fewer
    bytes than the gradient) and `dense`; the residual is that of the whole parameter. Not
    with `second-moment`.

    Without a density below 1, by an option, a rule or `cs.density`, nothing is selected, and options that are of
    selections only are refused.

    A remark says for every gradient what was chosen, with the predicted times, or
    why it stays dense: fewer than `min-elements` elements, an element type that
    cannot be selected from, a reduction other than mean and sum, one rank. A
    second run changes nothing, and is refused where it asks for other moments:
    `cs.correction` of the fragments that keep them says which these are.
  }];
  let options = [
    CsOption<"density", "density", "::commsched::OptionNumber", "1.0",
             "part of the elements of a gradient that travel; 1: all of them">,
    CsOption<"method", "method", "std::string", "\"auto\"",
             "auto, dense, allgather, hitopk, gtopk or oktopk">,
    CsOption<"minElements", "min-elements", "int64_t", "16384",
             "gradients of fewer elements stay dense">,
    ListOption<"rules", "rules", "std::string",
               "PATTERN=DENSITY[:METHOD], for parameters by name">,
    CsOption<"feedback", "feedback", "bool", "true",
             "keep what is not sent for the next step; without it, it is lost">,
    CsOption<"momentum", "momentum", "::commsched::OptionNumber", "0.0",
             "momentum correction: select from sums of velocities of this momentum">,
    CsOption<"mask", "mask", "bool", "true",
             "with momentum, and no second moment: clear the velocity of elements that "
             "are sent">,
    CsOption<"secondMoment", "second-moment", "::commsched::OptionNumber", "0.0",
             "select from what Adam with this decay of squares would add; momentum is "
             "that of its mean">,
    CsOption<"epsilon", "epsilon", "::commsched::OptionNumber", "1e-8",
             "with it: what is added to the root of the mean of squares">,
    CsOption<"squares", "squares", "std::string", "\"mean\"",
             "with both moments, whose squares: of the mean of all ranks, as a rank's own tell, or its own">,
    CsOption<"clip", "clip", "::commsched::OptionNumber", "0.0",
             "bound of the norm of each gradient, times the root of the ranks; 0: none">,
    CsOption<"select", "select", "std::string", "\"exact\"",
             "how elements are selected: exact, histogram, sampled or mstopk">,
    CsOption<"values", "values", "std::string", "\"same\"",
             "what selected values travel as, where they have more bits: same (as they are), f16, bf16 or int8">,
    CsOption<"unsentRate", "unsent-rate", "::commsched::OptionNumber", "0.0",
             "compute gradients at each parameter less so much of the rank's own residual; 0: where all ranks are">,
    CsOption<"samples", "mstopk-samples", "int64_t", "30",
             "of mstopk: reads that look for a threshold, N of the paper">,
    CsOption<"earlyStop", "mstopk-early-stop", "bool", "true",
             "of mstopk: no more reads once a threshold leaves exactly k; the same result">,
    CsOption<"seed", "mstopk-seed", "int64_t", "0",
             "of mstopk: what each step's draws begin with, beside the parameter's name">,
    CsOption<"exactEvery", "exact-every", "int64_t", "1",
             "select so in one of so many steps, and by its threshold in the others">,
    CsOption<"fuseBytes", "fuse-bytes", "int64_t", "-1",
             "selections of several gradients become one message of so many bytes at most; "
             "0: none do; -1: what the link carries during its latency">,
  ];
  let dependentDialects = ["::commsched::cs::CsDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // COMMSCHED_PASSES_SPARSE_PASSES_TD
