// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_IR_CSINTERFACES_TD
#define COMMSCHED_IR_CSINTERFACES_TD

include "mlir/IR/OpBase.td"

def Cs_CommunicationOpInterface : OpInterface<"CommunicationOpInterface"> {
  let description = [{
    An op that moves data between ranks. Its key, unique in a function, is what
    the ranks match messages on, together with peer and step.
  }];
  let cppNamespace = "::commsched::cs";
  let methods = [
    InterfaceMethod<"The message key.", "::llvm::StringRef", "getCommunicationKey", (ins),
      [{}], [{ return $_op.getKey(); }]>,
    InterfaceMethod<"True if all ranks take part with the same op (a collective).",
      "bool", "isCollective", (ins), [{}], [{ return true; }]>
  ];
}

#endif // COMMSCHED_IR_CSINTERFACES_TD
