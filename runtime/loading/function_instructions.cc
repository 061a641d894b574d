// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instructions of a function and their dependences.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "plan/cluster_copies.h"
#include "plan/exclusive.h"
#include "runtime/loading/exchange.h"
#include "runtime/loading/function_builder.h"
#include "runtime/loading/plan_values.h"

namespace commsched::runtime {
namespace {

// Up to this size of cluster it is checked that sends meet their receives.
constexpr int kMaxCheckedNodes = 64;
// Of all phases of a function, so that a small plan cannot take all memory.
constexpr uint64_t kMaxTotalRounds = uint64_t{1} << 22;

}  // namespace

absl::Status FunctionBuilder::AddRun(const plan::Run &run,
                                     InstructionProgram *out) {
  out->kind = InstructionProgram::kRun;
  if (on_cuda_) return BadPlan(where_, "is code for the host, and its device is of kind cuda");
  absl::StatusOr<const Fragment *> fragment = FindCode(run.object(), run.symbol());
  if (!fragment.ok()) return fragment.status();
  out->run.fragment = *fragment;
  out->run.flops = run.flops();
  out->run.bytes = run.bytes();
  return AddOperands(run, &out->run.operands);
}

absl::StatusOr<const Fragment *> FunctionBuilder::FindCode(uint32_t object,
                                                           const std::string &symbol) {
  if (object >= code_->size())
    return BadPlan(where_, absl::StrCat("there is no code object ", object));
  absl::StatusOr<const Fragment *> fragment = code_->Find(object, symbol);
  if (!fragment.ok()) return BadPlan(where_, fragment.status().message());
  out_.has_code = true;
  return fragment;
}

absl::Status FunctionBuilder::AddCopy(const plan::CopyBuffer &copy,
                                      InstructionProgram *out) {
  out->kind = InstructionProgram::kCopy;
  if (absl::Status s = CheckRead(copy.source()); !s.ok()) return s;
  if (absl::Status s = Write(copy.target()); !s.ok()) return s;
  if (out_.buffers[copy.source()].type.bytes !=
      out_.buffers[copy.target()].type.bytes)
    return BadPlan(where_, "copies between buffers of different size");
  out->source = copy.source();
  out->target = copy.target();
  switch (copy.direction()) {
    case plan::CopyBuffer::LOCAL:
      return absl::OkStatus();
    case plan::CopyBuffer::TO_HOST:
      if (!copy.in_line()) out->runs_on.kind = StreamInfo::kToHost;
      break;
    case plan::CopyBuffer::TO_DEVICE:
      if (!copy.in_line()) out->runs_on.kind = StreamInfo::kToDevice;
      break;
    default:
      return BadPlan(where_, "unknown direction of a copy");
  }
  const uint64_t bytes = out_.buffers[copy.source()].type.bytes;
  const plan::Cluster &cluster = plan_.cluster();
  if (copy.between_devices()) {
    if (cluster.intra_latency_ns() > uint64_t{3600} * 1000000000)
      return BadPlan(where_, "the latency between devices must be at most an hour");
    out->nanoseconds = cluster.intra_latency_ns();
    if (double rate = double(cluster.intra_mbit_per_s()); rate != 0)
      out->nanoseconds += uint64_t(std::ceil(double(bytes) * 8000 / rate));
    return absl::OkStatus();
  }
  if (cluster.device_copy_latency_ns() > uint64_t{3600} * 1000000000)
    return BadPlan(where_, "the latency of a copy must be at most an hour");
  // Without a rate emulation refuses the plan.
  out->nanoseconds = plan::HostCopyNs(cluster, bytes);
  out->of_host = true;
  return absl::OkStatus();
}

absl::Status FunctionBuilder::AddDelay(const plan::Delay &delay,
                                       InstructionProgram *out) {
  out->kind = InstructionProgram::kDelay;
  if (delay.nanoseconds() > uint64_t{3600} * 1000000000)
    return BadPlan(where_, "a delay must be at most an hour");
  out->nanoseconds = delay.nanoseconds();
  for (uint32_t b : delay.inputs())
    if (absl::Status s = CheckRead(b); !s.ok()) return s;
  for (uint32_t b : delay.outputs())
    if (absl::Status s = Write(b); !s.ok()) return s;
  return absl::OkStatus();
}

absl::Status FunctionBuilder::AddCommunicate(const plan::Communicate &comm,
                                             InstructionProgram *out) {
  out->kind = InstructionProgram::kCommunicate;
  if (program_->server >= 0)
    return BadPlan(where_, "a server does not communicate by itself");
  CommunicateProgram &c = out->communicate;
  c.key = comm.key();
  c.source_op = comm.source_op().empty() ? "exchange" : comm.source_op();
  auto key = keys_.find(comm.key());
  c.key_id = key->second;
  // Of one key there may be an end that sends and one that receives; an exchange does both.
  for (bool sends : {true, false}) {
    if (comm.has_other_end() && sends != (comm.source_op() == "send")) continue;
    auto [used, first] = used_keys_.try_emplace({comm.key(), sends}, current_);
    if (!first)
      return BadPlan(where_, absl::StrCat("has the key of instruction ", used->second));
  }
  c.buffer = comm.buffer();
  if (absl::Status s = Write(comm.buffer()); !s.ok()) return s;
  const TensorInfo &type = out_.buffers[c.buffer].type;
  c.element = type.element;
  absl::StatusOr<RankGroup> group = RankGroup::Of(comm, plan_);
  if (!group.ok()) return BadPlan(where_, group.status().message());
  absl::StatusOr<RankGroup> peers = RankGroup::PeersOf(comm, plan_);
  if (!peers.ok()) return BadPlan(where_, peers.status().message());
  if (comm.has_peer_group() && !comm.has_other_end())
    return BadPlan(where_, "an exchange must be within a group");
  size_t unit = ops::ElementBytes(type.element);
  // No part for who is no member.
  const int index = group->IndexOf(rank_);
  const size_t part_at =
      index < 0 ? 0 : size_t(PartBegin(type.elements, group->size(), index)) * unit;
  const size_t part_bytes =
      index < 0 ? 0
                : size_t(PartBegin(type.elements, group->size(), index + 1)) * unit - part_at;
  if (comm.has_input()) {
    if (absl::Status s = CheckRead(comm.input()); !s.ok()) return s;
    const TensorInfo &input = out_.buffers[comm.input()].type;
    c.input = comm.input();
    c.input_at = comm.input_is_shard() ? part_at : 0;
    c.input_bytes = comm.input_is_shard() ? part_bytes : type.bytes;
    if (input.element != type.element ||
        (comm.input_is_shard() ? input.bytes < part_bytes
                               : input.bytes != type.bytes))
      return BadPlan(where_, absl::StrCat("input must match ", ToString(type),
                                          ", got: ", ToString(input)));
  }
  if (comm.has_output()) {
    if (absl::Status s = Write(comm.output()); !s.ok()) return s;
    const TensorInfo &output = out_.buffers[comm.output()].type;
    c.output = comm.output();
    c.output_at = part_at;
    c.output_bytes = part_bytes;
    if (output.element != type.element || output.bytes < part_bytes)
      return BadPlan(where_,
                     absl::StrCat("output must hold part ", index, " of ",
                                  ToString(type), ", got: ", ToString(output)));
  }
  if (absl::Status s = AddExclusive(comm, &c); !s.ok()) return s;
  if (comm.has_nccl()) return AddNccl(comm, &c);
  if (absl::Status s = AddParts(comm, &c); !s.ok()) return s;
  std::vector<int64_t> parts;
  for (const CommunicateProgram::Part &part : c.parts) parts.push_back(int64_t(part.bytes / unit));
  for (int i = 0; i < comm.phases_size(); ++i) {
    const plan::Phase &phase = comm.phases(i);
    if ((total_rounds_ += phase.rounds()) > kMaxTotalRounds)
      return BadPlan(where_, "the function has too many rounds");
    absl::StatusOr<std::vector<Round>> rounds =
        EvaluatePhase(phase, type, rank_, *group, *peers, parts);
    if (!rounds.ok())
      return BadPlan(
          where_, absl::StrCat("phase ", i, ": ", rounds.status().message()));
    // Once for all ranks that run this function.
    if (program_->worker == 0 && group->size() <= kMaxCheckedNodes && !comm.has_other_end())
      if (absl::Status s = CheckPhaseMatches(phase, type, *group); !s.ok())
        return BadPlan(where_, absl::StrCat("phase ", i, ": ", s.message()));
    c.phases.push_back(
        {ops::Combine(phase.combine()), phase.scale(), *std::move(rounds),
         phase.has_priority() ? phase.priority() : out->priority, phase.chunks()});
  }
  c.slices = SlicesOf(comm, type);
  if (c.slices > 1) c.chunks = comm.phases(0).chunks();
  c.input_is_all = c.input_bytes == type.bytes;
  return AddPartEnds(&c);
}

absl::Status FunctionBuilder::AddExclusive(const plan::Communicate &comm, CommunicateProgram *c) {
  if (comm.exclusive_ns() == 0) return absl::OkStatus();
  if (((plan_.required_features() >> plan::FEATURE_EXCLUSIVE) & 1) == 0)
    return BadPlan(where_, "an exclusive exchange needs FEATURE_EXCLUSIVE");
  if (comm.exclusive_ns() > uint64_t(plan::kMostPatience))
    return BadPlan(where_, absl::StrCat("exclusive_ns must be at most ", plan::kMostPatience, ", got: ", comm.exclusive_ns()));
  if (comm.has_other_end() || comm.phases_size() == 0)
    return BadPlan(where_, "exclusive_ns must be of an exchange");
  c->exclusive = Time(comm.exclusive_ns());
  return absl::OkStatus();
}

absl::Status FunctionBuilder::CheckEnds() {
  for (int i = 0; i < in_.instructions_size(); ++i)
    if (in_.instructions(i).communicate().has_other_end())
      if (absl::Status s = CheckEnd(i); !s.ok()) return s;
  return absl::OkStatus();
}

absl::Status FunctionBuilder::CheckEnd(int index) {
  const plan::Communicate &end = in_.instructions(index).communicate();
  where_ = absl::StrCat("function @", in_.name(), ": instruction ", index, " \"",
                        in_.instructions(index).name(), "\"");
  const uint32_t o = end.other_end();
  const auto own = std::find_if(plan_.functions().begin(), plan_.functions().end(),
                                [&](const plan::Function &f) { return &f == &in_; });
  const uint32_t number = uint32_t(own - plan_.functions().begin());
  const uint32_t there = end.has_other_function() ? end.other_function() : number;
  const plan::Function &function =
      there < uint32_t(plan_.functions_size()) ? plan_.functions(int(there)) : plan::Function();
  const auto none = [&] {
    return BadPlan(where_, absl::StrCat("instruction ", o, " is not its other end"));
  };
  if (o >= uint32_t(function.instructions_size()) || (there == number && o == uint32_t(index)))
    return none();
  const plan::Communicate &other = function.instructions(int(o)).communicate();
  const uint32_t back = other.has_other_function() ? other.other_function() : there;
  if (!other.has_other_end() || other.other_end() != uint32_t(index) || back != number ||
      other.key() != end.key() || other.buffer() >= uint32_t(function.buffers_size()))
    return none();
  const TensorInfo &type = out_.buffers[end.buffer()].type;
  absl::StatusOr<TensorInfo> far =
      ConvertType(function.buffers(int(other.buffer())).type(), where_);
  if (!far.ok()) return far.status();
  if (!(type == *far))
    return BadPlan(where_, absl::StrCat("must match ", ToString(type), ", got: ",
                                        ToString(*far)));
  const plan::Phase &phase = end.phases_size() == 1 ? end.phases(0) : plan::Phase();
  if (phase.chunks() != 1 || phase.rounds() != 1 || phase.combine() != plan::REPLACE)
    return BadPlan(where_, "one end of a message must have one part and one round");
  const Round &round = out_.instructions[size_t(index)].communicate.phases[0].rounds[0];
  const bool sends = end.source_op() == "send";
  if ((sends ? round.recv_peer : round.send_peer) >= 0)
    return BadPlan(where_, "one end of a message must send or receive, not both");
  if (sends == (other.source_op() == "send"))
    return BadPlan(where_, "one end of a message must send, and the other receive");
  if (program_->worker != 0 || other.phases_size() != 1) return absl::OkStatus();
  absl::StatusOr<RankGroup> group = RankGroup::Of(end, plan_);
  absl::StatusOr<RankGroup> peers = RankGroup::PeersOf(end, plan_);
  absl::StatusOr<RankGroup> far_group = RankGroup::Of(other, plan_);
  absl::StatusOr<RankGroup> far_peers = RankGroup::PeersOf(other, plan_);
  for (const auto *of : {&group, &peers, &far_group, &far_peers})
    if (!of->ok()) return BadPlan(where_, of->status().message());
  if (!(*group == *far_peers) || !(*peers == *far_group))
    return BadPlan(where_, "the two ends must agree in whose they are");
  if (std::max(group->size(), peers->size()) > kMaxCheckedNodes) return absl::OkStatus();
  absl::Status matches = sends ? CheckEndsMatch(phase, *group, other.phases(0), *peers, type)
                               : CheckEndsMatch(other.phases(0), *peers, phase, *group, type);
  if (!matches.ok()) return BadPlan(where_, matches.message());
  return absl::OkStatus();
}

absl::StatusOr<const BlockProgram *> FunctionBuilder::FindBlock(
    uint32_t server, uint32_t block, const std::string &key, bool push) {
  if (program_->server >= 0)
    return BadPlan(where_, "a server sends nothing to servers");
  const std::vector<ServerProgram> &servers = program_->servers.servers;
  if (server >= servers.size())
    return BadPlan(where_, absl::StrCat("there is no server ", server));
  if (block >= servers[server].blocks.size())
    return BadPlan(where_, absl::StrCat("server ", server, " has no block ", block));
  const BlockProgram &found = servers[server].blocks[block];
  if (const std::string &own = push ? found.key : found.pull_key; own != key)
    return BadPlan(where_, absl::StrCat("key must match block ", block, " \"", own,
                                        "\" of server ", server, ", got: \"", key,
                                        "\""));
  return &found;
}

absl::Status FunctionBuilder::AddPush(const plan::Push &push,
                                      InstructionProgram *out) {
  out->kind = InstructionProgram::kPush;
  out->message = {push.server(), push.block(), push.buffer()};
  auto block = FindBlock(push.server(), push.block(), push.key(), true);
  if (!block.ok()) return block.status();
  if ((*block)->of_rows())
    return BadPlan(where_, absl::StrCat("block \"", (*block)->key,
                                        "\" takes single rows only"));
  if (absl::Status s = CheckRead(push.buffer()); !s.ok()) return s;
  const TensorInfo &type = out_.buffers[push.buffer()].type;
  if (!(type == (*block)->pushed()))
    return BadPlan(where_, absl::StrCat("must match ", ToString((*block)->pushed()),
                                        " of the server, got: ", ToString(type)));
  return absl::OkStatus();
}

absl::Status FunctionBuilder::AddPull(const plan::Pull &pull,
                                      InstructionProgram *out) {
  out->kind = InstructionProgram::kPull;
  out->message = {pull.server(), pull.block(), pull.buffer()};
  auto block = FindBlock(pull.server(), pull.block(), pull.key(), false);
  if (!block.ok()) return block.status();
  if (absl::Status s = Write(pull.buffer()); !s.ok()) return s;
  const TensorInfo &type = out_.buffers[pull.buffer()].type;
  if (!(type == (*block)->value))
    return BadPlan(where_, absl::StrCat("must match ", ToString((*block)->value),
                                        " of the server, got: ", ToString(type)));
  return absl::OkStatus();
}

// A block that is not pushed would hold up a server, one that is pushed twice
// would be taken for a repetition.
absl::Status FunctionBuilder::CheckPushes() {
  if (program_->server >= 0 || program_->servers.servers.empty())
    return absl::OkStatus();
  std::map<std::pair<uint32_t, uint32_t>, int> count;
  for (const InstructionProgram &i : out_.instructions)
    if (i.kind == InstructionProgram::kPush)
      ++count[{i.message.server, i.message.block}];
    else if (i.kind == InstructionProgram::kPushRows)
      for (const RowsMessageProgram::Part &part : i.rows.parts)
        ++count[{part.server, part.block}];
  const std::vector<ServerProgram> &servers = program_->servers.servers;
  for (uint32_t k = 0; k < servers.size(); ++k)
    for (uint32_t b = 0; b < servers[k].blocks.size(); ++b)
      if (int n = count[{k, b}], wanted = in_.is_step() ? 1 : 0; n != wanted)
        return BadPlan(where_, absl::StrCat("pushes block \"",
                                            servers[k].blocks[b].key,
                                            "\" of server ", k, " ", n,
                                            " times, must be ", wanted));
  return absl::OkStatus();
}

absl::Status FunctionBuilder::AddInstruction(int index) {
  const plan::Instruction &in = in_.instructions(index);
  current_ = index;
  where_ = absl::StrCat("function @", in_.name(), ": instruction ", index,
                        " \"", in.name(), "\"");
  InstructionProgram out;
  out.name = in.name();
  if (in.location() < uint32_t(plan_.locations_size()))
    out.location = plan_.locations(int(in.location()));
  else if (in.location() != 0)
    return BadPlan(where_,
                   absl::StrCat("there is no location ", in.location()));
  if (!out.location.empty()) absl::StrAppend(&where_, " (", out.location, ")");
  out.deferred = in.deferred();
  out.priority = in.priority();
  if (in.device() >= devices_)
    return BadPlan(where_, absl::StrCat("there is no device ", in.device()));
  out.runs_on.device = in.device();
  std::set<uint32_t> same, last;
  for (const plan::Dependence &d : in.dependences()) {
    if (d.distance() > 1)
      return BadPlan(
          where_, absl::StrCat("distance of a dependence must be 0 or 1, got: ",
                               d.distance()));
    if (d.distance() == 0 && d.instruction() >= uint32_t(index))
      return BadPlan(where_,
                     absl::StrCat("depends on instruction ", d.instruction(),
                                  ", which does not come before it"));
    if (d.instruction() >= uint32_t(in_.instructions_size()))
      return BadPlan(where_,
                     absl::StrCat("there is no instruction ", d.instruction()));
    if (d.has_part()) {
      if (absl::Status status = AddPartWait(d, &out); !status.ok()) return status;
      continue;
    }
    (d.distance() == 0 ? same : last).insert(d.instruction());
  }
  out.waits_same.assign(same.begin(), same.end());
  out.waits_last.assign(last.begin(), last.end());
  absl::Status status;
  switch (in.kind_case()) {
    case plan::Instruction::kRun:
      status = AddRun(in.run(), &out);
      break;
    case plan::Instruction::kLaunch:
      status = AddLaunch(in.launch(), &out);
      break;
    case plan::Instruction::kCommunicate:
      status = AddCommunicate(in.communicate(), &out);
      break;
    case plan::Instruction::kCopy:
      status = AddCopy(in.copy(), &out);
      break;
    case plan::Instruction::kDelay:
      status = AddDelay(in.delay(), &out);
      break;
    case plan::Instruction::kPush:
      status = AddPush(in.push(), &out);
      break;
    case plan::Instruction::kPull:
      status = AddPull(in.pull(), &out);
      break;
    case plan::Instruction::kPushRows:
      status = AddPushRows(in.push_rows(), &out);
      break;
    case plan::Instruction::kPullRows:
      status = AddPullRows(in.pull_rows(), &out);
      break;
    default:
      status = BadPlan(where_, "does nothing that this build knows");
  }
  if (status.ok() && on_cuda_) status = CheckMemories(out, in);
  if (!status.ok()) return status;
  out_.instructions.push_back(std::move(out));
  return absl::OkStatus();
}

}  // namespace commsched::runtime
