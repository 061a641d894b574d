// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --verify-distributed against the interpreter: it accepts every expansion, and
// accepts a program that was changed at one place only if that still computes
// the collective.

#include "ir/Register.h"
#include "tests/passes/lower/ExchangeInterpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <functional>

using namespace mlir;
using namespace commsched;

namespace {

/// True if the module passes --verify-distributed.
bool verifies(ModuleOp module) {
  PassManager pm(module.getContext());
  pm.addPass(createVerifyDistributed());
  return succeeded(pm.run(module));
}

/// True if the exchanges compute `c` on numbers, bitwise the same on all ranks.
bool computes(const Case &c, Expansion &expansion, int ranks) {
  EXPECT_TRUE(expansion.read(ranks));
  int step = c.multipleOf(ranks);
  for (int n = 0; n <= 24; n += step) {
    Values exact = initial(c, ranks, n, integerValue);
    Values rough = initial(c, ranks, n, roughValue);
    for (const Phase &phase : expansion.phases)
      if (!run(phase, exact, c.moves()) || !run(phase, rough, c.moves()))
        return false;
    for (int rank = 0; rank < ranks; ++rank)
      for (int i = 0; i < n; ++i) {
        if (!isDefined(c, ranks, n, rank, i))
          continue;
        double want = expected(c, ranks, n, i, rank);
        if (!(std::abs(exact[rank][i] - want) <= 1e-12 * (1 + std::abs(want))))
          return false;
        if (isDefined(c, ranks, n, 0, i) && !c.moves() &&
            std::memcmp(&rough[rank][i], &rough[0][i], sizeof(double)) != 0)
          return false;
      }
  }
  return true;
}

using Change = std::function<void(cs::ExchangeOp)>;

AffineMap plus(AffineMap map, unsigned result, int64_t by) {
  SmallVector<AffineExpr> results(map.getResults());
  results[result] = results[result] + by;
  return AffineMap::get(2, 0, results, map.getContext());
}

/// Ways to spoil an exchange.
std::vector<Change> changes() {
  std::vector<Change> list;
  auto side = [&](std::function<cs::SideAttr(cs::SideAttr)> change) {
    list.push_back([=](cs::ExchangeOp op) {
      op.setSendAttr(change(op.getSend()));
    });
    list.push_back([=](cs::ExchangeOp op) {
      op.setRecvAttr(change(op.getRecv()));
    });
    list.push_back([=](cs::ExchangeOp op) {
      op.setSendAttr(change(op.getSend()));
      op.setRecvAttr(change(op.getRecv()));
    });
  };
  for (int64_t by : {-1, 1}) {
    list.push_back([=](cs::ExchangeOp op) {
      if (int64_t(op.getRounds()) + by > 0)
        op.setRounds(op.getRounds() + by);
    });
    list.push_back([=](cs::ExchangeOp op) {
      if (int64_t(op.getChunks()) + by > 0)
        op.setChunks(op.getChunks() + by);
    });
    for (unsigned result : {0u, 1u})
      side([=](cs::SideAttr side) {
        return cs::SideAttr::get(side.getContext(),
                                 plus(side.getParts(), result, by),
                                 side.getPeer(), side.getWhen());
      });
    side([=](cs::SideAttr side) {
      return cs::SideAttr::get(side.getContext(), side.getParts(),
                               plus(side.getPeer(), 0, by), side.getWhen());
    });
  }
  for (int64_t zero : {0, 1, 2})
    side([=](cs::SideAttr side) {
      // Only one rank, or all ranks, or none.
      AffineExpr rank = getAffineDimExpr(0, side.getContext());
      AffineExpr expr = zero == 0   ? rank
                        : zero == 1 ? rank - rank
                                    : rank - rank + 1;
      return cs::SideAttr::get(side.getContext(), side.getParts(),
                               side.getPeer(),
                               IntegerSet::get(2, 0, {expr}, {true}));
    });
  for (cs::Combine how : {cs::Combine::replace, cs::Combine::sum,
                          cs::Combine::max, cs::Combine::min})
    list.push_back([=](cs::ExchangeOp op) { op.setCombine(how); });
  list.push_back([](cs::ExchangeOp op) {
    Builder builder(op.getContext());
    op.setScaleAttr(op.getScale() ? FloatAttr()
                                  : builder.getF64FloatAttr(0.5));
  });
  list.push_back([](cs::ExchangeOp op) {
    cs::SideAttr send = op.getSend();
    op.setSendAttr(op.getRecv());
    op.setRecvAttr(send);
  });
  list.push_back([](cs::ExchangeOp op) { // left out
    op.getResult().replaceAllUsesWith(op.getValue());
    op.erase();
  });
  list.push_back([](cs::ExchangeOp op) { // done twice
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    auto copy = cast<cs::ExchangeOp>(builder.clone(*op));
    op.getResult().replaceAllUsesExcept(copy.getResult(), copy);
    copy.getValueMutable().assign(op.getResult());
  });
  return list;
}

constexpr int kMostProvedRanks = 17;
constexpr int kMostChangedRanks = 6;

struct Tally {
  int programs = 0;
  int accepted = 0; // of the changed ones
};

void check(const Case &c, Tally &tally) {
  SCOPED_TRACE(c.op + " " + c.reduction + " " + c.algorithm);
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  // Errors are expected.
  ScopedDiagnosticHandler quiet(&context,
                                [](Diagnostic &) { return success(); });
  Expansion expansion(&context);
  for (int ranks = std::max(1, c.root + 1); ranks <= kMostProvedRanks; ++ranks) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    ASSERT_TRUE(expansion.expand(c, ranks));
    ASSERT_TRUE(verifies(*expansion.module));
    if (ranks > kMostChangedRanks)
      continue;
    OwningOpRef<ModuleOp> original = expansion.module->clone();
    size_t exchanges = expansion.phases.size();
    for (size_t which = 0; which < exchanges; ++which)
      for (auto [number, change] : llvm::enumerate(changes())) {
        SCOPED_TRACE("change " + std::to_string(number) + " of exchange " +
                     std::to_string(which));
        expansion.module = original->clone();
        SmallVector<cs::ExchangeOp> ops;
        expansion.module->walk([&](cs::ExchangeOp op) { ops.push_back(op); });
        change(ops[which]);
        ++tally.programs;
        if (!verifies(*expansion.module))
          continue;
        ++tally.accepted;
        EXPECT_TRUE(computes(c, expansion, ranks));
      }
  }
}

TEST(ExchangeProof, AcceptsOnlyWhatComputesTheCollective) {
  Tally tally;
  for (const char *algorithm : {"ring", "halving-doubling"}) {
    for (const char *reduction : {"sum", "mean", "max"})
      check({"all_reduce", reduction, -1, algorithm}, tally);
    check({"reduce_scatter", "mean", -1, algorithm}, tally);
    check({"all_gather", "", -1, algorithm}, tally);
  }
  for (const char *reduction : {"sum", "mean"})
    check({"all_reduce", reduction, -1, "recursive-doubling"}, tally);
  check({"reduce", "mean", 1}, tally);
  check({"reduce", "min", 0}, tally);
  check({"broadcast", "", 2}, tally);
  check({"all_to_all", "", -1}, tally);
  // Some changes change nothing, but nearly all of them do harm.
  EXPECT_GT(tally.programs, 1000);
  EXPECT_LT(tally.accepted, tally.programs / 5);
  RecordProperty("programs", tally.programs);
  RecordProperty("accepted", tally.accepted);
}

} // namespace
