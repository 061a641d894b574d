// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of scheduling problems (docs/scheduling.md).

#ifndef COMMSCHED_IR_CSPROBLEMOPS_H
#define COMMSCHED_IR_CSPROBLEMOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/RegionKindInterface.h"

#include "ir/Cs.h"

#define GET_OP_CLASSES
#include "ir/CsProblemOps.h.inc"

#endif // COMMSCHED_IR_CSPROBLEMOPS_H
