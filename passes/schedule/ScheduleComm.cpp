// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/Passes.h"
#include "passes/support/OptionError.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/schedule/Apply.h"
#include "passes/schedule/Credits.h"
#include "passes/schedule/CutBlocks.h"
#include "passes/schedule/FuseBlocks.h"
#include "passes/schedule/MoveFragments.h"
#include "passes/schedule/NcclLink.h"
#include "passes/schedule/ScheduleRemarks.h"
#include "passes/schedule/ScheduledSteps.h"
#include "passes/schedule/StagingCopies.h"
#include "passes/schedule/Turns.h"
#include "passes/schedule/solver/Arrivals.h"
#include "passes/schedule/solver/Connections.h"
#include "passes/schedule/solver/Exclusive.h"
#include "passes/schedule/solver/Policy.h"
#include "passes/support/Module.h"

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
    for (auto [name, value] : {std::pair("policy", policy.getValue()),
                               std::pair("cut-as", cutAs.empty() ? policy.getValue() : cutAs.getValue())})
      if (value != kPriority && !schedule::isPolicy(value)) {
        emitOptionError(*this, &getContext())
            << name << " must be priority, " << schedule::listPolicies() << ", got: " << value;
        return signalPassFailure();
      }
    // Blocks may be fused by the one, and sent by the other.
    const std::string &buckets = schedule::hasBuckets(cutAs.getValue()) ? cutAs.getValue() : policy.getValue();
    for (const std::string &why :
         {checkAlgorithmName(algorithm), schedule::checkBuckets(this->buckets(), buckets), checkOptions()})
      if (!why.empty()) {
        emitOptionError(*this, &getContext()) << why;
        return signalPassFailure();
      }
    for (auto cluster : getOperation().getOps<cs::ClusterOp>())
      if (failed(checkAlgorithm(cluster, algorithm)))
        return signalPassFailure();
    hostCopies = *hostCopiesOf(copies, getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      // The runtime runs a block of a server when its messages are there.
      if (func.isExternal() || !func.isPublic() || cs::getServerIndex(func))
        continue;
      if (!func.getBody().hasOneBlock() ||
          !isa<func::ReturnOp>(func.front().back())) {
        if (!isDistributed(func)) // nothing of it communicates
          continue;
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
      BlockFreedom blocks = {cutBlocks, fuseBlocks};
      if ((cutBlocks || fuseBlocks) && !cutAs.empty() && cutAs != policy) {
        if (failed(changeAsOther(step)))
          return signalPassFailure();
        blocks = {};
      }
      if (policy != kPriority) {
        StepCommunications parts(func);
        if (failed(parts.analyze()))
          return signalPassFailure();
        std::string why = apply(parts, policy, blocks, Then::start);
        if (why.empty())
          continue;
        remarkFallback(func, why);
      }
      if (failed(startInParts(func, blocks.cut)))
        return signalPassFailure();
    }
  }

