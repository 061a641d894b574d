// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the definitions of communication ops share. Internal to ir/.

#ifndef COMMSCHED_IR_CSCOMMUNICATION_H
#define COMMSCHED_IR_CSCOMMUNICATION_H

#include "ir/Cs.h"

namespace commsched::cs::common {

using Effects = llvm::SmallVectorImpl<
    mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>;

/// Communications read and write the network, so that they are neither merged
/// nor dropped, and stay in order.
void useNetwork(Effects &effects);

/// An SSA name from a key or label: letters and digits stay, the rest becomes _.
std::string ssaName(llvm::StringRef text);

mlir::LogicalResult verifyKey(mlir::Operation *op, llvm::StringRef key);

/// Checks the key, and that `reduction` can combine elements of `type`.
mlir::LogicalResult verifyReduction(mlir::Operation *op, llvm::StringRef key,
                                    Reduction reduction, PlacedType type);

} // namespace commsched::cs::common

#define COMMSCHED_COMMUNICATION(OP)                              \
  void OP::getEffects(common::Effects &effects) {                \
    common::useNetwork(effects);                                 \
  }                                                              \
  void OP::getAsmResultNames(OpAsmSetValueNameFn setName) {      \
    if ((*this)->getNumResults() == 1)                           \
      setName((*this)->getResult(0), common::ssaName(getKey())); \
  }

#endif // COMMSCHED_IR_CSCOMMUNICATION_H
