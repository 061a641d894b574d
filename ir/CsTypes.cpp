// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Cs.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace commsched::cs;

#define GET_TYPEDEF_CLASSES
#include "ir/CsTypes.cpp.inc"

void CsDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/CsTypes.cpp.inc"
      >();
}

Type PlacedType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  RankedTensorType tensor;
  unsigned device = 0;
  if (parser.parseLess() || parser.parseType(tensor) || parser.parseComma() ||
      parser.parseKeyword("device") || parser.parseInteger(device))
    return {};
  MemoryKind memory = MemoryKind::device;
  if (succeeded(parser.parseOptionalKeyword("host")))
    memory = MemoryKind::host;
  if (parser.parseGreater())
    return {};
  return parser.getChecked<PlacedType>(loc, parser.getContext(), tensor, device,
                                       memory);
}

void PlacedType::print(AsmPrinter &printer) const {
  printer << "<" << getTensor() << ", device " << getDevice();
  if (getMemory() == MemoryKind::host)
    printer << " host";
  printer << ">";
}

static bool isSupportedElement(Type type) {
  return type.isF64() || type.isF32() || type.isF16() || type.isBF16() ||
         type.isSignlessInteger(64) || type.isSignlessInteger(32) ||
         type.isSignlessInteger(8) || type.isSignlessInteger(1);
}

LogicalResult PlacedType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 RankedTensorType tensor, unsigned device,
                                 MemoryKind) {
  if (!tensor.hasStaticShape())
    return emitError() << "placed tensor must have a static shape, got: "
                       << tensor;
  if (tensor.getEncoding() && !CoordinatesAttr::of(tensor))
    return emitError() << "placed tensor must not have an encoding but #cs.coordinates, got: "
                       << tensor;
  if (!isSupportedElement(tensor.getElementType()))
    return emitError() << "element type must be one of f64, f32, f16, bf16, "
                          "i64, i32, i8, i1, got: "
                       << tensor.getElementType();
  return success();
}
