// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/Carrier.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

#include "passes/insert/Outline.h"
#include "passes/insert/Program.h"

using namespace mlir;
using namespace commsched;

cs::PlacedType commsched::placeOnDevice(RankedTensorType type) {
  return cs::PlacedType::get(type.getContext(), type, kOnlyDevice,
                             cs::MemoryKind::device);
}

RankedTensorType commsched::carrierOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isIndex())
    element = IntegerType::get(type.getContext(), 64);
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto carrier = tensor                   ? tensor.clone(element)
                 : element.isIntOrFloat() ? RankedTensorType::get({}, element)
                                          : RankedTensorType();
  return carrier && whyNotPlaceable(carrier).empty() ? carrier
                                                     : RankedTensorType();
}

Value commsched::toCarrier(OpBuilder &builder, Location loc, Value value) {
  RankedTensorType carrier = carrierOf(value.getType());
  if (getElementTypeOrSelf(value.getType()).isIndex()) {
    Type type = isa<TensorType>(value.getType()) ? Type(carrier)
                                                 : carrier.getElementType();
    value = arith::IndexCastOp::create(builder, loc, type, value);
  }
  if (!isa<TensorType>(value.getType()))
    value = tensor::FromElementsOp::create(builder, loc, carrier, value);
  return value;
}

Value commsched::fromCarrier(OpBuilder &builder, Location loc, Value value,
                             Type type) {
  if (!isa<TensorType>(type))
    value = tensor::ExtractOp::create(builder, loc, value, ValueRange());
  if (value.getType() != type)
    value = arith::IndexCastOp::create(builder, loc, type, value);
  return value;
}

InFlightDiagnostic commsched::refuseCarrier(Operation *def, Type type,
                                            Location user) {
  InFlightDiagnostic diag =
      def->emitOpError("result must be a tensor, number or index to go from "
                       "one fragment to another, got: ")
      << type;
  diag.attachNote(user) << "it is used here";
  return diag;
}

cs::CostAttr commsched::fragmentCost(MLIRContext *context,
                                     ArrayRef<Operation *> ops,
                                     TypeRange inputs, TypeRange outputs) {
  int64_t flops = 0, bytes = 0;
  auto addTo = [](int64_t &sum, int64_t more) {
    if (llvm::AddOverflow(sum, more, sum))
      sum = std::numeric_limits<int64_t>::max();
  };
  for (Operation *op : ops)
    addTo(flops, estimateFlops(op));
  for (TypeRange types : {inputs, outputs})
    for (Type type : types)
      addTo(bytes, tensorBytes(cast<cs::PlacedType>(type).getTensor()));
  return cs::CostAttr::get(context, flops, bytes, /*ns=*/0);
}
