// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Remarks of --insert-dist-comm: one for every decision, in the category
// "insert-dist-comm" (--remarks-filter=insert-dist-comm).

#ifndef COMMSCHED_PASSES_INSERT_REMARKS_H
#define COMMSCHED_PASSES_INSERT_REMARKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/raw_ostream.h"

namespace commsched {

/// `write(raw_ostream &)` gives the text; called only if remarks are on.
template <typename Write>
void remarkAt(mlir::Location loc, llvm::StringRef function,
              llvm::StringRef name, Write write) {
  if (!loc.getContext()->getRemarkEngine())
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  write(os);
  mlir::remark::passed(loc, mlir::remark::RemarkOpts::name(name)
                                .category("insert-dist-comm")
                                .function(function))
      << mlir::remark::detail::Remark::Arg("Remark", text);
}

template <typename Write>
void remarkOn(mlir::Operation *op, llvm::StringRef name, Write write) {
  auto func = op->getParentOfType<mlir::func::FuncOp>();
  remarkAt(op->getLoc(), func ? func.getName() : llvm::StringRef(), name,
           write);
}

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_REMARKS_H
