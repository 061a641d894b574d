// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/UpdateAnalysis.h"

#include "llvm/ADT/StringMap.h"

#include "passes/insert/Program.h"

using namespace mlir;
using namespace commsched;

UpdateAnalysis::UpdateAnalysis(const DependenceAnalysis &analysis)
    : analysis(&analysis), graph(&analysis.getGraph()),
      resultOfArgument(analysis.getFunction().arguments.size(), kNone),
      dependent(graph->size()), serverOps(graph->size()),
      neededByServers(resultOfArgument.size()),
      keptByTrainers(resultOfArgument.size(), true), repeated(graph->size()),
      opUnits(graph->size(), kNone), owners(resultOfArgument.size(), kNone) {
  for (size_t i = 0; i < analysis.getGradients().size(); ++i)
    parents.push_back(i);
  joinedAt.resize(parents.size());
}

FailureOr<UpdateAnalysis>
UpdateAnalysis::run(const DependenceAnalysis &dependences) {
  UpdateAnalysis analysis(dependences);
  analysis.readResults();
  if (failed(analysis.checkTrainers()) || failed(analysis.findServerSide()))
    return failure();
  analysis.joinUnits();
  if (failed(analysis.makeUnits()) || failed(analysis.findTrainerSide()))
    return failure();
  analysis.findRepeated();
  return analysis;
}

int UpdateAnalysis::unitOf(Ref ref) const {
  return DataFlowGraph::isArgument(ref) ? owners[DataFlowGraph::argumentOf(ref)]
                                        : opUnits[ref];
}

StringRef UpdateAnalysis::nameOf(unsigned argument) const {
  return analysis->getFunction().arguments[argument].name.getValue();
}

Location UpdateAnalysis::locOf(Ref ref) const {
  return DataFlowGraph::isArgument(ref)
             ? analysis->getFunction().func.getLoc()
             : (*graph)[ref]->getLoc();
}

void UpdateAnalysis::readResults() {
  const ProgramFunction &function = analysis->getFunction();
  llvm::StringMap<unsigned> numbers;
  for (auto [i, role] : llvm::enumerate(function.arguments))
    if (role.isCarried())
      numbers[role.name.getValue()] = i;
  auto ret = function.func.front().getTerminator();
  for (auto [i, role] : llvm::enumerate(function.results)) {
    returnedRefs.push_back(graph->refOf(ret->getOperand(i)));
    if (role.kind == ResultRole::Updates)
      resultOfArgument[numbers[role.name.getValue()]] = i;
  }
  for (int i = 0; i < graph->size(); ++i) {
    dependent[i] = analysis->gradientOf(i) >= 0;
    for (Ref ref : graph->usesOf(i))
      dependent[i] = dependent[i] || dependsOnGradient(ref);
  }
}

/// What trainers make must not need what only servers have.
LogicalResult UpdateAnalysis::checkTrainers() {
  const ProgramFunction &function = analysis->getFunction();
  for (int op : analysis->getGradients()) {
    Ref ref = graph->usesOf(op)[0];
    if (dependsOnGradient(ref))
      return (*graph)[op]->emitOpError(
          "is made from an exchanged gradient, which with "
          "mode=parameter-server only servers have");
  }
  for (auto [i, role] : llvm::enumerate(function.results)) {
    Ref ref = returnedRefs[i];
    if (!dependsOnGradient(ref))
      continue;
    if (role.kind == ResultRole::Metric)
      return emitError(locOf(ref))
             << "metric " << role.name
             << " depends on an exchanged gradient, which with "
                "mode=parameter-server only servers have";
    if (analysis->isTainted(ref))
      return emitError(locOf(ref))
             << "new value of state " << role.name
             << " depends on " << analysis->taintOf(ref).describe()
             << " and on an exchanged gradient, and with "
                "mode=parameter-server no process has both";
  }
  return success();
}

