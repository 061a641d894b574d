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

static int64_t ceilOf(int64_t a, int64_t b) { return (a + b - 1) / b; }

Regions::Regions(int64_t selected, int64_t nodes)
    : nodes(nodes), capacity(std::min(selected, ceilOf(kSlack * selected, kOf * nodes))),
      kept(ceilOf(selected, nodes)) {}

int64_t Regions::bytesSent(int64_t valueBytes) const {
  auto words = [&](int64_t entries) {
    return cs::CoordinatesAttr::wordsOfRow(entries, valueBytes, /*counted=*/true);
  };
  return (nodes - 1) * cs::kWordBytes * (words(capacity) + words(kept));
}

bool Regions::fits(int64_t selected, int64_t nodes) {
  return selected <= INT32_MAX / nodes;
}

namespace {

RankedTensorType typeOfLists(const SelectionContext &context, int64_t lists,
                             int64_t entries) {
  return context.messageType(lists, entries, /*counted=*/true);
}

int64_t bytesOfLists(const SelectionContext &context, int64_t lists, int64_t entries) {
  return context.messageBytes(lists, entries, /*counted=*/true);
}

/// tensor<1xi32> of the sum of a tensor's elements.
Value sumOf(OpBuilder &builder, Location loc, Value counts) {
  MLIRContext *context = builder.getContext();
  Type i32 = builder.getI32Type();
  int64_t lists = cast<RankedTensorType>(counts.getType()).getDimSize(0);
  Value row = tensor::ExpandShapeOp::create(builder, loc,
                                            RankedTensorType::get({1, lists}, i32), counts,
                                            SmallVector<ReassociationIndices>{{0, 1}});
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

} // namespace

Split sparse::splitTopK(const SelectionContext &context, StringRef label, Value value,
                        const Kept &kept, Value shifts, const Regions &regions,
                        bool deferred) {
  SmallVector<Value> inputs{value};
  SmallVector<RankedTensorType> results{
      typeOfLists(context, 2 * regions.nodes, regions.capacity)};
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
    SmallVector<Value> returned{cs::PackListsOp::create(
                                    in, loc, results.front(), /*error=*/Type(),
                                    split.getSplitValues(), split.getSplitIndices(),
                                    split.getCounts(), /*times=*/2)
                                    .getLists()};
    if (next.residual)
      next.residual = cs::ScatterAddOp::create(in, loc, context.type, top.getValues(),
                                               top.getIndices(), split.getSplitIndices(),
                                               top.getRest(), /*over=*/1);
    llvm::append_range(returned, next.present());
    maker.finish(loc, returned);
  }
  auto outputs = maker.fragment.getOutputs();
  return {outputs.front(), kept.with(outputs.drop_front())};
}

Value sparse::mergeRegion(const SelectionContext &context, StringRef label, Value lists,
                          const Regions &regions) {
  int64_t nodes = regions.nodes;
  RankedTensorType type = typeOfLists(context, 1, regions.kept);
  FragmentMaker maker(context, label, lists, type, nodes * regions.capacity,
                      8 * bytesOfLists(context, nodes, regions.capacity), /*deferred=*/true);
  if (maker.hasBody()) {
    OpBuilder &in = maker.inside;
    Location loc = context.loc;
    auto of =
        cs::UnpackListsOp::create(in, loc, maker.argument(0), /*from=*/nodes, /*rows=*/nodes);
    auto top = cs::MergeTopKOp::create(
        in, loc, RankedTensorType::get({regions.kept}, context.type.getElementType()),
        RankedTensorType::get({regions.kept}, in.getI32Type()), of.getValues(),
        of.getIndices());
    maker.finish(loc, cs::PackListsOp::create(in, loc, type, /*error=*/Type(),
                                              top.getTopValues(), top.getTopIndices(),
                                              sumOf(in, loc, of.getCounts()), /*times=*/1)
                          .getLists());
  }
  return maker.fragment.getOutputs().front();
}

Value sparse::giveBackRegions(const SelectionContext &context, StringRef label, Value rest,
                              Value lists, Value result, const Regions &regions) {
  int64_t nodes = regions.nodes;
  FragmentMaker maker(context, label, {lists, result, rest}, {context.type},
                      nodes * regions.capacity,
                      2 * place::bytesOf(placedType(rest)) +
                          4 * bytesOfLists(context, nodes, regions.capacity + regions.kept),
                      /*deferred=*/true);
  if (maker.hasBody()) {
    OpBuilder &in = maker.inside;
    auto own = cs::UnpackListsOp::create(in, context.loc, maker.argument(0), /*from=*/0,
                                         /*rows=*/nodes);
    Value kept = unpack(context, maker, 1).getIndices();
    maker.finish(context.loc,
                 cs::ScatterAddOp::create(in, context.loc, context.type, own.getValues(),
                                          own.getIndices(), kept, maker.argument(2),
                                          /*over=*/1)
                     .getResult());
  }
  return maker.fragment.getOutputs().front();
}

Value sparse::balanceRegions(const SelectionContext &context, StringRef label, Value result,
                             Value shifts, const Regions &regions) {
  // Of the integers of the message.
  FragmentMaker maker(context, label, {result, shifts}, {placedType(shifts).getTensor()},
                      regions.nodes * regions.kept,
                      2 * cs::kWordBytes * regions.nodes * regions.kept, /*deferred=*/true);
  if (maker.hasBody()) {
    cs::UnpackListsOp of = unpack(context, maker, 0);
    maker.finish(context.loc, cs::BalanceRegionsOp::create(
                                  maker.inside, context.loc, placedType(shifts).getTensor(),
                                  of.getIndices(), of.getCounts(), maker.argument(1),
                                  context.type.getNumElements())
                                  .getResult());
  }
  return maker.fragment.getOutputs().front();
}

Value sparse::scatterRegions(const SelectionContext &context, StringRef label, Value result,
                             int64_t over, const Regions &regions) {
  int64_t elements = context.type.getNumElements();
  FragmentMaker maker(context, label, result, {context.type}, regions.nodes * regions.kept,
                      elements * (context.type.getElementTypeBitWidth() / 8) +
                          2 * bytesOfLists(context, regions.nodes, regions.kept),
                      /*deferred=*/true);
  if (maker.hasBody()) {
    cs::UnpackListsOp of = unpack(context, maker, 0);
    maker.finish(context.loc, cs::ScatterAddOp::create(
                                  maker.inside, context.loc, context.type, of.getValues(),
                                  of.getIndices(), /*except=*/Value(), /*into=*/Value(), over)
                                  .getResult());
  }
  return maker.fragment.getOutputs().front();
}
