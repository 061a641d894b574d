// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Coordinate lists: what messages of sparse gradients have, and the ops that make
// and read them.

#include "ir/CsSparseOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commsched::cs;

//===----------------------------------------------------------------------===//
// The encoding
//===----------------------------------------------------------------------===//

Attribute CoordinatesAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  RankedTensorType dense;
  bool counted = false;
  if (parser.parseLess() || parser.parseType(dense))
    return {};
  Type values = dense.getElementType();
  while (!counted && succeeded(parser.parseOptionalComma())) {
    OptionalParseResult type = parser.parseOptionalType(values);
    if (type.has_value()) {
      if (failed(*type))
        return {};
      continue;
    }
    if (parser.parseKeyword("counted"))
      return {};
    counted = true;
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<CoordinatesAttr>(loc, parser.getContext(), dense, values, counted);
}

void CoordinatesAttr::print(AsmPrinter &printer) const {
  printer << "<" << getDense();
  if (isQuantized())
    printer << ", " << getValues();
  printer << (getCounted() ? ", counted>" : ">");
}

LogicalResult CoordinatesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                      RankedTensorType dense, Type values, bool) {
  if (!dense.hasStaticShape() || dense.getEncoding())
    return emitError() << "lists must be of a tensor of static shape without an "
                          "encoding, got: "
                       << dense;
  Type element = dense.getElementType();
  if (!element.isF32() && !element.isF16() && !element.isBF16())
    return emitError() << "lists must be of elements of f32, f16 or bf16, got: "
                       << dense;
  bool isHalf = values.isF16() || values.isBF16();
  if (values != element && !(element.isF32() && isHalf) && !values.isSignlessInteger(8))
    return emitError() << "values must be of " << element
                       << (element.isF32() ? ", f16, bf16" : "") << " or i8, got: " << values;
  // Their indices are i32.
  int64_t elements = dense.getNumElements();
  if (elements < 1 || elements > int64_t(1) << 31)
    return emitError() << "lists must be of a tensor of 1 to 2147483648 elements, got: "
                       << dense;
  return success();
}

LogicalResult
CoordinatesAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                                function_ref<InFlightDiagnostic()> emitError) const {
  // The parser asks about types that it has refused, too.
  if (!elementType)
    return failure();
  if (!elementType.isInteger(32))
    return emitError() << "coordinate lists must be of i32, got: " << elementType;
  if (shape.size() != 2)
    return emitError() << "coordinate lists must have two dimensions, got: "
                       << shape.size();
  if (ShapedType::isDynamicShape(shape))
    return emitError() << "coordinate lists must have a static shape";
  if (shape[0] == 0)
    return emitError() << "there must be at least one coordinate list, got: 0";
  int64_t entries = entriesOfRow(shape[1]);
  if (entries == 0)
    return emitError() << "a row must have the values and indices of some elements of "
                       << getDense() << (getCounted() ? ", and a count" : "")
                       << ", got: " << shape[1] << " numbers";
  if (entries > getDense().getNumElements())
    return emitError() << "a row must have " << getDense().getNumElements()
                       << " elements of " << getDense() << " at most, got: " << entries;
  return success();
}

CoordinatesAttr CoordinatesAttr::of(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<CoordinatesAttr>(tensor.getEncoding()) : nullptr;
}

int64_t CoordinatesAttr::wordsOfValues(int64_t entries, int64_t valueBytes) {
  return llvm::divideCeil(entries * valueBytes, kWordBytes) + (valueBytes == 1 ? 1 : 0);
}

int64_t CoordinatesAttr::wordsOfRow(int64_t entries, int64_t valueBytes, bool counted) {
  return wordsOfValues(entries, valueBytes) + entries + (counted ? 1 : 0);
}

int64_t CoordinatesAttr::valueBytes() const { return getValues().getIntOrFloatBitWidth() / 8; }

bool CoordinatesAttr::isQuantized() const {
  return getValues() != getDense().getElementType();
}

int64_t CoordinatesAttr::entriesOfRow(int64_t words) const {
  if (words < 0 || words > std::numeric_limits<int64_t>::max() / kWordBytes)
    return 0;
  int64_t others = (getCounted() ? 1 : 0) + (hasScales() ? 1 : 0);
  int64_t entries = (words - others) * kWordBytes / (kWordBytes + valueBytes());
  bool fits = entries > 0 && wordsOfRow(entries, valueBytes(), getCounted()) == words;
  return fits ? entries : 0;
}

RankedTensorType CoordinatesAttr::typeOf(int64_t lists, int64_t entries) const {
  return RankedTensorType::get({lists, wordsOfRow(entries, valueBytes(), getCounted())},
                               IntegerType::get(getContext(), 32), *this);
}

//===----------------------------------------------------------------------===//
// Pack, unpack
//===----------------------------------------------------------------------===//

