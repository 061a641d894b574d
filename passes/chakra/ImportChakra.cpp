// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/chakra/Chakra.h"

#include "ir/Cs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>

using namespace mlir;
using namespace commsched;
using namespace commsched::chakra;

namespace {

/// Nodes are numbered in an order in which each comes after what it waits for, of
/// those possible the one with the lowest ids first.
class Importer {
public:
  Importer(MLIRContext *context, Location location, const Trace &trace)
      : builder(context), location(location), trace(trace) {}
  OwningOpRef<ModuleOp> run();

private:
  LogicalResult sort();
  LogicalResult classify();
  void warnOfGroups();
  LogicalResult readCosts();
  void findReaders();
  void addArguments();
  void addCompute(size_t number);
  void addRest();

  InFlightDiagnostic error(const Node &node) {
    return emitError(location) << "node " << node.id() << " (\"" << node.name() << "\") ";
  }
  FailureOr<int64_t> numberOf(const Node &node, StringRef name, int64_t most, int64_t otherwise);

  bool isGradient(size_t number) const { return parameterOf.count(number); }
  std::vector<size_t> depsOf(const Node &node) const;

  struct Parameter {
    size_t node = 0; ///< the all-reduce
    std::string name;
    RankedTensorType type;
    size_t producer = 0;          ///< computes the gradient
    std::optional<size_t> update; ///< computes the new value
    Value gradient, next;
  };

  static constexpr const char *kBatch = "batch"; ///< what a step is given

