// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/loading/plan_roles.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/loading/plan_servers.h"
#include "runtime/loading/plan_values.h"

namespace commsched::runtime {
namespace {

constexpr uint32_t kMaxTrainers = 1024;

absl::Status CheckRole(const plan::Plan &plan, int index, bool server) {
  const plan::Role &role = plan.roles(index);
  std::string where = absl::StrCat("role ", index, " \"", role.name(), "\"");
  if (server && role.count() != 1)
    return BadPlan(where, absl::StrCat("a server must be one process, got: ",
                                       role.count()));
  std::set<uint32_t> functions, slots;
  for (uint32_t f : role.functions())
    if (f >= uint32_t(plan.functions_size()) || !functions.insert(f).second)
      return BadPlan(where,
                     absl::StrCat("there is no function ", f, ", or it is there twice"));
  for (uint32_t s : role.slots())
    if (s >= uint32_t(plan.slots_size()) || !slots.insert(s).second)
      return BadPlan(where,
                     absl::StrCat("there is no slot ", s, ", or it is there twice"));
  return absl::OkStatus();
}

// `slots` are those of one role.
absl::Status CheckNames(const plan::Plan &plan,
                        const std::vector<uint32_t> &slots) {
  std::set<std::pair<std::string, uint32_t>> names;
  for (uint32_t s : slots)
    if (plan.slots(int(s)).name().empty() ||
        !names.emplace(plan.slots(int(s)).name(), plan.slots(int(s)).device())
             .second)
      return BadPlan(
          absl::StrCat("slot ", s, " \"", plan.slots(int(s)).name(), "\""),
          "name must be unique on its device and not empty");
  return absl::OkStatus();
}

// Where a slot of a server lies in the whole, and of what shape that is at
// least.
absl::Status Place(const plan::Slot &slot, const TensorInfo &type,
                   const std::string &where, ValueInfo *value,
                   ValueInfo::Part *part) {
  const std::vector<int64_t> &shape = type.shape;
  std::vector<int64_t> &whole = value->type.shape;
  if (shape.empty() || slot.part_of().empty()) {
    if (slot.row_begin() != 0)
      return BadPlan(where, "only a part of a tensor begins at a row");
    if (!(value->type == type))
      return BadPlan(where, absl::StrCat("must match \"", value->name, "\" ",
                                         ToString(value->type), ", got: ",
                                         ToString(type)));
    part->bytes = type.bytes;
    return absl::OkStatus();
  }
  if (type.element != value->type.element || whole.size() != shape.size() ||
      !std::equal(shape.begin() + 1, shape.end(), whole.begin() + 1) ||
      slot.row_begin() < 0 || slot.row_begin() > whole[0] ||
      shape[0] > whole[0] - slot.row_begin())
    return BadPlan(where, absl::StrCat("must be rows of \"", value->name, "\" ",
                                       ToString(value->type), ", got: ",
                                       ToString(type), " at row ",
                                       slot.row_begin()));
  size_t row = shape[0] == 0 ? 0 : type.bytes / size_t(shape[0]);
  part->begin = row * size_t(slot.row_begin());
  part->bytes = type.bytes;
  return absl::OkStatus();
}

void MarkRows(PlanRoles *roles) {
  for (ValueInfo &value : roles->values)
    for (const ValueInfo::Part &part : value.parts)
      for (const BlockProgram &block :
           roles->program.servers[size_t(part.server)].blocks)
        for (const RowBlockProgram::Slot &slot : block.rows.slots)
          value.of_rows |= slot.slot == part.slot;
}

// Ranks that run different steps call functions by the same numbers, on parts of the same
// batches.
absl::Status CheckSteps(const plan::Plan &plan, const PlanRoles &roles) {
  uint64_t batch = 0;
  for (const WorkerRole &worker : roles.workers) {
    const plan::Role &role = plan.roles(worker.role);
    const std::string where = absl::StrCat("role ", worker.role, " \"", role.name(), "\"");
    const std::vector<uint32_t> functions = FunctionsOfRole(plan, worker.role);
    for (size_t i = 0; i < functions.size(); ++i)
      if (plan.functions(int(functions[i])).is_step() != (i == 0))
        return BadPlan(where, "must have one step, in front of its other functions");
    const std::vector<uint32_t> first = FunctionsOfRole(plan, roles.workers[0].role);
    if (functions.empty() || functions.size() != first.size() ||
        !std::equal(functions.begin() + 1, functions.end(), first.begin() + 1))
      return BadPlan(where, "must have the functions that the first role has beside its step");
    const uint64_t own = plan.functions(int(functions[0])).global_batch();
    if (own != 0 && batch != 0 && own != batch)
      return BadPlan(where, absl::StrCat("its global batch must be ", batch, ", got: ", own));
    if (own != 0) batch = own;
  }
  return absl::OkStatus();
}

void FindOwners(const plan::Plan &plan, PlanRoles *roles) {
  if (roles->workers.empty()) return;
  for (ValueInfo &value : roles->values) {
    const auto is_of_value = [&](uint32_t slot) {
      return std::find(value.trainer.begin(), value.trainer.end(), slot) != value.trainer.end();
    };
    int holds = -1;
    for (int w = int(roles->workers.size()) - 1; w >= 0; --w) {
      const int role = roles->workers[size_t(w)].role;
      const std::vector<uint32_t> slots = SlotsOfRole(plan, role);
      if (std::any_of(slots.begin(), slots.end(), is_of_value)) holds = w;
      const plan::Function &step = plan.functions(int(FunctionsOfRole(plan, role)[0]));
      for (const plan::Buffer &buffer : step.buffers())
        if (buffer.kind() == plan::Buffer::SLOT_NEXT && is_of_value(buffer.slot()))
          value.role = w;
    }
    if (value.role < 0) value.role = std::max(0, holds);
  }
}

std::string NameInFiles(const plan::Slot &slot) {
  return slot.part_of().empty() ? slot.name() : slot.part_of();
}

absl::Status ReadValues(const plan::Plan &plan, PlanRoles *roles) {
  std::vector<uint32_t> of_trainers;
  for (int s = 0; s < plan.slots_size() && roles->trainer < 0; ++s)
    of_trainers.push_back(uint32_t(s));
  if (roles->trainer >= 0) of_trainers = SlotsOfRole(plan, roles->trainer);
  if (absl::Status s = CheckNames(plan, of_trainers); !s.ok()) return s;
  for (int role : roles->servers)
    if (absl::Status s = CheckNames(plan, SlotsOfRole(plan, role)); !s.ok())
      return s;
  std::map<std::string, size_t> index;
  std::vector<TensorInfo> types;
  // First what the wholes are.
  for (int i = 0; i < plan.slots_size(); ++i) {
    const plan::Slot &slot = plan.slots(i);
    std::string where = absl::StrCat("slot ", i, " \"", slot.name(), "\"");
    absl::StatusOr<TensorInfo> type = ConvertType(slot.type(), where);
    if (!type.ok()) return type.status();
    types.push_back(*type);
    if (slot.internal()) continue;
    auto [known, fresh] =
        index.emplace(NameInFiles(slot), roles->values.size());
    if (fresh) {
      ValueInfo value;
      value.name = NameInFiles(slot);
      value.is_param = slot.kind() == plan::Slot::PARAM;
      value.type = *type;
      if (!slot.part_of().empty() && !type->shape.empty())
        value.type.shape[0] = 0;
      roles->values.push_back(std::move(value));
    }
    ValueInfo &value = roles->values[known->second];
    value.per_rank |= slot.per_rank();
    if (value.is_param != (slot.kind() == plan::Slot::PARAM) ||
        value.type.element != type->element ||
        value.type.shape.size() != type->shape.size())
      return BadPlan(where, absl::StrCat("must match the other slots of \"",
                                         value.name, "\""));
    if (type->shape.empty()) continue;
    int64_t end = 0;
    if (slot.row_begin() < 0 ||
        __builtin_add_overflow(slot.part_of().empty() ? 0 : slot.row_begin(),
                               type->shape[0], &end) ||
        uint64_t(end) > kMaxPlanBytes)
      return BadPlan(where, "its rows lie outside of any tensor");
    value.type.shape[0] = std::max(value.type.shape[0], end);
  }
  for (ValueInfo &value : roles->values) {
    plan::TensorType type;
    type.set_element(plan::ElementType(value.type.element));
    for (int64_t d : value.type.shape) type.add_shape(d);
    absl::StatusOr<TensorInfo> whole =
        ConvertType(type, absl::StrCat("\"", value.name, "\""));
    if (!whole.ok()) return whole.status();
    value.type = *std::move(whole);
  }
  auto add = [&](uint32_t s, int server) -> absl::Status {
    const plan::Slot &slot = plan.slots(int(s));
    if (slot.internal()) return absl::OkStatus();
    ValueInfo &value = roles->values[index[NameInFiles(slot)]];
    std::string where = absl::StrCat("slot ", s, " \"", slot.name(), "\"");
    ValueInfo::Part part;
    part.server = server;
    part.slot = s;
    if (absl::Status p = Place(slot, types[s], where, &value, &part); !p.ok())
      return p;
    if (server >= 0) {
      value.parts.push_back(part);
    } else {
      if (!(types[s] == value.type))
        return BadPlan(where, "a trainer must hold the whole");
      value.trainer.push_back(s);
    }
    return absl::OkStatus();
  };
  for (uint32_t s : of_trainers)
    if (absl::Status p = add(s, -1); !p.ok()) return p;
  for (size_t k = 0; k < roles->servers.size(); ++k)
    for (uint32_t s : SlotsOfRole(plan, roles->servers[k]))
      if (absl::Status p = add(s, int(k)); !p.ok()) return p;
  for (ValueInfo &value : roles->values) {
    std::vector<ValueInfo::Part> parts = value.parts;
    std::sort(parts.begin(), parts.end(), [](const auto &a, const auto &b) {
      return a.begin < b.begin;
    });
    size_t end = 0;
    for (const ValueInfo::Part &part : parts)
      if (part.begin <= end) end = std::max(end, part.begin + part.bytes);
    // Of copies the last one is read. A server without blocks counts no steps.
    std::stable_partition(value.parts.begin(), value.parts.end(),
                          [&](const ValueInfo::Part &part) {
                            return roles->program.servers[size_t(part.server)]
                                .blocks.empty();
                          });
    value.on_servers = !parts.empty() && end == value.type.bytes;
    if (!value.on_servers && (!parts.empty() || value.trainer.empty()))
      return BadPlan(absl::StrCat("\"", value.name, "\""),
                     "the servers must hold all rows of it");
  }
  return absl::OkStatus();
}

// Of what the step does several times, the most urgent.
ServerOrder OrderOf(const plan::Plan &plan) {
  using Found = std::vector<std::vector<std::optional<int32_t>>>;
  Found pushes;
  for (const plan::Server &server : plan.parameter_servers().servers())
    pushes.emplace_back(size_t(server.blocks_size()));
  Found pulls = pushes;
  const auto offer = [](const auto &message, int32_t priority, Found *found) {
    if (message.server() >= found->size() || message.block() >= (*found)[message.server()].size())
      return;  // is refused elsewhere
    auto &known = (*found)[message.server()][message.block()];
    known = std::min(known.value_or(priority), priority);
  };
  ServerOrder order;
  for (const plan::Function &function : plan.functions()) {
    if (!function.is_step()) continue;
    for (const plan::Instruction &i : function.instructions()) {
      if (i.has_push()) offer(i.push(), i.priority(), &pushes);
      if (i.has_pull()) offer(i.pull(), i.priority(), &pulls);
      for (const plan::TablePart &part : i.push_rows().parts()) offer(part, i.priority(), &pushes);
      for (const plan::TablePart &part : i.pull_rows().parts()) offer(part, i.priority(), &pulls);
    }
  }
  for (const auto &[found, of] : {std::pair(&pushes, &order.pushes), std::pair(&pulls, &order.pulls)})
    for (const auto &server : *found) {
      of->emplace_back();
      for (const auto &priority : server) of->back().push_back(priority.value_or(0));
    }
  return order;
}

}  // namespace

std::vector<uint32_t> SlotsOfRole(const plan::Plan &plan, int role) {
  std::set<uint32_t> slots(plan.roles(role).slots().begin(),
                           plan.roles(role).slots().end());
  for (uint32_t f : plan.roles(role).functions())
    for (const plan::Buffer &buffer : plan.functions(int(f)).buffers())
      if ((buffer.kind() == plan::Buffer::SLOT_CURRENT ||
           buffer.kind() == plan::Buffer::SLOT_NEXT) &&
          buffer.slot() < uint32_t(plan.slots_size()))
        slots.insert(buffer.slot());
  return {slots.begin(), slots.end()};
}

std::vector<uint32_t> FunctionsOfRole(const plan::Plan &plan, int role) {
  std::set<uint32_t> functions;
  if (role >= 0)
    functions.insert(plan.roles(role).functions().begin(),
                     plan.roles(role).functions().end());
  for (int f = 0; f < plan.functions_size() && role < 0; ++f)
    functions.insert(uint32_t(f));
  return {functions.begin(), functions.end()};
}

absl::StatusOr<PlanRoles> ReadRoles(const plan::Plan &plan) {
  PlanRoles roles;
  const plan::ParameterServers &servers = plan.parameter_servers();
  std::set<int> of_servers;
  for (int k = 0; k < servers.servers_size(); ++k) {
    uint32_t role = servers.servers(k).role();
    std::string where = absl::StrCat("server ", k);
    if (role >= uint32_t(plan.roles_size()) ||
        !of_servers.insert(int(role)).second)
      return BadPlan(where, absl::StrCat("there is no role ", role,
                                         ", or another server has it"));
    roles.servers.push_back(int(role));
    if (absl::Status s = CheckRole(plan, int(role), true); !s.ok()) return s;
  }
  uint64_t ranks = 0;
  for (int r = 0; r < plan.roles_size(); ++r) {
    if (of_servers.count(r) != 0) continue;
    const plan::Role &role = plan.roles(r);
    const std::string where = absl::StrCat("role ", r, " \"", role.name(), "\"");
    if (absl::Status s = CheckRole(plan, r, false); !s.ok()) return s;
    if (!roles.workers.empty() && !roles.servers.empty())
      return BadPlan(where, "there must be one role beside those of servers");
    const bool several = (plan.required_features() >> plan::FEATURE_ROLES) & 1;
    if (!roles.workers.empty() && !several)
      return BadPlan(where, "several roles need FEATURE_ROLES");
    const uint64_t left = plan.cluster().nodes() - ranks;
    if (!several && role.count() != left)
      return BadPlan(where, absl::StrCat("must match the cluster's ", left,
                                         " nodes, got: ", role.count()));
    if (role.count() == 0 || role.count() > left)
      return BadPlan(where, absl::StrCat("must have 1 to ", left, " of the nodes, got: ",
                                         role.count()));
    roles.workers.push_back({r, int(ranks), int(role.count())});
    ranks += role.count();
  }
  if (!roles.workers.empty() && ranks != plan.cluster().nodes())
    return absl::InvalidArgumentError(
        absl::StrCat("roles must have the cluster's ", plan.cluster().nodes(),
                     " nodes together, got: ", ranks));
  if (roles.workers.size() == 1) {
    roles.trainer = roles.workers[0].role;
    roles.workers.clear();
  }
  if (!roles.servers.empty()) {
    if (roles.trainer < 0)
      return absl::InvalidArgumentError("plan has servers but no trainers");
    if (plan.cluster().nodes() > kMaxTrainers)
      return absl::InvalidArgumentError(
          absl::StrCat("there must be at most ", kMaxTrainers,
                       " trainers, got: ", plan.cluster().nodes()));
    if (servers.mode() < plan::ParameterServers::SYNC ||
        servers.mode() > plan::ParameterServers::HALF_ASYNC)
      return absl::InvalidArgumentError(
          absl::StrCat("unknown mode of parameter servers ", int(servers.mode())));
    if (servers.merge() > (1u << 20) ||
        (servers.mode() == plan::ParameterServers::HALF_ASYNC &&
         servers.merge() == 0))
      return absl::InvalidArgumentError(absl::StrCat(
          "number of merged gradients must be 1 to ", 1 << 20, ", got: ",
          servers.merge()));
    roles.program.mode = ServersProgram::Mode(servers.mode());
    roles.program.merge = std::max(1u, servers.merge());
    roles.program.mean = servers.mean();
  }
  // One role is all of the plan, whatever it lists.
  if (roles.servers.empty()) roles.trainer = -1;
  std::set<std::string> keys;
  for (int k = 0; k < servers.servers_size(); ++k) {
    absl::StatusOr<ServerProgram> server = ReadServer(plan, k, &keys);
    if (!server.ok()) return server.status();
    roles.program.servers.push_back(*std::move(server));
  }
  roles.program.order = OrderOf(plan);
  if (absl::Status s = ReadValues(plan, &roles); !s.ok()) return s;
  if (absl::Status s = CheckSteps(plan, roles); !s.ok()) return s;
  FindOwners(plan, &roles);
  MarkRows(&roles);
  return roles;
}

bool IsHandedOut(const ServersProgram &servers, const ValueInfo &value) {
  size_t found = 0;
  for (const ValueInfo::Part &part : value.parts)
    for (const BlockProgram &block : servers.servers[size_t(part.server)].blocks)
      if (block.Find(part.slot) != nullptr) found += part.bytes;
  return value.on_servers && found == value.type.bytes;
}

}  // namespace commsched::runtime
