// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/problem/Passes.h"
#include "passes/support/OptionError.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/FileUtilities.h"
#include "passes/problem/ProblemIR.h"
#include "passes/schedule/NcclLink.h"
#include "passes/schedule/StepProblem.h"
#include "llvm/Support/ToolOutputFile.h"

namespace commsched {
#define GEN_PASS_DEF_EXTRACTPROBLEM
#include "passes/problem/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;

namespace {

struct ExtractProblem : commsched::impl::ExtractProblemBase<ExtractProblem> {
  using ExtractProblemBase::ExtractProblemBase;

  void runOnOperation() override {
    // The analysis moves ops.
    OwningOpRef<ModuleOp> copy = getOperation().clone();
    for (auto func : copy->getOps<func::FuncOp>())
      if (!func.isExternal() && func->hasAttr(cs::CsDialect::kStepAttr) &&
          failed(extract(func, *copy)))
        return signalPassFailure();
  }

private:
  LogicalResult extract(func::FuncOp func, ModuleOp module) {
    auto clusters = module.getOps<cs::ClusterOp>();
    if (!llvm::hasSingleElement(clusters))
      return func.emitOpError("needs a cs.cluster in its module, which says what "
                              "communication costs");
    if (failed(checkAlgorithm(*clusters.begin(), algorithm)))
      return failure();
    if (!func.getBody().hasOneBlock())
      return func.emitOpError("must have one block");
    StepCommunications step(func);
    if (failed(step.analyze()))
      return failure();
    if (step.all().empty())
      return func.emitOpError("communicates nothing: run --insert-dist-comm first");
    schedule::Problem problem =
        buildStepProblem(step, *clusters.begin(), algorithm, {.cut = true, .fuse = true}, parts).problem;
    problem.name = (func.getName() + ".problem").str();
    if (std::optional<std::string> error = schedule::check(problem))
      return func.emitOpError() << *error;
    return file.empty() ? add(func.getLoc(), problem) : writeFile(problem);
  }

  LogicalResult add(Location location, const schedule::Problem &problem) {
    ModuleOp module = getOperation();
    if (Operation *old = module.lookupSymbol(problem.name)) {
      if (!isa<cs::ProblemOp>(old))
        return old->emitOpError() << "must not have the name @" << problem.name
                                  << ", which is that of the problem";
      old->erase();
    }
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    writeProblem(builder, location, problem);
    return success();
  }

  LogicalResult writeFile(const schedule::Problem &problem) {
    std::string error;
    std::unique_ptr<llvm::ToolOutputFile> output = openOutputFile(file, &error);
    if (!output)
      return emitOptionError(*this, &getContext()) << error;
    output->os() << problemText(problem);
    output->keep();
    return success();
  }
};

} // namespace
