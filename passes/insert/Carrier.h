// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How level-0 values travel between fragments: scalars as tensors of rank 0,
// indices as i64, all on device 0.

#ifndef COMMSCHED_PASSES_INSERT_CARRIER_H
#define COMMSCHED_PASSES_INSERT_CARRIER_H

#include "mlir/IR/Builders.h"

#include "ir/Cs.h"

namespace commsched {

constexpr unsigned kOnlyDevice = 0;

cs::PlacedType placeOnDevice(mlir::RankedTensorType type);

/// Null if values of `type` cannot travel.
mlir::RankedTensorType carrierOf(mlir::Type type);
mlir::Value toCarrier(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value);
mlir::Value fromCarrier(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, mlir::Type type);

/// Says that a result of `def`, which `user` uses, cannot travel.
mlir::InFlightDiagnostic refuseCarrier(mlir::Operation *def, mlir::Type type,
                                       mlir::Location user);

/// What a fragment of `ops` with these inputs and outputs (placed types) costs:
/// estimated, saturating.
cs::CostAttr fragmentCost(mlir::MLIRContext *context,
                          llvm::ArrayRef<mlir::Operation *> ops,
                          mlir::TypeRange inputs, mlir::TypeRange outputs);

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_CARRIER_H
