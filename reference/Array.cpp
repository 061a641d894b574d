// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reference/Array.h"

#include "reference/Scalar.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <cstring>

using namespace mlir;
using namespace commsched::reference;

bool Array::hasUnwritten() const { return llvm::any_of(bounds, isUnwritten); }

bool commsched::reference::isSupported(Type elementType) {
  unsigned width = widthOf(elementType);
  return formatOf(elementType) ||
         (elementType.isSignlessIntOrIndex() && width >= 1 && width <= 64);
}

ArrayPtr commsched::reference::makeZeros(Type elementType, ArrayRef<int64_t> shape) {
  auto array = std::make_shared<Array>();
  array->elementType = elementType;
  array->shape.assign(shape.begin(), shape.end());
  size_t count = 1;
  for (int64_t size : shape)
    count *= static_cast<size_t>(size);
  if (array->isFloat())
    array->values.assign(count, 0);
  else
    array->ints.assign(count, 0);
  array->bounds.assign(count, 0);
  return array;
}

ArrayPtr commsched::reference::makeZeros(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return makeZeros(tensor.getElementType(), tensor.getShape());
  return makeZeros(type, {});
}

ArrayPtr commsched::reference::makeUnwritten(Type type) {
  ArrayPtr array = makeZeros(type);
  std::fill(array->bounds.begin(), array->bounds.end(), kUnwritten);
  return array;
}

ArrayPtr commsched::reference::makeFloat(Type type, double value) {
  ArrayPtr array = makeZeros(type, {});
  array->values[0] = formatOf(type)->round(value);
  return array;
}

ArrayPtr commsched::reference::makeInt(Type type, int64_t value) {
  ArrayPtr array = makeZeros(type, {});
  array->ints[0] = wrap(value, widthOf(type));
  return array;
}

static double toDouble(const APFloat &value) {
  APFloat wide = value;
  bool losesInfo;
  wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return wide.convertToDouble();
}

static int64_t toInt(const APInt &value, Type type) {
  return wrap(static_cast<int64_t>(value.getZExtValue()), widthOf(type));
}

ArrayPtr commsched::reference::makeConstant(Attribute value, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  Type elementType = tensor ? tensor.getElementType() : type;
  if (!isSupported(elementType) || (tensor && !tensor.hasStaticShape()))
    return nullptr;
  if (auto number = dyn_cast<FloatAttr>(value)) {
    ArrayPtr array = makeZeros(elementType, {});
    array->values[0] = toDouble(number.getValue());
    return array;
  }
  if (auto number = dyn_cast<IntegerAttr>(value)) {
    ArrayPtr array = makeZeros(elementType, {});
    array->ints[0] = toInt(number.getValue(), elementType);
    return array;
  }
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || !tensor)
    return nullptr;
  ArrayPtr array = makeZeros(type);
  if (array->isFloat()) {
    auto range = elements.tryGetValues<APFloat>();
    if (!range)
      return nullptr;
    for (auto [i, element] : llvm::enumerate(*range))
      array->values[i] = toDouble(element);
    return array;
  }
  auto range = elements.tryGetValues<APInt>();
  if (!range)
    return nullptr;
  for (auto [i, element] : llvm::enumerate(*range))
    array->ints[i] = toInt(element, elementType);
  return array;
}

ArrayPtr commsched::reference::owned(ArrayPtr array) {
  if (array.use_count() == 1)
    return array;
  return std::make_shared<Array>(*array);
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

int64_t commsched::reference::elementBytes(Type elementType) {
  if (auto floating = dyn_cast<FloatType>(elementType))
    return floating.getWidth() / 8;
  return (widthOf(elementType) + 7) / 8;
}

ArrayPtr commsched::reference::fromBytes(RankedTensorType type, ArrayRef<char> bytes) {
  ArrayPtr array = makeZeros(type);
  int64_t size = elementBytes(array->elementType), count = array->size();
  if (static_cast<int64_t>(bytes.size()) != count * size)
    return nullptr;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    if (array->isFloat()) {
      auto format = cast<FloatType>(array->elementType);
      APFloat value(format.getFloatSemantics(), APInt(format.getWidth(), bits));
      array->values[i] = toDouble(value);
    } else {
      array->ints[i] = wrap(static_cast<int64_t>(bits), widthOf(array->elementType));
    }
  }
  return array;
}

std::vector<char> commsched::reference::toBytes(const Array &array) {
  int64_t size = elementBytes(array.elementType), count = array.size();
  std::vector<char> bytes(count * size);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits;
    if (array.isFloat()) {
      APFloat value(array.values[i]);
      bool losesInfo;
      value.convert(cast<FloatType>(array.elementType).getFloatSemantics(),
                    APFloat::rmNearestTiesToEven, &losesInfo);
      bits = value.bitcastToAPInt().getZExtValue();
    } else {
      bits = static_cast<uint64_t>(array.ints[i]);
    }
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}
