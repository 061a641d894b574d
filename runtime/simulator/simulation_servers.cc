// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages of trainers and servers, and the machine of core/server.h on the virtual
// clock. A push is complete when the socket has taken it; a pull asks, with the push if that is small and still on its
// way, and the answer comes when the value is there. Messages are combined in no time.
#include <algorithm>
#include <limits>
#include <utility>

#include "plan/packets.h"
#include "runtime/simulator/simulation.h"

namespace commsched::runtime::simulator {

// A trainer's link is shared by connections to all servers, a server's by those of all trainers: the busier of them.
int Simulation::Sharing() const { return std::max(model_.workers, int(servers_.size())); }

uint32_t Simulation::ServerChannel(Rank *rank, int server) {
  auto [it, is_new] = rank->channels.try_emplace(model_.workers + server, 0);
  if (is_new) {
    it->second = network_.AddChannel(
        rank->up, servers_[size_t(server)].down, 1, model_.classes[rank->index].ranks,
        model_.link.latency, model_.link.overhead, server, Sharing());
    links_.resize(it->second + 1);
  }
  return it->second;
}

uint32_t Simulation::ReplyChannel(int index, uint32_t rank) {
  Server &server = servers_[size_t(index)];
  auto [it, is_new] = server.channels.try_emplace(int(rank), 0);
  if (is_new) {
    it->second = network_.AddChannel(
        server.up, ranks_[rank].down, model_.classes[rank].ranks, 1,
        model_.link.latency, model_.link.overhead, int(rank), Sharing());
    links_.resize(it->second + 1);
  }
  return it->second;
}

void Simulation::BeginServerMessage(Rank *rank, uint64_t call, uint32_t instruction) {
  uint32_t pending;
  if (free_pending_.empty()) {
    pending = uint32_t(pending_.size());
    pending_.emplace_back();
  } else {
    pending = free_pending_.back();
    free_pending_.pop_back();
  }
  pending_[pending] = {rank->index, instruction, call, now_};
  if (!IsMerged(pending)) SendToServer(pending);
}

Simulation::Merged *Simulation::MergedOf(uint32_t rank, const ServerMessageProgram &message) {
  Server &server = servers_[message.server];
  const size_t blocks = model_.server[message.server].push_bytes.size();
  return server.merged.empty() ? nullptr : &server.merged[rank * blocks + message.block];
}

bool Simulation::IsMerged(uint32_t pending) {
  const ServerMessage &message = pending_[pending];
  const InstructionProgram &of = InstructionOf(message.instruction);
  Merged *merged = MergedOf(message.rank, of.message);
  if (merged == nullptr) return false;
  if (of.kind == InstructionProgram::kPush) {
    if (merged->machine.Add(message.call)) {
      merged->machine.Take();
      return false;
    }
  } else {
    const core::MergedBlock::Pull pull = merged->machine.Ask(message.call + 1);
    if (pull == core::MergedBlock::Pull::kLater) merged->later.push_back(pending);
    if (pull != core::MergedBlock::Pull::kHere)
      return pull == core::MergedBlock::Pull::kLater;
  }
  events_.Add(now_, Event::kMerged, pending);
  return true;
}

void Simulation::SendToServer(uint32_t pending) {
  Rank *rank = &ranks_[pending_[pending].rank];
  const uint64_t call = pending_[pending].call;
  const InstructionProgram &of = InstructionOf(pending_[pending].instruction);
  const bool push = of.kind == InstructionProgram::kPush;
  const PushKey key{rank->index, of.message.server, of.message.block, call};
  if (push) {
    if (model_.server[of.message.server].push_bytes[of.message.block] <= double(plan::kCopiedPush)) pushed_[key] = kNone;
  } else if (const auto at = pushed_.find(key); at != pushed_.end()) {
    at->second = pending;
    return;
  }
  const uint32_t channel = ServerChannel(rank, int(of.message.server));
  const uint32_t m = network_.NewMessage();
  Message &message = network_.message(m);
  message.kind = push ? Message::kPush : Message::kPullRequest;
  message.channel = channel;
  message.communication = of.message.block;
  message.call = call;
  const ModelServer &server = model_.server[of.message.server];
  message.number = message.communication;
  // Requests go before all data.
  message.priority = push ? server.push_priority[of.message.block] : std::numeric_limits<int32_t>::min();
  message.bytes = push ? server.push_bytes[of.message.block] : 0;
  message.sender = pending;
  network_.Ready(m);
}

void Simulation::AcceptedPush(const Message &message) {
  const ServerMessage of = pending_[message.sender];
  Rank *rank = &ranks_[of.rank];
  const InstructionProgram &instruction = InstructionOf(of.instruction);
  if (options_.trace != nullptr)
    Trace(rank->rank, TraceSpan::kSend, int(instruction.message.server),
          model_.server[instruction.message.server]
              .program->servers.servers[instruction.message.server]
              .blocks[instruction.message.block]
              .key,
          "message", of.call, message.bytes, of.begin, now_);
  Complete(rank, of.call, of.instruction);
}

void Simulation::TakeServerMessage(const Message &message) {
  const ServerMessage of = pending_[message.sender];
  const int index = network_.to(message.channel);
  core::Server &machine = *servers_[size_t(index)].machine;
  const uint32_t b = message.communication;
  const uint64_t step = message.call;
  if (message.kind == Message::kPush) {
    free_pending_.push_back(message.sender);
    // Synchronous: alike ranks are one trainer, as all of them push at once.
    const int trainers =
        model_.program->servers.mode == ServersProgram::kSync ? 1 : model_.classes[of.rank].ranks;
    for (int i = 0; i < trainers; ++i)
      if (absl::Status s = machine.Push(first_trainer_[of.rank] + i, b, step, {}); !s.ok())
        return Fail(std::move(s));
    core::Server::Addition addition;
    while (machine.NextAddition(b, &addition)) {
      if (addition.close)
        machine.Closed(b, {});
      else
        machine.Added(b);
    }
    StartServer(index);
    const auto asked = pushed_.extract({of.rank, uint32_t(index), b, step});
    if (asked && asked.mapped() != kNone) TakePull(index, b, asked.mapped());
    return;
  }
  TakePull(index, b, message.sender);
}

// The value after this step's update.
void Simulation::TakePull(int index, uint32_t block, uint32_t pending) {
  const ServerMessage of = pending_[pending];
  const Merged *merged = MergedOf(of.rank, InstructionOf(of.instruction).message);
  absl::StatusOr<core::Server::Pulled> pulled = servers_[size_t(index)].machine->Pull(
      first_trainer_[of.rank], block,
      merged == nullptr ? of.call + 1 : merged->machine.VersionFor(of.call + 1), pending);
  if (!pulled.ok()) return Fail(pulled.status());
  if (*pulled != core::Server::Pulled::kWaits) Reply(index, block, of.rank, pending);
}

void Simulation::Reply(int index, uint32_t block, uint32_t rank, uint32_t pending) {
  const uint32_t channel = ReplyChannel(index, rank);
  const uint32_t m = network_.NewMessage();
  Message &message = network_.message(m);
  message.kind = Message::kPullReply;
  message.channel = channel;
  message.communication = block;
  message.call = pending_[pending].call;
  message.number = block;
  message.priority = model_.server[size_t(index)].pull_priority[block];
  message.bytes = model_.server[size_t(index)].pull_bytes[block];
  message.sender = pending;
  network_.Ready(m);
}

void Simulation::TakePullReply(const Message &message) {
  const ServerMessage of = pending_[message.sender];
  free_pending_.push_back(message.sender);
  Rank *rank = &ranks_[of.rank];
  const ServerMessageProgram &what = InstructionOf(of.instruction).message;
  if (options_.trace != nullptr)
    Trace(rank->rank, TraceSpan::kReceive, int(what.server),
          model_.server[what.server]
              .program->servers.servers[what.server]
              .blocks[what.block]
              .pull_key,
          "message", of.call, message.bytes, of.begin, now_);
  if (Merged *merged = MergedOf(of.rank, what); merged != nullptr) {
    merged->machine.Fetched(of.call + 1, true);
    for (uint32_t pending : std::exchange(merged->later, {}))
      if (!IsMerged(pending)) SendToServer(pending);
  }
  Complete(rank, of.call, of.instruction);
}

// Updates run one after the other.
void Simulation::StartServer(int index) {
  Server &server = servers_[size_t(index)];
  const ModelServer &model = model_.server[size_t(index)];
  const ServerProgram &program = model.program->servers.servers[size_t(index)];
  while (const core::Server::Work *work = server.machine->Next()) {
    Time duration = model.schedule_ns;
    if (work->block >= 0)
      duration = model.update_ns[program.blocks[size_t(work->block)].together.front()];
    const Time begin = std::max(now_, server.free);
    server.begins.push_back(begin);
    server.free = begin + duration;
    events_.Add(server.free, Event::kServer, uint32_t(index));
  }
}

void Simulation::EndServerJob(int index) {
  Server &server = servers_[size_t(index)];
  std::vector<core::Server::Answer> answers;
  const core::Server::Work work = server.machine->Complete(&answers);
  const Time begin = server.begins.front();
  server.begins.pop_front();
  server.busy_ns += double(now_ - begin);
  if (options_.trace != nullptr) {
    const Program &program = *model_.server[size_t(index)].program;
    const ServerProgram &own = program.servers.servers[size_t(index)];
    const int function =
        work.block < 0 ? own.schedule : own.blocks[size_t(work.block)].function;
    Trace(program.rank, TraceSpan::kCompute, 0, program.functions[size_t(function)].name,
          "compute", work.step, 0, begin, now_);
  }
  for (const core::Server::Answer &answer : answers) {
    if (!answer.status.ok()) return Fail(answer.status);
    Reply(index, answer.block, pending_[answer.pull].rank, uint32_t(answer.pull));
  }
  StartServer(index);
}

}  // namespace commsched::runtime::simulator
