// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a step uses parameters to compute gradients, not to update them.

#ifndef COMMSCHED_PASSES_SPARSE_FORWARDUSES_H
#define COMMSCHED_PASSES_SPARSE_FORWARDUSES_H

#include "ir/Cs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace commsched::sparse {

struct ForwardUse {
  mlir::Value param;
  llvm::SmallVector<mlir::OpOperand *> uses;
};
/// By the name of the parameter.
using ForwardUses = llvm::StringMap<ForwardUse>;

/// Uses that `gradients`, ops that begin to exchange them, depend on. An error if something that is returned depends on
/// such a use without a communication that makes it alike on all ranks.
llvm::FailureOr<ForwardUses> findForwardUses(mlir::func::FuncOp func,
                                             llvm::ArrayRef<mlir::Operation *> gradients);

/// Puts the parameter `key` less `rate` times what is kept of its gradient in the place of
/// its uses, by a fragment at the beginning of `func`. Uses it has none of: nothing.
void computeAhead(mlir::func::FuncOp func, mlir::Location loc, llvm::StringRef key,
                  const ForwardUses &forward, mlir::Value residual, double rate,
                  bool withBody);

} // namespace commsched::sparse

#endif // COMMSCHED_PASSES_SPARSE_FORWARDUSES_H
