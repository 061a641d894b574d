// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_IR_CSPROGRAMOPS_TD
#define COMMSCHED_IR_CSPROGRAMOPS_TD

// Level 0: what a program says about itself and its cluster.

include "ir/CsTypes.td"
include "ir/CsInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Cs_Op<string mnemonic, list<Trait> traits = []>
    : Op<Cs_Dialect, mnemonic, traits>;

def Cs_ClusterOp : Cs_Op<"cluster", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "the machines that the program will run on";
  let description = [{
    ```mlir
    cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
        intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
    ```
    At most 4096 nodes of 64 devices (`plan/limits.h`).
    `devices` is per node; `intra` links devices of a node, `inter` links nodes.
    `slowdown_percent`: how much longer compute takes while the node communicates.
    `least_overhead_ns`, `least_latency_ns`: what a message over `inter` costs whatever a
    schedule does, where that is less than the link's `overhead_ns` and `latency_ns`:
    bounds count no more. `nccl`: of devices of kind cuda, what NCCL's collectives take.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$nodes, I64Attr:$devices,
                       Cs_DeviceAttr:$device, Cs_LinkAttr:$intra, Cs_LinkAttr:$inter,
                       DefaultValuedAttr<I64Attr, "0">:$slowdown_percent,
                       OptionalAttr<I64Attr>:$least_overhead_ns,
                       OptionalAttr<I64Attr>:$least_latency_ns,
                       OptionalAttr<Cs_NcclCostsAttr>:$nccl);
  let assemblyFormat = [{
    $sym_name `nodes` `=` $nodes `devices` `=` $devices `device` `=` $device
    `intra` `=` $intra `inter` `=` $inter
    (`slowdown_percent` `=` $slowdown_percent^)?
    (`least_overhead_ns` `=` $least_overhead_ns^)?
    (`least_latency_ns` `=` $least_latency_ns^)?
    (`nccl` `=` $nccl^)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// Of a message over `inter`: what bounds count.
    int64_t leastOverhead();
    int64_t leastLatency();
    /// What a bound assumes, for people: one line.
    std::string whatBoundsAssume();
  }];
  let hasVerifier = 1;
}

def Cs_GroupOp : Cs_Op<"group", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "some of the ranks, which have collectives of their own";
  let description = [{
    The ranks listed, or those of the cluster that lie in a set. Member i of the
    group is the i-th of the list, or the i-th of the set by rank.

    ```mlir
    cs.group @left ranks [0, 1, 2]
    cs.group @odd where affine_set<(r) : (r mod 2 - 1 == 0)>
    ```

    A collective `in @left` is one of these ranks: of the others it takes nothing
    and gives them nothing. Members begin the collectives that they share in one
    order (`--verify-distributed`); those of different groups are under way
    together.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<DenseI64ArrayAttr>:$ranks,
                       OptionalAttr<IntegerSetAttr>:$where);
  let assemblyFormat = "$sym_name (`ranks` $ranks^)? (`where` $where^)? attr-dict";
  let hasVerifier = 1;
}

def Cs_GradientOp : Cs_Op<"gradient", [AllTypesMatch<["value", "result"]>]> {
  let summary = "marks the gradient of a parameter";
  let description = [{
    The identity on one device; the seam where communication goes in. Every
    parameter has at most one. Not pure: common subexpression elimination and
    dead code elimination must leave it.

    ```mlir
    %g1 = cs.gradient %g of "w" : tensor<784x10xf32>
    ```
  }];
  let arguments = (ins Cs_Tensor:$value, StrAttr:$param);
  let results = (outs Cs_Tensor:$result);
  let assemblyFormat = "$value `of` $param attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Cs_WorkerIndexOp : Cs_Op<"worker_index", [Pure]> {
  let summary = "which worker's part of the batch the step computes";
  let description = [{
    0 to W - 1, where W workers divide a global batch: the worker that gets
    samples i n to i n + n - 1 of it has index i. On one device it is 0. All else
    that a step reads, but for the batch, is the same on all workers: what is to
    differ between them (the masks of a dropout) is made from the index.

    ```mlir
    %i = cs.worker_index : tensor<i32>
    ```

    `--insert-dist-comm` makes it an argument with `cs.worker_index` of the
    function, and treats what depends on it as it treats what depends on the
    batch.
  }];
  let results = (outs 0DTensorOf<[I32]>:$index);
  let assemblyFormat = "attr-dict `:` type($index)";
  let hasVerifier = 1;
}

def Cs_ProfiledOp : Cs_Op<"profiled", [Pure,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "compute of which only the cost is known";
  let description = [{
    A layer of a profiled model, or its backward pass, or its update. What it
    computes is not known, and its results have no particular content: programs
    of such ops are made to be scheduled and emulated. It goes into fragments
    like any op, but not together with ops that really compute; a fragment of
    such ops has the sum of their costs and no body.

    `elementwise`: every element of the results would depend on the same element
    of the operands of the same type only, as in the update of a parameter. Such
    an op can be applied to a part of its operands, at that part of the cost.

    ```mlir
    %y = cs.profiled "conv1" (%x, %w) cost <flops = 0, bytes = 0, ns = 22307000>
        : (tensor<32x3x64x64xf32>, tensor<64x3x3x3xf32>) -> tensor<32x64x64x64xf32>
    %n = cs.profiled "update.w" elementwise (%w, %g) cost <flops = 3456, bytes = 20736, ns = 0>
        : (tensor<64x3x3x3xf32>, tensor<64x3x3x3xf32>) -> tensor<64x3x3x3xf32>
    ```
  }];
  let arguments = (ins StrAttr:$label, UnitAttr:$elementwise, Variadic<Cs_Tensor>:$inputs,
                       Cs_CostAttr:$cost);
  let results = (outs Variadic<Cs_Tensor>:$outputs);
  let assemblyFormat = [{
    $label (`elementwise` $elementwise^)? ` ` `(` $inputs `)` `cost` $cost attr-dict `:`
    functional-type($inputs, $outputs)
  }];
  let hasVerifier = 1;
}

#endif // COMMSCHED_IR_CSPROGRAMOPS_TD
