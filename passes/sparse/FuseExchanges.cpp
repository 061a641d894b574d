// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/sparse/FuseExchanges.h"

#include "ir/CsGroups.h"
#include "ir/CsSparseOps.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/place/Devices.h"
#include "passes/sparse/FragmentMaker.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::sparse;
using place::placedType;

namespace {

/// How many rows the operand of an exchange has: lists have one, and so has any tensor of
/// an all-gather, which lays what the nodes have behind each other.
int64_t rowCount(Operation *exchange) {
  return isa<cs::AllGatherOp>(exchange)
             ? 1
             : placedType(exchange->getOperand(0)).getTensor().getDimSize(0);
}

/// The tensor as so many rows; lists, which say what they are indices of, stay as they
/// are.
RankedTensorType inRows(RankedTensorType type, int64_t rows) {
  if (type.getRank() == 2 && type.getDimSize(0) == rows)
    return type;
  return RankedTensorType::get({rows, type.getNumElements() / rows}, type.getElementType());
}

RankedTensorType operandRows(Operation *exchange) {
  return inRows(placedType(exchange->getOperand(0)).getTensor(), rowCount(exchange));
}

RankedTensorType resultRows(Operation *exchange) {
  RankedTensorType type = placedType(exchange->getResult(0)).getTensor();
  return inRows(type, type.getNumElements() / operandRows(exchange).getDimSize(1));
}

/// The same elements in another shape; nothing if it has that.
Value reshape(OpBuilder &builder, Location loc, Value value, RankedTensorType to) {
  auto from = cast<RankedTensorType>(value.getType());
  if (from == to)
    return value;
  auto all = [](RankedTensorType type) {
    return SmallVector<ReassociationIndices>{
        llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()))};
  };
  if (from.getRank() != 1)
    value = tensor::CollapseShapeOp::create(builder, loc, value, all(from));
  if (to.getRank() != 1)
    value = tensor::ExpandShapeOp::create(builder, loc, to, value, all(to));
  return value;
}

/// All columns of some rows, from column `at` on.
struct Columns {
  SmallVector<OpFoldResult> offsets, sizes, strides;
  Columns(OpBuilder &builder, RankedTensorType part, int64_t at)
      : offsets{builder.getIndexAttr(0), builder.getIndexAttr(at)},
        sizes{builder.getIndexAttr(part.getDimSize(0)),
              builder.getIndexAttr(part.getDimSize(1))},
        strides(2, builder.getIndexAttr(1)) {}
};

/// What exchanges must have in common to become one.
using Kind = std::tuple<StringRef, Type, unsigned, int64_t, int64_t>;

Kind kindOf(Operation *op) {
  cs::PlacedType type = placedType(op->getOperand(0));
  int64_t distance = 0;
  if (auto pair = dyn_cast<cs::PairExchangeOp>(op))
    distance = static_cast<int64_t>(pair.getDistance());
  return {op->getName().getStringRef(), type.getTensor().getElementType(), type.getDevice(),
          rowCount(op), distance};
}

StringRef keyOf(Operation *exchange) {
  return exchange->getAttrOfType<StringAttr>("key").getValue();
}

bool hasBody(Operation *exchange) {
  auto made = place::sourceOf(exchange->getOperand(0)).getDefiningOp<cs::FragmentOp>();
  return !made || made.hasBody();
}

class Fuser {
public:
  explicit Fuser(ArrayRef<Operation *> members)
      : members(members), last(members.back()), builder(last), loc(last->getLoc()),
        body(hasBody(last)) {}

  void run(TellFused tell) {
    Operation *made = exchange(join());
    auto fragment = cut(made->getResult(0));
    SmallVector<StringRef> keys;
    for (Operation *member : members)
      keys.push_back(keyOf(member));
    tell(made, keys);
    // What came between the first exchange and this place and needs one of them.
    Operation *at = fragment;
    for (Operation *op : dependents()) {
      op->moveAfter(at);
      at = op;
    }
    for (auto [member, part] : llvm::zip(members, fragment.getOutputs())) {
      member->getResult(0).replaceAllUsesWith(part);
      member->erase();
    }
  }

private:
  FragmentMaker makeFragment(StringRef label, ValueRange inputs,
                             ArrayRef<RankedTensorType> results) {
    int64_t bytes = 0;
    for (RankedTensorType type : results)
      bytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
    return FragmentMaker(builder, loc, (label + key()).str(), inputs, results, /*flops=*/0,
                         2 * bytes, /*deferred=*/true, body);
  }
  std::string key() const {
    return (keyOf(members.front()) + "+" + Twine(members.size() - 1)).str();
  }

