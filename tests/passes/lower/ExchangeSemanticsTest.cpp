// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expands collectives for 1 to 17 ranks, runs the exchanges on numbers, and
// compares with what the collectives are defined to be.

#include "ir/Register.h"
#include "tests/passes/lower/ExchangeInterpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace commsched;

namespace {

constexpr int kMostRanks = 17;
constexpr int kMostElements = 40;

void check(const Case &c) {
  SCOPED_TRACE(c.op + " " + c.reduction + " root " + std::to_string(c.root) +
               " " + c.algorithm);
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  Expansion expansion(&context);
  for (int ranks = std::max(1, c.root + 1); ranks <= kMostRanks; ++ranks) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    ASSERT_TRUE(expansion.expand(c, ranks));
    if (ranks == 1) {
      // The function returns its argument.
      EXPECT_EQ(expansion.starts, 0);
      auto function = *expansion.module->getOps<func::FuncOp>().begin();
      EXPECT_EQ(function.getBody().front().getTerminator()->getOperand(0),
                function.getArgument(0));
      continue;
    }
    ASSERT_EQ(expansion.starts, 1);
    ASSERT_EQ(expansion.shards, c.scatters());
    ASSERT_EQ(expansion.unshards, c.gathers());
    ASSERT_FALSE(expansion.phases.empty());
    // Sharding needs n to be a multiple of the number of ranks.
    int step = c.multipleOf(ranks);
    for (int n = 0; n <= std::max(kMostElements, step); n += step) {
      SCOPED_TRACE(std::to_string(n) + " elements");
      Values exact = initial(c, ranks, n, integerValue);
      Values rough = initial(c, ranks, n, roughValue);
      for (const Phase &phase : expansion.phases) {
        ASSERT_TRUE(run(phase, exact, c.moves()));
        ASSERT_TRUE(run(phase, rough, c.moves()));
      }
      for (int i = 0; i < n; ++i) {
        for (int rank = 0; rank < ranks; ++rank) {
          double want = expected(c, ranks, n, i, rank);
          if (!isDefined(c, ranks, n, rank, i))
            continue;
          if (c.reduction == "mean") {
            ASSERT_NEAR(exact[rank][i], want, 1e-12 * (1 + std::abs(want)))
                << "element " << i << " of rank " << rank;
          } else {
            ASSERT_EQ(exact[rank][i], want)
                << "element " << i << " of rank " << rank;
          }
          // All ranks that have the element have the same bits.
          if (isDefined(c, ranks, n, 0, i) && !c.moves()) {
            ASSERT_EQ(std::memcmp(&rough[rank][i], &rough[0][i],
                                  sizeof(double)),
                      0)
                << "element " << i << " of rank " << rank;
          }
        }
      }
    }
  }
}

TEST(ExchangeSemantics, AllReduce) {
  // Of a maximum, recursive doubling becomes halving-doubling.
  for (const char *algorithm :
       {"ring", "halving-doubling", "recursive-doubling", "auto"})
    for (const char *reduction : {"sum", "mean", "max", "min"})
      check({"all_reduce", reduction, -1, algorithm});
}

TEST(ExchangeSemantics, ReduceScatter) {
  for (const char *algorithm : {"ring", "halving-doubling"})
    for (const char *reduction : {"sum", "mean", "max"})
      check({"reduce_scatter", reduction, -1, algorithm});
}

TEST(ExchangeSemantics, AllGather) {
  for (const char *algorithm : {"ring", "halving-doubling"})
    check({"all_gather", "", -1, algorithm});
}

TEST(ExchangeSemantics, AllToAll) { check({"all_to_all", "", -1}); }

TEST(ExchangeSemantics, Reduce) {
  for (int root : {0, 1, 3, 16})
    for (const char *reduction : {"sum", "mean", "min"})
      check({"reduce", reduction, root});
}

TEST(ExchangeSemantics, Broadcast) {
  for (int root : {0, 1, 2, 5, 16})
    check({"broadcast", "", root});
}

// The interpreter above must notice a wrong program: otherwise the tests prove
// nothing.
TEST(ExchangeSemantics, NoticesWrongExchanges) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  Expansion expansion(&context);
  ASSERT_TRUE(expansion.expand({"all_reduce", "sum", -1, "ring"}, 4));
  Values values = initial({"all_reduce", "sum"}, 4, 10, integerValue);

  Phase wrongPeer = expansion.phases.front();
  wrongPeer.send[2][1].peer = 0;
  Values copy = values;
  EXPECT_FALSE(run(wrongPeer, copy));

  Phase wrongPart = expansion.phases.front();
  wrongPart.recv[1][0].begin ^= 1;
  copy = values;
  EXPECT_FALSE(run(wrongPart, copy));

  Phase oneRoundLess = expansion.phases.front();
  oneRoundLess.rounds -= 1;
  copy = values;
  ASSERT_TRUE(run(oneRoundLess, copy));
  ASSERT_TRUE(run(expansion.phases.back(), copy));
  bool same = true;
  for (int i = 0; i < 10; ++i)
    same &= copy[0][i] == expected({"all_reduce", "sum"}, 4, 10, i);
  EXPECT_FALSE(same);
}

} // namespace