void UpdateAnalysis::need(Ref ref, std::vector<bool> &ops,
                          std::vector<bool> &arguments) {
  std::vector<Ref> queue = {ref};
  while (!queue.empty()) {
    Ref next = queue.back();
    queue.pop_back();
    if (graph->isArgument(next)) {
      arguments[graph->argumentOf(next)] = true;
      continue;
    }
    if (ops[next])
      continue;
    ops[next] = true;
    if (analysis->gradientOf(next) < 0)
      llvm::append_range(queue, graph->usesOf(next));
  }
}

LogicalResult UpdateAnalysis::findServerSide() {
  const ProgramFunction &function = analysis->getFunction();
  for (auto [i, role] : llvm::enumerate(function.results))
    if (dependsOnGradient(returnedRefs[i]))
      need(returnedRefs[i], serverOps, neededByServers);
  // What is read is carried on, which may read more.
  std::vector<bool> followed(neededByServers.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned i = 0; i < followed.size(); ++i) {
      if (!neededByServers[i] || followed[i])
        continue;
      followed[i] = changed = true;
      int result = resultOfArgument[i];
      if (result == kNone)
        continue;
      Ref ref = returnedRefs[result];
      if (analysis->isTainted(ref))
        return emitError(locOf(ref))
               << "state \"" << nameOf(i)
               << "\" is averaged over the workers and read by the update of a "
                  "parameter, which with mode=parameter-server runs on servers";
      need(ref, serverOps, neededByServers);
    }
  }
  return success();
}

int UpdateAnalysis::find(int unit) {
  while (parents[unit] != unit)
    unit = parents[unit] = parents[parents[unit]];
  return unit;
}

int UpdateAnalysis::join(int a, int b, Operation *at) {
  if (a == kNone || b == kNone)
    return std::max(a, b);
  a = find(a);
  b = find(b);
  if (a == b)
    return a;
  if (a > b)
    std::swap(a, b);
  parents[b] = a;
  if (!joinedAt[a] || (at && at->isBeforeInBlock(joinedAt[a])))
    joinedAt[a] = at;
  return a;
}

void UpdateAnalysis::joinUnits() {
  // Ownership makes more ops belong to a unit, and those more ownership.
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < graph->size(); ++i) {
      if (!serverOps[i])
        continue;
      int unit = analysis->gradientOf(i);
      if (unit == kNone)
        for (Ref ref : graph->usesOf(i))
          unit = join(unit, unitOf(ref), (*graph)[i]);
      opUnits[i] = unit;
    }
    for (unsigned i = 0; i < owners.size(); ++i) {
      int result = resultOfArgument[i];
      if (result == kNone ||
          !(neededByServers[i] || dependsOnGradient(returnedRefs[result])))
        continue;
      Ref ref = returnedRefs[result];
      if (unitOf(ref) == kNone)
        continue;
      Operation *at = graph->isArgument(ref) ? nullptr : (*graph)[ref];
      int owner = join(owners[i], unitOf(ref), at);
      changed |= owners[i] == kNone;
      owners[i] = owner;
    }
  }
}

