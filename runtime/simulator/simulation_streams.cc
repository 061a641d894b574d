// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What runtime/executor*.cc does.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/simulator/simulation.h"

namespace commsched::runtime::simulator {

void Simulation::MarkDirty(Rank *rank) {
  if (rank->dirty) return;
  rank->dirty = true;
  dirty_ranks_.push_back(rank->index);
}

void Simulation::Admit(Rank *rank) {
  while (rank->next_call < calls_ && rank->next_call - rank->retired < kInFlight)
    Begin(rank);
}

void Simulation::Begin(Rank *rank) {
  const FunctionProgram &f = *model_.step;
  const uint64_t number = rank->next_call++;
  Call *call = &rank->calls[number % kInFlight];
  const Call *previous = &rank->calls[(number + 1) % kInFlight];
  if (number == 0 || !previous->in_flight) previous = nullptr;
  const size_t n = f.instructions.size();
  call->number = number;
  call->in_flight = true;
  call->done.assign(n, 0);
  call->waiting.assign(n, 0);
  call->position.assign(rank->streams.size(), 0);
  call->remaining = uint32_t(n);
  for (size_t i = 0; i < n; ++i) {
    uint32_t waiting = uint32_t(f.instructions[i].waits_same.size());
    if (previous != nullptr)
      for (uint32_t d : f.instructions[i].waits_last) waiting += previous->done[d] ? 0 : 1;
    call->waiting[i] = waiting;
  }
  MarkDirty(rank);
  // Nothing completes in between: that takes an event, or is done by Settle.
  for (uint32_t i = 0; i < n; ++i)
    if (call->waiting[i] == 0) Ready(rank, call, i);
  if (n == 0) Retire(rank);
}

void Simulation::Ready(Rank *rank, Call *call, uint32_t index) {
  const InstructionProgram &instruction = InstructionOf(index);
  if (instruction.on_stream()) {
    Stream &stream = streams_[rank->streams[instruction.stream]];
    if (instruction.runs_on.kind != StreamInfo::kCompute)
      stream.ready.emplace(instruction.priority, call->number, index);
    else if (instruction.deferred)
      stream.ready.emplace(std::min(0, instruction.priority), call->number, index);
    MarkDirty(rank);
    return;
  }
  if (instruction.kind == InstructionProgram::kCommunicate)
    BeginCommunication(rank, call->number, uint32_t(model_.communication[index]));
  else
    BeginServerMessage(rank, call->number, index);
}

void Simulation::Complete(Rank *rank, uint64_t number, uint32_t index) {
  Call *call = &rank->calls[number % kInFlight];
  const InstructionProgram &instruction = InstructionOf(index);
  call->done[index] = 1;
  for (uint32_t i : instruction.wakes_same)
    if (--call->waiting[i] == 0) Ready(rank, call, i);
  Call *next = &rank->calls[(number + 1) % kInFlight];
  if (next->in_flight && next->number == number + 1)
    for (uint32_t i : instruction.wakes_next)
      if (--next->waiting[i] == 0) Ready(rank, next, i);
  MarkDirty(rank);
  if (--call->remaining == 0) Retire(rank);
}

void Simulation::Retire(Rank *rank) {
  for (;;) {
    Call *call = &rank->calls[rank->retired % kInFlight];
    if (!call->in_flight || call->number != rank->retired || call->remaining != 0) break;
    call->in_flight = false;
    const size_t step = size_t(rank->retired++);
    rank->retired_at.push_back(now_);
    // Of the stream that computes longest.
    double busy = 0, exposed = 0;
    for (uint32_t s : rank->streams) {
      const Stream &stream = streams_[s];
      if (model_.program->streams[stream.index].kind != StreamInfo::kCompute) continue;
      if (stream.index != 0 && stream.busy_ns <= busy) continue;
      busy = stream.busy_ns;
      exposed = stream.exposed_ns;
      if (!stream.busy) exposed += double(now_ - stream.idle_since);
    }
    rank->sums.emplace_back(busy, exposed);
    if (left_.size() <= step) {
      left_.resize(step + 1, uint32_t(ranks_.size()));
      ends_.resize(step + 1, 0);
    }
    if (--left_[step] == 0) {
      ends_[step] = now_;
      ++in_flight_done_;
    }
    if (step == 0 && rank->index == 0) {
      first_bytes_.clear();
      for (const Rank &r : ranks_)
        for (uint32_t link : {r.up, r.down}) first_bytes_.push_back(network_.resource_bytes(link));
      for (const Server &s : servers_)
        for (uint32_t link : {s.up, s.down}) first_bytes_.push_back(network_.resource_bytes(link));
    }
  }
  Admit(rank);
}

bool Simulation::Next(Rank *rank, Stream *stream, Call **call, uint32_t *instruction) {
  const bool compute = model_.program->streams[stream->index].kind == StreamInfo::kCompute;
  const bool urgent = !stream->ready.empty() && std::get<0>(*stream->ready.begin()) < 0;
  for (uint64_t number = rank->retired; number < rank->next_call; ++number) {
    if (urgent && compute) break;
    Call *candidate = &rank->calls[number % kInFlight];
    const std::vector<uint32_t> &list = model_.step->in_order[stream->index];
    uint32_t &position = candidate->position[stream->index];
    if (position == list.size()) continue;
    const uint32_t head = list[position];
    if (candidate->waiting[head] == 0) {
      ++position;
      *call = candidate;
      *instruction = head;
      return true;
    }
    break;  // in order: what is behind the head waits with it
  }
  if (stream->ready.empty()) return false;
  auto [priority, number, index] = *stream->ready.begin();
  stream->ready.erase(stream->ready.begin());
  *call = &rank->calls[number % kInFlight];
  *instruction = index;
  return true;
}

std::string Simulation::WaitName(const Rank &rank, const Stream &stream) {
  std::string name;
  const std::vector<uint32_t> &list = model_.step->in_order[stream.index];
  for (uint64_t number = rank.retired; number < rank.next_call && name.empty(); ++number) {
    const Call &call = rank.calls[number % kInFlight];
    const uint32_t position = call.position[stream.index];
    if (position == list.size()) continue;
    for (uint32_t d : InstructionOf(list[position]).waits_same)
      if (!call.done[d])
        absl::StrAppend(&name, name.empty() ? "wait for " : ", ", InstructionOf(d).name);
    if (name.empty() && number > rank.retired) {
      const Call &last = rank.calls[(number + 1) % kInFlight];
      for (uint32_t d : InstructionOf(list[position]).waits_last)
        if (!last.done[d])
          absl::StrAppend(&name, name.empty() ? "wait for " : ", ", InstructionOf(d).name);
    }
    break;
  }
  return name.empty() ? "wait" : name;
}

void Simulation::StartStreams(Rank *rank) {
  const RankClass &of = model_.classes[rank->index];
  for (uint32_t s : rank->streams) {
    Stream *stream = &streams_[s];
    if (stream->busy) continue;
    Call *call = nullptr;
    uint32_t index = 0;
    const StreamInfo &info = model_.program->streams[stream->index];
    if (!Next(rank, stream, &call, &index)) {
      if (options_.trace != nullptr && info.kind == StreamInfo::kCompute &&
          stream->waits_for.empty())
        stream->waits_for = WaitName(*rank, *stream);
      continue;
    }
    if (info.kind == StreamInfo::kCompute && now_ > stream->idle_since) {
      stream->exposed_ns += double(now_ - stream->idle_since);
      if (options_.trace != nullptr)
        Trace(rank->rank, TraceSpan::kCompute, int(info.device), stream->waits_for,
              "exposed wait", call->number, 0, stream->idle_since, now_);
    }
    stream->waits_for.clear();
    stream->busy = true;
    stream->call = call->number;
    stream->instruction = index;
    stream->begin = now_;
    double duration = double(model_.duration[index]);
    if (info.kind == StreamInfo::kCompute) duration *= of.compute;
    events_.Add(now_ + Time(duration + 0.5), Event::kInstruction, s);
  }
}

void Simulation::EndInstruction(Stream *stream) {
  Rank *rank = &ranks_[stream->rank];
  const StreamInfo &info = model_.program->streams[stream->index];
  const InstructionProgram &instruction = InstructionOf(stream->instruction);
  stream->busy = false;
  stream->idle_since = now_;
  stream->busy_ns += double(now_ - stream->begin);
  if (options_.trace != nullptr) {
    const TraceSpan::Track track = info.kind == StreamInfo::kToHost ? TraceSpan::kCopyToHost
                                   : info.kind == StreamInfo::kToDevice
                                       ? TraceSpan::kCopyToDevice
                                       : TraceSpan::kCompute;
    const bool copy = instruction.kind == InstructionProgram::kCopy;
    Trace(rank->rank, track, int(info.device), instruction.name,
          info.kind == StreamInfo::kCompute ? "compute" : "copy", stream->call,
          copy ? double(model_.step->buffers[instruction.source].type.bytes) : 0,
          stream->begin, now_);
  }
  Complete(rank, stream->call, stream->instruction);
}

}  // namespace commsched::runtime::simulator