private:
  static constexpr StringRef kPriority = "priority";
  HostCopies hostCopies = HostCopies::none;

  /// What becomes of blocks that are cut, or fused.
  enum class Then {
    start,  ///< their parts are scheduled and started
    nothing ///< yet
  };

  /// Blocks become what they are in a plan of `cutAs`.
  LogicalResult changeAsOther(const StepCommunications &step) {
    if (cutAs != kPriority &&
        apply(step, cutAs, {cutBlocks, fuseBlocks}, Then::nothing).empty())
      return success();
    return cutBlocks ? cutWithoutSchedule(step.function()) : success();
  }

  LogicalResult cutWithoutSchedule(func::FuncOp func) {
    StepCommunications step(func); // fragments may have moved
    if (failed(step.analyze()))
      return failure();
    auto clusters = getOperation().getOps<cs::ClusterOp>();
    if (llvm::hasSingleElement(clusters)) {
      ServerBlocks blocks(step);
      commsched::cutBlocks(cutByBytes(blocks, *clusters.begin()));
    }
    return success();
  }

  /// A step without a schedule. Its blocks go in parts too.
  LogicalResult startInParts(func::FuncOp func, bool cuts) {
    if (cuts && failed(cutWithoutSchedule(func)))
      return failure();
    StepCommunications cutStep(func);
    if (failed(cutStep.analyze()))
      return failure();
    startByPriority(cutStep);
    return success();
  }

  /// Schedules a step by a policy, which may change blocks; or says why it cannot be, and
  /// communicates nothing yet.
  std::string apply(const StepCommunications &step, StringRef policy, BlockFreedom blocks,
                    Then then) {
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
    StepProblem problem = buildStepProblem(step, cluster, algorithm, blocks, parts, hostCopies);
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
    schedule::Solution solution = solve(problem, policy, options);
    takeBestAsWritten(problem, solution);
    if (policy.str() == schedule::kSolver && exclusive)
      solution.schedule = schedule::shortestWithExclusive(problem.problem, std::move(solution.schedule), solution.rivals, writtenOf(problem));
    if (solution.schedule.order == schedule::programOrder(problem.problem))
      return cut(step, cluster, problem, std::move(solution), then);
    StepCommunications moved(step.function());
    if (moveFragments(step, problem, solution.schedule) == Moved::impossible ||
        failed(moved.analyze()))
      return "fragments cannot be moved as the solver wants";
    // First uses are elsewhere now.
    makeApplicable(problem, moved, messageBytes, solution.schedule);
    return cut(moved, cluster, problem, std::move(solution), then);
  }

  /// The module says priorities by ranks, with which steps may overtake each other otherwise, and connections
  /// share links: what is taken is as good as any other as it is written, and run.
  static void takeBestAsWritten(const StepProblem &problem, schedule::Solution &solution) {
    const schedule::Connections run(problem.problem);
    auto periodOf = [&](const schedule::Schedule &schedule) {
      return run.evaluate(asWritten(problem, schedule)).period;
    };
    double period = periodOf(solution.schedule);
    for (const schedule::Schedule &rival : solution.rivals)
      if (double other = periodOf(rival); other < period * (1 - schedule::kRoundedAsRun)) {
        period = other;
        solution.schedule = rival;
        solution.bound = schedule::boundOfOrder(problem.problem, rival.order);
      }
  }

  static schedule::Applied writtenOf(const StepProblem &problem) {
    return [&](schedule::Schedule own) { return asWritten(problem, std::move(own)); };
  }

  /// The solver takes, of schedules that are about as short, one that is short with other
  /// costs too: with parts it may be longer than without. Then it is that, with parts or
  /// without, whichever is shorter.
  static schedule::Solution solve(StepProblem &step, StringRef policy,
                                  const schedule::SolverOptions &options) {
    schedule::Solution solution =
        schedule::runPolicy(step.problem, policy.str(), options);
    if (!schedule::hasTails(step.problem))
      return solution;
    const schedule::Problem problem = step.problem;
    for (schedule::Communication &communication : step.problem.communications)
      communication.tail = 0;
    schedule::Solution without =
        schedule::runPolicy(step.problem, policy.str(), options);
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

  /// Blocks of servers become the messages that the schedule sends. False if they cannot.
  static bool change(func::FuncOp func, const BlockChanges &changes) {
    commsched::cutBlocks(changes.cuts);
    if (changes.together.empty())
      return true;
    StepCommunications step(func);
    if (failed(step.analyze()))
      return false;
    ServerBlocks blocks(step, /*cuts=*/false);
    llvm::StringMap<const ServerBlock *> byKey;
    for (const std::unique_ptr<ServerBlock> &block : blocks.all())
      byKey[cs::SendOp(block->send).getKey()] = block.get();
    std::vector<FusedBlocks> fused;
    for (const BlockChanges::Together &together : changes.together) {
      FusedBlocks &one = fused.emplace_back();
      one.key = together.key;
      for (const std::string &piece : together.pieces)
        one.blocks.push_back(byKey.at(piece));
    }
    commsched::fuseBlocks(fused);
    return true;
  }

  /// As change(), and schedules them.
  std::string cut(const StepCommunications &step, cs::ClusterOp cluster,
                  const StepProblem &problem, schedule::Solution solution, Then then) {
    std::vector<std::string> keys = keysOf(problem, solution.schedule);
    BlockChanges changes = changesOf(problem, solution.schedule, keys);
    if (changes.empty())
      return then == Then::nothing ? "" : apply(step, cluster, problem, std::move(solution));
    StepCommunications cutStep(step.function());
    if (!change(step.function(), changes) || (then == Then::start && failed(cutStep.analyze())))
      return "blocks cannot be cut as the solver wants";
    if (then == Then::nothing)
      return "";
    StepProblem after = buildStepProblem(cutStep, cluster, algorithm, {}, parts, hostCopies);
    solution.schedule = inParts(problem, std::move(solution.schedule), keys, after);
    if (after.hostEngine) // parts have copies of their own
      solution.schedule.order = schedule::programOrder(after.problem);
    return apply(cutStep, cluster, after, std::move(solution));
  }

  std::string apply(const StepCommunications &step, cs::ClusterOp cluster,
                    StepProblem problem, schedule::Solution solution) {
    if (problem.hostEngine)
      problem.problem = withCopiesOf(problem, solution.schedule);
    if (std::optional<std::string> error =
            schedule::verify(problem.problem, solution.schedule))
      return *error;
    if (policy == schedule::kSolver)
      solution.schedule = pushInTurn(problem, std::move(solution.schedule));
    if (policy == schedule::kSolver && exclusive)
      solution.schedule = schedule::withExclusive(problem.problem, std::move(solution.schedule), writtenOf(problem)).first;
    solution.evaluation =
        schedule::evaluate(problem.problem, asWritten(problem, solution.schedule));
    if (!(solution.evaluation.period < 1e18))
      return "the step takes too long to be counted in nanoseconds";
    remarkSchedule(problem, step, solution, policy, cluster.whatBoundsAssume());
    if (wanted)
      keep(step, cluster, problem, solution);
    record(step.function(), problem, solution);
    std::vector<StartRequest> requests =
        requestsOf(problem, solution.schedule, schedule::hasTails(problem.problem));
    if (turns)
      addTurns(problem, solution.schedule, requests);
    // The step then ends with updates that wait, and the next one begins behind them.
    if (solution.schedule.barrier)
      for (cs::FragmentOp fragment : problem.late)
        fragment.setDeferred(false);
    makeStarts(step, requests);
    return "";
  }

  /// Empty, or which option has no use here.
  std::string checkOptions() {
    for (const auto *option : {&memoryLimit, &messageBytes, &sizeLimit})
      if (option->getValue() < 0)
        return option->getArgStr().str() +
               " must not be negative, got: " + std::to_string(option->getValue());
    const std::string &cuts = cutAs.empty() ? policy.getValue() : cutAs.getValue();
    bool solves = policy == schedule::kSolver || cuts == schedule::kSolver;
    if (std::string why = schedule::checkEffort(
            effort, solves ? schedule::kSolver : std::string_view(policy.getValue()));
        !why.empty())
      return why;
    if (!solves && reorder)
      return "reorder must go with the policy solver, got: " + policy.getValue();
    if (memoryLimit != 0 && !reorder)
      return "memory-limit must go with reorder";
    if (policy == kPriority && (messageBytes != 0 || parts))
      return "message-bytes and parts must go with a policy that cuts or fuses, got: " +
             policy.getValue();
    if (!hostCopiesOf(copies, getOperation()))
      return ("copies must be " + kHostCopiesNames + ", got: " + copies.getValue()).str();
    if (policy == kPriority && copies != "none")
      return "copies must go with a policy that predicts them, got: " + policy.getValue();
    if (policy == kPriority && turns)
      return "turns must go with a policy that predicts them, got: " + policy.getValue();
    bool hasServers = llvm::any_of(
        getOperation().getOps<func::FuncOp>(),
        [](func::FuncOp func) { return func->hasAttr(cs::CsDialect::kServersAttr); });
    if (hasServers && parts)
      return "parts must go with all-reduces, not with parameter servers";
    if (parts && algorithm == NcclLink::kName)
      return "parts must go without algorithm=nccl: a call of NCCL is there as a whole";
    if (!exclusive && policy.getValue() != schedule::kSolver)
      return "exclusive=false must go with the policy solver, got: " + policy.getValue();
    if (!exclusive && hasServers)
      return "exclusive=false must go with all-reduces, not with parameter servers";
    if (!exclusive && algorithm == NcclLink::kName)
      return "exclusive=false must go without algorithm=nccl: nothing is exclusive there";
    if (!hasServers && !cutAs.empty())
      return "cut-as must go with parameter servers";
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
        buildStepProblem(step, twice, algorithm, {}, parts, hostCopies).problem;
    twice->erase();
    kept.facts = {{"function", step.function().getName().str()},
                  {"nodes", std::to_string(cluster.getNodes())},
                  {"devices of a node", std::to_string(cluster.getDevices())},
                  {"the bound assumes", cluster.whatBoundsAssume()}};
    steps.push_back(std::move(kept));
  }

  void record(func::FuncOp func, const StepProblem &problem,
              const schedule::Solution &solution) {
    func->setAttr(
        cs::CsDialect::kScheduleAttr,
        cs::ScheduleAttr::get(
            &getContext(), policy, std::llround(solution.evaluation.period),
            static_cast<int64_t>(solution.bound.period),
            static_cast<int64_t>(solution.anyOrderBound.period),
            creditOf(problem, solution.schedule)));
  }
};

} // namespace
