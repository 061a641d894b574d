// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/PlanServers.h"

#include "ir/CsServerFunctions.h"

using namespace mlir;

namespace commsched::planexport {

FailureOr<std::vector<ServerProgram>> findServers(ModuleOp module,
                                                  PlanContext &context) {
  cs::ServersAttr attribute;
  func::FuncOp step;
  for (auto function : module.getOps<func::FuncOp>())
    if (auto own = function->getAttrOfType<cs::ServersAttr>(cs::CsDialect::kServersAttr)) {
      attribute = own;
      step = function;
    }
  size_t count = attribute ? attribute.getCount() : 0;
  size_t found = llvm::count_if(module.getOps<func::FuncOp>(), [](func::FuncOp f) {
    return cs::getServerIndex(f).has_value();
  });
  if (found < count)
    return step.emitOpError() << "has " << count
                              << " parameter servers, but functions of " << found;
  std::vector<ServerProgram> servers(count);
  for (auto function : module.getOps<func::FuncOp>()) {
    std::optional<int64_t> index = cs::getServerIndex(function);
    if (!index)
      continue;
    if (size_t(*index) >= count || servers[*index].source)
      return function.emitOpError()
             << "must be the only function of a server from 0 to "
             << int64_t(count) - 1 << ", got: " << *index;
    FailureOr<ServerProgram> server = splitServer(function);
    if (failed(server))
      return failure();
    servers[*index] = std::move(*server);
  }
  if (step)
    step.walk([&](cs::SendOp send) {
      RankedTensorType type = send.getValue().getType().getTensor();
      auto server = cs::getServerOf(send, &context.symbols);
      if (server && cs::CoordinatesAttr::of(type))
        context.lists[{static_cast<unsigned>(*cs::getServerIndex(server)),
                       send.getKey().str()}] = type;
    });
  for (auto [index, server] : llvm::enumerate(servers)) {
    for (auto [block, function] : llvm::enumerate(server.blocks)) {
      context.pushes[{index, function.key().str()}] = block;
      context.pulls[{index, function.publish.getKey().str()}] = block;
    }
  }
  return servers;
}

namespace {

/// Checks a server's part of a parameter or state against the trainers', who may
/// only know it as something that their init makes: of which kind, the server says.
LogicalResult verifyPart(const ServerSlot &slot, PlanContext &context) {
  auto whole = context.slots.find(slot.partOf);
  if (slot.partOf.empty() || whole == context.slots.end())
    return success();
  const plan::TensorType &type = context.plan.slots(whole->second).type();
  plan::TensorType own = toPlan(slot.type);
  bool fits = own.element() == type.element() && own.shape_size() == type.shape_size();
  for (int d = 1; fits && d < own.shape_size(); ++d)
    fits = own.shape(d) == type.shape(d);
  if (fits && own.shape_size() > 0)
    fits = slot.rowBegin + own.shape(0) <= type.shape(0);
  if (!fits)
    return slot.op->emitOpError() << "\"" << slot.name << "\" is not part of \""
                                  << slot.partOf << "\" of the trainers";
  context.plan.mutable_slots(whole->second)
      ->set_kind(slot.isParam ? plan::Slot::PARAM : plan::Slot::STATE);
  return success();
}

/// How the messages combine: by mean if all blocks do so.
LogicalResult findReduction(std::vector<ServerProgram> &servers, cs::SyncMode mode,
                            plan::ParameterServers &out) {
  bool mean = mode == cs::SyncMode::sync;
  for (ServerProgram &server : servers)
    for (ServerBlockFunction &block : server.blocks) {
      auto own = block.reduction();
      if (own.has_value() != (mode == cs::SyncMode::sync))
        return block.op()->emitOpError()
               << "does not fit mode " << cs::stringifySyncMode(mode)
               << "; run --verify-distributed";
      if (!own)
        continue;
      if (*own != cs::Reduction::mean && *own != cs::Reduction::sum)
        return block.op()->emitOpError()
               << "must be by mean or by sum to be part of a plan, got: "
               << cs::stringifyReduction(*own);
      mean &= *own == cs::Reduction::mean;
    }
  out.set_mean(mean);
  return success();
}

} // namespace

LogicalResult buildServers(cs::ServersAttr attribute, std::vector<ServerProgram> &servers,
                           PlanContext &context) {
  plan::Plan &plan = context.plan;
  plan::ParameterServers &out = *plan.mutable_parameter_servers();
  cs::SyncMode mode = attribute.getSyncMode();
  out.set_mode(mode == cs::SyncMode::sync    ? plan::ParameterServers::SYNC
               : mode == cs::SyncMode::async ? plan::ParameterServers::ASYNC
                                             : plan::ParameterServers::HALF_ASYNC);
  out.set_merge(attribute.getMerge());
  if (failed(findReduction(servers, mode, out)))
    return failure();
  for (ServerProgram &server : servers) {
    plan::Server &own = *out.add_servers();
    own.set_role(plan.roles_size());
    plan::Role &role = *plan.add_roles();
    role.set_name("server." + std::to_string(server.index));
    role.set_count(1);
    for (const ServerSlot &slot : server.slots) {
      if (failed(verifyPart(slot, context)))
        return failure();
      if (!context.slots.try_emplace(slot.name, plan.slots_size()).second)
        return slot.op->emitOpError() << "\"" << slot.name << "\" is there twice";
      role.add_slots(plan.slots_size());
      plan::Slot &to = *plan.add_slots();
      to.set_name(slot.name);
      to.set_kind(slot.isParam ? plan::Slot::PARAM : plan::Slot::STATE);
      *to.mutable_type() = toPlan(slot.type);
      to.set_part_of(slot.partOf);
      to.set_row_begin(slot.rowBegin);
      to.set_internal(slot.partOf.empty());
    }
    auto add = [&](func::FuncOp function) -> FailureOr<unsigned> {
      unsigned index = plan.functions_size();
      role.add_functions(index);
      if (failed(buildFunction(function, context)))
        return failure();
      return index;
    };
    if (server.schedule) {
      FailureOr<unsigned> schedule = add(server.schedule);
      if (failed(schedule))
        return failure();
      own.set_has_schedule(true);
      own.set_schedule(*schedule);
    }
    llvm::DenseMap<Operation *, unsigned> functions;
    for (ServerBlockFunction &block : server.blocks) {
      auto [function, isNew] = functions.try_emplace(block.function);
      if (isNew) {
        FailureOr<unsigned> added = add(block.function);
        if (failed(added))
          return failure();
        function->second = *added;
      }
      plan::ServerBlock &to = *own.add_blocks();
      to.set_key(block.key().str());
      to.set_pull_key(block.publish.getKey().str());
      to.set_function(function->second);
      to.set_slot(context.slots.at(block.slots.front()));
      for (const std::string &slot : llvm::drop_begin(block.slots)) {
        to.add_more_slots(context.slots.at(slot));
        context.usesFused = true;
      }
      if (block.update) {
        to.set_row_chunk(block.update.getChunk());
        context.usesRows = true;
      }
      to.set_mean(!out.mean() &&
                  block.reduction() == cs::Reduction::mean);
      if (auto found = context.lists.find(
              {static_cast<unsigned>(server.index), block.key().str()});
          found != context.lists.end()) {
        RankedTensorType lists = found->second;
        cs::CoordinatesAttr encoding = cs::CoordinatesAttr::of(lists);
        to.mutable_lists()->set_entries(encoding.entriesOfRow(lists.getDimSize(1)));
        to.mutable_lists()->set_values(
            toPlan(RankedTensorType::get({}, encoding.getValues())).element());
        context.usesLists = true;
      }
    }
  }
  return success();
}

} // namespace commsched::planexport
