// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of levels 1 and 2 have in common: programs, and their steps at level 0
// and lowered.

#ifndef COMMSCHED_TESTS_REFERENCE_RANKS_RANKSFIXTURE_H
#define COMMSCHED_TESTS_REFERENCE_RANKS_RANKSFIXTURE_H

#include "ir/Register.h"
#include "passes/Passes.h"
#include "tests/reference/ranks/Training.h"

#include "mlir/Transforms/Passes.h"
#include "gtest/gtest.h"

namespace commsched::reference::training {

using namespace mlir;

struct Program {
  std::string name, path;
  Ranges ranges;
  int64_t steps = 3;
};

inline const Program kLinear{"linear", "examples/linear.mlir", {}};
inline const Program kStatistics{"statistics", "tests/integration/Inputs/linear-statistics.mlir", {}};
inline const Program kDevices{"devices", "tests/integration/Inputs/devices.mlir", {}};
inline const Program kSparse{"sparse", "tests/integration/Inputs/sparse.mlir", {}};

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

inline const std::string kInsert = "insert-dist-comm";
inline const std::string kSchedule = kInsert + ",schedule-comm";

} // namespace commsched::reference::training

#endif // COMMSCHED_TESTS_REFERENCE_RANKS_RANKSFIXTURE_H
