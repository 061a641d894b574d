// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What runtime/parameter_server*.cc and its clients do. A push is complete when the
// socket has taken it; a block is updated when the pushes of all trainers are there
// (asynchronously: with each one), one update after the other; a pull asks, and the
// answer comes when the value is there.
#include <algorithm>

#include "runtime/simulator/simulation.h"

namespace commsched::runtime::simulator {

uint32_t Simulation::ServerChannel(Rank *rank, int server) {
  auto [it, is_new] = rank->channels.try_emplace(model_.workers + server, 0);
  if (is_new) {
    it->second = network_.AddChannel(
        rank->up, servers_[size_t(server)].down, 1, model_.classes[rank->index].ranks,
        model_.link.latency, model_.link.overhead, server);
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
        model_.link.latency, model_.link.overhead, int(rank));
    links_.resize(it->second + 1);
  }
  return it->second;
}

void Simulation::BeginServerMessage(Rank *rank, uint64_t call, uint32_t instruction) {
  const InstructionProgram &of = InstructionOf(instruction);
  const bool push = of.kind == InstructionProgram::kPush;
  uint32_t pending;
  if (free_pending_.empty()) {
    pending = uint32_t(pending_.size());
    pending_.emplace_back();
  } else {
    pending = free_pending_.back();
    free_pending_.pop_back();
  }
  pending_[pending] = {rank->index, instruction, call, now_};
  const uint32_t channel = ServerChannel(rank, int(of.message.server));
  const uint32_t m = network_.NewMessage();
  Message &message = network_.message(m);
  message.kind = push ? Message::kPush : Message::kPullRequest;
  message.channel = channel;
  message.communication = of.message.block;
  message.call = call;
  message.number = messages_++;
  message.bytes = push ? model_.server[of.message.server].push_bytes[of.message.block] : 0;
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
  Server &server = servers_[size_t(index)];
  const ServerProgram &program =
      model_.server[size_t(index)].program->servers.servers[size_t(index)];
  const bool sync =
      model_.server[size_t(index)].program->servers.mode == ServersProgram::kSync;
  const uint32_t b = message.communication;
  Block &block = server.blocks[b];
  const uint64_t step = message.call;
  if (message.kind == Message::kPush) {
    free_pending_.push_back(message.sender);
    if (!sync) {
      for (int i = 0; i < model_.classes[of.rank].ranks; ++i)
        server.ready.push_back({step, int(b), int(of.rank)});
      return StartServer(index);
    }
    if ((block.pushed[step] += model_.classes[of.rank].ranks) < model_.workers) return;
    block.pushed[step] = -1;  // ready
    // Updated with others when all are ready.
    const std::vector<uint32_t> &together = program.blocks[b].together;
    for (uint32_t other : together) {
      auto it = server.blocks[other].pushed.find(step);
      if (it == server.blocks[other].pushed.end() || it->second >= 0) return;
    }
    for (uint32_t other : together) server.blocks[other].pushed.erase(step);
    server.ready.push_back({step, int(together.empty() ? b : together.front()), -1});
    return StartServer(index);
  }
  // The value after this step's update.
  const bool there = sync ? block.version > step : block.applied[of.rank] > step;
  if (there)
    Reply(index, b, of.rank, message.sender);
  else
    block.pulls[step].emplace_back(of.rank, message.sender);
}

void Simulation::Reply(int index, uint32_t block, uint32_t rank, uint32_t pending) {
  const uint32_t channel = ReplyChannel(index, rank);
  const uint32_t m = network_.NewMessage();
  Message &message = network_.message(m);
  message.kind = Message::kPullReply;
  message.channel = channel;
  message.communication = block;
  message.call = pending_[pending].call;
  message.number = messages_++;
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
          model_.server[what.server].program->servers.servers[what.server]
              .blocks[what.block].pull_key,
          "message", of.call, message.bytes, of.begin, now_);
  Complete(rank, of.call, of.instruction);
}

void Simulation::StartServer(int index) {
  Server &server = servers_[size_t(index)];
  if (server.busy || server.ready.empty()) return;
  const ModelServer &model = model_.server[size_t(index)];
  const ServerProgram &program = model.program->servers.servers[size_t(index)];
  Job job = server.ready.front();
  Time duration = model.update_ns[size_t(job.block)];
  if (program.has_schedule && !program.blocks[size_t(job.block)].apart &&
      server.schedules <= job.step) {
    ++server.schedules;
    job.block = -1;
    duration = model.schedule_ns;
  } else {
    server.ready.pop_front();
  }
  server.busy = true;
  server.running = job;
  server.begin = now_;
  events_.Add(now_ + duration, Event::kServer, uint32_t(index));
}

void Simulation::EndServerJob(int index) {
  Server &server = servers_[size_t(index)];
  const Job job = server.running;
  server.busy = false;
  server.busy_ns += double(now_ - server.begin);
  const Program &program = *model_.server[size_t(index)].program;
  const ServerProgram &own = program.servers.servers[size_t(index)];
  if (options_.trace != nullptr) {
    const int function = job.block < 0 ? own.schedule : own.blocks[size_t(job.block)].function;
    Trace(program.rank, TraceSpan::kCompute, 0, program.functions[size_t(function)].name,
          "compute", job.step, 0, server.begin, now_);
  }
  if (job.block >= 0) {
    const std::vector<uint32_t> &together = own.blocks[size_t(job.block)].together;
    std::vector<uint32_t> blocks(together.begin(), together.end());
    if (blocks.empty()) blocks.push_back(uint32_t(job.block));
    for (uint32_t b : blocks) {
      Block &block = server.blocks[b];
      if (job.trainer >= 0)
        block.applied[size_t(job.trainer)] = job.step + 1;
      else
        block.version = std::max(block.version, job.step + 1);
      auto it = block.pulls.find(job.step);
      if (it == block.pulls.end()) continue;
      std::vector<std::pair<uint32_t, uint32_t>> waiting;
      for (auto [rank, pending] : it->second)
        if (job.trainer >= 0 && rank != uint32_t(job.trainer))
          waiting.emplace_back(rank, pending);
        else
          Reply(index, b, rank, pending);
      if (waiting.empty())
        block.pulls.erase(it);
      else
        it->second = std::move(waiting);
    }
  }
  StartServer(index);
}

}  // namespace commsched::runtime::simulator
