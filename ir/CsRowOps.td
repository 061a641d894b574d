// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_IR_CSROWOPS_TD
#define COMMSCHED_IR_CSROWOPS_TD

// Row-sparse gradients (docs/row-sparse.md): tables of which a step reads few
// rows.

include "ir/CsGraphOps.td"

def Cs_Ids : RankedTensorOf<[I32, I64]>;

//===----------------------------------------------------------------------===//
// Level 0
//===----------------------------------------------------------------------===//

def Cs_LookupOp : Cs_Op<"lookup", [Pure]> {
  let summary = "rows of a table";
  let description = [{
    Row i of the result is row `ids[i]` of the table, along dimension 0. An id
    outside the table means the row nearest to it.

    ```mlir
    %e = cs.lookup %w, %ids : (tensor<1000x16xf32>, tensor<32xi32>) -> tensor<32x16xf32>
    ```
  }];
  let arguments = (ins Cs_Tensor:$table, Cs_Ids:$ids);
  let results = (outs Cs_Tensor:$result);
  let assemblyFormat = [{
    $table `,` $ids attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Cs_SegmentSumOp : Cs_Op<"segment_sum", [Pure]> {
  let summary = "sums rows by their ids: the gradient of a lookup";
  let description = [{
    Adds row i of `values` to row `ids[i]` of zeros, in the order of i. A row
    whose id lies outside of the result is dropped.

    ```mlir
    %g = cs.segment_sum %ids, %de : (tensor<32xi32>, tensor<32x16xf32>) -> tensor<1000x16xf32>
    ```
  }];
  let arguments = (ins Cs_Ids:$ids, Cs_Tensor:$values);
  let results = (outs Cs_Tensor:$result);
  let assemblyFormat = [{
    $ids `,` $values attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Level 1
//===----------------------------------------------------------------------===//

def Cs_FetchRowsOp : Cs_CommOp<"fetch_rows", [Cs_CommunicationOpInterface]> {
  let summary = "gets rows of a table from parameter servers";
  let description = [{
    Row i of the result is row `ids[i]` of the table `key`; an id outside of it
    means the row nearest to it. Block b, rows `offsets[b]` up to `offsets[b + 1]`,
    is on `servers[b]`, under the key `<key>.block<b>`, or `<key>` if there is one
    block only. The rows are as all `cs.send_rows` of the steps before have left
    them.

    ```mlir
    %e = cs.fetch_rows "embedding" %ids from [@server.0, @server.1] rows [0, 500, 1000]
        : (!cs.placed<tensor<32xi32>, device 0>) -> !cs.placed<tensor<32x16xf32>, device 0>
    ```
  }];
  let arguments = (ins StrAttr:$key, Cs_PlacedType:$ids,
                       FlatSymbolRefArrayAttr:$servers, DenseI64ArrayAttr:$offsets);
  let results = (outs Cs_PlacedType:$result);
  let assemblyFormat = [{
    $key $ids `from` $servers `rows` $offsets attr-dict `:` functional-type($ids, $result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ bool isCollective() { return false; } }];
}

def Cs_SendRowsOp : Cs_CommOp<"send_rows", [Cs_CommunicationOpInterface]> {
  let summary = "sends rows of a gradient to parameter servers";
  let description = [{
    Row i of `values` belongs to row `ids[i]` of the table `key`; an id outside of
    it is dropped. Rows of one id are added, in their order. Blocks are as of
    `cs.fetch_rows`; each gets a message in every step, if without rows.

    ```mlir
    cs.send_rows "embedding" %ids, %de to [@server.0, @server.1] rows [0, 500, 1000]
        : !cs.placed<tensor<32xi32>, device 0>, !cs.placed<tensor<32x16xf32>, device 0>
    ```
  }];
  let arguments = (ins StrAttr:$key, Cs_PlacedType:$ids, Cs_PlacedType:$values,
                       FlatSymbolRefArrayAttr:$servers, DenseI64ArrayAttr:$offsets);
  let results = (outs);
  let assemblyFormat = [{
    $key $ids `,` $values `to` $servers `rows` $offsets attr-dict `:`
    qualified(type($ids)) `,` qualified(type($values))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ bool isCollective() { return false; } }];
}

def Cs_UpdateRowsOp : Cs_CommOp<"update_rows", [IsolatedFromAbove, SingleBlock,
    AttrSizedOperandSegments, InferTypeOpAdaptor, Cs_CommunicationOpInterface]> {
  let summary = "updates the rows of a table's block that trainers send";
  let description = [{
    The counterpart, on a parameter server, of the `cs.send_rows` of this block in
    `role`. Combines the rows that the trainers send, of all of them (`by`) or of
    each by itself as it arrives (`each`), and applies the region to these rows
    and to no others, `chunk` at a time. The operands `rows` have the rows of the
    block: the first is the table, the others its state. The region gets the
    combined gradient of `chunk` rows, the same rows of each of them, and the
    others whole; it returns the new value of the rows of each. The results are the
    operands with these rows replaced.

    ```mlir
    %new:2 = cs.update_rows "w.block0" by mean from @step rows (%w, %m) with (%rate) chunk 64
        : (!cs.placed<tensor<500x16xf32>, device 0>, !cs.placed<tensor<500x16xf32>, device 0>),
          (!cs.placed<tensor<f32>, device 0>) {
    ^bb0(%g: tensor<64x16xf32>, %wr: tensor<64x16xf32>, %mr: tensor<64x16xf32>, %r: tensor<f32>):
      ...
      cs.return %wn, %mn : tensor<64x16xf32>, tensor<64x16xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$key, OptionalAttr<Cs_ReductionAttr>:$reduction,
                       FlatSymbolRefAttr:$role, Variadic<Cs_PlacedType>:$rows,
                       Variadic<Cs_PlacedType>:$others, I64Attr:$chunk);
  let results = (outs Variadic<Cs_PlacedType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $key (`by` `` $reduction^) : (`each`)? `from` $role `rows` ` ` `(` $rows `)`
    (`with` ` ` `(` $others^ `)`)? `chunk` $chunk `:` `(` qualified(type($rows)) `)`
    (`,` `(` qualified(type($others))^ `)`)? attr-dict-with-keyword ``
    custom<IsolatedBody>($body)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ bool isCollective() { return false; } }];
}

#endif // COMMSCHED_IR_CSROWOPS_TD
