// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranks of tests/chaos/ranks_world.h: what runtime/execute/executor*.cc and
// runtime/execute/progress_*.cc do with the machines.
#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/chaos/ranks_world.h"

namespace commsched::runtime::core {
namespace {

constexpr Time kPatience = RanksWorld::kDeadline / 30;
constexpr Time kFlush = 5 * kSecond, kGrace = kSecond;  // of a transport that closes
constexpr auto kStallDeadline = std::chrono::nanoseconds(RanksWorld::kDeadline);

}  // namespace

// --- Beginning and ending -----------------------------------------------------

void RanksWorld::StartRank(int r) {
  Rank &rank = ranks_[size_t(r)];
  rank.stall.emplace(kStallDeadline, FromTime(now_));
  for (int peer = 0; peer < r; ++peer)
    if (Partner(r, peer)) Dial(r, peer);
  At(now_ + kDeadline, &rank, [=, this] {
    const Rank &rank = ranks_[size_t(r)];
    for (int peer = 0; peer < case_.nodes() && !rank.started; ++peer)
      if (Partner(r, peer) && !end(r, peer).open)
        return Fail(r, absl::DeadlineExceededError(absl::StrCat("peer ", peer, " did not join")));
  });
  TryToBegin(r);
}

void RanksWorld::TryToBegin(int r) {
  Rank &rank = ranks_[size_t(r)];
  if (rank.started || rank.failed || !rank.stall) return;
  for (int peer = 0; peer < case_.nodes(); ++peer)
    if (Partner(r, peer) && !end(r, peer).open) return;
  rank.started = true;
  Later(&rank, 100 * kMillisecond, [=, this] {
    if (ranks_[size_t(r)].failed) return;
    Admit(r);
    Look(r);
    if (r == 0) Lead();
  });
}

void RanksWorld::Fail(int r, const absl::Status &why) {
  Rank &rank = ranks_[size_t(r)];
  if (rank.failed || rank.leaving || rank.ended) return;
  Note(absl::StrCat("rank ", r, " fails: ", why.message()));
  rank.failed = true;
  rank.error = std::string(why.message());
  for (int peer = 0; peer < case_.nodes(); ++peer)
    if (Partner(r, peer)) Apply(r, peer, end(r, peer).end.Abort(why));
  Later(&rank, 200 * kMillisecond, [=, this] { Leave(r); });
}

// Closes the transport.
void RanksWorld::Leave(int r) {
  Rank &rank = ranks_[size_t(r)];
  if (rank.leaving || rank.ended) return;
  rank.leaving = true;
  if (r == 0) GiveUp(absl::CancelledError("the run is over"));
  const Time flushed = now_ + kFlush;
  auto look = [=, this](auto &&again, bool said, Time until) -> void {
    Rank &rank = ranks_[size_t(r)];
    bool sent = true, closed = true;
    for (int peer = 0; peer < case_.nodes(); ++peer) {
      if (!Partner(r, peer)) continue;
      const End &e = end(r, peer);
      sent &= e.matcher.sends() == 0 && e.in_last_packet.empty();
      closed &= e.closed || !e.open;
    }
    if (!said && (sent || now_ >= until)) {
      said = true;
      until = std::max(until, now_ + kGrace);
      for (int peer = 0; peer < case_.nodes(); ++peer)
        if (Partner(r, peer)) Apply(r, peer, end(r, peer).end.Close());
    } else if (said && (closed || now_ >= until)) {
      return EndRank(r);
    }
    Later(&rank, 10 * kMillisecond, [=] { again(again, said, until); });
  };
  look(look, false, flushed);
}

void RanksWorld::EndRank(int r) {
  Rank &rank = ranks_[size_t(r)];
  Note(absl::StrCat("rank ", r, " ends", rank.error.empty() ? "" : ": ", rank.error));
  for (int peer = 0; peer < case_.nodes(); ++peer)
    if (Partner(r, peer) && end(r, peer).open) Close(r, peer);
  rank.ended = true;
  rank.ended_at = now_;
}

// --- Calls --------------------------------------------------------------------

const FunctionProgram &RanksWorld::ProgramOf(int r) const {
  return case_.plans[ranks_[size_t(r)].plan][size_t(r)];
}

void RanksWorld::Admit(int r) {
  Rank &rank = ranks_[size_t(r)];
  if (rank.failed || rank.leaving) return;
  while (rank.next_call < case_.steps && MayCall(r)) {
    const FunctionProgram &program = ProgramOf(r);
    rank.owned.push_back(std::make_unique<Call>());
    Call *call = rank.owned.back().get();
    call->program = &program;
    call->number = rank.next_call++;
    rank.calls->Begin(call, now_, &rank.actions);
    Act(r);
  }
}

void RanksWorld::Act(int r) {
  Rank &rank = ranks_[size_t(r)];
  // Communications begin at any time, in their order.
  for (const auto &[call, instruction] : std::exchange(rank.actions.begin, {}))
    At(now_ + 1, &rank, [=, this, c = call, i = instruction] { Communicate(r, c, i); });
  rank.actions.clear();
  Later(&rank, kMillisecond, [=, this] { RunStreams(r); });
}

void RanksWorld::RunStreams(int r) {
  Rank &rank = ranks_[size_t(r)];
  if (rank.failed) return;
  for (uint32_t s = 0; s < rank.busy.size(); ++s) {
    Call *call = nullptr;
    uint32_t instruction = 0;
    if (!rank.busy[s] && rank.calls->Next(s, &call, &instruction))
      RunInstruction(r, s, call, instruction);
  }
}

// Reads when it begins, and writes when it ends.
void RanksWorld::RunInstruction(int r, uint32_t stream, Call *call, uint32_t index) {
  Rank &rank = ranks_[size_t(r)];
  const InstructionProgram &instruction = call->program->instructions[index];
  const uint32_t p = instruction.source;
  rank.busy[stream] = true;
  Tensor result;
  size_t first = 0;  // element that it writes
  std::vector<Tensor> *target = &rank.values;
  if (instruction.name == kGradient) {
    for (size_t e = 0; e < rank.values[p].size(); ++e)
      result.push_back(GradientOf(r, call->number, p, e, rank.values[p][e]));
    target = case_.copies ? &rank.gradients : &rank.buffers;
  } else if (instruction.name == kUpdate) {
    const size_t n = rank.values[p].size();
    size_t last = n;
    if (!instruction.part_waits_same.empty()) {
      const PartWait &wait = instruction.part_waits_same[0];
      std::tie(first, last) = case_.RangeOf(p, wait.part);
      early_parts_ += !call->done[wait.instruction];
    }
    for (size_t e = first; e < last; ++e) {
      uint32_t sum = 0;
      for (size_t at = e; at < rank.buffers[p].size(); at += n) sum += rank.buffers[p][at];
      result.push_back(Updated(rank.values[p][e], sum));
    }
  } else {
    result = rank.gradients[p];
    target = &rank.buffers;
  }
  Later(&rank, 20 * kMillisecond, [=, this, result = std::move(result)] {
    if (ranks_[size_t(r)].hangs) return;
    ranks_[size_t(r)].busy[stream] = false;
    const size_t part =
        target == &ranks_[size_t(r)].buffers && case_.gathers[p] ? size_t(r) * result.size() : first;
    std::copy(result.begin(), result.end(), (*target)[p].begin() + long(part));
    if (!ranks_[size_t(r)].failed) Complete(r, call, index);
  });
}

void RanksWorld::Complete(int r, Call *call, uint32_t instruction) {
  Rank &rank = ranks_[size_t(r)];
  const bool retire = rank.calls->Complete(call, instruction, now_, &rank.actions);
  Act(r);
  if (!retire) return;
  while (rank.calls->Retire() != nullptr) ++rank.completed;
  Admit(r);
  if (rank.completed == case_.steps) Later(&rank, 100 * kMillisecond, [=, this] { Leave(r); });
}

// --- Communications -----------------------------------------------------------

const CommunicateProgram &RanksWorld::Slice::program() const {
  return call->program->instructions[instruction].communicate;
}
uint32_t RanksWorld::Slice::phases() const { return uint32_t(program().phases.size()); }
uint32_t RanksWorld::Slice::rounds(uint32_t phase) const {
  return uint32_t(program().phases[phase].rounds.size());
}
Round RanksWorld::Slice::RoundAt(const Place &at) const {
  return SliceOf(program().phases[at.phase].rounds[at.round], sizeof(uint32_t), number,
                 program().slices);
}
MessageTag RanksWorld::Slice::TagAt(const Place &at) const {
  return TagOf(call->number, (lane << 20) + program().key_id, at, number, program().slices);
}
Posted RanksWorld::Slice::Receive(const Place &at, const Round &round, bool staged) {
  return world->Post(this, at, round, staged);
}
void RanksWorld::Slice::Send(const Place &at, const Round &round) {
  world->ranks_[size_t(rank)].queues[round.send_peer].Push(
      {{program().phases[at.phase].priority, call->number}, begun, at.index, number},
      round.send_bytes, this);
}
void RanksWorld::Slice::Take(const Place &at, const Round &round, bool staged) {
  if (staged && !streamed) {
    Tensor values(staging.begin(), staging.begin() + long(round.recv_bytes / sizeof(uint32_t)));
    world->Store({this, at, round, /*staged=*/false}, 0, values);
  }
  streamed = false;
  world->ReleaseBefore(this, at.index + 1, 0);
}
void RanksWorld::Slice::Done() {
  Rank &r = world->ranks_[size_t(rank)];
  const bool last = --*unfinished == 0;
  RanksWorld *const w = world;
  const int self = rank;
  Call *const of = call;
  const uint32_t index = instruction;
  r.active.erase(sequence);  // and this with it
  if (last) w->At(w->now_ + 1, &r, [=] {
    if (!w->ranks_[size_t(self)].failed) w->Complete(self, of, index);
  });
}

void RanksWorld::Communicate(int r, Call *call, uint32_t index) {
  Rank &rank = ranks_[size_t(r)];
  if (rank.failed) return;
  const uint32_t slices = call->program->instructions[index].communicate.slices;
  const auto unfinished = std::make_shared<uint32_t>(slices);
  const auto unreleased = std::make_shared<std::vector<uint32_t>>(
      call->program->instructions[index].communicate.parts.size(), slices);
  const uint64_t begun = rank.next_sequence;
  for (uint32_t s = 0; s < slices && !rank.failed; ++s) {
    auto owned = std::make_unique<Slice>();
    Slice *slice = owned.get();
    slice->world = this;
    slice->rank = r;
    slice->call = call;
    slice->instruction = index;
    slice->number = s;
    slice->sequence = rank.next_sequence++;
    slice->begun = begun;
    slice->lane = rank.lane;
    slice->unfinished = unfinished;
    slice->unreleased = unreleased;
    rank.active.emplace(slice->sequence, std::move(owned));
    ReleaseBefore(slice, 0, 0);
    slice->exchange.Begin(*slice);
  }
  rank.stall->Progress(FromTime(now_));
  Hand(r);
}

// What a message of a round has of a buffer in parts.
void RanksWorld::Gather(Slice *slice, const Place &at) {
  const PhaseProgram &phase = slice->program().phases[at.phase];
  const Round &round = phase.rounds[at.round];
  const Tensor &buffer = ranks_[size_t(slice->rank)].buffers[slice->program().key_id];
  slice->outgoing.clear();
  for (const Segment &s : SegmentsOf(slice->program(), phase.chunks, round.send_chunk,
                                     round.send_chunks, slice->number))
    slice->outgoing.insert(slice->outgoing.end(), buffer.begin() + long(s.begin / sizeof(uint32_t)),
                           buffer.begin() + long((s.begin + s.bytes) / sizeof(uint32_t)));
  slice->gathered = true;
}

// Parts that are there when the rounds before `round` are over, and so many bytes of it are there.
void RanksWorld::ReleaseBefore(Slice *slice, uint32_t round, size_t bytes) {
  const CommunicateProgram &c = slice->program();
  if (c.parts.empty()) return;
  const std::vector<PartEnd<size_t>> &ends = c.part_ends[slice->number];
  Rank &rank = ranks_[size_t(slice->rank)];
  bool any = false;
  for (; slice->released < ends.size(); ++slice->released) {
    const PartEnd<size_t> &end = ends[slice->released];
    if (end.round > round || (end.round == round && end.bytes > bytes)) break;
    if (--(*slice->unreleased)[end.part] != 0) continue;
    rank.calls->Release(slice->call, slice->instruction, end.part, now_, &rank.actions);
    any = true;
  }
  if (any) Act(slice->rank);
}

Posted RanksWorld::Post(Slice *slice, const Place &at, const Round &round, bool staged) {
  const int r = slice->rank, peer = round.recv_peer;
  End &e = end(r, peer);
  if (!slice->program().parts.empty() && (!staged || at.index == slice->exchange.send().index)) {
    // What it lands on is sent from a copy.
    if (staged) Gather(slice, at);
    slice->streamed = true;
    staged = false;
  }
  if (staged) slice->staging.assign(round.recv_bytes / sizeof(uint32_t), 0);
  const MessageTag tag = slice->TagAt(at);
  const RanksWorld::Receive receive{slice, at, round, staged};
  auto ended = [&](const absl::Status &status) {
    Later(&ranks_[size_t(r)], kMillisecond,
          [=, this, s = slice->sequence] { Received(r, s, status); });
  };
  if (!e.end.failure().ok()) {
    auto left = e.matcher.TakeLeft(tag, round.recv_bytes);
    if (left.ok() && left->has_value()) {
      Store(receive, 0, **left);
      ended(absl::OkStatus());
    } else {
      if (e.end.WantedAfter())
        Later(&ranks_[size_t(r)], kMillisecond,
              [=, this, why = e.end.failure()] { Fail(r, why); });
      ended(e.end.failure());
    }
    return Posted::kWaits;
  }
  auto here = e.matcher.Receive(tag, round.recv_bytes, receive, &e.controls);
  QueueControls(&e);
  if (!here.ok()) {
    wrong_.push_back(absl::StrCat("rank ", r, ": ", here.status().message()));
  } else {
    if (here->kept) Store(receive, 0, *here->kept);
    if (here->whole) ended(absl::OkStatus());
  }
  Pump(r, peer);
  return Posted::kWaits;
}

// What the queues of the links hand over.
void RanksWorld::Hand(int r) {
  Rank &rank = ranks_[size_t(r)];
  for (auto &[peer, queue] : rank.queues) {
    Slice *slice = nullptr;
    End &e = end(r, peer);
    while (!queue.empty() &&
           queue.Next(ProgramOf(r).credit_bytes, now_, kPatience, &slice)) {
      if (!e.end.failure().ok()) {
        if (e.end.WantedAfter())
          Later(&rank, kMillisecond, [=, this, why = e.end.failure()] { Fail(r, why); });
        Later(&rank, kMillisecond, [=, this, s = slice->sequence, why = e.end.failure()] {
          Sent(r, s, why);
        });
        continue;
      }
      const Place &at = slice->exchange.send();
      if (!slice->program().parts.empty() && !slice->gathered) Gather(slice, at);
      slice->gathered = false;
      auto going = e.matcher.Send(slice->TagAt(at), slice->RoundAt(at).send_bytes, slice,
                                  &e.controls);
      if (!going.ok())
        wrong_.push_back(absl::StrCat("rank ", r, ": ", going.status().message()));
      else if (going->has_value())
        Go(&e, **going);
      QueueControls(&e);
    }
    Pump(r, peer);
  }
}

void RanksWorld::Sent(int r, uint64_t sequence, const absl::Status &status) {
  Rank &rank = ranks_[size_t(r)];
  if (rank.failed || rank.ended) return;
  auto it = rank.active.find(sequence);
  if (it == rank.active.end()) {
    wrong_.push_back(absl::StrCat("rank ", r, " has sent something that nobody sends"));
    return;
  }
  if (!status.ok()) return Fail(r, status);
  Slice &slice = *it->second;
  const Place &at = slice.exchange.send();
  const Round round = slice.RoundAt(at);
  rank.stall->Progress(FromTime(now_));
  rank.queues[round.send_peer].Completed({slice.program().phases[at.phase].priority, slice.call->number},
                                         round.send_bytes, now_, kPatience);
  slice.exchange.Sent(slice);
  Hand(r);
}

void RanksWorld::Received(int r, uint64_t sequence, const absl::Status &status) {
  Rank &rank = ranks_[size_t(r)];
  if (rank.failed || rank.ended) return;
  auto it = rank.active.find(sequence);
  if (it == rank.active.end()) {
    wrong_.push_back(absl::StrCat("rank ", r, " has received something that nobody receives"));
    return;
  }
  if (!status.ok()) return Fail(r, status);
  rank.stall->Progress(FromTime(now_));
  it->second->exchange.Received(*it->second);
  Hand(r);
}

// Of the engine's thread, when there is something to do without an event.
void RanksWorld::Look(int r) {
  Rank &rank = ranks_[size_t(r)];
  if (rank.failed || rank.leaving || rank.ended) return;
  Time next = now_ + kDeadline / 16;
  if (!rank.active.empty()) {
    const bool computes = std::find(rank.busy.begin(), rank.busy.end(), true) != rank.busy.end();
    if (rank.stall->Idle(FromTime(now_)) >= kStallDeadline) {
      if (computes) {
        rank.stall->Progress(FromTime(now_));
      } else {
        const Slice &oldest = *rank.active.begin()->second;
        const Exchange &exchange = oldest.exchange;
        return Fail(r, absl::DeadlineExceededError(absl::StrCat(
                           "no progress, waiting for peer ",
                           exchange.receiving() ? oldest.RoundAt(exchange.recv()).recv_peer
                                                : oldest.RoundAt(exchange.send()).send_peer)));
      }
    }
    Hand(r);
    next = ToTime(rank.stall->NextLook(kStallDeadline));
    for (const auto &[peer, queue] : rank.queues)
      if (!queue.empty()) next = std::min(next, queue.patient_until());
  } else {
    rank.stall->Progress(FromTime(now_));
  }
  At(std::max(next, now_ + 1), &rank, [=, this] { Look(r); });
}

}  // namespace commsched::runtime::core
