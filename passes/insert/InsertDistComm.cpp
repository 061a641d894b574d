// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/Passes.h"
#include "passes/support/OptionError.h"

#include "ir/CsSparseOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"

#include "passes/insert/InlineHelpers.h"
#include "passes/insert/Outline.h"
#include "passes/insert/ParameterServer.h"
#include "passes/insert/Profiled.h"
#include "passes/insert/Program.h"
#include "passes/insert/Remarks.h"
#include "passes/insert/RowSparse.h"
#include "passes/insert/RowTables.h"
#include "plan/limits.h"

#include <algorithm>

namespace commsched {
#define GEN_PASS_DEF_INSERTDISTCOMM
#include "passes/insert/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;

namespace {

// A process each.

struct InsertDistComm : commsched::impl::InsertDistCommBase<InsertDistComm> {
  using InsertDistCommBase::InsertDistCommBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  /// Programs without calls pay for one walk.
  LogicalResult inlineCalls() {
    WalkResult calls = getOperation().walk(
        [](func::CallOp) { return WalkResult::interrupt(); });
    if (!calls.wasInterrupted())
      return success();
    return inlineHelpers(getOperation(),
                         [&](OpPassManager &manager) { return runPipeline(manager, getOperation()); });
  }

  InFlightDiagnostic refuse(const Twine &what) {
    return emitOptionError(*this, &getContext()) << what;
  }

  /// Checks what options of all modes say.
  FailureOr<ServerOptions> readOptions() {
    if (mode != "all-reduce" && mode != "parameter-server")
      return refuse("mode must be all-reduce or parameter-server, got: " +
                    mode);
    if (reduction != "mean" && reduction != "sum")
      return refuse("reduction must be mean or sum, got: " + reduction);
    ServerOptions options;
    options.reduction =
        reduction == "mean" ? cs::Reduction::mean : cs::Reduction::sum;
    if (servers < 1 || servers > int64_t(kMaxServers))
      return refuse("servers must be 1 to " + Twine(int64_t(kMaxServers)) +
                    ", got: " + Twine(servers));
    if (minBlockElements < 1)
      return refuse("min-block-elements must be positive, got: " +
                    Twine(minBlockElements));
    options.servers = servers;
    options.minBlockElements = minBlockElements;
    if (maxBlockElements != 0 && maxBlockElements < minBlockElements)
      return refuse("max-block-elements must be 0 or at least "
                    "min-block-elements, " +
                    Twine(minBlockElements) +
                    ", got: " + Twine(maxBlockElements));
    options.maxBlockElements = maxBlockElements;
    options.slice = slice;
    if (syncMode == "sync")
      options.syncMode = cs::SyncMode::sync;
    else if (syncMode == "async")
      options.syncMode = cs::SyncMode::async;
    else if (syncMode == "half-async")
      options.syncMode = cs::SyncMode::half_async;
    else
      return refuse("sync-mode must be sync, async or half-async, got: " +
                    syncMode);
    if (options.syncMode != cs::SyncMode::sync && options.reduction != cs::Reduction::mean)
      return refuse("reduction must be mean with sync-mode=" + syncMode +
                    ", where no gradients of trainers combine, got: " + reduction);
    if (merge < 1)
      return refuse("merge must be positive, got: " + Twine(merge));
    if (merge > std::numeric_limits<uint32_t>::max())
      return refuse("merge must be at most " + Twine(std::numeric_limits<uint32_t>::max()) +
                    ", got: " + Twine(merge));
    if (merge > 1 && options.syncMode != cs::SyncMode::half_async)
      return refuse("merge must be 1 but with sync-mode=half-async, got: " +
                    Twine(merge));
    options.merge = merge;
    std::optional<Placement> known = symbolizePlacement(placement);
    if (!known)
      return refuse(
          "placement must be balanced, round-robin or hash, got: " + placement);
    options.placement = *known;
    ServerOptions none;
    if (mode == "all-reduce" &&
        (options.servers != none.servers || options.minBlockElements != none.minBlockElements ||
         options.maxBlockElements != none.maxBlockElements || options.slice != none.slice ||
         options.syncMode != none.syncMode || options.placement != none.placement))
      return refuse("options of parameter servers must go with mode=parameter-server, got: " +
                    mode);
    if (!options.slice && (options.minBlockElements != none.minBlockElements ||
                           options.maxBlockElements != none.maxBlockElements))
      return refuse("min-block-elements and max-block-elements must go with slice=true");
    return options;
  }

