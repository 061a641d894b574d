// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_PLACE_COMBINEDEVICES_H
#define COMMSCHED_PASSES_PLACE_COMBINEDEVICES_H

#include "mlir/IR/Builders.h"

#include "ir/Cs.h"

namespace commsched::place {

/// A deferred fragment on the device of `values`, all of one type, that combines
/// them element by element in their order. `mean` needs floating-point elements.
/// Without `withBody` it has only a cost: for programs that have no more.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc,
                    llvm::StringRef label, cs::Reduction reduction,
                    mlir::ValueRange values, bool withBody);

/// Whether the body of `fragment`, which has one, is what combine() makes of `reduction`, whatever the label says.
bool combines(cs::FragmentOp fragment, cs::Reduction reduction);

} // namespace commsched::place

#endif // COMMSCHED_PASSES_PLACE_COMBINEDEVICES_H
