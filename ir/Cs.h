// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect `cs`: types, attributes and ops of all levels (docs/levels.md).

#ifndef COMMSCHED_IR_CS_H
#define COMMSCHED_IR_CS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/CsDialect.h.inc"
#include "ir/CsEnums.h.inc"
#include "ir/CsInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/CsAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "ir/CsTypes.h.inc"

#define GET_OP_CLASSES
#include "ir/CsOps.h.inc"

#endif // COMMSCHED_IR_CS_H
