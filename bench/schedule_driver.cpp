// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// schedule_driver [--alone] BEFORE AFTER: judges what --schedule-comm made of the step
// of a module. BEFORE is the module of level 1 that the pass got, AFTER what cs-opt
// wrote. Prints a line of JSON: the period of the schedule that is read from AFTER, that of
// every published policy on the problem of BEFORE, and the bounds, in nanoseconds. All of them as they are run: where
// links have several connections, as these share them.
// --alone: without the policies.
//
// "applied" has what the policies are where --schedule-comm applies them as it does its
// own schedules.
//
// Where the step has parameter servers, policies and bounds are those of the problem in
// which blocks may be cut anywhere, and fused; "alone" has those of the problem that
// --schedule-comm has: cut between rows, and small ones fused.

#include "bench/AppliedSchedule.h"
#include "ir/Register.h"
#include "mlir/Parser/Parser.h"
#include "passes/schedule/Apply.h"
#include "passes/schedule/solver/Bound.h"
#include "passes/schedule/solver/Connections.h"
#include "passes/schedule/solver/Partition.h"
#include "passes/schedule/solver/baselines/Baselines.h"
#include "passes/support/Module.h"

#include <cstdio>
#include <cstring>

using namespace mlir;
using namespace commsched;

namespace {

func::FuncOp findStep(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>())
    if (func->hasAttr(cs::CsDialect::kStepAttr))
      return func;
  return {};
}

/// {"fifo": ..., ...} of one problem.
void judgePolicies(const schedule::Problem &problem, const schedule::Applied &applied) {
  schedule::View view(problem, schedule::programOrder(problem));
  const char *separator = "";
  std::printf("{");
  for (const schedule::Baseline &baseline : schedule::baselines()) {
    schedule::Schedule schedule = baseline.make(view);
    if (applied)
      schedule = applied(std::move(schedule));
    double period = schedule::evaluate(problem, schedule).period;
    if (period < schedule::kNever)
      std::printf("%s\"%s\": %.3f", separator, baseline.name, period);
    separator = ", ";
  }
  std::printf("}");
}

/// {"period": ..., ...} of one problem, without the last brace.
void judge(const schedule::Problem &problem, const schedule::Schedule &applied,
           bool alone) {
  schedule::Evaluation evaluation = schedule::evaluate(problem, applied);
  schedule::Bound bound = schedule::boundOfOrder(problem, applied.order);
  std::printf(
      "{\"period\": %.3f, \"settled\": %s, \"bound\": %.3f, \"why\": \"%s\", "
      "\"any_order_bound\": %.3f, \"baselines\": ",
      evaluation.period, evaluation.settled ? "true" : "false", bound.period,
      bound.why.c_str(), schedule::boundOfAnyOrder(problem).period);
  if (alone)
    std::printf("{}");
  else
    judgePolicies(problem, {});
}

int run(MLIRContext &context, const char *beforePath, const char *afterPath, bool alone) {
  auto before = parseSourceFile<ModuleOp>(beforePath, &context);
  auto after = parseSourceFile<ModuleOp>(afterPath, &context);
  if (!before || !after)
    return 1;
  func::FuncOp function = findStep(*before), applied = findStep(*after);
  FailureOr<cs::ClusterOp> cluster = findCluster(*before);
  if (!function || !applied || failed(cluster))
    return std::fprintf(stderr, "schedule_driver: no step, or no cluster\n"), 1;
  StepCommunications communications(function);
  if (failed(communications.analyze()))
    return 1;
  const char *algorithm = "auto";  // the default of --schedule-comm
  StepProblem step = buildStepProblem(communications, *cluster, algorithm, {.cut = true, .fuse = true});
  if (auto error = schedule::check(step.problem))
    return std::fprintf(stderr, "%s: %s\n", beforePath, error->c_str()), 1;
  FailureOr<schedule::Schedule> schedule =
      readAppliedSchedule(communications, step, applied);
  if (failed(schedule))
    return 1;
  bool servers = llvm::any_of(step.parts, [](const auto &part) { return part.pull; });
  judge(servers ? withFreeBlocks(step) : step.problem, *schedule, alone);
  if (servers) {
    std::printf(", \"alone\": ");
    judge(step.problem, *schedule, alone);
    std::printf("}");
  }
  if (!alone) {
    std::printf(", \"applied\": ");
    judgePolicies(step.problem, [&](schedule::Schedule policy) {
      makeApplicable(step, communications, /*most=*/0, policy);
      return asWritten(step, std::move(policy));
    });
  }
  auto record = applied->getAttrOfType<cs::ScheduleAttr>(cs::CsDialect::kScheduleAttr);
  std::printf(
      ", \"policy\": \"%s\", \"recorded\": %lld, \"tensors\": %zu, "
      "\"messages\": %zu, \"reordered\": %s}\n",
      record ? record.getPolicy().str().c_str() : "priority",
      record ? static_cast<long long>(record.getPeriodNs()) : 0LL,
      step.problem.communications.size(), schedule->messages.size(),
      schedule->order == schedule::programOrder(step.problem) ? "false" : "true");
  return 0;
}

}  // namespace

int main(int argc, char **argv) {
  bool alone = argc == 4 && !std::strcmp(argv[1], "--alone");
  if (argc != 3 + alone)
    return std::fprintf(stderr, "usage: schedule_driver [--alone] BEFORE AFTER\n"), 2;
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  return run(context, argv[1 + alone], argv[2 + alone], alone);
}
