// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whose functions, collectives and messages are: groups of ranks, and roles.

#include "passes/plan/PlanBuilder.h"

using namespace mlir;

namespace commsched::planexport {

unsigned PlanContext::addGroup(StringRef name, ArrayRef<int64_t> ranks) {
  auto [it, fresh] = groups.try_emplace(name.str(), plan.groups_size());
  if (fresh) {
    plan::Group *made = plan.add_groups();
    made->set_name(name.str());
    for (int64_t rank : ranks)
      made->add_ranks(static_cast<uint32_t>(rank));
  }
  return it->second;
}

PlanContext::Role PlanContext::roleOf(func::FuncOp function) const {
  for (const Role &role : roles)
    if (role.function == function)
      return role;
  return {function, 0, static_cast<int64_t>(cs::ClusterOp(cluster).getNodes())};
}

std::optional<unsigned> PlanContext::group(const Role &role) {
  if (role.count == static_cast<int64_t>(cluster.getNodes()))
    return std::nullopt;
  auto ranks = llvm::to_vector(llvm::seq(role.first, role.first + role.count));
  return addGroup(func::FuncOp(role.function).getName(), ranks);
}

FailureOr<std::optional<unsigned>> PlanContext::group(Operation *op) {
  Role role = roleOf(op->getParentOfType<func::FuncOp>());
  FlatSymbolRefAttr name = cs::getGroupName(op);
  if (!name)
    return group(role);
  FailureOr<cs::Members> members = cs::Members::of(op, role.count);
  if (failed(members))
    return failure();
  SmallVector<int64_t> ranks;
  for (int64_t i = 0; i < members->size(); ++i)
    ranks.push_back(role.first + members->rankAt(i));
  std::string own = name.getValue().str();
  if (!roles.empty())
    own = (role.function.getName() + "." + own).str();
  return std::optional<unsigned>(addGroup(own, ranks));
}

LogicalResult PlanContext::joinEnds() {
  auto isSend = [](const End &end) { return isa<cs::SendOp>(end.message); };
  auto keyOf = [](const End &end) {
    return cast<cs::CommunicationOpInterface>(end.message).getCommunicationKey();
  };
  std::map<std::tuple<std::string, bool, Operation *, Operation *>, const End *> byKey;
  for (const End &end : ends)
    byKey[{keyOf(end).str(), isSend(end), end.own, end.peer}] = &end;
  for (const End &end : ends) {
    auto other = byKey.find({keyOf(end).str(), !isSend(end), end.peer, end.own});
    if (other == byKey.end())
      return end.message->emitOpError()
             << "\"" << keyOf(end) << "\" has no other end; run --verify-distributed";
    plan::Communicate *communicate = plan.mutable_functions(end.function)
                                         ->mutable_instructions(end.instruction)
                                         ->mutable_communicate();
    communicate->set_other_end(other->second->instruction);
    if (other->second->function != end.function)
      communicate->set_other_function(other->second->function);
  }
  return success();
}

LogicalResult findRoles(ArrayRef<func::FuncOp> functions, PlanContext &context) {
  auto nodes = static_cast<int64_t>(context.cluster.getNodes());
  int64_t first = 0;
  func::FuncOp ofAll;
  for (func::FuncOp function : functions) {
    auto count = function->getAttrOfType<IntegerAttr>(cs::CsDialect::kCountAttr);
    if (!function->hasAttr(cs::CsDialect::kStepAttr)) {
      if (count)
        return function.emitError("is run by some of the nodes, but is no step");
      continue;
    }
    if (!count) {
      if (ofAll)
        return function.emitError("is a second step that all nodes run");
      ofAll = function;
      continue;
    }
    context.roles.push_back({function, first, count.getInt()});
    first += count.getInt();
  }
  if (context.roles.empty())
    return success();
  if (ofAll)
    return ofAll.emitError("is run by all nodes, but other steps are run by some of them");
  if (first != nodes)
    return context.roles.back().function.emitError()
           << "the steps must be run by " << nodes << " nodes together, got: " << first;
  return success();
}

} // namespace commsched::planexport
