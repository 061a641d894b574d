// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/DependenceAnalysis.h"

#include "llvm/ADT/StringMap.h"

#include "passes/insert/Program.h"

using namespace mlir;
using namespace commsched;

namespace {

/// Groups of operands, collected.
class Join {
public:
  void add(Group group) {
    level = std::max(level, group.level);
    if (group.isNone() || group.gradient == Group::kShared)
      return;
    ownLevel = std::max(ownLevel, group.level);
    several |= own != Group::kShared && own != group.gradient;
    own = group.gradient;
  }
  Group result() const {
    if (several)
      return {std::max(level, ownLevel + 1), Group::kShared};
    return {level, own};
  }

private:
  int level = -1, ownLevel = -1, own = Group::kShared;
  bool several = false;
};

} // namespace

DependenceAnalysis::DependenceAnalysis(const ProgramFunction &function,
                                       DataFlowGraph dataFlow)
    : function(&function), graph(std::move(dataFlow)),
      gradientNumbers(graph.size(), -1), makers(graph.size()),
      leaving(graph.size()), tainted(graph.size()),
      taintedArguments(function.arguments.size()), groups(graph.size()) {}

FailureOr<DependenceAnalysis>
DependenceAnalysis::run(const ProgramFunction &function) {
  FailureOr<DataFlowGraph> graph = DataFlowGraph::read(function.func.front());
  if (failed(graph))
    return failure();
  DependenceAnalysis analysis(function, std::move(*graph));
  if (failed(analysis.readGradients()))
    return failure();
  analysis.readResults();
  analysis.classify();
  analysis.findLive();
  analysis.sink();
  return analysis;
}

StringRef Taint::describe() const {
  if (!index)
    return "the batch";
  return batch ? "the batch and the worker's index" : "the worker's index";
}

SmallVector<Value, 2> commsched::sentOf(cs::GradientOp gradient) {
  if (auto sum = gradient.getValue().getDefiningOp<cs::SegmentSumOp>())
    return {sum.getValues(), sum.getIds()};
  return {gradient.getValue()};
}

/// Says that the value is communicated, and which op makes it.
Ref DependenceAnalysis::markLeaving(Value value) {
  Ref ref = graph.refOf(value);
  if (!graph.isArgument(ref))
    leaving[ref] = true;
  return ref;
}

LogicalResult DependenceAnalysis::readGradients() {
  func::FuncOp func = function->func;
  llvm::StringMap<Type> params;
  for (auto [i, role] : llvm::enumerate(function->arguments))
    if (role.kind == ArgumentRole::Param)
      params[role.name.getValue()] = func.getArgument(i).getType();
  llvm::StringMap<Operation *> marked;
  std::vector<std::pair<Ref, int>> made;
  for (int i = 0; i < graph.size(); ++i) {
    auto gradient = dyn_cast<cs::GradientOp>(graph[i]);
    if (!gradient)
      continue;
    if (!function->isStep)
      return gradient.emitOpError("belongs in the function with cs.step, got "
                                  "one in @")
             << func.getName();
    StringRef param = gradient.getParam();
    auto known = params.find(param);
    if (known == params.end())
      return gradient.emitOpError()
             << "is of an unknown parameter: \"" << param << "\"";
    if (known->second != gradient.getValue().getType())
      return gradient.emitOpError()
             << "must match parameter \"" << param << "\", " << known->second
             << ", got: " << gradient.getValue().getType();
    auto [first, isNew] = marked.try_emplace(param, gradient);
    if (!isNew) {
      InFlightDiagnostic diag = gradient.emitOpError()
                                << "marks the gradient of \"" << param
                                << "\" a second time";
      diag.attachNote(first->second->getLoc()) << "the first time is here";
      return diag;
    }
    // Arguments are there from the start.
    Ref last = -1;
    for (Value value : sentOf(gradient))
      last = std::max(last, markLeaving(value));
    if (last >= 0)
      makers[last] = true;
    made.emplace_back(last, i);
  }
  for (int i = 0; i < graph.size(); ++i)
    if (auto lookup = dyn_cast<cs::LookupOp>(graph[i]))
      if (Ref ref = markLeaving(lookup.getIds()); ref >= 0)
        makers[ref] = true;
  llvm::sort(made);
  for (auto [maker, i] : made) {
    gradientNumbers[i] = gradients.size();
    gradients.push_back(i);
  }
  if (function->isStep && gradients.empty())
    return func.emitOpError(
        "must mark at least one gradient with cs.gradient, being the cs.step");
  return success();
}

void DependenceAnalysis::readResults() {
  for (Value value : function->func.front().getTerminator()->getOperands()) {
    Ref ref = graph.refOf(value);
    if (!graph.isArgument(ref))
      leaving[ref] = true;
  }
}

void DependenceAnalysis::classify() {
  for (auto [i, role] : llvm::enumerate(function->arguments))
    taintedArguments[i] = {role.kind == ArgumentRole::Batch,
                           role.kind == ArgumentRole::WorkerIndex};
  for (int i = 0; i < graph.size(); ++i) {
    Join join;
    Taint taint;
    for (Ref ref : graph.usesOf(i)) {
      join.add(groupOf(ref));
      taint.add(taintOf(ref));
    }
    groups[i] = join.result();
    tainted[i] = taint;
    if (gradientNumbers[i] >= 0) {
      groups[i] = {std::max(groups[i].level, 0), gradientNumbers[i]};
      tainted[i] = {};
    }
  }
}

void DependenceAnalysis::findLive() {
  live = leaving;
  for (int i = graph.size() - 1; i >= 0; --i) {
    // Gradients stay: they are communicated even if nobody looks at them.
    live[i] = live[i] || gradientNumbers[i] >= 0;
    if (live[i])
      for (Ref ref : graph.usesOf(i))
        if (!graph.isArgument(ref))
          live[ref] = true;
    dead += !live[i];
  }
}

/// Moves cheap ops over carried arguments into the one group that they serve.
void DependenceAnalysis::sink() {
  auto isCarried = [&](Ref ref) {
    return function->arguments[graph.argumentOf(ref)].isCarried();
  };
  std::vector<bool> carriedOnly(graph.size());
  for (int i = 0; i < graph.size(); ++i)
    carriedOnly[i] = isPlaced(i) && !leaving[i] && groups[i].isNone() &&
                     graph.isCheap(i) &&
                     llvm::all_of(graph.usesOf(i), [&](Ref ref) {
                       return graph.isArgument(ref)
                                  ? isCarried(ref)
                                  : graph.isRepeatable(ref) || carriedOnly[ref];
                     });
  // The group of all users; `several` once they differ.
  std::vector<Group> users(graph.size());
  std::vector<bool> used(graph.size()), several(graph.size());
  for (int i = graph.size() - 1; i >= 0; --i) {
    if (!live[i])
      continue;
    if (carriedOnly[i] && used[i] && !several[i] && !users[i].isNone()) {
      groups[i] = users[i];
      ++sunk;
    }
    for (Ref ref : graph.usesOf(i)) {
      if (graph.isArgument(ref))
        continue;
      several[ref] = several[ref] || (used[ref] && users[ref] != groups[i]);
      used[ref] = true;
      users[ref] = groups[i];
    }
  }
}

std::map<Group, std::vector<int>> DependenceAnalysis::deferredOps() const {
  std::map<Group, std::vector<int>> result;
  for (int i = 0; i < graph.size(); ++i)
    if (isPlaced(i) && !groups[i].isNone())
      result[groups[i]].push_back(i);
  return result;
}
