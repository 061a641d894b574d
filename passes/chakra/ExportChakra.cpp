// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/chakra/Chakra.h"

#include "ir/CsGroups.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>
#include <optional>
#include <set>

using namespace mlir;
using namespace commsched;
using namespace commsched::chakra;

namespace {

using Ids = std::set<uint64_t>;

class Exporter {
public:
  Exporter(ModuleOp module, Trace &trace) : module(module), trace(trace) {}
  LogicalResult run();

private:
  LogicalResult add(Operation &op);
  void addFragment(cs::FragmentOp fragment);
  LogicalResult addCommunication(Operation *communication, ValueRange inputs,
                                 ValueRange results, std::optional<int64_t> priority);
  Node &newNode(StringRef name, NodeType type, ValueRange inputs);
  void passOn(Operation &op);
  void addNextStep(func::ReturnOp end);

  ModuleOp module;
  Trace &trace;
  cs::ClusterOp cluster;
  func::FuncOp step;
  llvm::DenseMap<Value, Ids> madeBy;
  llvm::DenseMap<Value, Ids> readBy; ///< nodes, by argument
};

void addNumber(Node &node, StringRef name, int64_t value) {
  NodeAttribute *attribute = node.add_attr();
  attribute->set_name(name.str());
  attribute->set_int64_val(value);
}

/// Ids count from 0 in the order of the program.
Node &Exporter::newNode(StringRef name, NodeType type, ValueRange inputs) {
  auto id = static_cast<uint64_t>(trace.nodes.size());
  Node &node = trace.nodes.emplace_back();
  node.set_id(id);
  node.set_name(name.str());
  node.set_type(type);
  Ids after;
  for (Value input : inputs) {
    if (isa<BlockArgument>(input))
      readBy[input].insert(id);
    const Ids &made = madeBy[input];
    after.insert(made.begin(), made.end());
  }
  for (uint64_t before : after)
    node.add_data_deps(before);
  return node;
}

void Exporter::addFragment(cs::FragmentOp fragment) {
  std::optional<cs::CostAttr> cost = fragment.getCost();
  int64_t duration = cost ? cost->nanosecondsOn(cluster.getDevice()) : 0;
  Node &node = newNode(fragment.getLabel(), COMP_NODE, fragment.getInputs());
  node.set_duration_micros(static_cast<uint64_t>((duration + 500) / 1000));
  NodeAttribute *host = node.add_attr();
  host->set_name("is_cpu_op");
  host->set_bool_val(false);
  addNumber(node, "num_ops", cost ? cost->getFlops() : 0);
  NodeAttribute *bytes = node.add_attr();
  bytes->set_name("tensor_size");
  bytes->set_uint64_val(static_cast<uint64_t>(cost ? cost->getBytes() : 0));
  addNumber(node, StringRef(kDuration.data(), kDuration.size()), duration);
  for (Value output : fragment.getOutputs())
    madeBy[output] = {node.id()};
}

std::optional<Collective> collectiveOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Collective>>(op)
      .Case<cs::AllReduceOp>([](auto) { return ALL_REDUCE; })
      .Case<cs::ReduceOp>([](auto) { return REDUCE; })
      .Case<cs::AllGatherOp>([](auto) { return ALL_GATHER; })
      .Case<cs::BroadcastOp>([](auto) { return BROADCAST; })
      .Case<cs::ReduceScatterOp>([](auto) { return REDUCE_SCATTER; })
      .Default([](auto) { return std::nullopt; });
}

LogicalResult Exporter::addCommunication(Operation *op, ValueRange inputs,
                                         ValueRange results,
                                         std::optional<int64_t> priority) {
  std::optional<Collective> collective = collectiveOf(op);
  if (!collective)
    return op->emitOpError("has no node in a Chakra trace: collectives have, before "
                           "--expand-collectives");
  auto placed = cast<cs::PlacedType>(op->getOperand(0).getType()).getTensor();
  int64_t width = (placed.getElementTypeBitWidth() + 7) / 8;
  Node &node = newNode(cast<cs::CommunicationOpInterface>(op).getCommunicationKey(),
                       COMM_COLL_NODE, inputs);
  addNumber(node, "comm_type", *collective);
  addNumber(node, "comm_size", placed.getNumElements() * width);
  NodeAttribute *all = node.add_attr();
  all->set_name("involved_dim");
  all->mutable_bool_list()->add_values(true);
  if (FlatSymbolRefAttr name = cs::getGroupName(op)) {
    NodeAttribute *group = node.add_attr();
    group->set_name("pg_name");
    group->set_string_val(name.getValue().str());
  }
  if (priority) {
    NodeAttribute *urgency = node.add_attr();
    urgency->set_name("comm_priority");
    urgency->set_int32_val(static_cast<int32_t>(*priority));
  }
  for (Value result : results)
    madeBy[result] = {node.id()};
  return success();
}

