// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/chakra/TraceStep.h"

#include "mlir/IR/Builders.h"
#include "plan/limits.h"

#include <limits>
#include <queue>

using namespace mlir;
using namespace commsched;
using namespace commsched::chakra;

namespace {

class Reader : TraceStep {
public:
  Reader(MLIRContext *context, Location location, const Trace &trace)
      : builder(context), location(location), trace(trace) {}
  FailureOr<TraceStep> run();

private:
  LogicalResult sort();
  LogicalResult classify();
  void warnOfGroups();
  LogicalResult readCosts();
  void findReaders();

  InFlightDiagnostic error(const Node &node) {
    return emitError(location) << "node " << node.id() << " (\"" << node.name() << "\") ";
  }
  FailureOr<int64_t> numberOf(const Node &node, StringRef name, int64_t most, int64_t otherwise);
  std::vector<size_t> depsOf(const Node &node) const;

  Builder builder;
  Location location;
  const Trace &trace;
  std::map<uint64_t, size_t> numbers; ///< by id
};

std::vector<size_t> Reader::depsOf(const Node &node) const {
  std::vector<size_t> deps;
  for (const auto *list : {&node.ctrl_deps(), &node.data_deps()})
    for (uint64_t id : *list)
      if (auto found = numbers.find(id); found != numbers.end())
        deps.push_back(found->second);
  return deps;
}

LogicalResult Reader::sort() {
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
FailureOr<int64_t> Reader::numberOf(const Node &node, StringRef name, int64_t most, int64_t otherwise) {
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
LogicalResult Reader::classify() {
  waits.resize(nodes.size());
  std::set<std::string> taken = {kBatch.str()}; // names of parameters, and of what is none
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
      FailureOr<int64_t> size = numberOf(node, "comm_size", int64_t{kMaxTensorBytes}, 0);
      if (failed(size))
        return failure();
      const int64_t bytes = *size;
      if (bytes < 1)
        return error(node) << "must have comm_size, the bytes of its tensor, at least 1";
      TraceParameter parameter;
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
  for (TraceParameter &parameter : parameters) {
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
void Reader::warnOfGroups() {
  std::set<std::string> groups;
  for (const TraceParameter &parameter : parameters) {
    const NodeAttribute *group = find(*nodes[parameter.node], "pg_name");
    groups.insert(group ? group->string_val() : "");
  }
  if (groups.size() > 1)
    emitWarning(location) << "has all-reduces of " << groups.size()
                          << " groups of ranks: all are taken for sums of gradients over all ranks";
}

/// What nodes that compute take.
LogicalResult Reader::readCosts() {
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
void Reader::findReaders() {
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

FailureOr<TraceStep> Reader::run() {
  if (failed(sort()) || failed(classify()) || failed(readCosts()))
    return failure();
  warnOfGroups();
  findReaders();
  return TraceStep(std::move(*this));
}

} // namespace

FailureOr<TraceStep> chakra::readStep(MLIRContext *context, Location location, const Trace &trace) {
  return Reader(context, location, trace).run();
}
