// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_SPREAD_PASSES_TD
#define COMMSCHED_PASSES_SPREAD_PASSES_TD

include "passes/support/Options.td"

def SpreadSums : CsPass<"spread-sums"> {
  let summary = "share the sums over whole tensors that every node repeats among the nodes";
  let description = [{
    Level 1 to level 1, behind `--insert-dist-comm`, `--replicate-devices`,
    `--assign-devices` and `--lower-sparse-comm`, in front of `--schedule-comm`.
    After the all-reduce every node computes the same norms of gradients and
    parameters (LARS, LAMB, clipping): here each is computed by one node, and all get
    it in a small all-reduce, to which the others give zeros (parallel tensor
    operator, Shi et al., MLSys 2021). The sums have the same bits as before.

    Taken are the `linalg.generic` ops of the training step that add up at least
    `min-elements` elements of floating-point numbers to a scalar, beginning with +0,
    and depend on nothing that differs between nodes, nor on another sum that is
    taken. Those that depend on no communication of the step travel in one message,
    the others in one for each fragment, so that no update waits for the gradient of
    another; with `apart=false` they travel in one too. (Those of each device and
    element type have messages of their own.) The owner of a sum is the node with
    the least bytes to read so far, the first of equals; large sums come first. A
    fragment that waits for sums becomes `deferred`; what others need sooner stays
    as it is.

    Sums are spread where the bytes that the busiest node reads, and the messages,
    take less time than all bytes that a node would read without, by the cluster's
    memory and links, and where what is longer in the step, all compute or all
    communication, becomes shorter: a node that waits for the link saves nothing.
    A message of one fragment must also take less time than the mean node saves by
    it. `force` spreads them anyway. Remarks have the numbers.
    Functions with parameter servers are left alone; a second run changes nothing.
  }];
  let options = [
    CsOption<"minElements", "min-elements", "int64_t", "1024",
             "sums over fewer elements stay where they are">,
    CsOption<"apart", "apart", "bool", "true",
             "sums that depend on a communication have a message for each fragment, not one">,
    CsOption<"force", "force", "bool", "false", "also where it is predicted to take longer">,
  ];
  let dependentDialects = ["::commsched::cs::CsDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // COMMSCHED_PASSES_SPREAD_PASSES_TD
