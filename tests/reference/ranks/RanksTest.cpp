// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program of level 0, with as many workers, says what levels 1 and 2 must come to
// in every mode, for any number of ranks and any algorithm.

#include "ir/Cs.h"
#include "ir/Register.h"
#include "passes/Passes.h"
#include "tests/reference/ranks/Training.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/Passes.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;
using namespace commsched::reference::training;

namespace {

constexpr int64_t kSteps = 3;

struct Program {
  std::string name, path;
  Ranges ranges;
  int64_t steps = kSteps;
};

const Program kLinear{"linear", "examples/linear.mlir", {}};
const Program kStatistics{"statistics", "tests/integration/Inputs/linear-statistics.mlir", {}};
const Program kDevices{"devices", "tests/integration/Inputs/devices.mlir", {}};
const Program kSparse{"sparse", "tests/integration/Inputs/sparse.mlir", {}};
const Program kEmbedding{"embedding", "tests/integration/Inputs/embedding.mlir", {{"words", 30}}};
// One step: in a second one, after sums of an unknown order, some of the many comparisons
// of its pooling are not determined, and so nothing behind them is.
const Program kDigits{"digits", "examples/digits.mlir", {{"y", 10}}, 1};
const Program kTransformer{"transformer", "tests/reference/ranks/Inputs/transformer.mlir", {{"tokens", 12}}, 2};

class Ranks : public ::testing::Test {
protected:
  Ranks() {
    static bool once = [] {
      registerPasses();
      registerPipelines();
      mlir::registerTransformsPasses();
      return true;
    }();
    (void)once;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.disableMultithreading();
  }

  /// Level 0, on as many workers as there are devices.
  std::vector<StepResult> level0(const Program &program, int64_t workers, Data &data) {
    OwningOpRef<ModuleOp> module = parseFor(context, program.path, workers);
    if (!module)
      return {};
    FailureOr<func::FuncOp> step = findStep(*module);
    EXPECT_TRUE(succeeded(step));
    data = makeData(*step, workers, program.steps, program.ranges);
    auto results = runSteps(*step, data.slots, data.batches, workers, /*ignoreSparse=*/true);
    EXPECT_TRUE(succeeded(results)) << program.name;
    return succeeded(results) ? *results : std::vector<StepResult>();
  }

  std::vector<StepResult> lowered(const Program &program, int64_t nodes, int64_t devices,
                                  const std::string &pipeline, const Data &data) {
    OwningOpRef<ModuleOp> module = parseFor(context, program.path, nodes, devices);
    if (!module || !lower(*module, pipeline))
      return ADD_FAILURE() << pipeline, std::vector<StepResult>();
    EXPECT_TRUE(isOfRanks(*module));
    auto workers = countWorkers(*module);
    EXPECT_TRUE(succeeded(workers) && *workers == nodes * devices);
    auto results = runRankSteps(*module, data.slots, data.batches);
    EXPECT_TRUE(succeeded(results)) << pipeline;
    return succeeded(results) ? *results : std::vector<StepResult>();
  }

  void check(const Program &program, int64_t nodes, int64_t devices,
             ArrayRef<std::string> pipelines) {
    Data data;
    std::vector<StepResult> wanted = level0(program, nodes * devices, data);
    ASSERT_EQ(static_cast<int64_t>(wanted.size()), program.steps);
    for (const std::string &pipeline : pipelines) {
      SCOPED_TRACE(program.name + " on " + std::to_string(nodes) + " x " +
                   std::to_string(devices) + ": " + pipeline);
      double unknown =
          expectWithin(lowered(program, nodes, devices, pipeline, data), wanted);
      // A reference that knows nothing would agree with anything.
      EXPECT_LT(unknown, 0.02);
    }
  }

