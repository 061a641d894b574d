// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_INSERT_PASSES_TD
#define COMMSCHED_PASSES_INSERT_PASSES_TD

include "passes/support/Options.td"

def InsertDistComm : CsPass<"insert-dist-comm"> {
  let summary = "turn a training step for one device into the graph of one node of a cluster";
  let description = [{
    Level 0 to level 1. In every public function with `cs` attributes, the body
    is cut into `cs.fragment` ops over placed values; in the training step each
    `cs.gradient` becomes one `cs.all_reduce`; each metric becomes one
    `cs.reduce` to rank 0; and carried state that depends on the local batch or
    on the worker's index other than through a gradient (running statistics) is
    averaged over the workers, or refused if it is not floating-point.
    `cs.worker_index` becomes an argument of the function.

    Fragments are cut so that no gradient becomes available later, and no
    parameter is needed earlier, than if the ops of the function ran one by one
    in program order: a fragment ends after the op that makes a gradient, and a
    new one begins before the first reader of an argument that the previous
    step's communication updates. What depends on a communication is outlined
    apart, per communication, as `deferred` fragments. Constants, `tensor.empty`
    and fills are repeated where they are used. Dead ops are dropped.

    With `mode=parameter-server` the step is split instead between a trainer and
    parameter servers (docs/parameter-server.md): the trainer sends each gradient
    directly behind the fragment that makes it, in blocks of rows, and receives
    the new values at its end; for each server there is a function `@server.0`
    and so on, with what depends on the gradients, applied to its blocks. A
    parameter whose update does not act row by row along dimension 0 stays whole,
    and parameters whose updates are joined stay together on one server; both
    leave a remark.

    A parameter with `cs.row_sparse` is a table that servers alone hold
    (docs/row-sparse.md): its `cs.lookup` become one `cs.fetch_rows`, its gradient,
    a sum of `cs.segment_sum`, one `cs.send_rows`, and its update, which must act
    row by row, one `cs.update_rows` for each block. Elsewhere `cs.lookup` and
    `cs.segment_sum` are rewritten to `linalg`, `tensor` and `scf` first.

    Calls of helper functions are inlined first.

    The cluster is the `cs.cluster` of the module, or the one in the file given
    as `cluster`, which replaces it. Without either, a default one is made and
    named in a remark.

    The time is linear in the number of ops.
  }];
  let options = [
    CsOption<"mode", "mode", "std::string", "\"all-reduce\"",
             "how gradients are exchanged: all-reduce or parameter-server">,
    CsOption<"reduction", "reduction", "std::string", "\"mean\"",
             "how gradients of workers combine: mean or sum">,
    CsOption<"cluster", "cluster", "::commsched::OptionText", "\"\"",
             "file with one cs.cluster op to use instead of the module's">,
    CsOption<"servers", "servers", "int64_t", "1",
             "number of parameter servers">,
    CsOption<"minBlockElements", "min-block-elements", "int64_t", "8192",
             "least elements of a parameter for each block that it is cut into">,
    CsOption<"maxBlockElements", "max-block-elements", "int64_t", "0",
             "most elements of a block of several rows; 0: no bound">,
    CsOption<"slice", "slice", "bool", "true",
             "cut parameters into blocks, for several servers">,
    CsOption<"syncMode", "sync-mode", "std::string", "\"sync\"",
             "when servers apply gradients: sync, async or half-async">,
    CsOption<"merge", "merge", "int64_t", "1",
             "half-async: steps whose gradients a trainer merges before it sends">,
    CsOption<"placement", "placement", "std::string", "\"balanced\"",
             "how blocks get to servers: balanced, round-robin or hash">,
  ];
  let dependentDialects = [
    "::commsched::cs::CsDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
  ];
}

#endif // COMMSCHED_PASSES_INSERT_PASSES_TD
