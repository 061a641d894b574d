// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/chakra/Chakra.h"

#include "ir/Cs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "passes/chakra/TraceStep.h"

#include <map>
#include <set>

using namespace mlir;
using namespace commsched;
using namespace commsched::chakra;

namespace {

class Importer : TraceStep {
public:
  Importer(MLIRContext *context, Location location, TraceStep read)
      : TraceStep(std::move(read)), builder(context), location(location) {}
  OwningOpRef<ModuleOp> run();

private:
  void addArguments();
  void addCompute(size_t number);
  void addRest();

  OpBuilder builder;
  Location location;
  std::vector<bool> awaited;           ///< by node: whether another one waits for it
  std::vector<Value> tokens;           ///< what nodes that compute make for others
  std::vector<Value> arguments;        ///< by parameter
  std::vector<Value> gradients, nexts; ///< also; null: not made yet
  Value batch;
  func::FuncOp step;
  std::vector<std::string> names;
};

void Importer::addArguments() {
  // All at once: each insertion writes the function's type anew.
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attrs;
  auto add = [&](RankedTensorType type, StringRef kind, StringRef name) {
    types.push_back(type);
    attrs.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(kind, builder.getStringAttr(name))));
  };
  for (const TraceParameter &parameter : parameters)
    add(parameter.type, cs::CsDialect::kParamAttr, parameter.name);
  add(RankedTensorType::get({1, 1}, builder.getI8Type()), cs::CsDialect::kBatchAttr, kBatch);
  (void)step.insertArguments(SmallVector<unsigned>(types.size()), types, attrs,
                             SmallVector<Location>(types.size(), location));
  arguments.assign(step.args_begin(), step.args_end());
  batch = arguments.back();
  arguments.pop_back();
}

void Importer::addCompute(size_t number) {
  if (awaited.empty()) {
    awaited.resize(nodes.size());
    for (const std::set<size_t> &own : waits)
      for (size_t before : own)
        awaited[before] = true;
  }
  std::vector<Value> inputs;
  for (size_t before : waits[number])
    inputs.push_back(isGradient(before) ? gradients[parameterOf[before]]
                                        : tokens[before]);
  std::set<size_t> values = reads[number];
  auto of = [&](const std::map<size_t, std::vector<size_t>> &lists) {
    auto own = lists.find(number);
    return own == lists.end() ? std::vector<size_t>() : own->second;
  };
  std::vector<size_t> updated = of(updatedBy), made = of(madeBy);
  llvm::sort(updated);
  values.insert(updated.begin(), updated.end());
  for (size_t p : values)
    inputs.push_back(arguments[p]);
  if (inputs.empty())
    inputs.push_back(batch);
  cs::CostAttr cost = costs[number];
  // What needs nothing but a parameter and its gradient, and is needed by nothing else in
  // this step, is taken to act on each element by itself, as optimizers do.
  if (made.empty() && updated.size() == 1 && inputs.size() == 2 && !awaited[number] &&
      inputs.front() == gradients[updated.front()]) {
    nexts[updated.front()] =
        cs::ProfiledOp::create(builder, location,
                               TypeRange(parameters[updated.front()].type),
                               builder.getStringAttr(names[number]),
                               /*elementwise=*/true, inputs, cost)
            .getResult(0);
    return;
  }
  // What others wait for, gradients, new values.
  std::vector<Type> types = {RankedTensorType::get({1}, builder.getI8Type())};
  for (size_t p : made)
    types.push_back(parameters[p].type);
  for (size_t p : updated)
    types.push_back(parameters[p].type);
  auto op = cs::ProfiledOp::create(builder, location, types,
                                   builder.getStringAttr(names[number]),
                                   /*elementwise=*/false, inputs, cost);
  tokens[number] = op.getResult(0);
  unsigned next = 1;
  for (size_t p : made)
    gradients[p] = cs::GradientOp::create(
        builder, location, op.getResult(next++), parameters[p].name);
  for (size_t p : updated)
    nexts[p] = op.getResult(next++);
}

/// New values that no node computes are made in no time.
void Importer::addRest() {
  std::vector<Value> results;
  std::vector<Type> types;
  std::vector<DictionaryAttr> attrs;
  for (auto [p, parameter] : llvm::enumerate(parameters)) {
    if (!nexts[p])
      nexts[p] =
          cs::ProfiledOp::create(builder, location, TypeRange(parameter.type),
                                 builder.getStringAttr("update." + parameter.name),
                                 /*elementwise=*/true,
                                 ValueRange{arguments[p], gradients[p]},
                                 cs::CostAttr::get(builder.getContext(), 0, 0, 0))
              .getResult(0);
    results.push_back(nexts[p]);
    types.push_back(parameter.type);
    attrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        cs::CsDialect::kUpdatesAttr, builder.getStringAttr(parameter.name))));
  }
  func::ReturnOp::create(builder, location, results);
  step.setFunctionType(builder.getFunctionType(step.getArgumentTypes(), types));
  step.setAllResultAttrs(attrs);
}

OwningOpRef<ModuleOp> Importer::run() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(location);
  builder.setInsertionPointToEnd(module->getBody());
  step = func::FuncOp::create(builder, location, "step", builder.getFunctionType({}, {}));
  step->setAttr(cs::CsDialect::kStepAttr, builder.getUnitAttr());
  builder.setInsertionPointToStart(step.addEntryBlock());
  addArguments();
  tokens.resize(nodes.size());
  gradients.resize(parameters.size());
  nexts.resize(parameters.size());
  std::map<std::string, unsigned> used;
  for (const Node *node : nodes) {
    std::string name = node->name().empty() ? "node" : node->name();
    if (node->type() == COMP_NODE)
      if (unsigned again = used[name]++)
        name += "." + std::to_string(again);
    names.push_back(name);
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i]->type() == COMP_NODE)
      addCompute(i);
  addRest();
  return module;
}

} // namespace

OwningOpRef<ModuleOp> commsched::importChakra(MLIRContext *context, Location location,
                                              const Trace &trace) {
  context->loadDialect<cs::CsDialect, func::FuncDialect>();
  FailureOr<TraceStep> step = readStep(context, location, trace);
  if (failed(step))
    return nullptr;
  return Importer(context, location, *std::move(step)).run();
}
