// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_IR_REGISTER_H
#define COMMSCHED_IR_REGISTER_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace commsched {

/// Registers `cs` and the upstream dialects that level 0 is written in.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace commsched

#endif // COMMSCHED_IR_REGISTER_H