  Value join() {
    SmallVector<Value> parts;
    int64_t columns = 0;
    for (Operation *member : members) {
      parts.push_back(member->getOperand(0));
      columns += operandRows(member).getDimSize(1);
    }
    RankedTensorType first = operandRows(members.front());
    auto type =
        RankedTensorType::get({first.getDimSize(0), columns}, first.getElementType());
    FragmentMaker maker = makeFragment("join.", parts, {type});
    if (maker.hasBody()) {
      OpBuilder &in = maker.inside;
      Value whole =
          tensor::EmptyOp::create(in, loc, type.getShape(), type.getElementType());
      int64_t at = 0;
      for (auto [member, argument] : llvm::zip(members, maker.arguments())) {
        RankedTensorType rows = operandRows(member);
        Value part = reshape(in, loc, argument, rows);
        Columns to(in, rows, at);
        whole = tensor::InsertSliceOp::create(in, loc, part, whole, to.offsets, to.sizes,
                                              to.strides);
        at += rows.getDimSize(1);
      }
      maker.finish(loc, whole);
    }
    return maker.fragment.getOutputs().front();
  }

  Operation *exchange(Value joined) {
    Operation *made = builder.clone(*last);
    made->setOperand(0, joined);
    made->setAttr("key", builder.getStringAttr(key()));
    cs::PlacedType type = placedType(last->getResult(0));
    made->getResult(0).setType(cs::PlacedType::get(
        builder.getContext(),
        RankedTensorType::get(
            {resultRows(members.back()).getDimSize(0),
             placedType(joined).getTensor().getDimSize(1)},
            type.getTensor().getElementType()),
        type.getDevice(), type.getMemory()));
    return made;
  }

  cs::FragmentOp cut(Value exchanged) {
    SmallVector<RankedTensorType> types;
    for (Operation *member : members)
      types.push_back(placedType(member->getResult(0)).getTensor());
    FragmentMaker maker = makeFragment("cut.", exchanged, types);
    if (maker.hasBody()) {
      OpBuilder &in = maker.inside;
      Value whole = maker.argument(0);
      SmallVector<Value> parts;
      int64_t at = 0;
      for (auto [member, type] : llvm::zip(members, types)) {
        RankedTensorType rows = resultRows(member);
        Columns from(in, rows, at);
        Value part = tensor::ExtractSliceOp::create(in, loc, rows, whole, from.offsets,
                                                    from.sizes, from.strides);
        parts.push_back(reshape(in, loc, part, type));
        at += rows.getDimSize(1);
      }
      maker.finish(loc, parts);
    }
    return maker.fragment;
  }

  /// In their order.
  SmallVector<Operation *> dependents() const {
    SetVector<Operation *> found;
    for (Operation *member : members)
      getForwardSlice(member, &found);
    SmallVector<Operation *> ahead;
    for (Operation *op : found)
      if (op->getBlock() == last->getBlock() && op->isBeforeInBlock(last))
        ahead.push_back(op);
    llvm::sort(ahead, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    return ahead;
  }

  ArrayRef<Operation *> members;
  Operation *last;
  OpBuilder builder;
  Location loc;
  bool body;
};

/// Of one kind. What depends on a member cannot join it.
void fuseKind(ArrayRef<Operation *> exchanges, int64_t bytes, TellFused tell) {
  SmallVector<Operation *> members;
  SetVector<Operation *> behind;
  int64_t sum = 0;
  auto close = [&] {
    if (members.size() > 1)
      Fuser(members).run(tell);
    members.clear();
    behind.clear();
    sum = 0;
  };
  for (Operation *op : exchanges) {
    int64_t own = place::bytesOf(placedType(op->getOperand(0)));
    if (behind.contains(op) || (!members.empty() && sum + own > bytes))
      close();
    if (own > bytes)
      continue;
    members.push_back(op);
    getForwardSlice(op, &behind);
    sum += own;
  }
  close();
}

} // namespace

bool sparse::isFusable(Operation *op) {
  if (isa<cs::AllGatherOp>(op)) {
    RankedTensorType type = placedType(op->getOperand(0)).getTensor();
    bool isRow = type.getRank() == 2 && type.getDimSize(0) == 1;
    return !cs::getGroupName(op) && type.getNumElements() > 0 && (isRow || !type.getEncoding());
  }
  return isa<cs::PairExchangeOp, cs::AllToAllOp>(op) &&
         placedType(op->getOperand(0)).getTensor().getRank() == 2;
}

int64_t sparse::fusionBytes(cs::LinkAttr link) {
  __int128 bytes = static_cast<__int128>(link.getLatencyNs() + link.getOverheadNs()) *
                   link.getMbitPerS() / 8000;
  return static_cast<int64_t>(std::min<__int128>(bytes, int64_t{1} << 60));
}

void sparse::fuseExchanges(ArrayRef<Operation *> exchanges, int64_t bytes,
                           TellFused tell) {
  // Of a handful of kinds.
  SmallVector<std::pair<Kind, SmallVector<Operation *>>> byKind;
  for (Operation *op : exchanges) {
    Kind kind = kindOf(op);
    auto known = llvm::find_if(byKind, [&](auto &entry) { return entry.first == kind; });
    if (known == byKind.end()) {
      byKind.push_back({kind, {}});
      known = std::prev(byKind.end());
    }
    known->second.push_back(op);
  }
  for (auto &[kind, ops] : byKind)
    fuseKind(ops, bytes, tell);
}
