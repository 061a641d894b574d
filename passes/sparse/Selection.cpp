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

using namespace mlir;
using namespace commsched;
using namespace commsched::sparse;
using place::placedType;

int64_t Message::lists() const {
  return placedType(parts.front()).getTensor().getDimSize(0);
}

SmallVector<std::string, 2> SelectionContext::keysOf(StringRef key) const {
  if (isPacked())
    return {key.str()};
  return {(key + ".values").str(), (key + ".indices").str()};
}

SmallVector<Value, 4> Kept::present() const {
  SmallVector<Value, 4> values;
  if (residual)
    values.push_back(residual);
  llvm::append_range(values, moments.present());
  if (threshold)
    values.push_back(threshold);
  return values;
}

Kept Kept::with(ValueRange values) const {
  Kept result = *this;
  if (residual) {
    result.residual = values.front();
    values = values.drop_front();
  }
  result.moments = moments.with(values);
  if (threshold)
    result.threshold = values[moments.present().size()];
  return result;
}

FragmentMaker::FragmentMaker(const SelectionContext &context, StringRef label,
                             ValueRange inputs, ArrayRef<RankedTensorType> results,
                             int64_t flops, int64_t bytes, bool deferred)
    : inside(context.builder.getContext()) {
  unsigned device = place::deviceOf(inputs.front());
  SmallVector<Type> types;
  for (RankedTensorType type : results)
    types.push_back(cs::PlacedType::get(context.builder.getContext(), type, device,
                                        cs::MemoryKind::device));
  fragment = cs::FragmentOp::create(
      context.builder, context.loc, types, label, device, inputs,
      cs::CostAttr::get(context.builder.getContext(), flops, bytes, /*ns=*/0), deferred);
  if (!context.withBody)
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

Value sparse::bitcast(OpBuilder &builder, Location loc, Value value, Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  return arith::BitcastOp::create(builder, loc, type.clone(element), value);
}

namespace {

Value insert(OpBuilder &builder, Location loc, Value part, Value whole, int64_t row,
             int64_t at) {
  SmallVector<OpFoldResult> offsets{builder.getIndexAttr(row), builder.getIndexAttr(at)};
  SmallVector<OpFoldResult> sizes{
      builder.getIndexAttr(1),
      builder.getIndexAttr(cast<RankedTensorType>(part.getType()).getNumElements())};
  SmallVector<OpFoldResult> strides(2, builder.getIndexAttr(1));
  return tensor::InsertSliceOp::create(builder, loc, part, whole, offsets, sizes, strides);
}

/// Columns [at, at + k) of a matrix, row by row.
Value columns(OpBuilder &builder, Location loc, Value matrix, int64_t at, int64_t k) {
  auto type = cast<RankedTensorType>(matrix.getType());
  int64_t rows = type.getDimSize(0);
  if (at != 0 || k != type.getDimSize(1)) {
    SmallVector<OpFoldResult> offsets{builder.getIndexAttr(0), builder.getIndexAttr(at)};
    SmallVector<OpFoldResult> sizes{builder.getIndexAttr(rows), builder.getIndexAttr(k)};
    SmallVector<OpFoldResult> strides(2, builder.getIndexAttr(1));
    matrix = tensor::ExtractSliceOp::create(builder, loc, matrix, offsets, sizes, strides);
  }
  SmallVector<ReassociationIndices> groups{{0, 1}};
  return tensor::CollapseShapeOp::create(
      builder, loc, RankedTensorType::get({rows * k}, type.getElementType()), matrix, groups);
}

/// Values and indices of a message as tensors of one dimension. Its parts are the
/// fragment's arguments from `first` on.
std::pair<Value, Value> unpack(const SelectionContext &context, FragmentMaker &maker,
                               unsigned first = 0) {
  OpBuilder &b = maker.inside;
  Value message = maker.argument(first);
  if (!context.isPacked())
    return {columns(b, context.loc, message, 0, context.k),
            columns(b, context.loc, maker.argument(first + 1), 0, context.k)};
  Value bits = columns(b, context.loc, message, 0, context.k);
  Value values = bitcast(b, context.loc, bits, context.type.getElementType());
  return {values, columns(b, context.loc, message, context.k, context.k)};
}

/// The message of a list, `times` times.
SmallVector<Value> pack(const SelectionContext &context, OpBuilder &b, Value values,
                        Value indices, int64_t times) {
  SmallVector<Value> lists{values, indices};
  if (context.isPacked())
    lists[0] = bitcast(b, context.loc, values, b.getI32Type());
  SmallVector<Value> parts;
  for (Value list : lists) {
    auto type = cast<RankedTensorType>(list.getType());
    bool joins = context.isPacked() && !parts.empty();
    if (!joins)
      parts.push_back(tensor::EmptyOp::create(
          b, context.loc,
          ArrayRef<int64_t>{times, context.k * (context.isPacked() ? 2 : 1)},
          type.getElementType()));
    for (int64_t row = 0; row < times; ++row)
      parts.back() = insert(b, context.loc, list, parts.back(), row, joins ? context.k : 0);
  }
  return parts;
}

SmallVector<RankedTensorType> messageTypes(const SelectionContext &context, OpBuilder &b,
                                           int64_t lists) {
  if (context.isPacked())
    return {RankedTensorType::get({lists, 2 * context.k}, b.getI32Type())};
  return {RankedTensorType::get({lists, context.k}, context.type.getElementType()),
          RankedTensorType::get({lists, context.k}, b.getI32Type())};
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

/// A list: values and their indices.
int64_t listBytes(const SelectionContext &context) {
  return context.k * (4 + context.type.getElementTypeBitWidth() / 8);
}

} // namespace

int64_t sparse::passesOfSelection(const SelectionRules &rules, const Kept &kept) {
  // With feedback both are read once, or a little more than that, and the sum is
  // kept.
  return (kept.residual ? 4 : 2) + passesOfCorrection(rules.correction) +
         (rules.clip > 0 ? 3 : 0);
}

SelectedInside sparse::selectInside(const SelectionContext &context, FragmentMaker &maker,
                                    const Kept &kept, int64_t ranks) {
  OpBuilder &in = maker.inside;
  const SelectionRules &rules = context.rules;
  Value from = maker.argument(0);
  if (rules.clip > 0)
    from = clip(in, context.loc, from, rules.clip / std::sqrt(static_cast<double>(ranks)));
  Kept own = kept.with(maker.arguments().drop_front());
  auto [direction, moments] =
      correct(in, context.loc, from, own.moments, rules.correction);
  SmallVector<Type> types{RankedTensorType::get({context.k}, context.type.getElementType()),
                          RankedTensorType::get({context.k}, in.getI32Type()), context.type};
  if (own.threshold)
    types.push_back(own.threshold.getType());
  auto top = cs::TopKOp::create(in, context.loc, types, rules.select, direction, own.residual,
                                own.threshold, /*seed=*/0,
                                own.threshold ? rules.exactEvery : 1);
  if (moments.velocity && !moments.squares && rules.mask)
    moments.velocity = cs::ScatterClearOp::create(in, context.loc, context.type,
                                                  moments.velocity, top.getIndices());
  return {top,
          {own.residual ? Value(top.getRest()) : Value(), moments,
           own.threshold ? Value(top.getNext()) : Value()}};
}

Selected sparse::selectTopK(const SelectionContext &context, StringRef label, Value value,
                            const Kept &kept, int64_t ranks, bool deferred, bool twice) {
  OpBuilder &b = context.builder;
  SmallVector<Value> inputs{value};
  SmallVector<RankedTensorType> results = messageTypes(context, b, 1);
  for (Value state : kept.present()) {
    inputs.push_back(state);
    results.push_back(placedType(state).getTensor());
  }
  if (twice)
    llvm::append_range(results, messageTypes(context, b, 2));
  int64_t bytes = place::bytesOf(placedType(value));
  FragmentMaker maker(context, label, inputs, results, 2 * context.type.getNumElements(),
                      passesOfSelection(context.rules, kept) * bytes + listBytes(context),
                      deferred);
  if (maker.hasBody()) {
    OpBuilder &in = maker.inside;
    auto [top, next] = selectInside(context, maker, kept, ranks);
    SmallVector<Value> returned = pack(context, in, top.getValues(), top.getIndices(), 1);
    llvm::append_range(returned, next.present());
    if (twice)
      llvm::append_range(returned, pack(context, in, top.getValues(), top.getIndices(), 2));
    maker.finish(context.loc, returned);
  }
  Selected selected;
  auto outputs = maker.fragment.getOutputs();
  size_t parts = context.isPacked() ? 1 : 2, states = kept.present().size();
  llvm::append_range(selected.message.parts, outputs.take_front(parts));
  selected.kept = kept.with(outputs.slice(parts, states));
  llvm::append_range(selected.twice.parts, outputs.drop_front(parts + states));
  return selected;
}

Message sparse::mergeTopK(const SelectionContext &context, StringRef label,
                          const Message &message, int64_t times) {
  OpBuilder &b = context.builder;
  // Sorted by their indices, added up, and selected from.
  FragmentMaker maker(context, label, message.parts, messageTypes(context, b, times),
                      message.lists() * context.k, 8 * message.lists() * listBytes(context),
                      /*deferred=*/true);
  if (maker.hasBody()) {
    OpBuilder &in = maker.inside;
    auto [values, indices] = unpack(context, maker);
    auto top = cs::MergeTopKOp::create(
        in, context.loc, RankedTensorType::get({context.k}, context.type.getElementType()),
        RankedTensorType::get({context.k}, b.getI32Type()), values, indices);
    maker.finish(context.loc,
                 pack(context, in, top.getTopValues(), top.getTopIndices(), times));
  }
  Message merged;
  llvm::append_range(merged.parts, maker.fragment.getOutputs());
  return merged;
}

Value sparse::giveBack(const SelectionContext &context, StringRef label, Value rest,
                       const Message &own, const Message &sent) {
  SmallVector<Value> inputs(own.parts.begin(), own.parts.end());
  // Of what was sent the indices count.
  inputs.push_back(sent.parts.back());
  inputs.push_back(rest);
  FragmentMaker maker(context, label, inputs, {context.type}, context.k,
                      2 * place::bytesOf(placedType(rest)) + 4 * listBytes(context),
                      /*deferred=*/true);
  if (maker.hasBody()) {
    OpBuilder &in = maker.inside;
    auto [values, indices] = unpack(context, maker);
    auto at = static_cast<unsigned>(own.parts.size());
    Value others = columns(in, context.loc, maker.argument(at),
                           context.isPacked() ? context.k : 0, context.k);
    Value residual =
        cs::ScatterAddOp::create(in, context.loc, context.type, values, indices, others,
                                 maker.argument(at + 1), /*over=*/1);
    maker.finish(context.loc, residual);
  }
  return maker.fragment.getOutputs().front();
}

Value sparse::scatterAdd(const SelectionContext &context, StringRef label,
                         const Message &message, int64_t over) {
  int64_t elements = context.type.getNumElements();
  int64_t lists = message.lists();
  FragmentMaker maker(context, label, message.parts, {context.type}, lists * context.k,
                      elements * (context.type.getElementTypeBitWidth() / 8) +
                          2 * lists * listBytes(context),
                      /*deferred=*/true);
  if (maker.hasBody()) {
    auto [values, indices] = unpack(context, maker);
    Value dense = cs::ScatterAddOp::create(maker.inside, context.loc, context.type, values,
                                           indices, /*except=*/Value(), /*into=*/Value(), over);
    maker.finish(context.loc, dense);
  }
  return maker.fragment.getOutputs().front();
}
