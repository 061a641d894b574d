// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/CsGroups.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::cs;

/// Whether `rank` lies in a set of ranks; nothing if a constraint divides by zero.
static std::optional<bool> contains(IntegerSet set, int64_t rank) {
  AffineExpr value = getAffineConstantExpr(rank, set.getContext());
  bool inside = true;
  for (auto [constraint, isEquality] : llvm::zip(set.getConstraints(), set.getEqFlags())) {
    auto constant = dyn_cast<AffineConstantExpr>(constraint.replaceDims(value));
    if (!constant)
      return std::nullopt;
    inside &= isEquality ? constant.getValue() == 0 : constant.getValue() >= 0;
  }
  return inside;
}

LogicalResult GroupOp::verify() {
  if (getRanks().has_value() == getWhere().has_value())
    return emitOpError("must have a list of ranks or a set of them");
  if (std::optional<IntegerSet> set = getWhere()) {
    if (set->getNumDims() != 1 || set->getNumSymbols() != 0)
      return emitOpError() << "where must be a set of ranks, got: " << getWhereAttr();
    if (!contains(*set, 0))
      return emitOpError() << "where must have a value for every rank, got: "
                           << getWhereAttr();
    return success();
  }
  ArrayRef<int64_t> list = *getRanks();
  if (list.empty())
    return emitOpError("needs at least one rank");
  llvm::DenseSet<int64_t> seen;
  for (int64_t rank : list) {
    if (rank < 0)
      return emitOpError() << "rank must not be negative, got: " << rank;
    if (!seen.insert(rank).second)
      return emitOpError() << "must have a rank once, got " << rank << " twice";
  }
  return success();
}

FlatSymbolRefAttr cs::getGroupName(Operation *op) {
  return op->getAttrOfType<FlatSymbolRefAttr>("group");
}

static LogicalResult verifyGroup(Operation *op, SymbolTableCollection &symbols) {
  FlatSymbolRefAttr name = getGroupName(op);
  if (!name || symbols.lookupNearestSymbolFrom<GroupOp>(op, name))
    return success();
  return op->emitOpError() << "is in " << name << ", which is not a cs.group";
}

#define COMMSCHED_OF_GROUP(OP)                                         \
  LogicalResult OP::verifySymbolUses(SymbolTableCollection &symbols) { \
    return verifyGroup(*this, symbols);                                \
  }
COMMSCHED_OF_GROUP(AllReduceOp)
COMMSCHED_OF_GROUP(ReduceOp)
COMMSCHED_OF_GROUP(BroadcastOp)
COMMSCHED_OF_GROUP(ReduceScatterOp)
COMMSCHED_OF_GROUP(AllGatherOp)
COMMSCHED_OF_GROUP(ExchangeOp)
COMMSCHED_OF_GROUP(ShardOp)
COMMSCHED_OF_GROUP(UnshardOp)
#undef COMMSCHED_OF_GROUP

FailureOr<Members> Members::of(Operation *op, int64_t ranks) {
  FlatSymbolRefAttr name = getGroupName(op);
  if (!name)
    return Members(ranks);
  auto found = SymbolTable::lookupNearestSymbolFrom<GroupOp>(op, name);
  if (!found)
    return op->emitOpError() << "is in " << name << ", which is not a cs.group";
  auto refuse = [&]() -> InFlightDiagnostic {
    InFlightDiagnostic diagnostic = op->emitOpError();
    diagnostic.attachNote(found.getLoc()) << "the group is here";
    return diagnostic;
  };
  Group group;
  if (std::optional<IntegerSet> set = found.getWhere()) {
    for (int64_t rank = 0; rank < ranks; ++rank)
      if (contains(*set, rank).value_or(false))
        group.ranks.push_back(rank);
    if (group.ranks.empty())
      return refuse() << "is in " << name << ", which has none of " << ranks << " ranks";
  } else {
    group.ranks.append(found.getRanks()->begin(), found.getRanks()->end());
  }
  for (auto [index, rank] : llvm::enumerate(group.ranks)) {
    if (rank >= ranks)
      return refuse() << "is in " << name << ", whose ranks must be below " << ranks
                      << ", got: " << rank;
    group.indices[rank] = static_cast<int64_t>(index);
  }
  Members members(static_cast<int64_t>(group.ranks.size()));
  members.group = std::make_shared<const Group>(std::move(group));
  return members;
}

std::optional<int64_t> Members::indexOf(int64_t rank) const {
  if (!group)
    return rank >= 0 && rank < count ? std::optional<int64_t>(rank) : std::nullopt;
  auto it = group->indices.find(rank);
  return it == group->indices.end() ? std::nullopt : std::optional<int64_t>(it->second);
}
