// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_IR_CSTYPES_TD
#define COMMSCHED_IR_CSTYPES_TD

include "ir/CsAttributes.td"
include "mlir/IR/BuiltinTypes.td"

class Cs_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<Cs_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

// Element types that the runtime can hold and send.
def Cs_Tensor : RankedTensorOf<[F64, F32, F16, BF16, I64, I32, I8, I1]>;

def Cs_PlacedType : Cs_Type<"Placed", "placed"> {
  let summary = "a tensor that lives on one device of the node";
  let description = [{
    `!cs.placed<tensor<784x10xf32>, device 0>`, or `..., device 0 host>` for the
    host memory that belongs to the device (staging buffers). The shape is
    static; the element type is one of f64, f32, f16, bf16, i64, i32, i8, i1. The
    one encoding is `#cs.coordinates`.
    Using a value on another device needs a `cs.copy` or a collective.
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tensor, "unsigned":$device,
      DefaultValuedParameter<"MemoryKind", "MemoryKind::device">:$memory);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Cs_FutureType : Cs_Type<"Future", "future"> {
  let summary = "the result of a communication that has been started";
  let parameters = (ins "PlacedType":$value);
  let assemblyFormat = "`<` qualified($value) `>`";
}

#endif // COMMSCHED_IR_CSTYPES_TD
