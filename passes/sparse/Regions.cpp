// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/sparse/Regions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/place/Devices.h"
#include "passes/sparse/FragmentMaker.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::sparse;
using place::placedType;

// A region gets 5/4 of its share of a selection: ranks differ, and regions are those
// of the step before.
constexpr int64_t kSlack = 5, kOf = 4;

constexpr int64_t kIndexBytes = 4;

static int64_t ceilOf(int64_t a, int64_t b) { return (a + b - 1) / b; }

Regions::Regions(int64_t selected, int64_t nodes)
    : nodes(nodes), capacity(std::min(selected, ceilOf(kSlack * selected, kOf * nodes))),
      kept(ceilOf(selected, nodes)) {}

int64_t Regions::bytesSent(int64_t elementBytes) const {
  return (nodes - 1) *
         ((capacity + kept) * (elementBytes + kIndexBytes) + 2 * kIndexBytes);
}

bool Regions::fits(int64_t selected, int64_t nodes) {
  return selected <= INT32_MAX / nodes;
}

namespace {

int64_t bytesOfLists(const SelectionContext &context, int64_t lists, int64_t entries) {
  return lists * (entries * (context.type.getElementTypeBitWidth() / 8 + kIndexBytes) +
                  kIndexBytes);
}

SmallVector<RankedTensorType> typesOfLists(const SelectionContext &context, int64_t lists,
                                           int64_t entries) {
  Type i32 = context.builder.getI32Type();
  if (context.isPacked())
    return {RankedTensorType::get({lists, 2 * entries + 1}, i32)};
  return {RankedTensorType::get({lists, entries}, context.type.getElementType()),
          RankedTensorType::get({lists, entries + 1}, i32)};
}

SmallVector<OpFoldResult> attributes(OpBuilder &builder, ArrayRef<int64_t> values) {
  return llvm::map_to_vector(
      values, [&](int64_t v) { return OpFoldResult(builder.getIndexAttr(v)); });
}

/// The elements of a matrix's rows [row, row + rows) and columns [col, col + cols).
Value block(OpBuilder &builder, Location loc, Value matrix, int64_t row, int64_t rows,
            int64_t col, int64_t cols) {
  auto type = cast<RankedTensorType>(matrix.getType());
  if (rows != type.getDimSize(0) || cols != type.getDimSize(1))
    matrix = tensor::ExtractSliceOp::create(
        builder, loc, matrix, attributes(builder, {row, col}),
        attributes(builder, {rows, cols}), attributes(builder, {1, 1}));
  return tensor::CollapseShapeOp::create(
      builder, loc, RankedTensorType::get({rows * cols}, type.getElementType()), matrix,
      SmallVector<ReassociationIndices>{{0, 1}});
}

Value matrixOf(OpBuilder &builder, Location loc, Value flat, int64_t rows) {
  auto type = cast<RankedTensorType>(flat.getType());
  return tensor::ExpandShapeOp::create(
      builder, loc,
      RankedTensorType::get({rows, type.getNumElements() / rows}, type.getElementType()), flat,
      SmallVector<ReassociationIndices>{{0, 1}});
}

/// Lists as they travel, `lists` of them `times` times one below the other.
SmallVector<Value> packLists(const SelectionContext &context, OpBuilder &builder,
                             ValueRange valuesIndicesCounts, int64_t lists, int64_t times) {
  Location loc = context.loc;
  SmallVector<Value> columns(valuesIndicesCounts);
  int64_t entries = cast<RankedTensorType>(columns[0].getType()).getNumElements() / lists;
  if (context.isPacked())
    columns[0] = bitcast(builder, loc, columns[0], builder.getI32Type());
  SmallVector<Value> parts;
  for (RankedTensorType type : typesOfLists(context, lists * times, entries))
    parts.push_back(tensor::EmptyOp::create(builder, loc, type.getShape(),
                                            type.getElementType()));
  int64_t at = 0;
  for (auto [number, column] : llvm::enumerate(columns)) {
    Value matrix = matrixOf(builder, loc, column, lists);
    int64_t width = cast<RankedTensorType>(matrix.getType()).getDimSize(1);
    Value &part = number == 0 ? parts.front() : parts.back();
    if (number == 1 && !context.isPacked())
      at = 0;
    for (int64_t time = 0; time < times; ++time)
      part = tensor::InsertSliceOp::create(
          builder, loc, matrix, part, attributes(builder, {time * lists, at}),
          attributes(builder, {lists, width}), attributes(builder, {1, 1}));
    at += width;
  }
  return parts;
}

struct Lists {
  Value values, indices, counts;
};

/// Rows [row, row + rows) of a message, whose parts are the fragment's arguments from
/// `first` on.
Lists unpackLists(const SelectionContext &context, FragmentMaker &maker, unsigned first,
                  int64_t row, int64_t rows, int64_t entries) {
  OpBuilder &in = maker.inside;
  Location loc = context.loc;
  bool packed = context.isPacked();
  Value integers = maker.argument(packed ? first : first + 1);
  int64_t at = packed ? entries : 0;
  Lists lists;
  lists.values = block(in, loc, maker.argument(first), row, rows, 0, entries);
  if (packed)
    lists.values = bitcast(in, loc, lists.values, context.type.getElementType());
  lists.indices = block(in, loc, integers, row, rows, at, entries);
  lists.counts = block(in, loc, integers, row, rows, at + entries, 1);
  return lists;
}

/// tensor<1xi32> of the sum of a tensor's elements.
Value sumOf(OpBuilder &builder, Location loc, Value counts) {
  MLIRContext *context = builder.getContext();
  Type i32 = builder.getI32Type();
  Value row = matrixOf(builder, loc, counts, 1);
  Value empty = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{1}, i32);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  Value sum = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  auto both = AffineMap::getMultiDimIdentityMap(2, context);
  auto first = AffineMap::get(2, 0, {getAffineDimExpr(0, context)}, context);
  return linalg::GenericOp::create(
             builder, loc, sum.getType(), ValueRange{row}, ValueRange{sum},
             ArrayRef<AffineMap>{both, first},
             ArrayRef<utils::IteratorType>{utils::IteratorType::parallel,
                                           utils::IteratorType::reduction},
             [&](OpBuilder &in, Location at, ValueRange args) {
               linalg::YieldOp::create(
                   in, at, arith::AddIOp::create(in, at, args[0], args[1]).getResult());
             })
      .getResult(0);
}

