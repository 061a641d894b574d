// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_IR_CSSPARSEOPS_TD
#define COMMSCHED_IR_CSSPARSEOPS_TD

// Selection of elements (docs/sparse.md). Generated apart from the other ops:
// include "ir/CsSparseOps.h".

include "ir/CsInterfaces.td"
include "ir/CsTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Cs_SparseOp<string mnemonic, list<Trait> traits = []>
    : Op<Cs_Dialect, mnemonic, traits>;

def Cs_Selectable : RankedTensorOf<[F32, F16, BF16]>;
def Cs_Positions : 1DTensorOf<[I32, I64]>;
def Cs_ThresholdState : RankedTensorOf<[F32]>;
def Cs_StepNumber : RankedTensorOf<[I32]>;
def Cs_Lists : Type<
    CPred<"static_cast<bool>(::commsched::cs::CoordinatesAttr::of($_self))">,
    "tensor of coordinate lists", "::mlir::RankedTensorType">;

def Cs_TopKOp : Cs_SparseOp<"top_k", [Pure, AttrSizedOperandSegments]> {
  let summary = "the k elements of largest magnitude, and what is left";
  let description = [{
    Of `value`, or of `value + residual`. k is the size of `values` and `indices`;
    an index counts elements row-major, and they ascend. `rest` is the operand, or
    the sum, with zeros where it was selected.

    `method`: "exact", "histogram" and "sampled" select the k largest, of equal ones
    those of the lowest index, in different ways; "mstopk" (Shi et al., MLSys 2021)
    selects k that are nearly the largest. A NaN or an infinity ends the run with an
    error.

    "mstopk" looks for a threshold in `samples` reads (N of the paper); where none
    leaves exactly k, what is missing is a run of the elements between the two closest
    thresholds. Where the run begins is drawn by `seed` and the number in `step`, if
    there is one: number t draws what the generator SplitMix64, begun with `seed`, gives
    behind t others. With `early_stop` it reads no more once a threshold leaves exactly
    k, which changes no result.

    `threshold`: selects like that in one of `every` steps, and then the threshold
    is the magnitude of the smallest element selected. In the steps between it
    selects what is not below the threshold: of more than k those of largest magnitude,
    and if there are fewer, padding (index -1, value 0) is behind them (Ok-Topk: Li,
    Hoefler, PPoPP 2022). The operand has the threshold and how many steps it has
    served, both zero at first; the result `next` is that of the next step. Where
    the threshold is not a positive number, the step is like the first.

    ```mlir
    %v, %i, %rest = cs.top_k "exact" %g, %residual
        : (tensor<784x10xf32>, tensor<784x10xf32>)
        -> (tensor<78xf32>, tensor<78xi32>, tensor<784x10xf32>)
    %v2, %i2, %rest2 = cs.top_k "mstopk" %g, %residual seed 7 step %t samples 30 early_stop
        : (tensor<784x10xf32>, tensor<784x10xf32>, tensor<1xi32>)
        -> (tensor<78xf32>, tensor<78xi32>, tensor<784x10xf32>)
    %v1, %i1, %rest1, %next = cs.top_k "exact" %g, %residual threshold %state every 128
        : (tensor<784x10xf32>, tensor<784x10xf32>, tensor<2xf32>)
        -> (tensor<78xf32>, tensor<78xi32>, tensor<784x10xf32>, tensor<2xf32>)
    ```
  }];
  let arguments = (ins StrAttr:$method, Cs_Selectable:$value,
                       Optional<Cs_Selectable>:$residual,
                       Optional<Cs_ThresholdState>:$threshold,
                       Optional<Cs_StepNumber>:$step,
                       DefaultValuedAttr<I64Attr, "0">:$seed,
                       DefaultValuedAttr<I64Attr, "1">:$every,
                       DefaultValuedAttr<I64Attr, "30">:$samples, UnitAttr:$early_stop);
  let results = (outs Cs_Selectable:$values, Cs_Positions:$indices, Cs_Selectable:$rest,
                      Optional<Cs_ThresholdState>:$next);
  let assemblyFormat = [{
    $method $value (`,` $residual^)? (`threshold` $threshold^ `every` $every)?
    (`seed` $seed^)? (`step` $step^)? (`samples` $samples^)? (`early_stop` $early_stop^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Cs_ScatterAddOp : Cs_SparseOp<"scatter_add", [Pure, AttrSizedOperandSegments]> {
  let summary = "adds values to the elements that indices name";
  let description = [{
    Adds value i to element `indices[i]` (row-major) of zeros, or of `into`, in the
    order of i: lists of several ranks behind each other give the sum of all, with
    the same bits everywhere. Values are divided by `over` first (a mean). Index -1
    is padding; another one outside of the result ends the run with an error.

    `except`: leaves out the indices of this list. Both lists ascend then, apart
    from padding.

    ```mlir
    %d = cs.scatter_add %values, %indices over 2
        : (tensor<156xf32>, tensor<156xi32>) -> tensor<784x10xf32>
    %r = cs.scatter_add %values, %indices except %sent into %rest
        : (tensor<78xf32>, tensor<78xi32>, tensor<78xi32>, tensor<784x10xf32>)
        -> tensor<784x10xf32>
    ```
  }];
  let arguments = (ins Cs_Selectable:$values, Cs_Positions:$indices,
                       Optional<Cs_Positions>:$except, Optional<Cs_Selectable>:$into,
                       DefaultValuedAttr<I64Attr, "1">:$over);
  let results = (outs Cs_Selectable:$result);
  let assemblyFormat = [{
    $values `,` $indices (`over` $over^)? (`except` $except^)? (`into` $into^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Cs_ScatterClearOp : Cs_SparseOp<"scatter_clear", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "a tensor with zeros at the elements that indices name";
  let description = [{
    Index -1 is padding; another one outside of the tensor ends the run with an error.

    ```mlir
    %r = cs.scatter_clear %momentum, %indices : tensor<784x10xf32>, tensor<78xi32>
    ```
  }];
  let arguments = (ins Cs_Selectable:$value, Cs_Positions:$indices);
  let results = (outs Cs_Selectable:$result);
  let assemblyFormat = "$value `,` $indices attr-dict `:` type($value) `,` type($indices)";
  let hasVerifier = 1;
}

def Cs_MergeTopKOp : Cs_SparseOp<"merge_top_k", [Pure]> {
  let summary = "the k of largest magnitude of several selections together";
  let description = [{
    Adds up the values of equal indices, in their order, and selects the k sums of
    largest magnitude, of equal ones those of the lowest index; k is the size of the
    results. Their indices ascend; if there are fewer than k, padding (index -1,
    value 0) is behind them.

    ```mlir
    %v, %i = cs.merge_top_k %values, %indices
        : (tensor<156xf32>, tensor<156xi32>) -> (tensor<78xf32>, tensor<78xi32>)
    ```
  }];
  let arguments = (ins Cs_Selectable:$values, Cs_Positions:$indices);
  let results = (outs Cs_Selectable:$top_values, Cs_Positions:$top_indices);
  let assemblyFormat = [{
    $values `,` $indices attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Cs_SplitRegionsOp : Cs_SparseOp<"split_regions", [Pure]> {
  let summary = "a selection cut by regions of the indices, some entries of each";
  let description = [{
    For a tensor of `elements` elements that n ranks own a region of each: `shifts` (of
    the n - 1 cuts, zero at first) moves them from where they would make n equal
    regions, r elements / n; `cs.balance_regions` makes those of the next step. The
    list's indices ascend. Of n c results, c are each region's: its entries of largest
    magnitude, ascending, then padding (index -1). `counts` says how many there are in
    the region, also if they are more than c (split-and-reduce of Ok-Topk: Li, Hoefler,
    PPoPP 2022).

    ```mlir
    %v, %i, %n = cs.split_regions %values, %indices by %shifts of 7840
        : (tensor<78xf32>, tensor<78xi32>, tensor<3xi32>)
        -> (tensor<100xf32>, tensor<100xi32>, tensor<4xi32>)
    ```
  }];
  let arguments = (ins Cs_Selectable:$values, Cs_Positions:$indices, Cs_Positions:$shifts,
                       I64Attr:$elements);
  let results = (outs Cs_Selectable:$split_values, Cs_Positions:$split_indices,
                      Cs_Positions:$counts);
  let assemblyFormat = [{
    $values `,` $indices `by` $shifts `of` $elements attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Cs_BalanceRegionsOp : Cs_SparseOp<"balance_regions", [
    Pure, AllTypesMatch<["shifts", "result"]>]> {
  let summary = "shifts that give regions of the indices equal numbers of entries";
  let description = [{
    Region r of n, which the shifts made, has `counts[r]` entries, spread over it as
    the part r of `indices` is (ascending, then padding; evenly if there is only
    padding). The result makes regions that have as many entries each.

    ```mlir
    %s = cs.balance_regions %indices, %counts by %shifts of 7840
        : tensor<80xi32>, tensor<4xi32>, tensor<3xi32>
    ```
  }];
  let arguments = (ins Cs_Positions:$indices, Cs_Positions:$counts, Cs_Positions:$shifts,
                       I64Attr:$elements);
  let results = (outs Cs_Positions:$result);
  let assemblyFormat = [{
    $indices `,` $counts `by` $shifts `of` $elements attr-dict `:`
    type($indices) `,` type($counts) `,` type($shifts)
  }];
  let hasVerifier = 1;
}

def Cs_PackListsOp : Cs_SparseOp<"pack_lists", [Pure]> {
  let summary = "selections as the message that they travel in";
  let description = [{
    Of n k values and indices the rows of n lists, and those `times` times, one behind
    the other. k is that of the result (`#cs.coordinates`). Counted lists have a count
    each.

    Where the encoding has values of fewer bits they are rounded to nearest, ties to
    even: to f16 and bf16, a magnitude beyond the largest finite one to that; to i8,
    the quotient by the scale of the list, which is its largest magnitude over 127, in
    f32. `error` is what each value is more than what `cs.unpack_lists` makes of it,
    rounded to its type; of f32 exactly that.

    ```mlir
    %m = cs.pack_lists %values, %indices
        : (tensor<78xf32>, tensor<78xi32>)
        -> tensor<1x156xi32, #cs.coordinates<tensor<784x10xf32>>>
    %n = cs.pack_lists %values, %indices, %counts times 2
        : (tensor<100xf32>, tensor<100xi32>, tensor<4xi32>)
        -> tensor<8x51xi32, #cs.coordinates<tensor<784x10xf32>, counted>>
    %q, %error = cs.pack_lists %values, %indices
        : (tensor<78xf32>, tensor<78xi32>)
        -> (tensor<1x99xi32, #cs.coordinates<tensor<784x10xf32>, i8>>, tensor<78xf32>)
    ```
  }];
  let arguments = (ins Cs_Selectable:$values, 1DTensorOf<[I32]>:$indices,
                       Optional<1DTensorOf<[I32]>>:$counts,
                       DefaultValuedAttr<I64Attr, "1">:$times);
  let results = (outs Cs_Lists:$lists, Optional<Cs_Selectable>:$error);
  let assemblyFormat = [{
    $values `,` $indices (`,` $counts^)? (`times` $times^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Cs_UnpackListsOp : Cs_SparseOp<"unpack_lists", [Pure]> {
  let summary = "the selections of a message";
  let description = [{
    Of the rows from `from` on, as many as the results have lists, in their order. Values
    that travelled in fewer bits are of the tensor's type again; those of i8 times the
    scale of their list, rounded.

    ```mlir
    %values, %indices = cs.unpack_lists %all
        : (tensor<2x156xi32, #cs.coordinates<tensor<784x10xf32>>>)
        -> (tensor<156xf32>, tensor<156xi32>)
    %v, %i, %counts = cs.unpack_lists %n from 4
        : (tensor<8x51xi32, #cs.coordinates<tensor<784x10xf32>, counted>>)
        -> (tensor<100xf32>, tensor<100xi32>, tensor<4xi32>)
    ```
  }];
  let arguments = (ins Cs_Lists:$lists, DefaultValuedAttr<I64Attr, "0">:$from);
  let results = (outs Cs_Selectable:$values, 1DTensorOf<[I32]>:$indices,
                      Optional<1DTensorOf<[I32]>>:$counts);
  // Of `rows` rows from `from` on.
  let builders = [OpBuilder<(ins "::mlir::Value":$lists, "int64_t":$from, "int64_t":$rows)>];
  let assemblyFormat = [{
    $lists (`from` $from^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Cs_PairExchangeOp : Cs_SparseOp<"pair_exchange", [
    AllTypesMatch<["value", "result"]>, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    Cs_CommunicationOpInterface]> {
  let summary = "two nodes each give the other one half of a tensor";
  let description = [{
    Ranks r and r xor `distance` (a power of two below the number of nodes, itself
    a multiple of two distances) exchange: of the two halves of dimension 0 the
    first is that of the lower rank, the second that of the higher one. The result
    has both, the same on both nodes; a node's own half is the operand's. One round of
    recursive doubling, with whatever compute between rounds.

    ```mlir
    %r = cs.pair_exchange "w.round1" %m distance 2 : !cs.placed<tensor<2x156xi32>, device 0>
    ```
  }];
  let arguments = (ins StrAttr:$key, Cs_PlacedType:$value, I64Attr:$distance);
  let results = (outs Cs_PlacedType:$result);
  let assemblyFormat = [{
    $key $value `distance` $distance attr-dict `:` qualified(type($value))
  }];
  let hasVerifier = 1;
}

def Cs_AllToAllOp : Cs_SparseOp<"all_to_all", [
    AllTypesMatch<["value", "result"]>, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    Cs_CommunicationOpInterface]> {
  let summary = "every node gives every other one a part of a tensor";
  let description = [{
    Dimension 0 has two halves of as many equal parts as there are nodes. On rank r,
    part q of the second half becomes part r of the first half of rank q, for all other
    q. What nodes sent stays in the first half, and in the second half the part of
    the rank itself: with equal halves the second one gets the parts of all ranks,
    its own among them, though no rank needs to know its number.

    ```mlir
    %r = cs.all_to_all "w.split" %m : !cs.placed<tensor<8x51xi32>, device 0>
    ```
  }];
  let arguments = (ins StrAttr:$key, Cs_PlacedType:$value);
  let results = (outs Cs_PlacedType:$result);
  let assemblyFormat = "$key $value attr-dict `:` qualified(type($value))";
  let hasVerifier = 1;
}

def Cs_KernelOp : Cs_SparseOp<"kernel", [Pure, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<DestinationStyleOpInterface>]> {
  let summary = "a call of a library kernel";
  let description = [{
    What `cs.top_k` and `cs.scatter_add` become when a plan is written: the kernel
    `kind` of the registry of the runtime (ops/sparse/kernels.h), with its
    attributes, integers. It reads the inputs and writes all of the outs; with
    `accumulate` it adds to them.

    ```mlir
    %d = cs.kernel "scatter_add" (%i, %v) into (%empty) {denominator = 2 : i64}
        : (tensor<8xi32>, tensor<8xf32>), (tensor<64xf32>) -> tensor<64xf32>
    ```
  }];
  let arguments = (ins StrAttr:$kind, Variadic<AnyRankedTensor>:$inputs,
                       Variadic<AnyRankedTensor>:$outs, DictionaryAttr:$settings,
                       UnitAttr:$accumulate);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $kind ` ` `(` $inputs `)` (`accumulate` $accumulate^)? `into` ` ` `(` $outs `)` $settings
    `:` `(` type($inputs) `)` `,` `(` type($outs) `)` attr-dict
    (`->` type($results)^)?
  }];
  let hasVerifier = 1;
}

#endif // COMMSCHED_IR_CSSPARSEOPS_TD