RankedTensorType commsched::cs::tensorOfLists(Value list, bool selected) {
  // In a graph region a list may be made of itself, and verified behind what uses it.
  llvm::SmallPtrSet<Operation *, 4> seen;
  while (Operation *op = list.getDefiningOp()) {
    if (!seen.insert(op).second)
      return nullptr;
    bool isMade = isa<MergeTopKOp, SplitRegionsOp>(op); // of values and indices
    if (op->getNumOperands() < (isMade ? 2 : 1))
      return nullptr;
    Type first = op->getOperand(0).getType();
    if (isMade) {
      list = op->getOperand(1);
      continue;
    }
    CoordinatesAttr encoding = isa<UnpackListsOp>(op) ? CoordinatesAttr::of(first) : nullptr;
    if (encoding)
      return encoding.getDense();
    return selected && isa<TopKOp>(op) ? dyn_cast<RankedTensorType>(first) : nullptr;
  }
  return nullptr;
}

/// Values, indices and counts of `lists` rows of `type`; -1: of as many as they are.
static LogicalResult verifyLists(Operation *op, RankedTensorType type, Value values,
                                 Value indices, Value counts, int64_t &lists) {
  CoordinatesAttr encoding = CoordinatesAttr::of(type);
  auto tensor = [](Value value) { return cast<RankedTensorType>(value.getType()); };
  for (Value value : {values, indices, counts})
    if (value && !tensor(value).hasStaticShape())
      return op->emitOpError() << "must have static shapes, got: " << value.getType();
  if (tensor(values).getRank() != 1)
    return op->emitOpError() << "values must have one dimension, got: "
                             << values.getType();
  if (tensor(values).getElementType() != encoding.getDense().getElementType())
    return op->emitOpError() << "values must match the element type of "
                             << encoding.getDense() << ", got: " << values.getType();
  int64_t entries = encoding.entriesOfRow(type.getDimSize(1));
  int64_t all = tensor(values).getDimSize(0);
  if (all % entries != 0 || (lists >= 0 && all / entries != lists))
    return op->emitOpError() << "must have " << entries << " values for each list of "
                             << type << ", got: " << all;
  lists = all / entries;
  if (tensor(indices).getDimSize(0) != all)
    return op->emitOpError() << "must have as many indices as values, " << all
                             << ", got: " << tensor(indices).getDimSize(0);
  if (!counts && encoding.getCounted())
    return op->emitOpError() << "must have the counts of " << type;
  if (counts && !encoding.getCounted())
    return op->emitOpError() << "must not have counts of " << type;
  if (counts && tensor(counts).getDimSize(0) != lists)
    return op->emitOpError() << "must have a count for each of " << lists
                             << " lists, got: " << tensor(counts).getDimSize(0);
  return success();
}

LogicalResult PackListsOp::verify() {
  RankedTensorType type = getLists().getType();
  auto times = static_cast<int64_t>(getTimes());
  if (times < 1)
    return emitOpError() << "times must be 1 or more, got: " << times;
  if (type.getDimSize(0) % times != 0)
    return emitOpError() << "must have rows of lists " << times << " times, got: " << type;
  int64_t lists = type.getDimSize(0) / times;
  if (failed(verifyLists(*this, type, getValues(), getIndices(), getCounts(), lists)))
    return failure();
  if (getError() && !CoordinatesAttr::of(type).isQuantized())
    return emitOpError() << "has no error to return: values of " << type
                         << " travel as they are";
  if (getError() && getError().getType() != getValues().getType())
    return emitOpError() << "error must match " << getValues().getType()
                         << ", got: " << getError().getType();
  RankedTensorType dense = CoordinatesAttr::of(type).getDense();
  RankedTensorType origin = tensorOfLists(getIndices(), /*selected=*/true);
  if (origin && origin != dense)
    return emitOpError() << "encoding must match " << origin
                         << ", which its lists are of, got: " << dense;
  return success();
}

void UnpackListsOp::build(OpBuilder &builder, OperationState &state, Value lists,
                          int64_t from, int64_t rows) {
  auto type = cast<RankedTensorType>(lists.getType());
  CoordinatesAttr encoding = CoordinatesAttr::of(type);
  int64_t all = rows * encoding.entriesOfRow(type.getDimSize(1));
  auto results = [&](int64_t size, Type element) {
    return RankedTensorType::get({size}, element);
  };
  build(builder, state, results(all, encoding.getDense().getElementType()),
        results(all, builder.getI32Type()),
        encoding.getCounted() ? results(rows, builder.getI32Type()) : Type(), lists, from);
}

LogicalResult UnpackListsOp::verify() {
  RankedTensorType type = getLists().getType();
  int64_t lists = -1;
  if (failed(verifyLists(*this, type, getValues(), getIndices(), getCounts(), lists)))
    return failure();
  auto from = static_cast<int64_t>(getFrom());
  int64_t rows = type.getDimSize(0);
  if (lists < 1 || from < 0 || from > rows || lists > rows - from)
    return emitOpError() << "must take at least one of " << rows << " rows, got: " << lists
                         << " from " << from << " on";
  return success();
}
