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

/// Uses that `gradients` depend on. An error if something that is returned depends on
/// such a use without a communication that makes it alike on all ranks.
llvm::FailureOr<ForwardUses> findForwardUses(mlir::func::FuncOp func,
                                             llvm::ArrayRef<cs::AllReduceOp> gradients);

} // namespace commsched::sparse

#endif // COMMSCHED_PASSES_SPARSE_FORWARDUSES_H
