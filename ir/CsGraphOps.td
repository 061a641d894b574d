// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_IR_CSGRAPHOPS_TD
#define COMMSCHED_IR_CSGRAPHOPS_TD

// Level 1: compute fragments and communication over placed values.

include "ir/CsProgramOps.td"

def Cs_FragmentOp : Cs_Op<"fragment", [IsolatedFromAbove, RecursiveMemoryEffects,
    SingleBlock, OpAsmOpInterface]> {
  let summary = "compute on one device";
  let description = [{
    The body works on the tensors inside the placed operands and returns the
    tensors inside the placed results; all of them live on `device`. A fragment
    without a body has only a `cost`: a profile of a real model is a program too.
    Such a one may say, by input, that row i of its results depends only on row i of
    that: `cs.by_rows = array<i1: true, false>`.
    `deferred`: must not hold up later compute; runs when its inputs are there,
    at the latest before its first user, in this step or the next.

    ```mlir
    %h = cs.fragment "forward.0" on 0 (%w, %x)
        : (!cs.placed<tensor<4x8xf32>, device 0>, !cs.placed<tensor<2x4xf32>, device 0>)
        -> !cs.placed<tensor<2x8xf32>, device 0> {
    ^bb0(%arg0: tensor<4x8xf32>, %arg1: tensor<2x4xf32>):
      ...
      cs.return %r : tensor<2x8xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$label, I64Attr:$device, Variadic<Cs_PlacedType>:$inputs,
                       OptionalAttr<Cs_CostAttr>:$cost, UnitAttr:$deferred);
  let results = (outs Variadic<Cs_PlacedType>:$outputs);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = [{
    $label `on` $device ` ` `(` $inputs `)` (`deferred` $deferred^)? (`cost` $cost^)? `:`
    functional-type($inputs, $outputs) attr-dict-with-keyword `` custom<IsolatedBody>($body)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool hasBody() { return !getBody().empty(); }
    // OpAsmOpInterface: results are named after the label.
    void getAsmResultNames(::mlir::OpAsmSetValueNameFn setNameFn);
  }];
}

def Cs_ReturnOp : Cs_Op<"return", [Pure, ReturnLike, Terminator,
    ParentOneOf<["FragmentOp", "StartOp", "UpdateRowsOp"]>]> {
  let summary = "ends the body of a fragment, of a start or of an update of rows";
  let arguments = (ins Variadic<AnyType>:$operands);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
}

class Cs_CommOp<string mnemonic, list<Trait> traits = []>
    : Cs_Op<mnemonic, !listconcat([
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>], traits)>;

class Cs_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : Cs_CommOp<mnemonic, !listconcat([Cs_CommunicationOpInterface,
        DeclareOpInterfaceMethods<SymbolUserOpInterface>], traits)>;

// `in @group`: a collective of the members of a cs.group. "All nodes" are these then,
// numbered as they are there; a root is a rank, and one of them.
defvar Cs_InGroup = OptionalAttr<FlatSymbolRefAttr>;

def Cs_AllReduceOp : Cs_CollectiveOp<"all_reduce", [AllTypesMatch<["value", "result"]>]> {
  let summary = "combines a tensor over all nodes; all get the result";
  let description = [{
    Bitwise the same result on every rank. `mean` needs a floating-point element type.
    `in`: only over the members of that `cs.group`; the other ranks keep their operand.

    ```mlir
    %r = cs.all_reduce "w" mean %g : !cs.placed<tensor<784x10xf32>, device 0>
    %s = cs.all_reduce "v" sum %h in @left : !cs.placed<tensor<8xf32>, device 0>
    ```
  }];
  let arguments = (ins StrAttr:$key, Cs_ReductionAttr:$reduction, Cs_PlacedType:$value,
                       Cs_InGroup:$group);
  let results = (outs Cs_PlacedType:$result);
  let assemblyFormat = [{
    $key `` $reduction $value (`in` $group^)? attr-dict `:` qualified(type($value))
  }];
  let hasVerifier = 1;
}

def Cs_ReduceOp : Cs_CollectiveOp<"reduce", [AllTypesMatch<["value", "result"]>]> {
  let summary = "combines a tensor over all nodes; the root gets the result";
  let description = [{
    On the other ranks the content of the result is unspecified. `in`: only over the
    members of that `cs.group`, of which the root is one.
  }];
  let arguments = (ins StrAttr:$key, Cs_ReductionAttr:$reduction, Cs_PlacedType:$value,
                       I64Attr:$root, Cs_InGroup:$group);
  let results = (outs Cs_PlacedType:$result);
  let assemblyFormat = [{
    $key `` $reduction $value `to` $root (`in` $group^)? attr-dict `:`
    qualified(type($value))
  }];
  let hasVerifier = 1;
}

def Cs_BroadcastOp : Cs_CollectiveOp<"broadcast", [AllTypesMatch<["value", "result"]>]> {
  let summary = "gives the tensor of the root to all nodes";
  let description = [{
    `in`: only to the members of that `cs.group`, of which the root is one; the other
    ranks keep their operand.
  }];
  let arguments = (ins StrAttr:$key, Cs_PlacedType:$value, I64Attr:$root,
                       Cs_InGroup:$group);
  let results = (outs Cs_PlacedType:$result);
  let assemblyFormat = [{
    $key $value `from` $root (`in` $group^)? attr-dict `:` qualified(type($value))
  }];
  let hasVerifier = 1;
}

def Cs_ReduceScatterOp : Cs_CollectiveOp<"reduce_scatter"> {
  let summary = "combines a tensor over all nodes; rank r gets the r-th of equal parts of dimension 0";
  let description = [{
    `in`: only over the members of that `cs.group`; member i gets the i-th part, the
    other ranks unspecified content.
  }];
  let arguments = (ins StrAttr:$key, Cs_ReductionAttr:$reduction, Cs_PlacedType:$value,
                       Cs_InGroup:$group);
  let results = (outs Cs_PlacedType:$result);
  let assemblyFormat = [{
    $key `` $reduction $value (`in` $group^)? attr-dict `:` qualified(type($value)) `->`
    qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Cs_AllGatherOp : Cs_CollectiveOp<"all_gather"> {
  let summary = "concatenates the tensors of all nodes along dimension 0, in rank order";
  let description = [{
    `in`: those of the members of that `cs.group`, in their order there; the other ranks
    get unspecified content.
  }];
  let arguments = (ins StrAttr:$key, Cs_PlacedType:$value, Cs_InGroup:$group);
  let results = (outs Cs_PlacedType:$result);
  let assemblyFormat = [{
    $key $value (`in` $group^)? attr-dict `:` qualified(type($value)) `->`
    qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Cs_SendOp : Cs_CommOp<"send", [Cs_CommunicationOpInterface]> {
  let summary = "sends a tensor to a peer";
  let description = [{
    `peer` maps this rank to the rank of the receiver, in `role` if given (a
    function of the module), else in the own one. `when`: only ranks in this set send.

    ```mlir
    cs.send "w.block0" %b to affine_map<(d0) -> (d0 mod 2)> of @server : !cs.placed<tensor<8xf32>, device 0>
    ```
  }];
  let arguments = (ins StrAttr:$key, Cs_PlacedType:$value, AffineMapAttr:$peer,
                       OptionalAttr<FlatSymbolRefAttr>:$role,
                       OptionalAttr<IntegerSetAttr>:$when);
  let results = (outs);
  let assemblyFormat = [{
    $key $value `to` $peer (`of` $role^)? (`when` $when^)? attr-dict `:` qualified(type($value))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ bool isCollective() { return false; } }];
}

def Cs_RecvOp : Cs_CommOp<"recv", [Cs_CommunicationOpInterface]> {
  let summary = "receives a tensor from a peer";
  let description = [{
    The counterpart of `cs.send` with the same key. Ranks outside `when` get
    unspecified content.
  }];
  let arguments = (ins StrAttr:$key, AffineMapAttr:$peer,
                       OptionalAttr<FlatSymbolRefAttr>:$role,
                       OptionalAttr<IntegerSetAttr>:$when);
  let results = (outs Cs_PlacedType:$result);
  let assemblyFormat = [{
    $key `from` $peer (`of` $role^)? (`when` $when^)? attr-dict `:` qualified(type($result))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ bool isCollective() { return false; } }];
}

def Cs_CopyOp : Cs_Op<"copy", [Pure]> {
  let summary = "copies a tensor to another device or memory of the node";
  let arguments = (ins Cs_PlacedType:$value);
  let results = (outs Cs_PlacedType:$result);
  let assemblyFormat = "$value attr-dict `:` qualified(type($value)) `->` qualified(type($result))";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Cs_SplitOp : Cs_Op<"split", [Pure]> {
  let summary = "cuts a tensor into blocks along dimension 0";
  let description = [{
    The blocks' leading dimensions add up to the operand's.
  }];
  let arguments = (ins Cs_PlacedType:$value);
  let results = (outs Variadic<Cs_PlacedType>:$blocks);
  let assemblyFormat = "$value attr-dict `:` qualified(type($value)) `->` qualified(type($blocks))";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Cs_ConcatOp : Cs_Op<"concat", [Pure, InferTypeOpAdaptor]> {
  let summary = "joins blocks along dimension 0";
  let arguments = (ins Variadic<Cs_PlacedType>:$blocks);
  let results = (outs Cs_PlacedType:$result);
  let assemblyFormat = "$blocks attr-dict `:` qualified(type($blocks))";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

#endif // COMMSCHED_IR_CSGRAPHOPS_TD
