// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/support/RowFragment.h"

#include "passes/support/LeastTime.h"
#include "passes/support/RowWise.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace commsched;

cs::PlacedType commsched::withRows(cs::PlacedType type, int64_t rows) {
  return cs::PlacedType::get(type.getContext(), withRows(type.getTensor(), rows),
                             type.getDevice(), type.getMemory());
}

static RankedTensorType tensorOf(Value value) {
  return cast<cs::PlacedType>(value.getType()).getTensor();
}

static std::optional<int64_t> rowsOf(RankedTensorType type) {
  if (type.getRank() == 0)
    return std::nullopt;
  return type.getDimSize(0);
}

namespace {

/// Which ops of a body are needed for some rows, which as a whole.
struct BodyUses {
  llvm::DenseMap<Operation *, RowUse> ops;
  SmallVector<RowUse> inputs;

  void demand(Value value, bool byRows) {
    RowUse *use;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      use = &inputs[argument.getArgNumber()];
    } else {
      use = &ops[value.getDefiningOp()];
      // What cannot be made for some rows is made as a whole, and cut.
      byRows = byRows && rowOperands(value.getDefiningOp());
    }
    (byRows ? use->byRows : use->whole) = true;
  }

  explicit BodyUses(Block &body) : inputs(body.getNumArguments()) {
    for (Value result : body.getTerminator()->getOperands())
      demand(result, /*byRows=*/true);
    for (Operation &op : llvm::drop_begin(llvm::reverse(body))) {
      RowUse use = ops.lookup(&op);
      std::optional<SmallVector<bool>> rows;
      if (use.byRows)
        rows = rowOperands(&op);
      op.walk([&](Operation *user) {
        for (OpOperand &operand : user->getOpOperands()) {
          if (operand.get().getParentBlock() != &body)
            continue;
          if (use.byRows)
            demand(operand.get(), user == &op && (*rows)[operand.getOperandNumber()]);
          if (use.whole)
            demand(operand.get(), false);
        }
      });
    }
  }
};

/// Copies a body for some rows.
class BodyCutter {
public:
  BodyCutter(cs::FragmentOp fragment, cs::FragmentOp part, int64_t begin, int64_t end,
             ArrayRef<bool> isCut)
      : begin(begin), rows(end - begin), builder(fragment.getContext()) {
    Block &from = fragment.getBody().front();
    Block &to = part.getBody().emplaceBlock();
    builder.setInsertionPointToEnd(&to);
    BodyUses uses(from);
    for (auto [argument, input, cut] :
         llvm::zip_equal(from.getArguments(), part.getInputs(), isCut)) {
      Value own = to.addArgument(tensorOf(input), argument.getLoc());
      if (cut)
        byRows[argument] = own;
      else
        whole.map(argument, own);
    }
    for (Operation &op : from.without_terminator()) {
      RowUse use = uses.ops.lookup(&op);
      if (use.whole)
        builder.clone(op, whole);
      if (use.byRows)
        cloneRows(op);
    }
    SmallVector<Value> results;
    for (Value result : from.getTerminator()->getOperands())
      results.push_back(rowsOf(result));
    cs::ReturnOp::create(builder, from.getTerminator()->getLoc(), results);
  }

private:
  Value rowsOf(Value value) {
    Value &known = byRows[value];
    if (known)
      return known;
    return known = cutRows(builder, whole.lookup(value), begin, begin + rows);
  }

  void cloneRows(Operation &op) {
    SmallVector<bool> rowsOfOperands = *rowOperands(&op);
    SmallVector<Value> operands;
    for (auto [operand, cut] : llvm::zip_equal(op.getOperands(), rowsOfOperands))
      operands.push_back(cut ? rowsOf(operand) : whole.lookup(operand));
    IRMapping captures;
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (nested != &op && operand.getParentBlock() == op.getBlock())
          captures.map(operand, whole.lookup(operand));
    });
    Operation *clone = cloneForRows(builder, &op, operands, captures, rows);
    for (auto [from, to] : llvm::zip_equal(op.getResults(), clone->getResults()))
      byRows[from] = to;
  }

  int64_t begin, rows;
  OpBuilder builder;
  IRMapping whole;
  llvm::DenseMap<Value, Value> byRows;
};

} // namespace

std::optional<SmallVector<RowUse>> commsched::rowUses(cs::FragmentOp fragment) {
  std::optional<int64_t> rows;
  for (Value output : fragment.getOutputs()) {
    std::optional<int64_t> own = rowsOf(tensorOf(output));
    if (!own || (rows && own != rows))
      return std::nullopt;
    rows = own;
  }
  if (!rows)
    return std::nullopt;
  if (fragment.hasBody())
    return BodyUses(fragment.getBody().front()).inputs;
  auto stated = fragment->getAttrOfType<DenseBoolArrayAttr>(cs::CsDialect::kByRowsAttr);
  if (!stated)
    return std::nullopt;
  SmallVector<RowUse> uses;
  for (bool byRows : stated.asArrayRef())
    uses.push_back({!byRows, byRows});
  return uses;
}

cs::FragmentOp commsched::cutFragment(OpBuilder &builder, cs::FragmentOp fragment,
                                      StringRef label, int64_t begin, int64_t end,
                                      ValueRange inputs, ArrayRef<bool> isCut) {
  SmallVector<Type> types;
  for (Value output : fragment.getOutputs())
    types.push_back(withRows(cast<cs::PlacedType>(output.getType()), end - begin));
  cs::CostAttr cost = fragment.getCostAttr();
  int64_t least = INT64_MAX; // unknown
  if (cost) {
    // Rounded up, so that no part is free.
    int64_t rows = *rowsOf(tensorOf(fragment.getOutputs()[0]));
    auto part = [&](int64_t all) {
      return static_cast<int64_t>(
          (static_cast<__int128>(all) * (end - begin) + rows - 1) / rows);
    };
    // Rounded down: bounds count it.
    if (const int64_t whole = leastNsOf(fragment, cost.getNs()); whole < cost.getNs())
      least = static_cast<int64_t>(static_cast<__int128>(whole) * (end - begin) / rows);
    cost = cs::CostAttr::get(cost.getContext(), part(cost.getFlops()),
                             part(cost.getBytes()), part(cost.getNs()));
  }
  auto result = cs::FragmentOp::create(builder, fragment.getLoc(), types, label,
                                       fragment.getDevice(), inputs, cost,
                                       fragment.getDeferred());
  if (cost)
    setLeastNs(result, least, cost.getNs());
  if (fragment.hasBody())
    BodyCutter(fragment, result, begin, end, isCut);
  else
    result->setAttr(cs::CsDialect::kByRowsAttr,
                    fragment->getAttr(cs::CsDialect::kByRowsAttr));
  return result;
}
