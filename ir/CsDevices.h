// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The devices of a node that a function is on.

#ifndef COMMSCHED_IR_CSDEVICES_H
#define COMMSCHED_IR_CSDEVICES_H

#include "ir/Cs.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace commsched::cs {

/// How many parts of a batch a node gets for `function`: one for each device of the cluster, if some batch or worker's
/// index is on another device than 0, else one. The loader of plans counts so, too (runtime/loading).
int64_t getBatchParts(mlir::FunctionOpInterface function, ClusterOp cluster);

/// An error where a value of `function` is on a device that the nodes of the cluster do not have, or `cs.devices` says
/// that they have others.
llvm::LogicalResult verifyDevices(mlir::FunctionOpInterface function, ClusterOp cluster);

} // namespace commsched::cs

#endif // COMMSCHED_IR_CSDEVICES_H
