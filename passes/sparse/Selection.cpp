// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/sparse/Selection.h"

#include <cmath>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/place/Devices.h"
#include "passes/sparse/FragmentMaker.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::sparse;
using place::placedType;

int64_t sparse::listsOf(Value message) {
  return placedType(message).getTensor().getDimSize(0);
}

RankedTensorType SelectionContext::messageType(int64_t lists, int64_t entries,
                                               bool counted) const {
  return cs::CoordinatesAttr::get(type.getContext(), type, values, counted)
      .typeOf(lists, entries);
}

int64_t SelectionContext::seedOf(StringRef label) const {
  // Ranks draw alike, and tensors do not.
  return static_cast<int64_t>(llvm::xxh3_64bits(label) + static_cast<uint64_t>(rules.seed));
}

int64_t SelectionContext::messageBytes(int64_t lists, int64_t entries, bool counted) const {
  return lists * cs::kWordBytes *
         cs::CoordinatesAttr::wordsOfRow(entries, values.getIntOrFloatBitWidth() / 8, counted);
}

SmallVector<Value, 6> Kept::present() const {
  SmallVector<Value, 6> values;
  if (residual)
    values.push_back(residual);
  llvm::append_range(values, moments.present());
  if (threshold)
    values.push_back(threshold);
  if (step)
    values.push_back(step);
  return values;
}

Kept Kept::with(ValueRange values) const {
  Kept result = *this;
  if (residual) {
    result.residual = values.front();
    values = values.drop_front();
  }
  result.moments = moments.with(values);
  values = values.drop_front(moments.present().size());
  if (threshold) {
    result.threshold = values.front();
    values = values.drop_front();
  }
  if (step)
    result.step = values.front();
  return result;
}

FragmentMaker::FragmentMaker(OpBuilder &builder, Location loc, StringRef label,
                             ValueRange inputs, ArrayRef<RankedTensorType> results,
                             int64_t flops, int64_t bytes, bool deferred, bool withBody)
    : inside(builder.getContext()) {
  unsigned device = place::deviceOf(inputs.front());
  SmallVector<Type> types;
  for (RankedTensorType type : results)
    types.push_back(cs::PlacedType::get(builder.getContext(), type, device,
                                        cs::MemoryKind::device));
  fragment = cs::FragmentOp::create(
      builder, loc, types, label, device, inputs,
      cs::CostAttr::get(builder.getContext(), flops, bytes, /*ns=*/0), deferred);
  if (!withBody)
    return;
  body = new Block;
  fragment.getBody().push_back(body);
  for (Value input : inputs)
    body->addArgument(placedType(input).getTensor(), input.getLoc());
  inside.setInsertionPointToEnd(body);
}

void FragmentMaker::finish(Location loc, ValueRange values) {
  cs::ReturnOp::create(inside, loc, values);
}

cs::UnpackListsOp sparse::unpack(const SelectionContext &context, FragmentMaker &maker,
                                 unsigned i) {
  Value message = maker.argument(i);
  return cs::UnpackListsOp::create(maker.inside, context.loc, message, /*from=*/0,
                                   cast<RankedTensorType>(message.getType()).getDimSize(0));
}

