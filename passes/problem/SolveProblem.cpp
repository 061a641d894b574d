// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/problem/Passes.h"
#include "passes/support/OptionError.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "passes/problem/ProblemIR.h"
#include "passes/schedule/ScheduledSteps.h"
#include "passes/schedule/solver/Connections.h"
#include "passes/schedule/solver/Policy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

namespace commsched {
#define GEN_PASS_DEF_SOLVEPROBLEM
#include "passes/problem/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;

namespace {

struct SolveProblem : commsched::impl::SolveProblemBase<SolveProblem>,
                      ScheduledSteps {
  using SolveProblemBase::SolveProblemBase;

  void runOnOperation() override {
    if (!schedule::isPolicy(policy.getValue())) {
      emitOptionError(*this, &getContext()) << "policy must be " << schedule::listPolicies()
                                            << ", got: " << policy.getValue();
      return signalPassFailure();
    }
    for (const std::string &why : {schedule::checkEffort(effort, policy.getValue()),
                                   schedule::checkBuckets(buckets(), policy.getValue())})
      if (!why.empty()) {
        emitOptionError(*this, &getContext()) << why;
        return signalPassFailure();
      }
    if (!reorder && policy.getValue() != schedule::kSolver) {
      emitOptionError(*this, &getContext()) << "reorder=false must go with the policy solver, got: "
                                            << policy.getValue();
      return signalPassFailure();
    }
    for (auto op : getOperation().getOps<cs::ProblemOp>())
      if (failed(solve(op)))
        return signalPassFailure();
  }

  schedule::BucketLimits buckets() const { return {bucketBytes, firstBucketBytes}; }

  LogicalResult solve(cs::ProblemOp op) {
    FailureOr<schedule::Problem> problem = readProblem(op);
    if (failed(problem))
      return failure();
    schedule::Solution solution =
        schedule::runPolicy(*problem, policy.getValue(), {effort, reorder, buckets()});
    if (std::optional<std::string> error =
            schedule::verify(*problem, solution.schedule))
      return op.emitOpError() << "cannot be run by " << policy.getValue() << ": "
                              << *error;
    for (auto old : llvm::make_early_inc_range(op.getOps<cs::SolutionOp>()))
      if (old.getPolicy() == solution.schedule.name)
        old.erase();
    writeSolution(op, *problem, solution.schedule,
                  {solution.evaluation.period, solution.bound.period,
                   solution.anyOrderBound.period});
    explain(op, *problem, solution);
    if (wanted)
      keep(*problem, solution);
    return success();
  }

  void keep(const schedule::Problem &problem, const schedule::Solution &solution) {
    ScheduledStep kept{problem, solution, {}, policy, {}, {}, buckets()};
    for (const schedule::Message &message : solution.schedule.messages) {
      std::string name = problem.communications[message.pieces.front().communication].name;
      if (message.pieces.size() > 1)
        name += "+" + std::to_string(message.pieces.size() - 1);
      kept.messages.push_back(std::move(name));
    }
    steps.push_back(std::move(kept));
  }

  void explain(cs::ProblemOp op, const schedule::Problem &problem,
               const schedule::Solution &solution) {
    if (!getContext().getRemarkEngine())
      return;
    auto say = [&](Location location, StringRef name,
                   llvm::function_ref<void(raw_ostream &)> write) {
      std::string text;
      llvm::raw_string_ostream os(text);
      write(os);
      remark::passed(location, remark::RemarkOpts::name(name)
                                   .category("solve-problem")
                                   .function(op.getSymName().value_or("")))
          << remark::detail::Remark::Arg("Remark", text);
    };
    say(op.getLoc(), "period", [&](raw_ostream &os) {
      os << solution.schedule.name << ": period "
         << llvm::format("%.6g", solution.evaluation.period) << " ns, bound "
         << llvm::format("%.6g", solution.bound.period) << " ns ("
         << solution.bound.why << "), for any order "
         << llvm::format("%.6g", solution.anyOrderBound.period) << " ns ("
         << solution.anyOrderBound.why << ")";
    });
    for (auto [communication, exposed] :
         llvm::zip(op.getOps<cs::ProblemCommunicationOp>(), solution.evaluation.exposed))
      if (exposed > 0)
        say(communication.getLoc(), "exposed", [&](raw_ostream &os) {
          os << "\"" << communication.getLabel() << "\": compute stands still "
             << llvm::format("%.6g", exposed) << " ns per step until it has arrived";
        });
  }
};

} // namespace
