// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/combine/Combine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/insert/RowOps.h"
#include "passes/place/Devices.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::combine;
using place::placedType;

namespace {

/// An all-reduce of rows of zeros but for those with some ids.
struct Rows {
  cs::AllReduceOp reduce;
  cs::FragmentOp fragment;              ///< that makes the operand
  unsigned output = 0;                  ///< which of its results
  SmallVector<SegmentSumOperands> sums; ///< added up, they are it
};

/// The cs.segment_sum that `value` is, or is the sum of; nothing else reads them.
bool collect(Value value, SmallVectorImpl<SegmentSumOperands> &sums) {
  if (!value.hasOneUse())
    return false;
  std::optional<SegmentSumOperands> sum = matchSegmentSum(value);
  if (auto op = value.getDefiningOp<cs::SegmentSumOp>())
    sum = {op.getIds(), op.getValues()};
  if (sum) {
    sums.push_back(*sum);
    return true;
  }
  auto add = value.getDefiningOp<arith::AddFOp>();
  return add && collect(add.getLhs(), sums) && collect(add.getRhs(), sums);
}

std::optional<Rows> findRows(cs::AllReduceOp reduce) {
  Rows rows{reduce, reduce.getValue().getDefiningOp<cs::FragmentOp>(), 0, {}};
  if (!rows.fragment || !rows.fragment.hasBody() || !reduce.getValue().hasOneUse() ||
      !reduce->getDiscardableAttrs().empty() || reduce.getGroup() ||
      (reduce.getReduction() != cs::Reduction::sum &&
       reduce.getReduction() != cs::Reduction::mean))
    return std::nullopt;
  rows.output = cast<OpResult>(reduce.getValue()).getResultNumber();
  Value made = rows.fragment.getBody().front().getTerminator()->getOperand(rows.output);
  if (!isa<FloatType>(cast<RankedTensorType>(made.getType()).getElementType()) ||
      !collect(made, rows.sums))
    return std::nullopt;
  // Lists that are indices of something are those of a selection.
  for (const SegmentSumOperands &sum : rows.sums)
    if (cast<RankedTensorType>(sum.ids.getType()).getEncoding())
      return std::nullopt;
  return rows;
}

int64_t bytesOf(RankedTensorType type) {
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

/// What a node sends: all rows to all others, or the table, there and back.
bool pays(const Rows &rows, int64_t nodes) {
  int64_t own = 0;
  for (const SegmentSumOperands &sum : rows.sums)
    own += bytesOf(cast<RankedTensorType>(sum.ids.getType())) +
           bytesOf(cast<RankedTensorType>(sum.values.getType()));
  cs::AllReduceOp reduce = rows.reduce;
  return own > 0 && nodes > 1 &&
         own * nodes < 2 * bytesOf(placedType(reduce.getValue()).getTensor());
}

class Gatherer {
public:
  Gatherer(func::FuncOp func, int64_t nodes) : nodes(nodes), builder(func.getContext()) {
    for (auto op : func.front().getOps<cs::CommunicationOpInterface>())
      keys.insert(op.getCommunicationKey());
  }

  /// Returns the fragment that has the result.
  cs::FragmentOp run(Rows rows) {
    std::string key = rows.reduce.getKey().str();
    SmallVector<Value> lists = giveLists(rows);
    builder.setInsertionPoint(rows.reduce);
    SmallVector<Value> gathered;
    for (auto [i, value] : llvm::enumerate(lists)) {
      cs::PlacedType own = placedType(value);
      SmallVector<int64_t> shape(own.getTensor().getShape());
      shape[0] *= nodes;
      auto all = cs::PlacedType::get(
          builder.getContext(),
          RankedTensorType::get(shape, own.getTensor().getElementType()), own.getDevice(),
          own.getMemory());
      // The first is known by the key of the parameter.
      std::string name = i == 1 ? key : key + (i % 2 ? ".values" : ".ids");
      while (!(i == 1) && !keys.insert(name).second)
        name += "'";
      gathered.push_back(
          cs::AllGatherOp::create(builder, rows.reduce.getLoc(), all, name, value,
                                  FlatSymbolRefAttr()));
    }
    cs::FragmentOp made = addUp(rows.reduce, gathered);
    rows.reduce.getResult().replaceAllUsesWith(made.getOutputs().front());
    rows.reduce.erase();
    return made;
  }

private:
  /// Ids and values of the sums. Those that the fragment makes are results of a new one,
  /// in the place of the table.
  SmallVector<Value> giveLists(Rows &rows) {
    cs::FragmentOp old = rows.fragment;
    auto terminator = cast<cs::ReturnOp>(old.getBody().front().getTerminator());
    SmallVector<Value> values(terminator.getOperands());
    values.erase(values.begin() + rows.output);
    SmallVector<Type> types;
    for (auto [i, output] : llvm::enumerate(old.getOutputs()))
      if (i != rows.output)
        types.push_back(output.getType());
    cs::PlacedType like = placedType(old.getOutputs()[rows.output]);
    SmallVector<Value> lists;
    SmallVector<int64_t> made; // results; -1: the list is there
    for (const SegmentSumOperands &sum : rows.sums)
      for (Value list : {sum.ids, sum.values}) {
        auto argument = dyn_cast<BlockArgument>(list);
        lists.push_back(argument ? old.getInputs()[argument.getArgNumber()] : Value());
        made.push_back(argument ? -1 : static_cast<int64_t>(values.size()));
        if (argument)
          continue;
        values.push_back(list);
        types.push_back(cs::PlacedType::get(builder.getContext(),
                                            cast<RankedTensorType>(list.getType()),
                                            like.getDevice(), like.getMemory()));
      }
    builder.setInsertionPoint(old);
    cs::CostAttr cost = old.getCostAttr();
    if (cost) // the table is not written any more
      cost = cs::CostAttr::get(builder.getContext(), cost.getFlops(),
                               std::max<int64_t>(0, cost.getBytes() - bytesOf(like.getTensor())),
                               cost.getNs());
    auto fragment =
        cs::FragmentOp::create(builder, old.getLoc(), types, old.getLabel(), old.getDevice(),
                               old.getInputs(), cost, old.getDeferred());
    fragment->setDiscardableAttrs(old->getDiscardableAttrDictionary());
    fragment.getBody().takeBody(old.getBody());
    terminator->setOperands(values);
    // The sums, and what only they have used.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(fragment.getBody().front())))
      if (isOpTriviallyDead(&op))
        op.erase();
    unsigned next = 0;
    for (auto [i, output] : llvm::enumerate(old.getOutputs()))
      if (i != rows.output)
        output.replaceAllUsesWith(fragment.getOutputs()[next++]);
    rows.reduce.getValueMutable().drop();
    old.erase();
    for (auto [list, result] : llvm::zip(lists, made))
      if (result >= 0)
        list = fragment.getOutputs()[result];
    return lists;
  }

  cs::FragmentOp addUp(cs::AllReduceOp reduce, ArrayRef<Value> gathered) {
    Location loc = reduce.getLoc();
    cs::PlacedType type = placedType(reduce.getResult());
    int64_t flops = 0, bytes = bytesOf(type.getTensor());
    for (Value list : gathered) {
      flops += placedType(list).getTensor().getNumElements();
      bytes += bytesOf(placedType(list).getTensor());
    }
    auto made = cs::FragmentOp::create(
        builder, loc, TypeRange{type}, ("rows." + reduce.getKey()).str(), type.getDevice(),
        gathered, cs::CostAttr::get(builder.getContext(), flops, bytes, /*ns=*/0),
        /*deferred=*/true);
    auto *body = new Block;
    made.getBody().push_back(body);
    for (Value list : gathered)
      body->addArgument(placedType(list).getTensor(), loc);
    OpBuilder inside = OpBuilder::atBlockEnd(body);
    Value sum;
    for (unsigned i = 0; i < gathered.size(); i += 2) {
      Value values = body->getArgument(i + 1);
      if (reduce.getReduction() == cs::Reduction::mean) {
        auto list = cast<RankedTensorType>(values.getType());
        Value over = arith::ConstantOp::create(
            inside, loc,
            DenseElementsAttr::get(
                list, inside.getFloatAttr(list.getElementType(), static_cast<double>(nodes))));
        values = arith::DivFOp::create(inside, loc, values, over);
      }
      Value own = cs::SegmentSumOp::create(inside, loc, type.getTensor(),
                                           body->getArgument(i), values);
      sum = sum ? arith::AddFOp::create(inside, loc, sum, own).getResult() : own;
    }
    cs::ReturnOp::create(inside, loc, sum);
    lowerRowOps(made, [](Operation *) { return false; });
    return made;
  }

  int64_t nodes;
  OpBuilder builder;
  llvm::StringSet<> keys;
};

} // namespace

void combine::gatherRows(func::FuncOp func, int64_t nodes, Tell tell) {
  Gatherer gatherer(func, nodes);
  for (auto reduce : llvm::make_early_inc_range(func.front().getOps<cs::AllReduceOp>()))
    if (std::optional<Rows> rows = findRows(reduce); rows && pays(*rows, nodes)) {
      std::string key = reduce.getKey().str();
      size_t lists = rows->sums.size();
      tell(gatherer.run(*rows), "rows of \"" + Twine(key) + "\" are gathered, in " +
                                    Twine(lists) + (lists == 1 ? " list" : " lists"));
    }
}