namespace {

/// The message of a list, `times` times; with its rounding error if `error`.
cs::PackListsOp pack(const SelectionContext &context, OpBuilder &builder, Value values,
                     Value indices, int64_t times, bool error) {
  return cs::PackListsOp::create(builder, context.loc,
                                 context.messageType(times, context.k, /*counted=*/false),
                                 error ? values.getType() : Type(), values, indices,
                                 /*counts=*/Value(), times);
}

/// `value`, scaled so that its norm is `bound` at most.
Value clip(OpBuilder &b, Location loc, Value value, double bound) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t rank = type.getRank();
  MLIRContext *context = b.getContext();
  Type f32 = b.getF32Type();
  auto identity = AffineMap::getMultiDimIdentityMap(rank, context);
  auto scalar = AffineMap::get(rank, 0, {}, context);
  auto constant = [&](OpBuilder &in, double number) {
    return arith::ConstantOp::create(in, loc, in.getF32FloatAttr(number)).getResult();
  };
  Value empty = tensor::EmptyOp::create(b, loc, ArrayRef<int64_t>{}, f32);
  Value zero = linalg::FillOp::create(b, loc, constant(b, 0), empty).getResult(0);
  SmallVector<utils::IteratorType> sums(rank, utils::IteratorType::reduction);
  Value squares =
      linalg::GenericOp::create(
          b, loc, zero.getType(), ValueRange{value}, ValueRange{zero},
          ArrayRef<AffineMap>{identity, scalar}, sums,
          [&](OpBuilder &in, Location at, ValueRange args) {
            Value wide = args[0];
            if (type.getElementType() != f32)
              wide = arith::ExtFOp::create(in, at, f32, wide);
            Value square = arith::MulFOp::create(in, at, wide, wide);
            linalg::YieldOp::create(
                in, at, arith::AddFOp::create(in, at, args[1], square).getResult());
          })
          .getResult(0);
  auto none = AffineMap::get(0, 0, {}, context);
  // Of a norm of 0: the least of 1 and infinity.
  Value factor =
      linalg::GenericOp::create(
          b, loc, zero.getType(), ValueRange{squares}, ValueRange{empty},
          ArrayRef<AffineMap>{none, none}, ArrayRef<utils::IteratorType>{},
          [&](OpBuilder &in, Location at, ValueRange args) {
            Value norm = math::SqrtOp::create(in, at, args[0]);
            Value ratio = arith::DivFOp::create(in, at, constant(in, bound), norm);
            linalg::YieldOp::create(
                in, at,
                arith::MinimumFOp::create(in, at, constant(in, 1), ratio).getResult());
          })
          .getResult(0);
  Value target = tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  SmallVector<utils::IteratorType> each(rank, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, type, ValueRange{value, factor}, ValueRange{target},
             ArrayRef<AffineMap>{identity, scalar, identity}, each,
             [&](OpBuilder &in, Location at, ValueRange args) {
               Value by = args[1];
               if (type.getElementType() != f32)
                 by = arith::TruncFOp::create(in, at, type.getElementType(), by);
               linalg::YieldOp::create(
                   in, at, arith::MulFOp::create(in, at, args[0], by).getResult());
             })
      .getResult(0);
}

int64_t bytesOfLists(const SelectionContext &context, int64_t lists) {
  return context.messageBytes(lists, context.k, /*counted=*/false);
}

} // namespace

int64_t sparse::passesOfSelection(const SelectionRules &rules, const Kept &kept) {
  // With feedback both are read once, or a little more than that, and the sum is
  // kept.
  return (kept.residual ? 4 : 2) + passesOfCorrection(rules.correction) +
         (rules.clip > 0 ? 3 : 0);
}

Value sparse::clipped(OpBuilder &in, Location loc, Value from, const SelectionRules &rules,
                      int64_t ranks) {
  if (rules.clip == 0)
    return from;
  return clip(in, loc, from, rules.clip / std::sqrt(static_cast<double>(ranks)));
}

SelectedInside sparse::selectInside(const SelectionContext &context, FragmentMaker &maker,
                                    const Kept &kept, int64_t ranks) {
  Value from =
      clipped(maker.inside, context.loc, maker.argument(0), context.rules, ranks);
  return selectFrom(context, maker.inside, maker.fragment.getLabel(), from,
                    kept.with(maker.arguments().drop_front()), ranks);
}

SelectedInside sparse::selectFrom(const SelectionContext &context, OpBuilder &in,
                                  StringRef label, Value from, const Kept &own,
                                  int64_t ranks) {
  const SelectionRules &rules = context.rules;
  auto [direction, moments] =
      correct(in, context.loc, from, own.moments, rules.correction, ranks);
  SmallVector<Type> types{RankedTensorType::get({context.k}, context.type.getElementType()),
                          RankedTensorType::get({context.k}, in.getI32Type()), context.type};
  if (own.threshold)
    types.push_back(own.threshold.getType());
  auto top = cs::TopKOp::create(in, context.loc, types, rules.select, direction, own.residual,
                                own.threshold, own.step,
                                own.step ? context.seedOf(label) : 0,
                                own.threshold ? rules.exactEvery : 1,
                                own.step ? rules.samples : cs::kMsTopKSamples,
                                own.step && rules.earlyStop);
  Value next;
  if (own.step) {
    auto type = cast<RankedTensorType>(own.step.getType());
    Value one = arith::ConstantOp::create(
        in, context.loc,
        DenseElementsAttr::get(type, in.getI32IntegerAttr(1).getValue()));
    next = arith::AddIOp::create(in, context.loc, own.step, one);
  }
  if (moments.velocity && !moments.squares && rules.mask)
    moments.velocity = cs::ScatterClearOp::create(in, context.loc, context.type,
                                                  moments.velocity, top.getIndices());
  return {top,
          {own.residual ? Value(top.getRest()) : Value(), moments,
           own.threshold ? Value(top.getNext()) : Value(), next}};
}