/// What cuts, joins, copies and awaits takes no time.
void Exporter::passOn(Operation &op) {
  Ids made;
  for (Value operand : op.getOperands()) {
    const Ids &by = madeBy[operand];
    made.insert(by.begin(), by.end());
  }
  for (Value result : op.getResults())
    madeBy[result] = made;
}

LogicalResult Exporter::add(Operation &op) {
  if (auto fragment = dyn_cast<cs::FragmentOp>(op)) {
    addFragment(fragment);
    return success();
  }
  if (auto start = dyn_cast<cs::StartOp>(op)) {
    Operation &inner = start.getBody().front().front();
    if (isa<cs::CopyOp>(inner))
      return passOn(op), success();
    if (isa<cs::CommunicationOpInterface>(inner))
      return addCommunication(&inner, op.getOperands(), op.getResults(),
                              static_cast<int64_t>(start.getPriority()));
    return op.emitOpError("has no node in a Chakra trace once it is expanded: run "
                          "before --expand-collectives");
  }
  if (isa<cs::CommunicationOpInterface>(op))
    return addCommunication(&op, op.getOperands(), op.getResults(), std::nullopt);
  if (op.getNumRegions())
    return op.emitOpError("has no node in a Chakra trace");
  passOn(op);
  return success();
}

/// The nodes that read a parameter wait for what made it in the step before.
void Exporter::addNextStep(func::ReturnOp end) {
  std::map<uint64_t, Ids> before;
  for (unsigned i = 0; i < end.getNumOperands(); ++i) {
    auto name = step.getResultAttrOfType<StringAttr>(i, cs::CsDialect::kUpdatesAttr);
    if (!name)
      continue;
    for (BlockArgument argument : step.getArguments())
      for (StringRef kind : {cs::CsDialect::kParamAttr, cs::CsDialect::kStateAttr})
        if (step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kind) == name)
          for (uint64_t reader : readBy[argument])
            before[reader].insert(madeBy[end.getOperand(i)].begin(),
                                  madeBy[end.getOperand(i)].end());
  }
  for (const auto &[reader, made] : before) {
    // A node that comes after what it waits for anyhow says nothing new.
    NodeAttribute *attribute = trace.nodes[reader].add_attr();
    attribute->set_name(std::string(kNextStep));
    for (uint64_t id : made)
      attribute->mutable_uint64_list()->add_values(id);
  }
}

LogicalResult Exporter::run() {
  auto clusters = module.getOps<cs::ClusterOp>();
  if (!llvm::hasSingleElement(clusters))
    return module.emitError("must have one cs.cluster, which says how long fragments "
                            "take");
  cluster = *clusters.begin();
  for (auto func : module.getOps<func::FuncOp>())
    if (func->hasAttr(cs::CsDialect::kStepAttr) && !func.isExternal()) {
      if (step)
        return func.emitOpError("is a second step: a trace is of ranks that run one");
      step = func;
    }
  if (!step)
    return module.emitError("must have a function with cs.step");
  if (!step.getBody().hasOneBlock())
    return step.emitOpError("must have one block");
  trace.metadata.set_version("0.0.4");
  for (Operation &op : step.front())
    if (auto end = dyn_cast<func::ReturnOp>(op))
      addNextStep(end);
    else if (failed(add(op)))
      return failure();
  if (trace.nodes.empty())
    return step.emitOpError("has nothing that a trace could hold: run "
                            "--insert-dist-comm first");
  return success();
}

} // namespace

LogicalResult commsched::exportChakra(ModuleOp module, Trace &trace) {
  return Exporter(module, trace).run();
}