Message outputsOf(FragmentMaker &maker, size_t parts) {
  Message message;
  llvm::append_range(message.parts, maker.fragment.getOutputs().take_front(parts));
  return message;
}

size_t partsOf(const SelectionContext &context) { return context.isPacked() ? 1 : 2; }

} // namespace

Split sparse::splitTopK(const SelectionContext &context, StringRef label, Value value,
                        const Kept &kept, Value shifts, const Regions &regions,
                        bool deferred) {
  SmallVector<Value> inputs{value};
  SmallVector<RankedTensorType> results =
      typesOfLists(context, 2 * regions.nodes, regions.capacity);
  for (Value state : kept.present()) {
    inputs.push_back(state);
    results.push_back(placedType(state).getTensor());
  }
  inputs.push_back(shifts);
  int64_t lists = bytesOfLists(context, regions.nodes, regions.capacity);
  FragmentMaker maker(context, label, inputs, results, 2 * context.type.getNumElements(),
                      passesOfSelection(context.rules, kept) *
                              place::bytesOf(placedType(value)) +
                          6 * lists,
                      deferred);
  if (maker.hasBody()) {
    OpBuilder &in = maker.inside;
    Location loc = context.loc;
    auto [top, next] = selectInside(context, maker, kept, regions.nodes);
    auto listOf = [&](int64_t entries, Type element) {
      return RankedTensorType::get({entries}, element);
    };
    int64_t entries = regions.nodes * regions.capacity;
    auto split = cs::SplitRegionsOp::create(
        in, loc,
        TypeRange{listOf(entries, context.type.getElementType()),
                  listOf(entries, in.getI32Type()), listOf(regions.nodes, in.getI32Type())},
        top.getValues(), top.getIndices(), maker.argument(inputs.size() - 1),
        context.type.getNumElements());
    SmallVector<Value> returned = packLists(
        context, in, {split.getSplitValues(), split.getSplitIndices(), split.getCounts()},
        regions.nodes, /*times=*/2);
    if (next.residual)
      next.residual = cs::ScatterAddOp::create(in, loc, context.type, top.getValues(),
                                               top.getIndices(), split.getSplitIndices(),
                                               top.getRest(), /*over=*/1);
    llvm::append_range(returned, next.present());
    maker.finish(loc, returned);
  }
  size_t parts = partsOf(context);
  return {outputsOf(maker, parts), kept.with(maker.fragment.getOutputs().drop_front(parts))};
}

