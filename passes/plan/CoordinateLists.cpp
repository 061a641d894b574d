// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages of sparse gradients as matrices of words: packing and unpacking become
// slices of columns, and types no longer say of which tensor lists are.

#include "passes/plan/Stages.h"

#include "ir/CsSparseOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace commsched::planexport {
namespace {

RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

RankedTensorType plain(RankedTensorType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

/// Words and values of lists that are rows of one tensor.
class ListsWriter {
public:
  ListsWriter(Operation *op, RankedTensorType lists)
      : builder(op), loc(op->getLoc()), encoding(cs::CoordinatesAttr::of(lists)),
        entries(encoding.entriesOfRow(lists.getDimSize(1))),
        words(cs::CoordinatesAttr::wordsOfValues(entries, encoding.valueBytes())),
        codeWords(words - (encoding.hasScales() ? 1 : 0)) {}

  /// Values as they travel, and of i8 the scales of their lists.
  struct Codes {
    Value codes, scales;
  };
  Codes quantize(Value values, int64_t rows) {
    if (!encoding.isQuantized())
      return {values, {}};
    SmallVector<Value> into{empty(rows * entries, encoding.getValues())};
    if (encoding.hasScales())
      into.push_back(empty(rows, builder.getF32Type()));
    auto codes = kernel("quantize", "block", values, into);
    return {codes[0], encoding.hasScales() ? codes[1] : Value()};
  }
  Value dequantize(const Codes &codes, int64_t rows) {
    if (!encoding.isQuantized())
      return codes.codes;
    SmallVector<Value> from{codes.codes};
    if (codes.scales)
      from.push_back(codes.scales);
    return kernel("dequantize", "block", from,
                  empty(rows * entries, encoding.getDense().getElementType()))[0];
  }

  /// The bits of codes, for `rows` rows.
  Value bitsOf(Value codes, int64_t rows) {
    if (hasWholeWords())
      return bitcast(codes, builder.getI32Type());
    return kernel("pack_words", "row", codes, empty(rows * codeWords, builder.getI32Type()))[0];
  }
  Value codesOf(Value bits, int64_t rows) {
    if (hasWholeWords())
      return bitcast(bits, encoding.getValues());
    return kernel("unpack_words", "row", bits, empty(rows * entries, encoding.getValues()))[0];
  }
  Value bitcast(Value value, Type element) {
    return arith::BitcastOp::create(builder, loc, tensorOf(value).clone(element), value);
  }

  /// `column`, of `lists` rows, `times` times one below the other at `at` of `matrix`.
  Value insert(Value column, Value matrix, int64_t lists, int64_t times, int64_t at) {
    int64_t width = tensorOf(column).getNumElements() / lists;
    // The one row of a message without a count needs no second dimension.
    if (lists > 1 || encoding.getCounted() || encoding.hasScales())
      column = tensor::ExpandShapeOp::create(
          builder, loc,
          RankedTensorType::get({lists, width}, tensorOf(column).getElementType()), column,
          SmallVector<ReassociationIndices>{{0, 1}});
    for (int64_t time = 0; time < times; ++time)
      matrix = tensor::InsertSliceOp::create(builder, loc, column, matrix,
                                             indices(time * lists, at),
                                             indices(lists, width), indices(1, 1));
    return matrix;
  }
  /// Rows [row, row + rows) of columns [at, at + width).
  Value extract(Value matrix, int64_t row, int64_t rows, int64_t at, int64_t width) {
    RankedTensorType type = tensorOf(matrix);
    if (rows != type.getDimSize(0) || width != type.getDimSize(1))
      matrix = tensor::ExtractSliceOp::create(
          builder, loc, RankedTensorType::get({rows, width}, type.getElementType()), matrix,
          indices(row, at), indices(rows, width), indices(1, 1));
    return tensor::CollapseShapeOp::create(
        builder, loc, RankedTensorType::get({rows * width}, type.getElementType()), matrix,
        SmallVector<ReassociationIndices>{{0, 1}});
  }

  OpBuilder builder;
  Location loc;
  cs::CoordinatesAttr encoding;
  int64_t entries;   // of a row
  int64_t words;     // of their values, with the scale
  int64_t codeWords; // without it

private:
  bool hasWholeWords() { return encoding.valueBytes() == 4; }
  Value empty(int64_t size, Type element) {
    return tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{size}, element);
  }
  /// Several elements are a word, which no op on tensors makes of them; and rounding.
  /// `setting`: the name that a kernel has for the entries of a row.
  SmallVector<Value> kernel(StringRef kind, StringRef setting, ValueRange from, ValueRange to) {
    auto settings = builder.getDictionaryAttr(
        builder.getNamedAttr(setting, builder.getI64IntegerAttr(entries)));
    auto made = cs::KernelOp::create(builder, loc, to.getTypes(), kind, from, to, settings,
                                     /*accumulate=*/false);
    return SmallVector<Value>(made.getResults());
  }
  SmallVector<OpFoldResult> indices(int64_t a, int64_t b) {
    return {builder.getIndexAttr(a), builder.getIndexAttr(b)};
  }
};

void lower(cs::PackListsOp op) {
  RankedTensorType type = op.getLists().getType();
  ListsWriter write(op, type);
  auto times = static_cast<int64_t>(op.getTimes());
  int64_t lists = type.getDimSize(0) / times;
  ListsWriter::Codes codes = write.quantize(op.getValues(), lists);
  Value bits = write.bitsOf(codes.codes, lists);
  Value matrix = tensor::EmptyOp::create(write.builder, op.getLoc(), type.getShape(),
                                         type.getElementType());
  matrix = write.insert(bits, matrix, lists, times, 0);
  if (codes.scales)
    matrix = write.insert(write.bitcast(codes.scales, write.builder.getI32Type()), matrix,
                          lists, times, write.codeWords);
  if (op.getError() && !op.getError().use_empty())
    op.getError().replaceAllUsesWith(arith::SubFOp::create(
        write.builder, op.getLoc(), op.getValues(), write.dequantize(codes, lists)));
  matrix = write.insert(op.getIndices(), matrix, lists, times, write.words);
  if (Value counts = op.getCounts())
    matrix = write.insert(counts, matrix, lists, times, write.words + write.entries);
  op.getLists().replaceAllUsesWith(matrix);
  op.erase();
}

void lower(cs::UnpackListsOp op) {
  ListsWriter write(op, op.getLists().getType());
  auto from = static_cast<int64_t>(op.getFrom());
  int64_t rows = op.getValues().getType().getDimSize(0) / write.entries;
  auto take = [&](int64_t at, int64_t width) {
    return write.extract(op.getLists(), from, rows, at, width);
  };
  if (!op.getValues().use_empty()) {
    ListsWriter::Codes codes{write.codesOf(take(0, write.codeWords), rows), {}};
    if (write.encoding.hasScales())
      codes.scales = write.bitcast(take(write.codeWords, 1), write.builder.getF32Type());
    op.getValues().replaceAllUsesWith(write.dequantize(codes, rows));
  }
  if (!op.getIndices().use_empty())
    op.getIndices().replaceAllUsesWith(take(write.words, write.entries));
  if (op.getCounts() && !op.getCounts().use_empty())
    op.getCounts().replaceAllUsesWith(take(write.words + write.entries, 1));
  op.erase();
}

} // namespace

void lowerLists(func::FuncOp function) {
  // What is unpacked needs its encoding, which packing no longer gives it.
  function.walk([](cs::UnpackListsOp op) { lower(op); });
  function.walk([](cs::PackListsOp op) { lower(op); });
  auto strip = [](Value value) {
    if (cs::CoordinatesAttr::of(value.getType()))
      value.setType(plain(tensorOf(value)));
  };
  function.walk([](arith::ConstantOp op) {
    if (!cs::CoordinatesAttr::of(op.getType()))
      return;
    RankedTensorType type = plain(tensorOf(op));
    if (auto elements = dyn_cast<DenseElementsAttr>(op.getValue()))
      op.setValueAttr(elements.reshape(type));
    else if (auto resource = dyn_cast<DenseResourceElementsAttr>(op.getValue()))
      op.setValueAttr(DenseResourceElementsAttr::get(type, resource.getRawHandle()));
  });
  function.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), strip);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), strip);
  });
}

} // namespace commsched::planexport