  /// Beside a step with parameter servers nobody averages what a function makes.
  static LogicalResult checkNothingDrifts(const ProgramFunction &function,
                                          const Partition &plan) {
    for (const PlannedCommunication &planned : plan.communications)
      if (planned.kind == PlannedCommunication::State)
        return emitError(planned.loc)
               << "new value of state " << function.results[planned.result].name
               << " differs between the workers, and with mode=parameter-server "
                  "@"
               << function.func.getName()
               << " does not average it: workers would drift apart";
    return success();
  }

  /// What gradients ask for themselves, with parameter servers.
  LogicalResult checkDensities(const Program &program, const ServerOptions &options) {
    for (const ProgramFunction &function : program.functions) {
      func::FuncOp func = function.func;
      WalkResult walked = func.walk([&](cs::GradientOp gradient) {
        if (!gradient->hasAttr(cs::kDensityAttr))
          return WalkResult::advance();
        if (options.syncMode != cs::SyncMode::sync) {
          gradient.emitOpError() << "'" << cs::kDensityAttr << "' needs sync-mode=sync, got: "
                                 << cs::stringifySyncMode(options.syncMode);
          return WalkResult::interrupt();
        }
        for (auto [i, role] : llvm::enumerate(function.arguments))
          if (role.kind == ArgumentRole::Param && role.name == gradient.getParam() &&
              isTable(function, i)) {
            gradient.emitOpError() << "'" << cs::kDensityAttr << "' cannot be of \""
                                   << gradient.getParam()
                                   << "\": of a row-sparse parameter the batch's rows travel";
            return WalkResult::interrupt();
          }
        return WalkResult::advance();
      });
      if (walked.wasInterrupted())
        return failure();
    }
    return success();
  }

  /// What is in a module inside of this one stays as it is: a step there would have been forgotten.
  LogicalResult checkNoStepIsNested(ModuleOp module) {
    WalkResult walked = module.walk([&](func::FuncOp func) {
      if (func->getParentOp() == module || !func->hasAttr(cs::CsDialect::kStepAttr))
        return WalkResult::advance();
      func.emitOpError("must not be in a module inside of another one: write // ----- between "
                       "modules, and give --split-input-file");
      return WalkResult::interrupt();
    });
    return failure(walked.wasInterrupted());
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    FailureOr<ServerOptions> options = readOptions();
    if (failed(options))
      return failure();
    if (failed(checkNoStepIsNested(module)) || failed(inlineCalls()))
      return failure();
    FailureOr<Program> program = readProgram(module);
    if (failed(program) || failed(settleCluster(module, cluster, *program)) ||
        failed(settleRowOps(*program, mode == "parameter-server")))
      return failure();
    std::unique_ptr<GradientExchange> exchange;
    if (mode == "parameter-server") {
      if (failed(checkDensities(*program, *options)))
        return failure();
      FailureOr<std::unique_ptr<GradientExchange>> split =
          splitStep(*program, *options);
      if (failed(split))
        return failure();
      exchange = std::move(*split);
    }
    const bool servesStep = exchange != nullptr;
    if (!servesStep)
      exchange = std::make_unique<AllReduceExchange>(options->reduction);
    for (ProgramFunction &function : program->functions) {
      FailureOr<Partition> plan = partition(function);
      if (failed(plan))
        return failure();
      NoExchange none;
      GradientExchange *own = exchange.get();
      if (servesStep && !function.isStep) {
        if (failed(checkNothingDrifts(function, *plan)))
          return failure();
        own = &none;
      }
      if (failed(outline(function, *plan, *own)))
        return failure();
      if (servesStep && function.isStep)
        dropTables(function);
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
    if (options->reduction == cs::Reduction::sum)
      for (auto func : module.getOps<func::FuncOp>())
        if (func->hasAttr(cs::CsDialect::kStepAttr))
          func->setAttr(cs::CsDialect::kGradientReductionAttr,
                        cs::ReductionAttr::get(&getContext(), cs::Reduction::sum));
    return dropProfiledBodies(module);
  }
};

} // namespace
