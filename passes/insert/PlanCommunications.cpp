// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/PlanCommunications.h"

#include "llvm/ADT/StringMap.h"

#include "passes/insert/DependenceAnalysis.h"
#include "passes/insert/Program.h"

using namespace mlir;
using namespace commsched;

namespace {

class CommunicationPlanner {
public:
  CommunicationPlanner(const DependenceAnalysis &analysis)
      : analysis(analysis), graph(analysis.getGraph()),
        function(analysis.getFunction()) {}

  FailureOr<std::vector<PlannedCommunication>> run() {
    planGradients();
    if (failed(planResults()))
      return failure();
    return std::move(plan);
  }

private:
  void planGradients();
  LogicalResult planResults();
  LogicalResult checkState(const ResultRole &role, Taint taint, Type type,
                           Location loc);
  LogicalResult add(PlannedCommunication planned);

  const DependenceAnalysis &analysis;
  const DataFlowGraph &graph;
  const ProgramFunction &function;
  std::vector<PlannedCommunication> plan;
  llvm::StringMap<unsigned> keys; // of the communications so far
};

void CommunicationPlanner::planGradients() {
  for (int op : analysis.getGradients()) {
    auto gradient = cast<cs::GradientOp>(graph[op]);
    keys[gradient.getParam()] = plan.size();
    SmallVector<Value, 2> sent = sentOf(gradient);
    plan.push_back({PlannedCommunication::Gradient, gradient.getParam().str(),
                    sent[0], gradient.getLoc(), gradient, 0,
                    sent.size() > 1 ? sent[1] : Value()});
  }
  // Under the name of the table, as its gradient.
  for (int i = 0; i < graph.size(); ++i)
    if (auto lookup = dyn_cast<cs::LookupOp>(graph[i])) {
      unsigned table = graph.argumentOf(graph.refOf(lookup.getTable()));
      plan.push_back({PlannedCommunication::Rows,
                      function.arguments[table].name.str(), lookup.getIds(),
                      lookup.getLoc(), nullptr, 0, Value(), lookup});
    }
}

LogicalResult CommunicationPlanner::add(PlannedCommunication planned) {
  auto [entry, isNew] = keys.try_emplace(planned.key, plan.size());
  if (!isNew)
    return emitError(plan[entry->second].loc)
           << "message key \"" << planned.key
           << "\" is also needed for a metric or state: rename the parameter";
  plan.push_back(std::move(planned));
  return success();
}

LogicalResult CommunicationPlanner::planResults() {
  auto ret = cast<func::ReturnOp>(function.func.front().getTerminator());
  for (auto [i, role] : llvm::enumerate(function.results)) {
    Value value = ret.getOperand(i);
    Ref ref = graph.refOf(value);
    Location loc = graph.isArgument(ref) ? ret.getLoc() : graph[ref]->getLoc();
    PlannedCommunication planned{
        PlannedCommunication::Metric, "", value, loc, nullptr,
        static_cast<unsigned>(i)};
    if (role.kind == ResultRole::Metric) {
      planned.key = ("metric." + role.name.getValue()).str();
    } else {
      if (!analysis.isTainted(ref))
        continue;
      if (failed(checkState(role, analysis.taintOf(ref), value.getType(), loc)))
        return failure();
      planned.kind = PlannedCommunication::State;
      planned.key = ("state." + role.name.getValue()).str();
    }
    if (failed(add(std::move(planned))))
      return failure();
  }
  return success();
}

/// Whether averaging keeps the new value equal on all workers.
LogicalResult CommunicationPlanner::checkState(const ResultRole &role, Taint taint,
                                               Type type, Location loc) {
  const ArgumentRole *argument =
      llvm::find_if(function.arguments, [&](const ArgumentRole &argument) {
        return argument.isCarried() && argument.name == role.name;
      });
  bool isParam = argument != function.arguments.end() &&
                 argument->kind == ArgumentRole::Param;
  if (isParam)
    return emitError(loc) << "new value of parameter " << role.name
                          << " depends on " << taint.describe()
                          << " other than through its cs.gradient: workers "
                             "would drift apart";
  if (!isa<FloatType>(cast<RankedTensorType>(type).getElementType()))
    return emitError(loc) << "new value of state " << role.name
                          << " depends on " << taint.describe() << ", and " << type
                          << " cannot be averaged over the workers: workers "
                             "would drift apart";
  return success();
}

} // namespace

FailureOr<std::vector<PlannedCommunication>>
commsched::planCommunications(const DependenceAnalysis &analysis) {
  return CommunicationPlanner(analysis).run();
}
