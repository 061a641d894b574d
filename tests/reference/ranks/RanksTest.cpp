// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program of level 0, with as many workers, says what levels 1 and 2 must come to
// in every mode, for any number of ranks and any algorithm.

#include "ir/Cs.h"
#include "tests/reference/ranks/RanksFixture.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;
using namespace commsched::reference::training;

namespace {

const Program kEmbedding{"embedding", "tests/integration/Inputs/embedding.mlir", {{"words", 30}}};
// One step: in a second one, after sums of an unknown order, some of the many comparisons
// of its pooling are not determined, and so nothing behind them is.
const Program kDigits{"digits", "examples/digits.mlir", {{"y", 10}}, 1};
const Program kTransformer{"transformer", "tests/reference/ranks/Inputs/transformer.mlir", {{"tokens", 12}}, 2};

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
  for (const Program &program : {kLinear, kStatistics})
    for (int64_t ranks : {2, 4}) {
      Data data;
      level0(program, ranks, data);
      OwningOpRef<ModuleOp> module = parseFor(context, program.path, ranks);
      func::FuncOp step = *findStep(*module);
      Interpreter interpreter;
      interpreter.setReduction(Combiner::sum);
      std::vector<StepResult> wanted;
      NamedArrays slots = data.slots;
      for (const NamedArrays &batch : data.batches) {
        auto result = runStep(interpreter, step, slots, batch, ranks);
        ASSERT_TRUE(succeeded(result));
        slots = result->slots;
        wanted.push_back(*result);
      }
      const std::string sum = "insert-dist-comm{reduction=sum}";
      const std::string servers = "insert-dist-comm{mode=parameter-server reduction=sum "
                                  "servers=2 min-block-elements=4}";
      for (const std::string &pipeline :
           {sum, sum + ",schedule-comm,expand-collectives", servers})
        EXPECT_LT(expectWithin(lowered(program, ranks, 1, pipeline, data), wanted), 0.02);
      const std::string devices = sum + ",replicate-devices,assign-devices,schedule-comm";
      EXPECT_LT(expectWithin(lowered(program, ranks / 2, 2, devices, data), wanted), 0.02);
    }
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

TEST_F(Ranks, SpreadSums) {
  // A program of level 1; its norms are computed by one node each.
  const Program program{"spread", "tests/passes/spread/spread.mlir", {}};
  for (int64_t nodes : {2, 3}) {
    OwningOpRef<ModuleOp> module = parseFor(context, program.path, nodes);
    ASSERT_TRUE(bool(module));
    Data data = makeData(*findStep(*module), nodes, program.steps);
    auto wanted = lowered(program, nodes, 1, "cse", data);
    const std::string spread = "spread-sums{min-elements=16 force=true}";
    for (const std::string &pipeline :
         {spread, spread + ",schedule-comm,expand-collectives"})
      EXPECT_LT(expectWithin(lowered(program, nodes, 1, pipeline, data), wanted), 0.02);
  }
}

TEST_F(Ranks, RanksOfTheirOwn) {
  Data data;
  auto wanted = level0(kStatistics, 4, data);
  std::string pipeline = kSchedule + ",expand-collectives";
  expectEqual(lowered(kStatistics, 4, 1, pipeline + ",specialize-ranks", data),
              lowered(kStatistics, 4, 1, pipeline, data));
}

} // namespace
