// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The streams of the ranks, and their calls: of one function, one behind the other.
#include <algorithm>

#include "runtime/simulator/simulation.h"

namespace commsched::runtime::simulator {
namespace {

// Between 1 - jitter and 1 + jitter: the same for the same rank, call and instruction, whatever
// else there is. Mixes by the finalizer of SplitMix64.
double Jitter(const SimulationOptions &options, int rank, uint64_t call, uint32_t instruction) {
  if (options.jitter == 0) return 1;
  uint64_t mixed = 0;
  for (uint64_t word : {options.jitter_seed, uint64_t(rank), call, uint64_t(instruction)}) {
    mixed = (mixed ^ word) + 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    mixed ^= mixed >> 31;
  }
  return 1 + options.jitter * (double(mixed >> 11) * 0x1p-52 - 1);
}

}  // namespace

void Simulation::MarkDirty(Rank *rank) {
  if (rank->dirty) return;
  rank->dirty = true;
  dirty_ranks_.push_back(rank->index);
}

void Simulation::Admit(Rank *rank) {
  while (rank->next_call < calls_ && rank->calls.MayBegin(*model_.step)) {
    core::Call *call = &rank->of_calls[rank->next_call % kInFlight];
    call->program = model_.step;
    call->number = rank->next_call++;
    rank->calls.Begin(call, now_, &actions_);
    Act(rank);
    Retire(rank);  // of a step without instructions
  }
}

void Simulation::Act(Rank *rank) {
  // Nothing that begins here completes before the next event.
  for (auto [call, index] : actions_.begin)
    if (InstructionOf(index).kind == InstructionProgram::kCommunicate)
      Ready(rank, call->number, uint32_t(model_.communication[index]));
    else
      BeginServerMessage(rank, call->number, index);
  actions_.clear();
  MarkDirty(rank);
}

void Simulation::Complete(Rank *rank, uint64_t number, uint32_t index) {
  const bool retire = rank->calls.Complete(&rank->of_calls[number % kInFlight], index,
                                           now_, &actions_);
  Act(rank);
  if (retire) Retire(rank);
}

void Simulation::Retire(Rank *rank) {
  bool any = false;
  while (rank->calls.Retire() != nullptr) {
    any = true;
    const size_t step = size_t(rank->retired++);
    for (auto &[of_calls, last] :
         {std::pair(&rank->began, &began_), std::pair(&rank->ended, &ended_)}) {
      std::vector<uint32_t> &of_call = (*of_calls)[step % kInFlight];
      if (rank->index == 0) *last = of_call;
      of_call.clear();
    }
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
  if (any) Admit(rank);
}

void Simulation::StartStreams(Rank *rank) {
  const RankClass &of = model_.classes[rank->index];
  for (uint32_t s : rank->streams) {
    Stream *stream = &streams_[s];
    if (stream->busy) continue;
    core::Call *call = nullptr;
    uint32_t index = 0;
    const StreamInfo &info = model_.program->streams[stream->index];
    if (!rank->calls.Next(stream->index, &call, &index)) {
      if (options_.trace != nullptr && info.kind == StreamInfo::kCompute &&
          stream->waits_for.empty())
        stream->waits_for = rank->calls.WaitName(stream->index);
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
    stream->call = call;
    stream->instruction = index;
    stream->begin = now_;
    double duration = double(model_.duration[index]);
    if (info.kind == StreamInfo::kCompute)
      duration *= of.compute * Jitter(options_, rank->rank, call->number, index);
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
          info.kind == StreamInfo::kCompute ? "compute" : "copy", stream->call->number,
          copy ? double(model_.step->buffers[instruction.source].type.bytes) : 0,
          stream->begin, now_);
  }
  Complete(rank, stream->call->number, stream->instruction);
}

}  // namespace commsched::runtime::simulator
