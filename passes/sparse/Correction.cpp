// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/sparse/Correction.h"

#include "ir/Cs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::sparse;

SmallVector<Value, 3> Moments::present() const {
  SmallVector<Value, 3> values;
  for (Value value : {velocity, squares, weights})
    if (value)
      values.push_back(value);
  return values;
}

Moments Moments::with(ValueRange values) const {
  Moments result = *this;
  for (Value *value : {&result.velocity, &result.squares, &result.weights})
    if (*value) {
      *value = values.front();
      values = values.drop_front();
    }
  return result;
}

/// Of moments: squares of small f16 gradients would be 0.
static Type wideElement(RankedTensorType type) {
  if (type.getElementType().isF64())
    return type.getElementType();
  return Float32Type::get(type.getContext());
}

MomentTypes sparse::momentTypes(RankedTensorType type, const CorrectionRules &rules) {
  MomentTypes types;
  Type wide = wideElement(type);
  if (rules.momentum > 0)
    types.velocity = rules.secondMoment > 0 ? cast<RankedTensorType>(type.clone(wide)) : type;
  if (rules.secondMoment > 0) {
    types.squares = cast<RankedTensorType>(type.clone(wide));
    types.weights = RankedTensorType::get({2}, wide);
  }
  return types;
}

namespace {

Value constant(OpBuilder &builder, Location loc, Type type, double number) {
  return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, number));
}

/// decay old + (1 - decay) value
Value average(OpBuilder &builder, Location loc, double decay, Value old, Value value) {
  Value kept =
      arith::MulFOp::create(builder, loc, constant(builder, loc, old.getType(), decay), old);
  Value added =
      arith::MulFOp::create(builder, loc, constant(builder, loc, old.getType(), 1 - decay), value);
  return arith::AddFOp::create(builder, loc, kept, added);
}

Corrected withSecondMoments(OpBuilder &builder, Location loc, Value gradient,
                            const Moments &moments, const CorrectionRules &rules,
                            int64_t ranks) {
  auto type = cast<RankedTensorType>(gradient.getType());
  auto wide = cast<RankedTensorType>(moments.squares.getType());
  auto pair = cast<RankedTensorType>(moments.weights.getType());
  Type element = wide.getElementType();
  Corrected corrected;
  // A mean that begins at zero has weights that sum up to 1 - decay^t.
  auto both = [&](double first, double second) {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(pair, ArrayRef<Attribute>{builder.getFloatAttr(element, first),
                                                         builder.getFloatAttr(element, second)}));
  };
  Value kept = arith::MulFOp::create(builder, loc, both(rules.momentum, rules.secondMoment),
                                     moments.weights);
  corrected.next.weights = arith::AddFOp::create(
      builder, loc, kept, both(1 - rules.momentum, 1 - rules.secondMoment));

  MLIRContext *context = builder.getContext();
  int64_t rank = type.getRank();
  auto each = AffineMap::getMultiDimIdentityMap(rank, context);
  auto scalar = AffineMap::get(rank, 0, {}, context);
  auto weight = [&](int64_t index) -> Value {
    Value at = arith::ConstantIndexOp::create(builder, loc, index);
    Value number =
        tensor::ExtractOp::create(builder, loc, corrected.next.weights, ValueRange{at});
    return tensor::FromElementsOp::create(builder, loc, RankedTensorType::get({}, element), number);
  };
  bool hasMean = moments.velocity != nullptr;
  SmallVector<Value> inputs{gradient, moments.squares, weight(1)};
  SmallVector<AffineMap> maps{each, each, scalar};
  if (hasMean) {
    llvm::append_values(inputs, moments.velocity, weight(0));
    llvm::append_values(maps, each, scalar);
  }
  SmallVector<Type> types{type, wide};
  SmallVector<Value> targets;
  if (hasMean)
    types.push_back(wide);
  for (Type target : types) {
    auto made = cast<RankedTensorType>(target);
    targets.push_back(
        tensor::EmptyOp::create(builder, loc, made.getShape(), made.getElementType()));
    maps.push_back(each);
  }
  auto made = linalg::GenericOp::create(
      builder, loc, types, inputs, targets, maps,
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
      [&](OpBuilder &in, Location at, ValueRange args) {
        Value value = args[0];
        if (type.getElementType() != element)
          value = arith::ExtFOp::create(in, at, element, value);
        Value square = arith::MulFOp::create(in, at, value, value);
        Value squares = average(in, at, rules.secondMoment, args[1], square);
        Value mean = value;
        SmallVector<Value> results{Value(), squares};
        if (hasMean) {
          Value velocity = average(in, at, rules.momentum, args[3], value);
          mean = arith::DivFOp::create(in, at, velocity, args[4]);
          results.push_back(velocity);
        }
        Value whole = arith::DivFOp::create(in, at, squares, args[2]);
        if (hasMean && rules.squaresOfMean && ranks > 1) {
          // What is not the mean's is noise, of which the mean of all ranks has a part.
          Value own = arith::MulFOp::create(in, at, mean, mean);
          Value noise = arith::MaximumFOp::create(
              in, at, constant(in, at, element, 0),
              arith::SubFOp::create(in, at, whole, own).getResult());
          double less = 1 - 1 / static_cast<double>(ranks);
          whole = arith::SubFOp::create(
              in, at, whole,
              arith::MulFOp::create(in, at, constant(in, at, element, less), noise)
                  .getResult());
        }
        Value root = math::SqrtOp::create(in, at, whole);
        Value below =
            arith::AddFOp::create(in, at, root, constant(in, at, element, rules.epsilon));
        results[0] = arith::DivFOp::create(in, at, mean, below);
        if (type.getElementType() != element)
          results[0] = arith::TruncFOp::create(in, at, type.getElementType(), results[0]);
        linalg::YieldOp::create(in, at, results);
      });
  corrected.direction = made.getResult(0);
  corrected.next.squares = made.getResult(1);
  if (hasMean)
    corrected.next.velocity = made.getResult(2);
  return corrected;
}

} // namespace