  OpBuilder builder;
  Location location;
  const Trace &trace;
  std::vector<const Node *> nodes;
  std::map<uint64_t, size_t> numbers; ///< by id
  /// By node: nodes that compute, or all-reduces, that it waits for, directly or
  /// through what takes no time here.
  std::vector<std::set<size_t>> waits;
  std::vector<bool> awaited;            ///< by node: whether another one waits for it
  std::map<size_t, size_t> parameterOf; ///< by node
  std::vector<Parameter> parameters;
  std::vector<std::set<size_t>> reads; ///< parameters, by node
  /// Parameters by the nodes that compute their gradients, and their new values.
  std::map<size_t, std::vector<size_t>> madeBy, updatedBy;
  std::vector<cs::CostAttr> costs; ///< of nodes that compute
  std::vector<Value> tokens;       ///< what nodes that compute make for others
  std::vector<Value> arguments;
  Value batch;
  func::FuncOp step;
  std::vector<std::string> names;
};

std::vector<size_t> Importer::depsOf(const Node &node) const {
  std::vector<size_t> deps;
  for (const auto *list : {&node.ctrl_deps(), &node.data_deps()})
    for (uint64_t id : *list)
      if (auto found = numbers.find(id); found != numbers.end())
        deps.push_back(found->second);
  return deps;
}

LogicalResult Importer::sort() {
  std::map<uint64_t, const Node *> byId;
  for (const Node &node : trace.nodes)
    if (!byId.try_emplace(node.id(), &node).second)
      return emitError(location) << "has two nodes with id " << node.id();
  std::map<uint64_t, size_t> left;
  std::map<uint64_t, std::vector<uint64_t>> users;
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> ready;
  for (const auto &[id, node] : byId) {
    std::set<uint64_t> deps(node->data_deps().begin(), node->data_deps().end());
    deps.insert(node->ctrl_deps().begin(), node->ctrl_deps().end());
    for (uint64_t dep : deps) {
      if (!byId.count(dep))
        return emitError(location) << "node " << id << " (\"" << node->name()
                                   << "\") waits for a node that is not there, " << dep;
      users[dep].push_back(id);
    }
    left[id] = deps.size();
    if (deps.empty())
      ready.push(id);
  }
  while (!ready.empty()) {
    uint64_t id = ready.top();
    ready.pop();
    numbers[id] = nodes.size();
    nodes.push_back(byId[id]);
    for (uint64_t user : users[id])
      if (--left[user] == 0)
        ready.push(user);
  }
  if (nodes.size() != trace.nodes.size())
    return emitError(location) << "has nodes that wait for themselves";
  return success();
}

/// Of an attribute, which must be 0 to `most`; `otherwise` if there is none.
FailureOr<int64_t> Importer::numberOf(const Node &node, StringRef name, int64_t most, int64_t otherwise) {
  const NodeAttribute *attribute = find(node, {name.data(), name.size()});
  if (!attribute)
    return otherwise;
  std::optional<int64_t> number = chakra::numberOf(*attribute);
  if (!number)
    return error(node) << "must have a whole number as " << name;
  if (*number < 0 || *number > most)
    return error(node) << "must have " << name << " of 0 to " << most << ", got: " << *number;
  return *number;
}

/// Finds parameters, and what waits for what that takes time.
LogicalResult Importer::classify() {
  waits.resize(nodes.size());
  std::set<std::string> taken = {kBatch}; // names of parameters, and of what is none
  std::map<std::string, unsigned> again;
  unsigned ignored = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node &node = *nodes[i];
    std::optional<int64_t> collective;
    if (node.type() == COMM_COLL_NODE) {
      if (!find(node, "comm_type"))
        return error(node) << "must have comm_type, which says what its collective is";
      FailureOr<int64_t> kind = numberOf(node, "comm_type", std::numeric_limits<int32_t>::max(), ALL_REDUCE);
      if (failed(kind))
        return failure();
      collective = *kind;
    }
    if (collective == ALL_REDUCE) {
      FailureOr<int64_t> size = numberOf(node, "comm_size", int64_t{1} << 46, 0);
      if (failed(size))
        return failure();
      const int64_t bytes = *size;
      if (bytes < 1)
        return error(node) << "must have comm_size, the bytes of its tensor, at least 1";
      Parameter parameter;
      parameter.node = i;
      const std::string name = node.name().empty() ? "parameter" : node.name();
      parameter.name = name;
      while (!taken.insert(parameter.name).second)
        parameter.name = name + "." + std::to_string(++again[name]);
      // A gradient is of floating-point numbers: of an odd number of bytes it has one more.
      bool whole = bytes % 4 == 0;
      parameter.type = RankedTensorType::get(
          {whole ? bytes / 4 : (bytes + 1) / 2},
          whole ? Type(builder.getF32Type()) : builder.getBF16Type());
      parameterOf[i] = parameters.size();
      parameters.push_back(std::move(parameter));
    } else if (collective || node.type() == COMM_SEND_NODE ||
               node.type() == COMM_RECV_NODE) {
      ++ignored;
    }
    for (size_t before : depsOf(node)) {
      if (nodes[before]->type() == COMP_NODE || isGradient(before))
        waits[i].insert(before);
      else
        waits[i].insert(waits[before].begin(), waits[before].end());
    }
  }
  if (ignored)
    emitWarning(location) << ignored << " nodes that communicate other than by an "
                          << "all-reduce are left out: they take no time";
  if (parameters.empty())
    return emitError(location) << "has no all-reduce, so there is nothing to train";
  for (Parameter &parameter : parameters) {
    std::optional<size_t> last;
    for (size_t before : waits[parameter.node])
      if (!isGradient(before))
        last = before;
    if (!last)
      return error(*nodes[parameter.node]) << "sums what no node of the trace computes";
    parameter.producer = *last;
    madeBy[*last].push_back(parameterOf[parameter.node]);
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i]->type() == COMP_NODE)
      for (size_t before : waits[i])
        if (isGradient(before) && !parameters[parameterOf[before]].update) {
          parameters[parameterOf[before]].update = i;
          updatedBy[i].push_back(parameterOf[before]);
        }
  return success();
}

/// A sum over some of the ranks is taken for one over all.
void Importer::warnOfGroups() {
  std::set<std::string> groups;
  for (const Parameter &parameter : parameters) {
    const NodeAttribute *group = find(*nodes[parameter.node], "pg_name");
    groups.insert(group ? group->string_val() : "");
  }
  if (groups.size() > 1)
    emitWarning(location) << "has all-reduces of " << groups.size()
                          << " groups of ranks: all are taken for sums of gradients over all ranks";
}