Value sparse::packSelected(const SelectionContext &context, OpBuilder &in,
                           SelectedInside &selected) {
  auto &[top, next] = selected;
  bool rounds = next.residual && context.values != context.type.getElementType();
  auto message = pack(context, in, top.getValues(), top.getIndices(), 1, /*error=*/rounds);
  if (rounds)
    next.residual = cs::ScatterAddOp::create(in, context.loc, context.type, message.getError(),
                                             top.getIndices(), /*except=*/Value(),
                                             next.residual, /*over=*/1);
  return message.getLists();
}

Selected sparse::selectTopK(const SelectionContext &context, StringRef label, Value value,
                            const Kept &kept, int64_t ranks, bool deferred, bool twice) {
  SmallVector<Value> inputs{value};
  SmallVector<RankedTensorType> results{
      context.messageType(1, context.k, /*counted=*/false)};
  for (Value state : kept.present()) {
    inputs.push_back(state);
    results.push_back(placedType(state).getTensor());
  }
  if (twice)
    results.push_back(context.messageType(2, context.k, /*counted=*/false));
  int64_t bytes = place::bytesOf(placedType(value));
  FragmentMaker maker(context, label, inputs, results, 2 * context.type.getNumElements(),
                      passesOfSelection(context.rules, kept) * bytes +
                          bytesOfLists(context, 1),
                      deferred);
  if (maker.hasBody()) {
    OpBuilder &in = maker.inside;
    SelectedInside selected = selectInside(context, maker, kept, ranks);
    SmallVector<Value> returned{packSelected(context, in, selected)};
    llvm::append_range(returned, selected.kept.present());
    if (twice)
      returned.push_back(pack(context, in, selected.top.getValues(), selected.top.getIndices(), 2,
                              /*error=*/false)
                             .getLists());
    maker.finish(context.loc, returned);
  }
  auto outputs = maker.fragment.getOutputs();
  Selected selected{outputs.front(), kept.with(outputs.drop_front()), {}};
  if (twice)
    selected.twice = outputs.back();
  return selected;
}

Value sparse::mergeTopK(const SelectionContext &context, StringRef label, Value message,
                        int64_t times) {
  // Sorted by their indices, added up, and selected from.
  int64_t lists = listsOf(message);
  FragmentMaker maker(context, label, message,
                      context.messageType(times, context.k, /*counted=*/false),
                      lists * context.k, 8 * bytesOfLists(context, lists),
                      /*deferred=*/true);
  if (maker.hasBody()) {
    OpBuilder &in = maker.inside;
    cs::UnpackListsOp of = unpack(context, maker, 0);
    auto top = cs::MergeTopKOp::create(
        in, context.loc, RankedTensorType::get({context.k}, context.type.getElementType()),
        RankedTensorType::get({context.k}, in.getI32Type()), of.getValues(),
        of.getIndices());
    maker.finish(context.loc,
                 pack(context, in, top.getTopValues(), top.getTopIndices(), times,
                      /*error=*/false)
                     .getLists());
  }
  return maker.fragment.getOutputs().front();
}

Value sparse::giveBack(const SelectionContext &context, StringRef label, Value rest,
                       Value own, Value sent) {
  FragmentMaker maker(context, label, {own, sent, rest}, {context.type}, context.k,
                      2 * place::bytesOf(placedType(rest)) + 4 * bytesOfLists(context, 1),
                      /*deferred=*/true);
  if (maker.hasBody()) {
    cs::UnpackListsOp of = unpack(context, maker, 0);
    Value others = unpack(context, maker, 1).getIndices();
    Value residual = cs::ScatterAddOp::create(
        maker.inside, context.loc, context.type, of.getValues(), of.getIndices(), others,
        maker.argument(2), /*over=*/1);
    maker.finish(context.loc, residual);
  }
  return maker.fragment.getOutputs().front();
}

Value sparse::scatterAdd(const SelectionContext &context, StringRef label, Value message,
                         int64_t over) {
  int64_t elements = context.type.getNumElements();
  int64_t lists = listsOf(message);
  FragmentMaker maker(context, label, message, {context.type}, lists * context.k,
                      elements * (context.type.getElementTypeBitWidth() / 8) +
                          2 * bytesOfLists(context, lists),
                      /*deferred=*/true);
  if (maker.hasBody()) {
    cs::UnpackListsOp of = unpack(context, maker, 0);
    Value dense = cs::ScatterAddOp::create(maker.inside, context.loc, context.type,
                                           of.getValues(), of.getIndices(),
                                           /*except=*/Value(), /*into=*/Value(), over);
    maker.finish(context.loc, dense);
  }
  return maker.fragment.getOutputs().front();
}
