// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/Partition.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include "passes/insert/DependenceAnalysis.h"
#include "passes/insert/Program.h"

using namespace mlir;
using namespace commsched;

namespace {

/// Labels of fragments, each once.
class Labels {
public:
  std::string unique(const std::string &base) {
    std::string label = base;
    unsigned &next = counts[base];
    if (next > 0)
      label = base + "." + std::to_string(next);
    // Parameters may have names that look numbered.
    for (++next; !taken.insert(label).second; ++next)
      label = base + "." + std::to_string(next);
    return label;
  }

private:
  llvm::StringSet<> taken;
  llvm::StringMap<unsigned> counts;
};

class Partitioner {
public:
  Partitioner(const DependenceAnalysis &analysis,
              std::vector<PlannedCommunication> communications)
      : analysis(analysis), graph(analysis.getGraph()),
        function(analysis.getFunction()) {
    plan.communications = std::move(communications);
  }

  Partition run() {
    for (int i = 0; i < graph.size(); ++i)
      if (graph.isRepeatable(i))
        plan.repeated.insert(graph[i]);
    cutCompute();
    cutDeferred();
    placeCommunications();
    plan.deadOps = analysis.countDead();
    plan.sunkOps = analysis.countSunk();
    return std::move(plan);
  }

private:
  std::vector<bool> findLateArguments();
  void cutCompute();
  void cutDeferred();
  void placeCommunications();
  struct Place {
    int fragment = -1, behind = -1;
    auto operator<=>(const Place &) const = default;
  };
  Place placeOf(Value value) const;

  void openFragment(const std::string &label, bool deferred) {
    plan.fragments.push_back({labels.unique(label), deferred, {}, {}});
  }
  /// Ops of which only the cost is known have fragments of their own.
  bool goesWithLast(int op) const {
    return isa<cs::ProfiledOp>(graph[op]) ==
           isa<cs::ProfiledOp>(plan.fragments.back().ops.back());
  }
  void put(int op) {
    plan.fragments.back().ops.push_back(graph[op]);
    plan.fragmentOf[graph[op]] = plan.fragments.size() - 1;
  }

  const DependenceAnalysis &analysis;
  const DataFlowGraph &graph;
  const ProgramFunction &function;
  Partition plan;
  Labels labels;
};

/// Arguments whose new value is there only after a communication. Others are
/// there as soon as the previous step's compute is through.
std::vector<bool> Partitioner::findLateArguments() {
  std::vector<bool> late(function.arguments.size());
  if (!function.isStep)
    return late;
  llvm::StringMap<unsigned> numbers;
  for (auto [i, role] : llvm::enumerate(function.arguments))
    if (role.isCarried())
      numbers[role.name.getValue()] = i;
  auto ret = cast<func::ReturnOp>(function.func.front().getTerminator());
  for (auto [i, role] : llvm::enumerate(function.results))
    if (role.kind == ResultRole::Updates)
      late[numbers[role.name.getValue()]] =
          !analysis.groupOf(graph.refOf(ret.getOperand(i))).isNone();
  for (const PlannedCommunication &planned : plan.communications)
    if (planned.kind == PlannedCommunication::State)
      late[numbers[function.results[planned.result].name.getValue()]] = true;
  return late;
}

/// The ops that depend on no communication, in program order.
void Partitioner::cutCompute() {
  std::vector<bool> late = findLateArguments(), fetched(graph.size(), true);
  bool open = false;
  unsigned count = 0;
  for (int i = 0; i < graph.size(); ++i) {
    if (!analysis.isPlaced(i) || !analysis.groupOf(i).isNone())
      continue;
    bool readsLate = false;
    for (Ref ref : graph.usesOf(i)) {
      bool isArgument = graph.isArgument(ref);
      if (!isArgument && !graph.isOfRows(ref))
        continue;
      std::vector<bool>::reference first =
          isArgument ? late[graph.argumentOf(ref)] : fetched[ref];
      readsLate = readsLate || first;
      first = false;
    }
    if (readsLate && open) {
      open = false;
      ++plan.cutsBeforeParameter;
    }
    if (!open || !goesWithLast(i)) {
      openFragment("compute." + std::to_string(count++), false);
      open = true;
    }
    put(i);
    if (analysis.makesGradient(i)) {
      open = false;
      ++plan.cutsAfterGradient;
    }
  }
}

/// The others, group by group.
void Partitioner::cutDeferred() {
  for (const auto &[group, ops] : analysis.deferredOps()) {
    std::string label =
        group.gradient == Group::kShared
            ? std::string("shared")
            : "update." + plan.communications[group.gradient].key;
    bool open = false;
    for (int i : ops) {
      if (!open || !goesWithLast(i))
        openFragment(label, true);
      put(i);
      open = !analysis.makesGradient(i);
      plan.cutsAfterGradient += analysis.makesGradient(i);
    }
  }
}

/// Where a value is there: behind which fragment, -1 for the arguments, and
/// behind which communication then.
Partitioner::Place Partitioner::placeOf(Value value) const {
  Ref ref = graph.refOf(value);
  if (graph.isArgument(ref))
    return {};
  if (int gradient = analysis.gradientOf(ref); gradient >= 0)
    return {placeOf(plan.communications[gradient].operand).fragment, gradient};
  if (graph.isOfRows(ref))
    for (auto [i, planned] : llvm::enumerate(plan.communications))
      if (planned.kind == PlannedCommunication::Rows &&
          planned.rows.getResult() == value)
        return {placeOf(planned.operand).fragment, static_cast<int>(i)};
  return {static_cast<int>(plan.fragmentOf.at(graph[ref])), -1};
}

void Partitioner::placeCommunications() {
  plan.chainedCommunications.resize(plan.communications.size());
  for (auto [i, planned] : llvm::enumerate(plan.communications)) {
    Place place = placeOf(planned.operand);
    if (planned.ids)
      place = std::max(place, placeOf(planned.ids));
    if (place.behind >= 0)
      plan.chainedCommunications[place.behind].push_back(i);
    else if (place.fragment >= 0)
      plan.fragments[place.fragment].communications.push_back(i);
    else
      plan.argumentCommunications.push_back(i);
  }
}

} // namespace

FailureOr<Partition> commsched::partition(const ProgramFunction &function) {
  FailureOr<DependenceAnalysis> analysis = DependenceAnalysis::run(function);
  if (failed(analysis))
    return failure();
  FailureOr<std::vector<PlannedCommunication>> communications =
      planCommunications(*analysis);
  if (failed(communications))
    return failure();
  return Partitioner(*analysis, std::move(*communications)).run();
}
