// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowered steps that are broken by hand: the interpreter must come to something else, or
// end with an error.

#include "ir/Cs.h"
#include "tests/reference/ranks/RanksFixture.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;
using namespace commsched::reference::training;

namespace {

class Broken : public Ranks {
protected:
  /// Lowers `program` for 4 ranks, breaks it, and says how many elements differ.
  template <typename Break>
  int64_t differences(const Program &program, const std::string &pipeline, Break breakIt) {
    Data data;
    auto wanted = level0(program, 4, data);
    OwningOpRef<ModuleOp> module = parseFor(context, program.path, 4);
    if (wanted.empty() || !module || !lower(*module, pipeline))
      return -1;
    breakIt(*module);
    EXPECT_TRUE(succeeded(verify(*module)));
    auto found = runRankSteps(*module, data.slots, data.batches);
    return succeeded(found) ? countOutside(found->back(), wanted.back()) : -1;
  }
  /// The error that `program` ends with when it is broken so.
  template <typename Break>
  std::string error(const Program &program, const std::string &pipeline, Break breakIt) {
    std::string error;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      error = diagnostic.str();
      return success();
    });
    EXPECT_EQ(differences(program, pipeline, breakIt), -1);
    return error;
  }
};

template <typename Op>
Op find(ModuleOp module, bool (*matches)(Op) = nullptr) {
  Op found;
  module.walk([&](Op op) {
    if (!found && (!matches || matches(op)))
      found = op;
  });
  EXPECT_TRUE(bool(found));
  return found;
}

const std::string kRing = kSchedule + ",expand-collectives{algorithm=ring}";

TEST_F(Broken, NothingIsFoundInWhatIsWhole) {
  EXPECT_EQ(differences(kDevices, kRing, [](ModuleOp) {}), 0);
  EXPECT_EQ(differences(kLinear, kRing, [](ModuleOp) {}), 0);
}

TEST_F(Broken, PiecesOfAMessageSwapped) {
  EXPECT_GT(
      differences(kDevices, kInsert + ",schedule-comm{policy=fixed-buckets},expand-collectives",
                  [](ModuleOp module) {
                    auto pack = find<cs::PackOp>(
                        module, +[](cs::PackOp op) {
                          return op.getPieces().size() > 1 &&
                                 op.getPieces()[0].getType() == op.getPieces()[1].getType();
                        });
                    Value first = pack.getPieces()[0];
                    pack->setOperand(0, pack.getPieces()[1]);
                    pack->setOperand(1, first);
                  }),
      0);
}

TEST_F(Broken, PartOfAMessageShifted) {
  EXPECT_GT(differences(kStatistics, kInsert + ",schedule-comm{policy=fixed-buckets},expand-collectives",
                        [](ModuleOp module) {
                          auto unpack = find<cs::UnpackOp>(module);
                          SmallVector<int64_t> bounds(unpack.getBounds());
                          int64_t shift = bounds[0] > 0 ? -1 : 1;
                          bounds[0] += shift;
                          bounds[1] += shift;
                          unpack.setBounds(bounds);
                        }),
            0);
}

TEST_F(Broken, ScaleOfAMean) {
  EXPECT_GT(differences(kLinear, kRing,
                        [](ModuleOp module) {
                          auto exchange = find<cs::ExchangeOp>(
                              module, +[](cs::ExchangeOp op) { return op.getScale().has_value(); });
                          exchange.setScaleAttr(
                              Builder(module.getContext()).getF64FloatAttr(0.2501));
                        }),
            0);
}

TEST_F(Broken, SumInsteadOfMean) {
  EXPECT_GT(differences(kLinear, kInsert,
                        [](ModuleOp module) {
                          find<cs::AllReduceOp>(module).setReduction(cs::Reduction::sum);
                        }),
            0);
}

TEST_F(Broken, RoundLeftOut) {
  // Ranks end with different values.
  EXPECT_NE(error(kLinear, kRing,
                  [](ModuleOp module) {
                    auto exchange = find<cs::ExchangeOp>(
                        module,
                        +[](cs::ExchangeOp op) { return op.getCombine() == cs::Combine::replace; });
                    exchange.setRounds(exchange.getRounds() - 1);
                  })
                .find("of the new value of \"w\""),
            std::string::npos);
}

TEST_F(Broken, PeerThatDoesNotReceive) {
  EXPECT_NE(error(kLinear, kRing,
                  [](ModuleOp module) {
                    auto exchange = find<cs::ExchangeOp>(module);
                    MLIRContext *context = module.getContext();
                    AffineExpr r = getAffineDimExpr(0, context);
                    cs::SideAttr send = exchange.getSend();
                    exchange.setSendAttr(cs::SideAttr::get(
                        context, send.getParts(), AffineMap::get(2, 0, (r + 2) % 4),
                        send.getWhen()));
                  })
                .find("not received"),
            std::string::npos);
}

TEST_F(Broken, CollectThatNobodySendsTo) {
  EXPECT_NE(error(kLinear, "insert-dist-comm{mode=parameter-server}",
                  [](ModuleOp module) { find<cs::CollectOp>(module).setKey("other"); })
                .find("never comes"),
            std::string::npos);
}

TEST_F(Broken, PublishedBeforeTheUpdate) {
  EXPECT_NE(error(kLinear, "insert-dist-comm{mode=parameter-server}",
                  [](ModuleOp module) {
                    auto publish = find<cs::PublishOp>(module);
                    auto function = publish->getParentOfType<func::FuncOp>();
                    publish.getValueMutable().assign(function.getArgument(0));
                  })
                .find("of the new value of \"w\""),
            std::string::npos);
}

} // namespace
