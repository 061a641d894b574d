// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_IR_CSBYTECODE_H
#define COMMSCHED_IR_CSBYTECODE_H

namespace commsched::cs {
class CsDialect;

/// Writes the dialect's version into bytecode and refuses a newer one.
void addBytecodeInterface(CsDialect &dialect);

} // namespace commsched::cs

#endif // COMMSCHED_IR_CSBYTECODE_H
