// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Syntax of regions, for the declarative formats in CsOps.td. Included only
// where these are compiled.

#ifndef COMMSCHED_IR_CSREGIONSYNTAX_H
#define COMMSCHED_IR_CSREGIONSYNTAX_H

#include "mlir/IR/OpImplementation.h"

namespace commsched::cs {

/// The body of an op that is isolated from above, or nothing: its names are its
/// own, and a name used before its definition never stands for a value outside.
inline mlir::ParseResult parseIsolatedBody(mlir::OpAsmParser &parser,
                                           mlir::Region &body) {
  mlir::OptionalParseResult present = parser.parseOptionalRegion(
      body, /*arguments=*/{}, /*enableNameShadowing=*/true);
  return present.has_value() ? *present : mlir::ParseResult::success();
}

inline void printIsolatedBody(mlir::OpAsmPrinter &printer, mlir::Operation *,
                              mlir::Region &body) {
  if (body.empty())
    return;
  printer << ' ';
  printer.printRegion(body);
}

} // namespace commsched::cs

#endif // COMMSCHED_IR_CSREGIONSYNTAX_H
