// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Syntax of pieces of tensors, `%a[0, 10], %b[5, 8]`, for the declarative formats
// in CsOps.td. Included only where these are compiled.

#ifndef COMMSCHED_IR_CSPIECESYNTAX_H
#define COMMSCHED_IR_CSPIECESYNTAX_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

namespace commsched::cs {

inline mlir::ParseResult
parsePieces(mlir::OpAsmParser &parser,
            llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &pieces,
            mlir::DenseI64ArrayAttr &bounds) {
  llvm::SmallVector<int64_t> numbers;
  auto parseNumber = [&]() -> mlir::ParseResult {
    return parser.parseInteger(numbers.emplace_back());
  };
  do {
    if (parser.parseOperand(pieces.emplace_back()) || parser.parseLSquare() ||
        parseNumber() || parser.parseComma() || parseNumber() ||
        parser.parseRSquare())
      return mlir::failure();
  } while (mlir::succeeded(parser.parseOptionalComma()));
  bounds = mlir::DenseI64ArrayAttr::get(parser.getContext(), numbers);
  return mlir::success();
}

inline void printPieces(mlir::OpAsmPrinter &printer, mlir::Operation *,
                        mlir::OperandRange pieces,
                        mlir::DenseI64ArrayAttr bounds) {
  for (unsigned i = 0; i < pieces.size(); ++i)
    printer << (i ? ", " : "") << pieces[i] << '[' << bounds[2 * i] << ", "
            << bounds[2 * i + 1] << ']';
}

} // namespace commsched::cs

#endif // COMMSCHED_IR_CSPIECESYNTAX_H