  DialectRegistry registry;
  MLIRContext context;
};

const std::string kInsert = "insert-dist-comm";
const std::string kSchedule = kInsert + ",schedule-comm";

SmallVector<std::string> allReduce() {
  SmallVector<std::string> pipelines{kInsert, kSchedule};
  for (const char *algorithm : {"ring", "halving-doubling", "recursive-doubling", "auto"})
    pipelines.push_back(kSchedule + ",expand-collectives{algorithm=" + algorithm + "}");
  for (const char *policy : {"fifo", "fixed-buckets", "p3", "dear"})
    pipelines.push_back(kInsert + ",schedule-comm{policy=" + policy + "},expand-collectives");
  return pipelines;
}

TEST_F(Ranks, AllReduceOfLinear) {
  for (int64_t nodes : {1, 2, 3, 4})
    check(kLinear, nodes, 1, allReduce());
}

TEST_F(Ranks, AllReduceWithStatistics) {
  for (int64_t nodes : {1, 2, 4}) {
    check(kStatistics, nodes, 1, allReduce());
    check(kDevices, nodes, 1, allReduce());
  }
}

TEST_F(Ranks, AllReduceOfNets) {
  const std::string pipelines[] = {
      kInsert, kSchedule + ",expand-collectives{algorithm=ring}",
      kSchedule + ",expand-collectives{algorithm=halving-doubling}"};
  check(kTransformer, 2, 1, pipelines);
  check(kTransformer, 4, 1, pipelines);
  check(kDigits, 2, 1, pipelines[1]);
}

TEST_F(Ranks, Sum) {
  // Of sums level 0 knows nothing: two workers have twice the mean.
  Data data;
  level0(kLinear, 2, data);
  auto of = [&](const std::string &pipeline) {
    return lowered(kLinear, 2, 1, pipeline, data);
  };
  auto sum = of("insert-dist-comm{reduction=sum},schedule-comm,expand-collectives");
  auto mean = of(kInsert);
  ASSERT_FALSE(sum.empty() || mean.empty());
  expectWithin(sum, of("insert-dist-comm{reduction=sum}"));
  const Array &before = *data.slots["w"], &once = *mean[0].slots["w"],
              &twice = *sum[0].slots["w"];
  for (int64_t i = 0; i < before.size(); ++i)
    EXPECT_NEAR(twice.values[i] - before.values[i], 2 * (once.values[i] - before.values[i]),
                1e-6);
}

TEST_F(Ranks, SeveralDevices) {
  const std::string devices = kInsert + ",replicate-devices";
  const std::string assigned = devices + ",assign-devices";
  const std::string expanded = assigned + ",schedule-comm,expand-collectives";
  const std::string pipelines[] = {devices,
                                   assigned,
                                   expanded,
                                   expanded + ",overlap-rpc-memcpy",
                                   expanded + ",overlap-rpc-memcpy{mode=in-line}"};
  for (int64_t nodes : {1, 2, 3}) {
    check(kStatistics, nodes, 2, pipelines);
    check(kDevices, nodes, 2, pipelines);
  }
  check(kLinear, 2, 3, pipelines);
  check(kTransformer, 2, 2, pipelines[3]);
}

TEST_F(Ranks, ParameterServers) {
  const std::string servers = "insert-dist-comm{mode=parameter-server servers=2 "
                              "min-block-elements=4}";
  const std::string pipelines[] = {
      "insert-dist-comm{mode=parameter-server servers=1}",
      servers,
      servers + ",schedule-comm,expand-collectives",
      "insert-dist-comm{mode=parameter-server servers=3 min-block-elements=2 "
      "max-block-elements=3 placement=round-robin}",
      "insert-dist-comm{mode=parameter-server servers=2 slice=false}"};
  for (int64_t nodes : {1, 2, 4}) {
    check(kLinear, nodes, 1, pipelines);
    check(kStatistics, nodes, 1, pipelines);
    check(kDevices, nodes, 1, pipelines);
  }
  check(kSparse, 3, 1, pipelines);
  check(kTransformer, 2, 1, pipelines[2]);
  const std::string together[] = {
      servers + ",replicate-devices,assign-devices,schedule-comm,overlap-rpc-memcpy",
      servers + ",replicate-devices{by-block=true},assign-devices,schedule-comm"};
  check(kStatistics, 2, 2, together);
  check(kDevices, 2, 2, together);
}

TEST_F(Ranks, AsynchronousServersWithOneTrainer) {
  const std::string async = "insert-dist-comm{mode=parameter-server servers=2 "
                            "min-block-elements=4 sync-mode=async}";
  const std::string pipelines[] = {async, async + ",schedule-comm,expand-collectives"};
  check(kLinear, 1, 1, pipelines);
  check(kDevices, 1, 1, pipelines);

  OwningOpRef<ModuleOp> module = parseFor(context, kLinear.path, 2);
  ASSERT_TRUE(module && lower(*module, async));
  std::string error;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    error = diagnostic.str();
    return success();
  });
  Data data;
  level0(kLinear, 2, data);
  EXPECT_TRUE(failed(runRankSteps(*module, data.slots, data.batches)));
  EXPECT_NE(error.find("asynchronous"), std::string::npos) << error;
}

TEST_F(Ranks, RowsOfTables) {
  // Level 0 updates all rows of a table; here its optimizer is lazy. So servers are
  // compared with servers, and level 0 where all rows are in every batch.
  const std::string servers = "insert-dist-comm{mode=parameter-server servers=2 "
                              "min-block-elements=64}";
  Data data;
  ASSERT_FALSE(level0(kEmbedding, 2, data).empty());
  auto one = lowered(kEmbedding, 2, 1, "insert-dist-comm{mode=parameter-server}", data);
  for (const std::string &pipeline : {servers, servers + ",schedule-comm,expand-collectives"})
    EXPECT_LT(expectWithin(lowered(kEmbedding, 2, 1, pipeline, data), one), 0.02);
}

TEST_F(Ranks, RanksOfTheirOwn) {
  Data data;
  auto wanted = level0(kStatistics, 4, data);
  std::string pipeline = kSchedule + ",expand-collectives";
  expectEqual(lowered(kStatistics, 4, 1, pipeline + ",specialize-ranks", data),
              lowered(kStatistics, 4, 1, pipeline, data));
}

//===----------------------------------------------------------------------===//
// Broken modules
//===----------------------------------------------------------------------===//

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

template <typename Op> Op find(ModuleOp module, bool (*matches)(Op) = nullptr) {
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
  EXPECT_GT(differences(kDevices, kInsert + ",schedule-comm{policy=fixed-buckets},expand-collectives",
                        [](ModuleOp module) {
                          auto pack = find<cs::PackOp>(module, +[](cs::PackOp op) {
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
                        module, +[](cs::ExchangeOp op) { return op.getCombine() == cs::Combine::replace; });
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