Corrected sparse::correct(OpBuilder &builder, Location loc, Value gradient,
                          const Moments &moments, const CorrectionRules &rules,
                          int64_t ranks) {
  if (moments.squares)
    return withSecondMoments(builder, loc, gradient, moments, rules, ranks);
  if (!moments.velocity)
    return {gradient, {}};
  auto type = cast<RankedTensorType>(gradient.getType());
  Value momentum = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, FloatAttr::get(type.getElementType(), rules.momentum)));
  Value kept = arith::MulFOp::create(builder, loc, momentum, moments.velocity);
  Value velocity = arith::AddFOp::create(builder, loc, kept, gradient);
  return {velocity, {velocity, {}, {}}};
}

int64_t sparse::passesOfCorrection(const CorrectionRules &rules) {
  // State is read and written; what comes out is written, and read again.
  return (rules.any() ? 2 : 0) + (rules.momentum > 0 ? 2 : 0) +
         (rules.secondMoment > 0 ? 2 : 0);
}

/// Of the key of a sum of gradients, "a+b", the first, whose name may have a plus of its own; else what is before a plus.
static StringRef firstOfSum(StringRef key, const llvm::StringSet<> &params) {
  for (size_t at = key.find('+'); at != StringRef::npos; at = key.find('+', at + 1))
    if (params.contains(key.take_front(at)))
      return key.take_front(at);
  return key.split('+').first;
}

LogicalResult sparse::checkNotCombined(func::FuncOp func, const llvm::StringSet<> &params) {
  for (Operation &op : func.front()) {
    StringRef key;
    if (auto scatter = dyn_cast<cs::ReduceScatterOp>(op))
      key = scatter.getKey();
    else if (auto gather = dyn_cast<cs::AllGatherOp>(op);
             gather && isa<FloatType>(gather.getValue().getType().getTensor().getElementType())) // no list
      key = gather.getKey();
    else if (auto reduce = dyn_cast<cs::AllReduceOp>(op); reduce && !params.contains(reduce.getKey()))
      key = firstOfSum(reduce.getKey(), params);
    if (params.contains(key))
      return op.emitOpError("is not corrected, being no all-reduce of one gradient: run --lower-sparse-comm "
                            "before --combine-collectives");
    if (params.contains(key.rsplit(".shard").first))
      return op.emitOpError("is not corrected, being a shard of a gradient: run --replicate-devices without "
                            "hierarchical");
  }
  return success();
}