Message sparse::mergeRegion(const SelectionContext &context, StringRef label,
                            const Message &lists, const Regions &regions) {
  int64_t nodes = regions.nodes;
  FragmentMaker maker(context, label, lists.parts, typesOfLists(context, 1, regions.kept),
                      nodes * regions.capacity,
                      8 * bytesOfLists(context, nodes, regions.capacity), /*deferred=*/true);
  if (maker.hasBody()) {
    OpBuilder &in = maker.inside;
    Lists of = unpackLists(context, maker, 0, nodes, nodes, regions.capacity);
    auto top = cs::MergeTopKOp::create(
        in, context.loc, RankedTensorType::get({regions.kept}, context.type.getElementType()),
        RankedTensorType::get({regions.kept}, in.getI32Type()), of.values, of.indices);
    maker.finish(context.loc,
                 packLists(context, in,
                           {top.getTopValues(), top.getTopIndices(),
                            sumOf(in, context.loc, of.counts)},
                           /*lists=*/1, /*times=*/1));
  }
  return outputsOf(maker, partsOf(context));
}

Value sparse::giveBackRegions(const SelectionContext &context, StringRef label, Value rest,
                              const Message &lists, const Message &result,
                              const Regions &regions) {
  SmallVector<Value> inputs(lists.parts.begin(), lists.parts.end());
  llvm::append_range(inputs, result.parts);
  inputs.push_back(rest);
  int64_t nodes = regions.nodes;
  FragmentMaker maker(context, label, inputs, {context.type}, nodes * regions.capacity,
                      2 * place::bytesOf(placedType(rest)) +
                          4 * bytesOfLists(context, nodes, regions.capacity + regions.kept),
                      /*deferred=*/true);
  if (maker.hasBody()) {
    OpBuilder &in = maker.inside;
    auto parts = static_cast<unsigned>(partsOf(context));
    Lists own = unpackLists(context, maker, 0, 0, nodes, regions.capacity);
    Lists kept = unpackLists(context, maker, parts, 0, nodes, regions.kept);
    maker.finish(context.loc, cs::ScatterAddOp::create(
                                  in, context.loc, context.type, own.values, own.indices,
                                  kept.indices, maker.argument(2 * parts), /*over=*/1)
                                  .getResult());
  }
  return maker.fragment.getOutputs().front();
}

Value sparse::balanceRegions(const SelectionContext &context, StringRef label,
                             const Message &result, Value shifts, const Regions &regions) {
  // Of the integers of the message.
  SmallVector<Value> inputs(result.parts.begin(), result.parts.end());
  inputs.push_back(shifts);
  FragmentMaker maker(context, label, inputs, {placedType(shifts).getTensor()},
                      regions.nodes * regions.kept,
                      2 * kIndexBytes * regions.nodes * regions.kept, /*deferred=*/true);
  if (maker.hasBody()) {
    Lists of = unpackLists(context, maker, 0, 0, regions.nodes, regions.kept);
    maker.finish(context.loc,
                 cs::BalanceRegionsOp::create(
                     maker.inside, context.loc, placedType(shifts).getTensor(), of.indices,
                     of.counts, maker.argument(static_cast<unsigned>(inputs.size()) - 1),
                     context.type.getNumElements())
                     .getResult());
  }
  return maker.fragment.getOutputs().front();
}

Value sparse::scatterRegions(const SelectionContext &context, StringRef label,
                             const Message &result, int64_t over, const Regions &regions) {
  int64_t elements = context.type.getNumElements();
  FragmentMaker maker(context, label, result.parts, {context.type},
                      regions.nodes * regions.kept,
                      elements * (context.type.getElementTypeBitWidth() / 8) +
                          2 * bytesOfLists(context, regions.nodes, regions.kept),
                      /*deferred=*/true);
  if (maker.hasBody()) {
    Lists of = unpackLists(context, maker, 0, 0, regions.nodes, regions.kept);
    maker.finish(context.loc, cs::ScatterAddOp::create(
                                  maker.inside, context.loc, context.type, of.values,
                                  of.indices, /*except=*/Value(), /*into=*/Value(), over)
                                  .getResult());
  }
  return maker.fragment.getOutputs().front();
}