/// What nodes that compute take.
LogicalResult Importer::readCosts() {
  constexpr int64_t kHour = int64_t{3600} * 1'000'000'000, kMostWork = int64_t{1} << 60;
  costs.resize(nodes.size());
  bool any = false;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node &node = *nodes[i];
    if (node.type() != COMP_NODE)
      continue;
    if (node.duration_micros() > static_cast<uint64_t>(kHour / 1000))
      return error(node) << "must take an hour at most, got: " << node.duration_micros() << " microseconds";
    FailureOr<int64_t> ns = numberOf(node, StringRef(kDuration.data(), kDuration.size()), kHour,
                                     static_cast<int64_t>(node.duration_micros()) * 1000);
    if (failed(ns))
      return failure();
    FailureOr<int64_t> flops = numberOf(node, "num_ops", kMostWork, 0);
    if (failed(flops))
      return failure();
    FailureOr<int64_t> bytes = numberOf(node, "tensor_size", kMostWork, 0);
    if (failed(bytes))
      return failure();
    any |= *ns != 0 || *flops != 0 || *bytes != 0;
    costs[i] = cs::CostAttr::get(builder.getContext(), *flops, *bytes, *ns);
  }
  if (!any)
    emitWarning(location) << "does not say what its nodes take: they compute in no time";
  return success();
}

/// Which parameters nodes read: those whose new value they wait for in the next
/// step. A trace of one step does not say so, unless we have written it: then the first
/// node that computes reads all.
void Importer::findReaders() {
  reads.resize(nodes.size());
  bool known = false;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeAttribute *before = find(*nodes[i], kNextStep);
    if (!before || nodes[i]->type() != COMP_NODE)
      continue;
    known = true;
    for (uint64_t id : before->uint64_list().values()) {
      auto found = numbers.find(id);
      if (found == numbers.end())
        continue;
      if (auto sum = parameterOf.find(found->second); sum != parameterOf.end())
        reads[i].insert(sum->second);
      if (auto update = updatedBy.find(found->second); update != updatedBy.end())
        reads[i].insert(update->second.begin(), update->second.end());
    }
  }
  for (size_t i = 0; i < nodes.size() && !known; ++i)
    if (nodes[i]->type() == COMP_NODE) {
      emitWarning(location) << "does not say what the next step waits for: its first "
                            << "node that computes, \"" << nodes[i]->name()
                            << "\", is taken to need all parameters";
      for (size_t p = 0; p < parameters.size(); ++p)
        reads[i].insert(p);
      known = true;
    }
}

void Importer::addArguments() {
  // All at once: each insertion writes the function's type anew.
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attrs;
  auto add = [&](RankedTensorType type, StringRef kind, StringRef name) {
    types.push_back(type);
    attrs.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(kind, builder.getStringAttr(name))));
  };
  for (const Parameter &parameter : parameters)
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
    inputs.push_back(isGradient(before) ? parameters[parameterOf[before]].gradient
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
      inputs.front() == parameters[updated.front()].gradient) {
    parameters[updated.front()].next =
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
    parameters[p].gradient = cs::GradientOp::create(
        builder, location, op.getResult(next++), parameters[p].name);
  for (size_t p : updated)
    parameters[p].next = op.getResult(next++);
}

/// New values that no node computes are made in no time.
void Importer::addRest() {
  std::vector<Value> results;
  std::vector<Type> types;
  std::vector<DictionaryAttr> attrs;
  for (auto [p, parameter] : llvm::enumerate(parameters)) {
    if (!parameter.next)
      parameter.next =
          cs::ProfiledOp::create(builder, location, TypeRange(parameter.type),
                                 builder.getStringAttr("update." + parameter.name),
                                 /*elementwise=*/true,
                                 ValueRange{arguments[p], parameter.gradient},
                                 cs::CostAttr::get(builder.getContext(), 0, 0, 0))
              .getResult(0);
    results.push_back(parameter.next);
    types.push_back(parameter.type);
    attrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        cs::CsDialect::kUpdatesAttr, builder.getStringAttr(parameter.name))));
  }
  func::ReturnOp::create(builder, location, results);
  step.setFunctionType(builder.getFunctionType(step.getArgumentTypes(), types));
  step.setAllResultAttrs(attrs);
}

OwningOpRef<ModuleOp> Importer::run() {
  if (failed(sort()) || failed(classify()) || failed(readCosts()))
    return nullptr;
  warnOfGroups();
  findReaders();
  OwningOpRef<ModuleOp> module = ModuleOp::create(location);
  builder.setInsertionPointToEnd(module->getBody());
  step = func::FuncOp::create(builder, location, "step", builder.getFunctionType({}, {}));
  step->setAttr(cs::CsDialect::kStepAttr, builder.getUnitAttr());
  builder.setInsertionPointToStart(step.addEntryBlock());
  addArguments();
  tokens.resize(nodes.size());
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
  return Importer(context, location, trace).run();
}
