# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults of groups of ranks, of ranks that run different steps, of what shares messages with servers, and of copies, to
build in one at a time."""
from _mutants import Fault

ROLES, LOADER = "passes/plan/PlanRoles.cpp", "runtime/loading/plan_loader.cc"
EXPAND = "passes/lower/ExpandCollectives.cpp"
SIDE, FILES = "runtime/loading/exchange_side.cc", "runtime/loading/plan_roles.cc"
SERVER, VALUES = "runtime/servers/parameter_server.cc", "runtime/servers/parameter_server_files.cc"
SERVER_PLAN, FRAMES = "runtime/loading/plan_servers.cc", "grpc/servers/frame_stream.cc"
PLACES, RING = "passes/place/StagingPlaces.cpp", "passes/layout/StagingRing.h"
COPIES = "runtime/loading/function_instructions.cc"

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
    # Messages that tensors share, and their servers.
    Fault("one that is late gets the newest value", SERVER,
          "blocks_[block].current\n                                                    : blocks_[block].previous;",
          "blocks_[block].current\n                                                    : blocks_[block].current;", "servers"),
    Fault("a server that begins again hands out what it had before the first update", VALUES,
          "  for (uint32_t b = 0; b < blocks_.size(); ++b)\n    if (absl::Status s = ShareCurrent(b); !s.ok()) return s;\n", "",
          "servers"),
    Fault("the sum that a server had begun is lost when it is restored", VALUES,
          "      if (bytes != 0) std::memcpy(block.sum->data(), value->bytes.data(), bytes);\n", "", "servers"),
    Fault("a new value of a tensor that shares messages is not handed out", VALUES,
          "if (blocks_[b].program->Find(part.slot) != nullptr) block = b;",
          "if (blocks_[b].program->slots[0].slot == part.slot) block = b;", "servers"),
    Fault("pushes may have any size", SERVER, "else if (payload.bytes.size() != program.pushed().bytes)", "else if (false)", "servers"),
    Fault("tensors of any types share messages", SERVER_PLAN,
          "all.element() != plan::ELEMENT_UNSPECIFIED && all.element() != type.element()", "false", "servers"),
    Fault("a server need not update all that it hands out together", SERVER_PLAN,
          "buffer.slot() == slot.slot;", "buffer.slot() == block.slot();", "servers"),
    Fault("a tensor may be in the messages of two blocks", SERVER_PLAN,
          "!Has(role.slots(), own.slot) || !slots.insert(own.slot).second", "!Has(role.slots(), own.slot)", "servers"),
    Fault("a push that has been begun is left for any more urgent one", FRAMES, "whole = data.has_push();", "whole = false;", "servers"),
    Fault("a short packet is no longer whole with control frames in it", FRAMES, "writer.frames() > 0 && !plan::IsShortServerPacket(int64_t(most))",
          "writer.frames() > 0", "servers"),
    # Staging buffers and copies.
    Fault("a buffer waits for no other one that had its bytes", PLACES, "        after.push_back(frees.getFuture());\n",
          "        continue;\n", "copies"),
    Fault("a buffer is free before its value is on the device", "passes/place/StagingPlaces.h",
          "return toDevice ? toDevice : communication;", "return communication;", "copies"),
    Fault("the rest of a buffer's place is forgotten", RING, "        kept.push_back({end, piece.end, piece.id});\n", "        continue;\n",
          "copies"),
    Fault("a buffer goes over the end of its ring", RING, "if (head + bytes > capacity)", "if (head > capacity)", "copies"),
    Fault("buffers are filled out of turn", PLACES, "*fills.begin() == *left.begin()", "true", "copies"),
    Fault("the compute of a stream changes its order for the turns", PLACES, "        addEdge(*previous, number);\n",
          "        (void)previous;\n", "copies"),
    Fault("turns are those of the program", PLACES, "turns[numbers.lookup(staging.fills)] = {*turnOf(staging), numbers",
          "turns[numbers.lookup(staging.fills)] = {0, numbers", "copies"),
    Fault("copies of both directions are on one engine", COPIES, "out->runs_on.kind = StreamInfo::kToDevice;",
          "out->runs_on.kind = StreamInfo::kToHost;", "copies"),
    Fault("a copy in line is on an engine", COPIES, "if (!copy.in_line()) out->runs_on.kind = StreamInfo::kToDevice;",
          "out->runs_on.kind = StreamInfo::kToDevice;", "copies"),
    # Limits of memory and threads.
    Fault("being out of memory is a crash", "tools/cs-run/process.cc", "  runtime::EndWhenOutOfMemory(SayMissing, runtime::Abort::kTake);\n", "", "limits"),
    Fault("memory is always left", "runtime/base/out_of_memory.cc", "return at != MAP_FAILED && munmap(at, size) == 0;", "return true;", "limits"),
    Fault("who is out of memory does not tell who started it", "tools/cs-run/process.cc",
          "if (fd >= 0 && WriteReport(fd, absl::StatusCode::kResourceExhausted, message)) return;", "if (fd >= 0) return;", "limits"),
]
