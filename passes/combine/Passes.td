// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_COMBINE_PASSES_TD
#define COMMSCHED_PASSES_COMBINE_PASSES_TD

include "passes/support/Options.td"

def CombineCollectives : CsPass<"combine-collectives"> {
  let summary = "fewer or smaller collectives with the same results";
  let description = [{
    Level 1 to level 1, behind what makes collectives and in front of
    `--schedule-comm`. In functions of trainers:

    - **Sums.** Where a fragment adds or subtracts two all-reduced tensors and nothing
      else reads them, what the nodes have is added first, and one all-reduce takes
      the place of two. Both must be sums or both means (of integers: sums), of one
      type and device. The sum of the nodes' floating-point numbers is rounded in
      another order.
    - **Parts.** Where a fragment takes from an all-reduced tensor only the part of
      dimension 0 that has the worker's number (`tensor.extract_slice` at
      `cs.worker_index` times the size of a part) and nothing else reads it, a
      reduce-scatter takes the place of the all-reduce. Nodes have one device, and the
      parts are equal.
    - **Rows.** Where a fragment makes a tensor by `cs.segment_sum` (or what that has become), or a sum of some, only
      to have it added up over the nodes (the gradient of a table of embeddings), ids and
      rows are gathered from all nodes, and each adds them up: if a node then sends less,
      which is where R nodes, of one device each, have fewer than 2/R of the rows. The result is the same on all
      nodes, rounded in another order; updates are of all rows, as without.
    - **Gathers.** All-gathers of one device and element type that do not depend on each
      other become one of at most `gather-bytes` per node, in which the tensors of a
      node lie behind each other. Their results have the same bits.

    Remarks (`--remarks-filter=combine-collectives`) name what has changed. A second run
    changes nothing.
  }];
  let options = [
    CsOption<"gatherBytes", "gather-bytes", "int64_t", "-1",
             "most bytes of a node in a joined all-gather; 0: none are joined; -1: what the link "
             "carries during its latency">,
  ];
  let dependentDialects = ["::commsched::cs::CsDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // COMMSCHED_PASSES_COMBINE_PASSES_TD