LogicalResult UpdateAnalysis::makeUnits() {
  const ProgramFunction &function = analysis->getFunction();
  llvm::StringMap<int> gradientOfParam;
  for (auto [g, op] : llvm::enumerate(analysis->getGradients())) {
    gradientOfParam[cast<cs::GradientOp>((*graph)[op]).getParam()] = g;
    if (!serverOps[op])
      unused.push_back(g);
  }
  std::vector<int> numbers(parents.size(), kNone);
  auto numberOf = [&](int unit) {
    return unit == kNone ? kNone : numbers[find(unit)];
  };
  for (unsigned i = 0; i < owners.size(); ++i) {
    if (function.arguments[i].kind != ArgumentRole::Param)
      continue;
    auto known = gradientOfParam.find(nameOf(i));
    int gradient = known == gradientOfParam.end() ? kNone : known->second;
    bool isUsed =
        gradient != kNone && serverOps[analysis->getGradients()[gradient]];
    if (isUsed && (owners[i] == kNone || find(owners[i]) != find(gradient)))
      return (*graph)[analysis->getGradients()[gradient]]->emitOpError()
             << "must update the parameter \"" << nameOf(i)
             << "\" with mode=parameter-server, got an update of others only";
    if (owners[i] == kNone)
      continue;
    if (!isUsed)
      return emitError(locOf(returnedRefs[resultOfArgument[i]]))
             << "parameter \"" << nameOf(i)
             << "\" is updated from the gradients of others, and with "
                "mode=parameter-server needs one of its own";
    int &number = numbers[find(gradient)];
    if (number == kNone) {
      number = units.size();
      units.emplace_back().joinedAt = joinedAt[find(gradient)];
    }
    units[number].gradients.push_back(gradient);
    units[number].parameters.push_back(i);
  }
  for (ArgumentRole::Kind kind : {ArgumentRole::Param, ArgumentRole::State})
    for (unsigned i = 0; i < owners.size(); ++i)
      if (function.arguments[i].kind == kind && owners[i] != kNone) {
        owners[i] = numberOf(owners[i]);
        units[owners[i]].owned.push_back(i);
      }
  for (int i = 0; i < graph->size(); ++i) {
    opUnits[i] = numberOf(opUnits[i]);
    if (opUnits[i] != kNone && analysis->gradientOf(i) < 0)
      units[opUnits[i]].ops.push_back(i);
  }
  if (units.empty())
    return function.func.emitOpError(
        "must update a parameter from its gradient with mode=parameter-server");
  return success();
}

LogicalResult UpdateAnalysis::findTrainerSide() {
  const ProgramFunction &function = analysis->getFunction();
  std::vector<bool> ops(graph->size()), read(owners.size());
  for (int op : analysis->getGradients())
    if (serverOps[op])
      need(graph->usesOf(op)[0], ops, read);
  for (auto [i, role] : llvm::enumerate(function.results))
    if (role.kind == ResultRole::Metric || analysis->isTainted(returnedRefs[i]))
      need(returnedRefs[i], ops, read);
  // Carried values that trainers update themselves.
  std::vector<bool> followed(owners.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned i = 0; i < owners.size(); ++i) {
      bool isParam = function.arguments[i].kind == ArgumentRole::Param;
      if (followed[i] || !function.arguments[i].isCarried() ||
          !(read[i] || isParam || !neededByServers[i]) || owners[i] != kNone)
        continue;
      followed[i] = changed = true;
      if (resultOfArgument[i] != kNone)
        need(returnedRefs[resultOfArgument[i]], ops, read);
    }
  }
  for (unsigned i = 0; i < owners.size(); ++i) {
    if (function.arguments[i].kind != ArgumentRole::State)
      continue;
    if (owners[i] == kNone) {
      keptByTrainers[i] = followed[i];
      continue;
    }
    keptByTrainers[i] = false;
    if (!read[i])
      continue;
    for (int op = 0; op < graph->size(); ++op)
      if (ops[op] && llvm::is_contained(graph->usesOf(op), -1 - int(i)))
        return (*graph)[op]->emitOpError()
               << "reads state \"" << nameOf(i)
               << "\", which depends on gradients: with mode=parameter-server "
                  "only servers have it";
    return function.func.emitOpError()
           << "returns state \"" << nameOf(i)
           << "\", which depends on gradients: with mode=parameter-server only "
              "servers have it";
  }
  return success();
}

void UpdateAnalysis::findRepeated() {
  std::vector<bool> readsArgument(graph->size());
  for (int i = 0; i < graph->size(); ++i) {
    for (Ref ref : graph->usesOf(i))
      readsArgument[i] = readsArgument[i] || graph->isArgument(ref) ||
                         readsArgument[ref];
    bool isScalar =
        llvm::all_of((*graph)[i]->getResultTypes(), [](Type type) {
          auto tensor = dyn_cast<RankedTensorType>(type);
          return !tensor || tensor.getNumElements() == 1;
        });
    repeated[i] = graph->isRepeatable(i) ||
                  (graph->isCheap(i) && (!readsArgument[i] || !isScalar));
  }
}
