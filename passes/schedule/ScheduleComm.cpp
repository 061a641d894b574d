// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/Passes.h"
#include "passes/support/OptionError.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/schedule/Apply.h"
#include "passes/schedule/CutBlocks.h"
#include "passes/schedule/MoveFragments.h"
#include "passes/schedule/ScheduleRemarks.h"
#include "passes/schedule/ScheduledSteps.h"
#include "passes/schedule/solver/Arrivals.h"
#include "passes/schedule/solver/Policy.h"

#include <cmath>
#include <map>

namespace commsched {
#define GEN_PASS_DEF_SCHEDULECOMM
#include "passes/schedule/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;

/// A start for each communication, by the place of its first consumer. Priorities
/// count from 0 without gaps; the same need, the same priority.
static void startByPriority(const StepCommunications &step) {
  std::map<std::pair<Need::When, unsigned>, int64_t> ranks;
  auto keyOf = [&](Operation *op) {
    Need need = step.needOf(op);
    return std::pair(need.when, need.place);
  };
  for (Operation *op : step.all())
    ranks[keyOf(op)] = 0;
  int64_t next = 0;
  for (auto &[key, rank] : ranks)
    rank = next++;
  std::vector<StartRequest> requests;
  for (Operation *op : step.all()) {
    StartRequest request;
    request.pieces.push_back({op, 0, 0});
    request.priority = ranks[keyOf(op)];
    remarkPriority(op, step.function(), step.needOf(op), request.priority);
    requests.push_back(std::move(request));
  }
  makeStarts(step, requests);
}

namespace {

struct ScheduleComm : commsched::impl::ScheduleCommBase<ScheduleComm>,
                      ScheduledSteps {
  using ScheduleCommBase::ScheduleCommBase;

  void runOnOperation() override {
    if (policy != kPriority && !schedule::isPolicy(policy)) {
      emitOptionError(*this, &getContext())
          << "policy must be priority, " << schedule::listPolicies()
          << ", got: " << policy.getValue();
      return signalPassFailure();
    }
    if (std::string why = schedule::checkBuckets(buckets(), policy.getValue()); !why.empty()) {
      emitOptionError(*this, &getContext()) << why;
      return signalPassFailure();
    }
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      // The runtime runs a block of a server when its messages are there.
      if (func.isExternal() || !func.isPublic() || cs::getServerIndex(func))
        continue;
      if (!func.getBody().hasOneBlock() ||
          !isa<func::ReturnOp>(func.front().back())) {
        func.emitOpError("must have one block, and end in func.return");
        return signalPassFailure();
      }
      StepCommunications step(func);
      if (failed(step.analyze()))
        return signalPassFailure();
      if (step.all().empty())
        continue;
      // Others are not repeated: there is no next step.
      if (!func->hasAttr(cs::CsDialect::kStepAttr)) {
        startByPriority(step);
        continue;
      }
      if (policy == kPriority) {
        if (failed(startInParts(func)))
          return signalPassFailure();
        continue;
      }
      if (std::string why = apply(step); !why.empty()) {
        remarkFallback(func, why);
        if (failed(startInParts(func)))
          return signalPassFailure();
      }
    }
  }

private:
  static constexpr StringRef kPriority = "priority";

  /// A step without a schedule. Its blocks go in parts too.
  LogicalResult startInParts(func::FuncOp func) {
    StepCommunications step(func); // fragments may have moved
    if (failed(step.analyze()))
      return failure();
    auto clusters = getOperation().getOps<cs::ClusterOp>();
    if (cutBlocks && llvm::hasSingleElement(clusters)) {
      ServerBlocks blocks(step);
      commsched::cutBlocks(cutByBytes(blocks, *clusters.begin()));
    }
    StepCommunications cutStep(func);
    if (failed(cutStep.analyze()))
      return failure();
    startByPriority(cutStep);
    return success();
  }

  /// Schedules a step; or says why it cannot be, and communicates nothing yet.
  std::string apply(const StepCommunications &step) {
    auto clusters = getOperation().getOps<cs::ClusterOp>();
    if (!llvm::hasSingleElement(clusters))
      return "the module has no cluster";
    cs::ClusterOp cluster = *clusters.begin();
    if (cluster.getNodes() == 1 &&
        llvm::none_of(step.all(), [](Operation *op) {
          return !cast<cs::CommunicationOpInterface>(op).isCollective();
        }))
      return "there is one node";
    size_t size = step.function().front().getOperations().size();
    if (size > static_cast<size_t>(sizeLimit))
      return "the step has more than " + std::to_string(sizeLimit) + " ops";
    StepProblem problem = buildStepProblem(step, cluster, algorithm, cutBlocks, parts);
    if (reorder)
      problem.problem.memoryLimit = memoryLimit;
    if (std::optional<std::string> error = schedule::check(problem.problem))
      return *error;
    schedule::SolverOptions options;
    options.effort = effort;
    options.reorder = reorder;
    options.buckets = buckets();
    options.applied = [&](schedule::Schedule schedule) {
      makeApplicable(problem, step, messageBytes, schedule);
      return schedule;
    };
    schedule::Solution solution = solve(problem, options);
    if (solution.schedule.order == schedule::programOrder(problem.problem))
      return cut(step, cluster, problem, std::move(solution));
    StepCommunications moved(step.function());
    if (moveFragments(step, problem, solution.schedule) == Moved::impossible ||
        failed(moved.analyze()))
      return "fragments cannot be moved as the solver wants";
    // First uses are elsewhere now.
    makeApplicable(problem, moved, messageBytes, solution.schedule);
    return cut(moved, cluster, problem, std::move(solution));
  }

