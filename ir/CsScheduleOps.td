// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_IR_CSSCHEDULEOPS_TD
#define COMMSCHED_IR_CSSCHEDULEOPS_TD

// Level 2: the graph with time.

include "ir/CsGraphOps.td"

def Cs_StartOp : Cs_CommOp<"start", [IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments]> {
  let summary = "begins a communication and does not wait for it";
  let description = [{
    The region holds exactly one communication, or the `cs.shard`, `cs.exchange`
    and `cs.unshard` that it was expanded into, or one `cs.copy`, for a copy
    engine. `after`: what must have completed before. `priority`: smaller is more urgent.
    `gather_priority`: that of the half of an all_reduce that distributes the sums,
    if it is another. `parts`: so many elements of the message each, from its front, are
    cut into the chunks of the exchanges by themselves, and are read as soon as they are
    final, while the rest is still on its way; without, all waits for all. `exclusive`:
    while a collective goes through its rounds, each rank sends to others nothing less urgent,
    for so many nanoseconds at most, a second or less, since it began or its last message came.

    ```mlir
    %f = cs.start "w" priority 3 (%g) : (!cs.placed<tensor<8xf32>, device 0>)
        -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> {
    ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
      %r = cs.all_reduce "w" mean %x : !cs.placed<tensor<8xf32>, device 0>
      cs.return %r : !cs.placed<tensor<8xf32>, device 0>
    }
    ```
  }];
  let arguments = (ins StrAttr:$key, Variadic<Cs_PlacedType>:$inputs,
                       Variadic<Cs_FutureType>:$after,
                       DefaultValuedAttr<I64Attr, "0">:$priority,
                       OptionalAttr<I64Attr>:$gather_priority,
                       OptionalAttr<DenseI64ArrayAttr>:$parts,
                       OptionalAttr<I64Attr>:$exclusive);
  let results = (outs Cs_FutureType:$future);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $key (`priority` $priority^)? (`gather_priority` $gather_priority^)? (`parts` $parts^)? (`exclusive` $exclusive^)? ` ` `(` $inputs `)` (`after` ` ` `(` $after^ `:` qualified(type($after)) `)`)? `:`
    functional-type($inputs, $future) attr-dict-with-keyword `` custom<IsolatedBody>($body)
  }];
  let hasVerifier = 1;
}

def Cs_AwaitOp : Cs_Op<"await", [InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "waits for a communication";
  let description = [{
    Every future is awaited exactly once (`--verify-distributed`).
  }];
  let arguments = (ins Cs_FutureType:$future);
  let results = (outs Cs_PlacedType:$result);
  let assemblyFormat = "$future attr-dict `:` qualified(type($future))";
}

def Cs_ExchangeOp : Cs_CommOp<"exchange", [AllTypesMatch<["value", "result"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one phase of a chunked algorithm, written once for all ranks";
  let description = [{
    The tensor's n elements are cut into `chunks` parts; part c holds elements
    floor(c n / chunks) up to floor((c + 1) n / chunks). In round s = 0 ..
    `rounds` - 1, rank r sends the parts that `send` names, and receives those
    that `recv` names; received elements are combined with its own. `scale`
    multiplies the elements received in the last round, after combining. `priority`
    is the phase's own, if it differs from that of the start. What a
    rank sends in a round is what its peer receives in the same round
    (`--verify-distributed` proves it). `in`: r counts the members of that
    `cs.group`, as do peers; the other ranks keep what they have.

    The reduce-scatter half of a ring over 4 ranks:
    ```mlir
    %r = cs.exchange %x chunks 4 rounds 3 sum scale 2.5e-01
        send <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>>
        recv <parts affine_map<(r, s) -> ((r - s - 1) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>>
        : !cs.placed<tensor<10xf32>, device 0>
    ```
  }];
  let arguments = (ins Cs_PlacedType:$value, I64Attr:$chunks, I64Attr:$rounds,
                       Cs_CombineAttr:$combine, OptionalAttr<F64Attr>:$scale,
                       Cs_SideAttr:$send, Cs_SideAttr:$recv,
                       OptionalAttr<I64Attr>:$priority, Cs_InGroup:$group);
  let results = (outs Cs_PlacedType:$result);
  let assemblyFormat = [{
    $value (`in` $group^)? `chunks` $chunks `rounds` $rounds `` $combine (`scale` $scale^)?
    (`priority` $priority^)?
    `send` $send `recv` $recv attr-dict `:` qualified(type($value))
  }];
  let hasVerifier = 1;
}

def Cs_ShardOp : Cs_Op<"shard", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "this rank's part of a tensor: the r-th of equal parts of dimension 0";
  let description = [{
    `in`: of as many parts as that `cs.group` has members, of which r is the number; the
    content is unspecified on other ranks.
  }];
  let arguments = (ins Cs_PlacedType:$value, Cs_InGroup:$group);
  let results = (outs Cs_PlacedType:$result);
  let assemblyFormat = [{
    $value (`in` $group^)? attr-dict `:` qualified(type($value)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Cs_UnshardOp : Cs_Op<"unshard", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a tensor whose r-th part of dimension 0 is the operand, the rest unspecified";
  let description = [{
    `in`: of as many parts as that `cs.group` has members, of which r is the number; the
    content is unspecified on other ranks.
  }];
  let arguments = (ins Cs_PlacedType:$value, Cs_InGroup:$group);
  let results = (outs Cs_PlacedType:$result);
  let assemblyFormat = [{
    $value (`in` $group^)? attr-dict `:` qualified(type($value)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Cs_PackOp : Cs_Op<"pack", [Pure]> {
  let summary = "a message made of pieces of tensors";
  let description = [{
    Elements begin .. end - 1 of each operand, in row-major order, one piece behind
    the other. Operands and result have one element type and live in one place. If
    the pieces of a tensor that are in messages, and the tensors that are put
    together from them, form a chain, the plan lays them side by side, and neither
    this op nor `cs.unpack` copies anything.

    ```mlir
    %m = cs.pack %a[24, 1024], %b[0, 50]
        : !cs.placed<tensor<32x32xf32>, device 0>, !cs.placed<tensor<50xf32>, device 0>
        -> !cs.placed<tensor<1050xf32>, device 0>
    ```
  }];
  let arguments = (ins Variadic<Cs_PlacedType>:$pieces, DenseI64ArrayAttr:$bounds);
  let results = (outs Cs_PlacedType:$result);
  let assemblyFormat = [{
    custom<Pieces>($pieces, $bounds) attr-dict `:` qualified(type($pieces)) `->`
    qualified(type($result))
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Cs_UnpackOp : Cs_Op<"unpack", [Pure]> {
  let summary = "a tensor made of pieces of messages";
  let description = [{
    The inverse of `cs.pack`: elements begin .. end - 1 of each operand, one piece
    behind the other, are the elements of the result in row-major order.

    ```mlir
    %g = cs.unpack %m0[1000, 2000], %m1[0, 24]
        : !cs.placed<tensor<2000xf32>, device 0>, !cs.placed<tensor<64xf32>, device 0>
        -> !cs.placed<tensor<32x32xf32>, device 0>
    ```
  }];
  let arguments = (ins Variadic<Cs_PlacedType>:$pieces, DenseI64ArrayAttr:$bounds);
  let results = (outs Cs_PlacedType:$result);
  let assemblyFormat = [{
    custom<Pieces>($pieces, $bounds) attr-dict `:` qualified(type($pieces)) `->`
    qualified(type($result))
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // COMMSCHED_IR_CSSCHEDULEOPS_TD
