// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/lower/Passes.h"

#include "ir/CsGroups.h"
#include "ir/CsServerFunctions.h"
#include "passes/lower/AffineEval.h"
#include "passes/support/Module.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

namespace commsched {
#define GEN_PASS_DEF_SPECIALIZERANKS
#include "passes/lower/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;
using namespace commsched::cs;

namespace {

/// A person reads the result; far fewer fit into memory than into a cluster.
constexpr int64_t kMostFunctions = 1024;

AffineMap fill(AffineMap map, int64_t rank) {
  AffineExpr constant = getAffineConstantExpr(rank, map.getContext());
  SmallVector<AffineExpr> dims{constant};
  for (unsigned i = 1; i < map.getNumDims(); ++i)
    dims.push_back(getAffineDimExpr(i, map.getContext()));
  return map.replaceDimsAndSymbols(dims, {}, map.getNumDims(), 0);
}

/// Fills in the rank and drops the constraints that then always hold. If one
/// never holds, the set is empty.
IntegerSet fill(IntegerSet set, int64_t rank) {
  MLIRContext *context = set.getContext();
  SmallVector<AffineExpr> dims{getAffineConstantExpr(rank, context)};
  for (unsigned i = 1; i < set.getNumDims(); ++i)
    dims.push_back(getAffineDimExpr(i, context));
  IntegerSet filled =
      set.replaceDimsAndSymbols(dims, {}, set.getNumDims(), 0);
  SmallVector<AffineExpr> constraints;
  SmallVector<bool> equalities;
  for (unsigned i = 0, e = filled.getNumConstraints(); i < e; ++i) {
    AffineExpr constraint = filled.getConstraint(i);
    if (auto constant = dyn_cast<AffineConstantExpr>(constraint)) {
      int64_t value = constant.getValue();
      if (filled.isEq(i) ? value != 0 : value < 0)
        return IntegerSet::getEmptySet(set.getNumDims(), 0, context);
      continue;
    }
    constraints.push_back(constraint);
    equalities.push_back(filled.isEq(i));
  }
  if (constraints.empty()) {
    constraints.push_back(getAffineConstantExpr(0, context));
    equalities.push_back(true);
  }
  return IntegerSet::get(set.getNumDims(), 0, constraints, equalities);
}

SideAttr fill(SideAttr side, int64_t rank) {
  return SideAttr::get(side.getContext(), fill(side.getParts(), rank),
                       fill(side.getPeer(), rank), fill(side.getWhen(), rank));
}

class SpecializeRanks
    : public commsched::impl::SpecializeRanksBase<SpecializeRanks> {
public:
  using SpecializeRanksBase::SpecializeRanksBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isDistributed(function) && !getRank(function) &&
          !getServerIndex(function))
        functions.push_back(function);
    if (functions.empty())
      return markAllAnalysesPreserved();
    FailureOr<ClusterOp> cluster = findCluster(getOperation());
    if (failed(cluster))
      return signalPassFailure();
    for (func::FuncOp function : functions) {
      int64_t ranks = getRankCount(function, *cluster);
      if (ranks > kMostFunctions) {
        function.emitOpError() << "runs on " << ranks
                               << " ranks; functions are made for at most "
                               << kMostFunctions;
        return signalPassFailure();
      }
      counts[function.getNameAttr()] = ranks;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        std::string name = getRankName(function.getName(), rank);
        if (Operation *taken = getOperation().lookupSymbol(name)) {
          taken->emitOpError() << "has the name that @" << function.getName()
                               << " of rank " << rank << " needs";
          return signalPassFailure();
        }
      }
    }
    for (func::FuncOp function : functions) {
      int64_t ranks = counts[function.getNameAttr()];
      OpBuilder builder(function);
      for (int64_t rank = 0; rank < ranks; ++rank) {
        auto copy = cast<func::FuncOp>(builder.clone(*function));
        copy.setName(getRankName(function.getName(), rank));
        copy->setAttr(CsDialect::kRankAttr, builder.getI64IntegerAttr(rank));
        if (failed(specialize(copy, rank, ranks)))
          return signalPassFailure();
      }
      remark::passed(function.getLoc(),
                     remark::RemarkOpts::name("SpecializeRanks")
                         .category(getArgument())
                         .function(function.getName()))
          << remark::add("@{0} became {1} functions, one per rank",
                         function.getName().str(), ranks);
    }
    for (func::FuncOp function : functions)
      function.erase();
  }

private:
  LogicalResult specialize(func::FuncOp function, int64_t rank, int64_t ranks) {
    WalkResult walked = function.walk([&](Operation *op) {
      if (auto exchange = dyn_cast<ExchangeOp>(op)) {
        FailureOr<Members> members = Members::of(op, ranks);
        if (failed(members))
          return WalkResult::interrupt();
        // What others than members would do is of no matter.
        if (std::optional<int64_t> index = members->indexOf(rank)) {
          exchange.setSendAttr(fill(exchange.getSend(), *index));
          exchange.setRecvAttr(fill(exchange.getRecv(), *index));
        }
      } else if (auto send = dyn_cast<SendOp>(op)) {
        return specializeMessage(send, rank);
      } else if (auto recv = dyn_cast<RecvOp>(op)) {
        return specializeMessage(recv, rank);
      }
      return WalkResult::advance();
    });
    return failure(walked.wasInterrupted());
  }

  template <typename MessageOp>
  WalkResult specializeMessage(MessageOp op, int64_t rank) {
    bool active = true;
    if (std::optional<IntegerSet> when = op.getWhen()) {
      op.setWhenAttr(IntegerSetAttr::get(fill(*when, rank)));
      active = contains(*when, rank, 0).value_or(false);
    }
    std::optional<int64_t> peer =
        evaluate(op.getPeer().getResult(0), rank, 0);
    op.setPeerAttr(AffineMapAttr::get(fill(op.getPeer(), rank)));
    if (!op.getRoleAttr() || !active)
      return WalkResult::advance();
    // The role is a function that this pass replaces: name the peer's own.
    auto count = counts.find(op.getRoleAttr().getAttr());
    if (count == counts.end())
      return WalkResult::advance();
    if (!peer || *peer < 0 || *peer >= count->second) {
      op.emitOpError() << "peer of rank " << rank << " must be a rank of "
                       << op.getRoleAttr() << ", 0 to " << count->second - 1;
      return WalkResult::interrupt();
    }
    op.setRoleAttr(FlatSymbolRefAttr::get(
        op.getContext(), getRankName(*op.getRole(), *peer)));
    return WalkResult::advance();
  }

  llvm::DenseMap<StringAttr, int64_t> counts; // by function
};

} // namespace
