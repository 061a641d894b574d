// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include "passes/insert/Outline.h"
#include "passes/insert/Program.h"
#include "passes/insert/Remarks.h"

namespace commsched {
#define GEN_PASS_DEF_INSERTDISTCOMM
#include "passes/insert/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;

namespace {

struct InsertDistComm : commsched::impl::InsertDistCommBase<InsertDistComm> {
  using InsertDistCommBase::InsertDistCommBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  /// A step may call helpers, a fragment may not. What cannot be inlined is
  /// refused later. Programs without calls pay for one walk.
  LogicalResult inlineCalls() {
    WalkResult calls = getOperation().walk(
        [](func::CallOp) { return WalkResult::interrupt(); });
    if (!calls.wasInterrupted())
      return success();
    OpPassManager manager("builtin.module");
    manager.addPass(createInlinerPass({}, [](OpPassManager &) {}));
    manager.addPass(createSymbolDCEPass());
    return runPipeline(manager, getOperation());
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    if (mode != "all-reduce")
      return emitError(module.getLoc())
             << "insert-dist-comm: mode must be all-reduce, got: " << mode;
    if (reduction != "mean" && reduction != "sum")
      return emitError(module.getLoc())
             << "insert-dist-comm: reduction must be mean or sum, got: "
             << reduction;
    if (failed(inlineCalls()))
      return failure();
    FailureOr<Program> program = readProgram(module);
    if (failed(program) || failed(settleCluster(module, cluster, *program)))
      return failure();
    for (const ProgramFunction &function : program->functions) {
      FailureOr<Partition> plan = partition(function);
      if (failed(plan))
        return failure();
      if (failed(outline(function, *plan,
                         reduction == "mean" ? cs::Reduction::mean
                                             : cs::Reduction::sum)))
        return failure();
      func::FuncOp func = function.func;
      remarkAt(func.getLoc(), func.getName(), "fragments",
               [&](raw_ostream &os) {
                 unsigned deferred = llvm::count_if(
                     plan->fragments, [](const PlannedFragment &fragment) {
                       return fragment.deferred;
                     });
                 os << "@" << func.getName() << ": "
                    << plan->fragments.size() - deferred << " fragments, "
                    << deferred << " deferred ones; cut after a gradient: "
                    << plan->cutsAfterGradient
                    << ", before a parameter: " << plan->cutsBeforeParameter
                    << "; ops moved into updates: " << plan->sunkOps
                    << ", dead: " << plan->deadOps;
               });
    }
    return success();
  }
};

} // namespace
