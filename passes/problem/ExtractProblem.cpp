// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/OutputFile.h"
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
#include "passes/support/HostCopies.h"

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
    if (std::string why = checkAlgorithmName(algorithm); !why.empty()) {
      emitOptionError(*this, &getContext()) << why;
      return signalPassFailure();
    }
    hostCopies = hostCopiesOf(copies, getOperation());
    if (!hostCopies) {
      emitOptionError(*this, &getContext()) << "copies must be " << kHostCopiesNames << ", got: " << copies.getValue();
      return signalPassFailure();
    }
    // The analysis moves ops.
    OwningOpRef<ModuleOp> copy = getOperation().clone();
    auto steps = llvm::filter_to_vector(copy->getOps<func::FuncOp>(), [](func::FuncOp func) {
      return !func.isExternal() && func->hasAttr(cs::CsDialect::kStepAttr);
    });
    if (steps.empty()) {
      getOperation().emitError("has no function with cs.step, whose problem it would be");
      return signalPassFailure();
    }
    if (steps.size() > 1 && !file.empty() && file != "-") {
      emitOptionError(*this, &getContext()) << "file must go with one function with cs.step, got: " << steps.size();
      return signalPassFailure();
    }
    for (func::FuncOp func : steps)
      if (failed(extract(func, *copy)))
        return signalPassFailure();
  }

private:
  std::optional<HostCopies> hostCopies;

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
        buildStepProblem(step, *clusters.begin(), algorithm, {.cut = true, .fuse = true}, parts, *hostCopies)
            .problem;
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
    std::unique_ptr<OutputFile> output = OutputFile::open(file, &error);
    if (!output)
      return emitOptionError(*this, &getContext()) << error;
    output->os() << problemText(problem);
    if (std::string why = output->keep(); !why.empty())
      return emitOptionError(*this, &getContext())
             << "cannot write " << (file == "-" ? "stdout" : llvm::StringRef(file)) << ": " << why;
    return success();
  }
};

} // namespace
