// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_IR_CSSERVEROPS_TD
#define COMMSCHED_IR_CSSERVEROPS_TD

// Level 1: what a parameter server does with messages. The trainers' side is
// cs.send and cs.recv.

include "ir/CsGraphOps.td"

def Cs_CollectOp : Cs_CommOp<"collect", [Cs_CommunicationOpInterface]> {
  let summary = "combines what the trainers send under one key";
  let description = [{
    The counterpart, on a parameter server, of the `cs.send` of this key in
    `role`. With a reduction: waits for the tensor of every trainer, and combines
    them. With `each`: what depends on the result runs once for every tensor that
    arrives, in the order of arrival.

    ```mlir
    %g = cs.collect "w.block0" by mean from @step : !cs.placed<tensor<8xf32>, device 0>
    %h = cs.collect "b" each from @step : !cs.placed<tensor<8xf32>, device 0>
    ```
  }];
  let arguments = (ins StrAttr:$key, OptionalAttr<Cs_ReductionAttr>:$reduction,
                       FlatSymbolRefAttr:$role);
  let results = (outs Cs_PlacedType:$result);
  let assemblyFormat = [{
    $key (`by` `` $reduction^) : (`each`)? `from` $role attr-dict `:` qualified(type($result))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ bool isCollective() { return false; } }];
}

def Cs_PublishOp : Cs_CommOp<"publish", [Cs_CommunicationOpInterface]> {
  let summary = "hands a value out to the trainers";
  let description = [{
    The counterpart, on a parameter server, of the `cs.recv` of this key in `role`.

    ```mlir
    cs.publish "w.block0.new" %w to @step : !cs.placed<tensor<8xf32>, device 0>
    ```
  }];
  let arguments = (ins StrAttr:$key, Cs_PlacedType:$value, FlatSymbolRefAttr:$role);
  let results = (outs);
  let assemblyFormat = "$key $value `to` $role attr-dict `:` qualified(type($value))";
  let hasVerifier = 1;
  let extraClassDeclaration = [{ bool isCollective() { return false; } }];
}

#endif // COMMSCHED_IR_CSSERVEROPS_TD