  /// The solver takes, of schedules that are about as short, one that is short with other
  /// costs too: with parts it may be longer than without. Then it is that, with parts or
  /// without, whichever is shorter.
  schedule::Solution solve(StepProblem &step, const schedule::SolverOptions &options) {
    schedule::Solution solution =
        schedule::runPolicy(step.problem, policy.getValue(), options);
    if (!schedule::hasTails(step.problem))
      return solution;
    const schedule::Problem problem = step.problem;
    for (schedule::Communication &communication : step.problem.communications)
      communication.tail = 0;
    schedule::Solution without =
        schedule::runPolicy(step.problem, policy.getValue(), options);
    schedule::Solution whole = without;
    schedule::arrangePieces(problem, whole.schedule);
    whole.evaluation = schedule::evaluate(problem, whole.schedule);
    schedule::Solution &with =
        whole.evaluation.period < solution.evaluation.period ? whole : solution;
    if (without.evaluation.period < with.evaluation.period)
      return without;
    step.problem = problem;
    return std::move(with);
  }

  /// Blocks of servers become the parts that the schedule sends.
  std::string cut(const StepCommunications &step, cs::ClusterOp cluster,
                  const StepProblem &problem, schedule::Solution solution) {
    std::vector<std::string> keys = keysOf(problem, solution.schedule);
    std::vector<CutBlock> cuts = cutsOf(problem, solution.schedule, keys);
    if (cuts.empty())
      return apply(step, cluster, problem, std::move(solution));
    commsched::cutBlocks(cuts);
    StepCommunications cutStep(step.function());
    if (failed(cutStep.analyze()))
      return "blocks cannot be cut as the solver wants";
    StepProblem after =
        buildStepProblem(cutStep, cluster, algorithm, /*cutBlocks=*/false, parts);
    solution.schedule = inParts(problem, std::move(solution.schedule), keys, after);
    return apply(cutStep, cluster, after, std::move(solution));
  }

  std::string apply(const StepCommunications &step, cs::ClusterOp cluster,
                    const StepProblem &problem, schedule::Solution solution) {
    if (std::optional<std::string> error =
            schedule::verify(problem.problem, solution.schedule))
      return *error;
    solution.evaluation = schedule::evaluate(problem.problem, solution.schedule);
    if (!(solution.evaluation.period < 1e18))
      return "the step takes too long to be counted in nanoseconds";
    remarkSchedule(problem, step, solution, policy);
    if (wanted)
      keep(step, cluster, problem, solution);
    record(step.function(), cluster, problem, solution);
    std::vector<StartRequest> requests = requestsOf(problem, solution.schedule, schedule::hasTails(problem.problem));
    // The step then ends with updates that wait, and the next one begins behind them.
    if (solution.schedule.barrier)
      for (cs::FragmentOp fragment : problem.late)
        fragment.setDeferred(false);
    makeStarts(step, requests);
    return "";
  }

  schedule::BucketLimits buckets() const { return {bucketBytes, firstBucketBytes}; }

  void keep(const StepCommunications &step, cs::ClusterOp cluster,
            const StepProblem &problem, const schedule::Solution &solution) {
    ScheduledStep kept{
        problem.problem, solution, keysOf(problem, solution.schedule), policy, {}, {}, buckets()};
    auto twice = cast<cs::ClusterOp>(cluster->clone());
    twice.setNodes(2 * cluster.getNodes());
    kept.twiceNodes =
        buildStepProblem(step, twice, algorithm, /*cutBlocks=*/false, parts).problem;
    twice->erase();
    kept.facts = {{"function", step.function().getName().str()},
                  {"nodes", std::to_string(cluster.getNodes())},
                  {"devices of a node", std::to_string(cluster.getDevices())}};
    steps.push_back(std::move(kept));
  }

  void record(func::FuncOp func, cs::ClusterOp cluster, const StepProblem &problem,
              const schedule::Solution &solution) {
    int64_t rounds =
        halfOfAllReduce(algorithm, static_cast<int64_t>(cluster.getNodes()), 0).rounds;
    func->setAttr(
        cs::CsDialect::kScheduleAttr,
        cs::ScheduleAttr::get(
            &getContext(), policy, std::llround(solution.evaluation.period),
            static_cast<int64_t>(solution.bound.period),
            static_cast<int64_t>(solution.anyOrderBound.period),
            creditOf(problem, solution.schedule, std::max<int64_t>(1, rounds))));
  }
};

} // namespace
