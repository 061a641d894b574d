# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults of groups of ranks and of ranks that run different steps, to build in one at a time."""
from _mutants import Fault

ROLES, LOADER = "passes/plan/PlanRoles.cpp", "runtime/loading/plan_loader.cc"
EXPAND = "passes/lower/ExpandCollectives.cpp"
SIDE, FILES = "runtime/loading/exchange_side.cc", "runtime/loading/plan_roles.cc"

FAULTS = [
    # Groups.
    Fault("members are counted from the end", ROLES, "members->rankAt(i));", "members->rankAt(members->size() - 1 - i));"),
    Fault("a group is all ranks", ROLES, "  if (!name)\n    return group(role);", "  if (name)\n    return group(role);"),
    Fault("collectives of a group are expanded for all ranks", EXPAND, "    ranks = members->size();", "    ranks = nodes;"),
    Fault("the root of a group is its rank", EXPAND,
          "    collective.root = members->indexOf(collective.root).value_or(0);\n", ""),
    Fault("members take the shard of all ranks", EXPAND,
          "op->getOperand(0),\n                                  getGroupName(op));",
          "op->getOperand(0),\n                                  FlatSymbolRefAttr());"),
    Fault("gradients of different groups share messages", "passes/schedule/MessageKinds.cpp",
          "late, cs::getGroupName(reduce)};", "late, Attribute()};"),
    Fault("what is scheduled is of all ranks", "passes/schedule/Starts.cpp",
          "argument, cs::getGroupName(op));", "argument, FlatSymbolRefAttr());"),
    Fault("a collective of a group costs what one of all does", "passes/schedule/StepCosts.cpp",
          "  return group ? group->size() : ranks;", "  return ranks;"),
    Fault("ranks may differ in the group of a collective", "passes/lower/Communication.cpp",
          "a.root == b.root && a.group == b.group &&", "a.root == b.root &&"),
    Fault("peers are ranks, not members", SIDE,
          "transfer = {peers.RankAt(int(*peer)), *begin, *count};", "transfer = {int(*peer), *begin, *count};"),
    # Roles.
    Fault("the ranks of a role begin at 0", ROLES,
          "llvm::seq(role.first, role.first + role.count)", "llvm::seq<int64_t>(0, role.count)"),
    Fault("groups of two steps are one if they have one name", ROLES,
          "  if (!roles.empty())\n    own =", "  if (false)\n    own ="),
    Fault("messages are looked for in the own step", ROLES,
          "    if (other->second->function != end.function)\n", "    if (false)\n"),
    Fault("peers are of the own role", "runtime/loading/rank_group.cc",
          "  if (!communicate.has_peer_group()) return Of", "  return Of"),
    Fault("a worker's index counts all ranks", LOADER, "program->worker = rank - worker.first;", "program->worker = rank;"),
    Fault("a role's batches are those of all ranks", LOADER, "program->workers = worker.count;", "program->workers = nodes();"),
    Fault("the first role's values count", FILES, "          value.role = w;\n", "          value.role = 0;\n"),
    Fault("a step has the functions of all roles", LOADER,
          "    role = worker.role;\n", "    role = roles_.workers[0].role;\n"),
    Fault("values are read of any rank", "runtime/session/session.cc",
          "if (value.role < 0 || executor->program().role == value.role) return", "return"),
    Fault("steps of different batches run together", FILES,
          "if (own != 0 && batch != 0 && own != batch)", "if (false)"),
]
