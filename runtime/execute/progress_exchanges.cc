// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exchanges of the progress engine: the rounds of Communicate instructions.
//
// Messages are cut into slices (CommunicateProgram::slices), and each slice is
// an Active of its own. One of them is on the link while another one is between
// two rounds, as in the pipelined rings of Gloo and NCCL.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/base/element.h"
#include "runtime/execute/progress_engine.h"
#include "runtime/loading/exchange.h"

namespace commsched::runtime {
namespace {

// Copies what slice `slice` needs of the input: its part of each part.
void CopyInput(const ProgressEngine::Request &request, uint32_t slice) {
  const CommunicateProgram &c = request.instruction->communicate;
  const size_t unit = ops::ElementBytes(c.element);
  const int64_t elements = int64_t(c.input_bytes / unit);
  for (uint32_t chunk = 0; chunk < c.chunks; ++chunk) {
    const int64_t begin = PartBegin(elements, c.chunks, chunk);
    const int64_t size = PartBegin(elements, c.chunks, chunk + 1) - begin;
    const size_t first = size_t(begin + PartBegin(size, c.slices, slice)) * unit;
    const size_t last = size_t(begin + PartBegin(size, c.slices, slice + 1)) * unit;
    std::memmove(request.buffer + first, request.input + first, last - first);
  }
}

bool HasRounds(const CommunicateProgram &c) {
  return std::any_of(c.phases.begin(), c.phases.end(),
                     [](const PhaseProgram &phase) { return !phase.rounds.empty(); });
}

}  // namespace

// A sink that combines what comes with what is at its place.
struct ProgressEngine::Into {
  ops::Element element;
  ops::Combine combine;
  double scale;
  std::byte *target;
  LinkObserver *links;
  int peer;

  void operator()(size_t offset, absl::Span<const std::byte> bytes) const {
    if (links != nullptr) links->Count(peer, bytes.size());
    if (combine == ops::Combine::kReplace)
      std::memcpy(target + offset, bytes.data(), bytes.size());
    else
      ops::CombineElements(element, combine, scale, target + offset, bytes.data(),
                           bytes.size() / ops::ElementBytes(element));
  }
};

// core::Exchange's driver.
struct ProgressEngine::Slice {
  ProgressEngine *engine;
  Active *active;

  const CommunicateProgram &program() const {
    return active->request.instruction->communicate;
  }
  uint32_t phases() const { return uint32_t(program().phases.size()); }
  uint32_t rounds(uint32_t phase) const {
    return uint32_t(program().phases[phase].rounds.size());
  }
  Round RoundAt(const core::Place &at) const {
    return ProgressEngine::RoundAt(*active, at);
  }
  core::Posted Receive(const core::Place &at, const Round &round, bool staged) {
    if (program().parts.empty() && (staged || engine->IsShort(round.recv_bytes))) {
      engine->unposted_.push_back(active);
      return core::Posted::kWaits;
    }
    return engine->PostReceive(active, at, round, staged) ? core::Posted::kWaits
                                                          : core::Posted::kFailed;
  }
  bool Lands(const Round &received, const Round &sent) const {
    return core::LandsOn(received, sent);
  }
  void Send(const core::Place &at, const Round &round) {
    engine->links_[round.send_peer].Push(
        {{PhaseAt(*active, at).priority, active->request.call}, active->begun, at.index, active->slice},
        round.send_bytes, active);
  }
  void Take(const core::Place &at, const Round &round, bool staged) {
    engine->Combine(active, at, round, staged);
  }
  void Done() { engine->Finish(active); }
};

void ProgressEngine::BeginExchange(const Request &request) {
  const CommunicateProgram &c = request.instruction->communicate;
  const bool copies = request.input != nullptr && c.input_bytes != 0;
  // A copy of all of it takes the longer the less it hides behind messages.
  const bool by_slice = copies && c.slices > 1 && c.input_at == 0 && c.input_is_all && c.parts.empty();
  if (copies && !by_slice)
    std::memmove(request.buffer + c.input_at, request.input, c.input_bytes);
  std::shared_ptr<uint32_t> unfinished;
  if (c.slices > 1) unfinished = std::make_shared<uint32_t>(c.slices);
  std::shared_ptr<std::vector<uint32_t>> unreleased;
  if (c.slices > 1 && !c.parts.empty())
    unreleased = std::make_shared<std::vector<uint32_t>>(c.parts.size(), c.slices);
  const uint64_t begun = next_sequence_;
  if (c.exclusive > 0 && transport_ != nullptr && HasRounds(c)) {
    const Time now = ToTime(Clock::now());
    exclusives_.Begin(begun, {c.last_priority(), request.call}, c.exclusive, now);
    HoldBack(now);
  }
  const uint32_t slices = c.slices;  // whose host may forget the instruction when the last one is done
  for (uint32_t slice = 0; slice < slices && !failed_; ++slice) {
    Active *active = NewActive();
    active->request = request;
    active->begun = begun;
    active->slice = slice;
    active->unfinished = unfinished;
    active->unreleased = unreleased;
    if (transport_ == nullptr && HasRounds(c))
      return Fail(absl::FailedPreconditionError(
          absl::StrCat(Describe(*active), ": there is no transport")));
    if (by_slice) CopyInput(request, slice);
    ReleaseBefore(active, 0);
    Slice driver{this, active};
    in_exchange_ = true;
    active->exchange.Begin(driver);
    in_exchange_ = false;
    if (by_slice && !failed_) Pump(ToTime(Clock::now()));
  }
}

void ProgressEngine::HandleExchange(Event &event) {
  Active *active = event.active;
  if (!event.status.ok())
    return Fail(absl::Status(
        event.status.code(),
        absl::StrCat(Describe(*active), ": ", event.status.message())));
  Slice driver{this, active};
  in_exchange_ = true;
  if (event.kind == Event::kSent) {
    const core::Place &at = active->exchange.send();
    const Round round = RoundAt(*active, at);
    links_[round.send_peer].Completed({PhaseAt(*active, at).priority, active->request.call}, round.send_bytes,
                                      ToTime(stall_.looked()), patience_);
    Trace(*active, TraceSpan::kSend, round.send_peer, round.send_bytes,
          active->send_begin, event.at);
    active->exchange.Sent(driver);
  } else {
    const Round round = RoundAt(*active, active->exchange.recv());
    // What was streamed has been counted.
    if (observer_ != nullptr && core::LandsOn(round, round) && !active->streamed)
      observer_->Count(round.recv_peer, round.recv_bytes);
    if (observer_ != nullptr)
      observer_->Arrived(round.recv_peer, active->request.call, event.at);
    Trace(*active, TraceSpan::kReceive, round.recv_peer, round.recv_bytes,
          active->recv_begin, event.at);
    Received(*active);
    active->exchange.Received(driver);
  }
  in_exchange_ = false;
}

const PhaseProgram &ProgressEngine::PhaseAt(const Active &active,
                                            const core::Place &place) {
  return active.request.instruction->communicate.phases[place.phase];
}

Round ProgressEngine::RoundAt(const Active &active, const core::Place &place) {
  const CommunicateProgram &c = active.request.instruction->communicate;
  const Round &round = c.phases[place.phase].rounds[place.round];
  // Asked for several times in a short message's way.
  if (c.slices == 1) return round;
  return SliceOf(round, ops::ElementBytes(c.element), active.slice, c.slices);
}

bool ProgressEngine::PostReceive(Active *active, const core::Place &at,
                                 const Round &round, bool staged) {
  const ops::Element element = active->request.instruction->communicate.element;
  if (Timed()) active->recv_begin = Clock::now();
  auto done = [this, active](absl::Status status) {
    Ended(Event::kReceived, active, std::move(status));
  };
  const MessageTag tag = Tag(*active, at);
  std::byte *target = active->request.buffer + round.recv_begin;
  if (!active->request.instruction->communicate.parts.empty() &&
      (!staged || at.index == active->exchange.send().index)) {
    // What it lands on is sent from a copy.
    if (staged && !Gather(active, at)) return false;
    active->streamed = true;
    transport_->RecvStream(round.recv_peer, tag, round.recv_bytes, ops::ElementBytes(element),
                           PartsSink(*active, at, round), done);
    return true;
  }
  if (staged) {
    if (!TakeMemory(round.recv_bytes, &active->staging)) return false;
    transport_->Recv(round.recv_peer, tag,
                     absl::MakeSpan(active->staging.data(), round.recv_bytes), done);
  } else if (PhaseAt(*active, at).combine == ops::Combine::kReplace &&
             observer_ == nullptr) {
    transport_->Recv(round.recv_peer, tag, absl::MakeSpan(target, round.recv_bytes),
                     done);
  } else {
    transport_->RecvStream(round.recv_peer, tag, round.recv_bytes,
                           ops::ElementBytes(element), SinkOf(*active, at, round), done);
  }
  return true;
}

void ProgressEngine::PostUnposted() {
  // What comes with it, of the next rounds, has yet to be sent.
  std::swap(unposted_, posting_);
  for (Active *active : posting_) {
    if (failed_) break;
    const core::Place at = active->exchange.recv();
    const Round round = RoundAt(*active, at);
    const bool lands = core::LandsOn(round, round);
    const bool sent = active->exchange.send().index > at.index;
    active->streamed = lands && sent;
    if ((lands && !sent) || !IsShort(round.recv_bytes)) {
      PostReceive(active, at, round, lands && !sent);
      continue;
    }
    if (Timed()) active->recv_begin = Clock::now();
    if (waiting_.empty()) waiting_since_ = polls_;
    waiting_.push_back(active);
  }
  posting_.clear();
}

bool ProgressEngine::TakeWaiting() {
  for (Active *&waiting : waiting_) {
    Active *const active = waiting;
    const core::Place at = active->exchange.recv();
    const Round round = RoundAt(*active, at);
    const auto sink = SinkOf(*active, at, round);
    if (!transport_->TakeNow(round.recv_peer, Tag(*active, at), round.recv_bytes,
                             [&](absl::Span<const std::byte> bytes) { sink(0, bytes); }))
      continue;
    waiting = waiting_.back();
    waiting_.pop_back();
    Ended(Event::kReceived, active, absl::OkStatus());
    return true;
  }
  return false;
}

void ProgressEngine::PostWaiting() {
  std::vector<Active *> waiting;
  waiting.swap(waiting_);
  for (Active *active : waiting) {
    if (failed_) return;
    const core::Place at = active->exchange.recv();
    PostReceive(active, at, RoundAt(*active, at), /*staged=*/false);
  }
}

bool ProgressEngine::Gather(Active *active, const core::Place &at) {
  const CommunicateProgram &c = active->request.instruction->communicate;
  const PhaseProgram &phase = PhaseAt(*active, at);
  const Round &round = phase.rounds[at.round];
  if (!TakeMemory(RoundAt(*active, at).send_bytes, &active->outgoing)) return false;
  std::byte *to = active->outgoing.data();
  for (const Segment &segment :
       SegmentsOf(c, phase.chunks, round.send_chunk, round.send_chunks, active->slice)) {
    std::memcpy(to, active->request.buffer + segment.begin, segment.bytes);
    to += segment.bytes;
  }
  active->gathered = true;
  return true;
}

Transport::Sink ProgressEngine::PartsSink(const Active &active, const core::Place &at,
                                          const Round &round) {
  const CommunicateProgram &c = active.request.instruction->communicate;
  const PhaseProgram &phase = PhaseAt(active, at);
  const Round &all = phase.rounds[at.round];
  const bool last = at.round + 1 == phase.rounds.size();
  const std::vector<PartEnd<size_t>> &ends = c.part_ends[active.slice];
  const auto before = [](const PartEnd<size_t> &end, uint32_t r) { return end.round < r; };
  const auto first = std::lower_bound(ends.begin(), ends.end(), at.index, before);
  // `segment` and `into`: where the next byte goes to.
  return [this, links = observer_, peer = round.recv_peer, sequence = active.sequence, &ends,
          next = size_t(first - ends.begin()), index = at.index, element = c.element,
          combine = phase.combine,
          scale = last && phase.combine != ops::Combine::kReplace ? phase.scale : 0.0,
          buffer = active.request.buffer, segment = size_t{0}, into = size_t{0},
          segments = SegmentsOf(c, phase.chunks, all.recv_chunk, all.recv_chunks, active.slice)](
             size_t offset, absl::Span<const std::byte> bytes) mutable {
    if (links != nullptr) links->Count(peer, bytes.size());
    const size_t end = offset + bytes.size();
    while (!bytes.empty()) {
      const Segment &to = segments[segment];
      const size_t size = std::min(bytes.size(), to.bytes - into);
      std::byte *target = buffer + to.begin + into;
      if (combine == ops::Combine::kReplace)
        std::memcpy(target, bytes.data(), size);
      else
        ops::CombineElements(element, combine, scale, target, bytes.data(),
                             size / ops::ElementBytes(element));
      bytes.remove_prefix(size);
      into += size;
      if (into == to.bytes) ++segment, into = 0;
    }
    const size_t told = next;
    while (next < ends.size() && ends[next].round == index && ends[next].bytes <= end) ++next;
    if (next == told) return;
    Event event(Event::kPart);
    event.sequence = sequence;
    event.met = uint32_t(next);
    Push(std::move(event));
  };
}

void ProgressEngine::ReleaseBefore(Active *active, uint32_t round) {
  const CommunicateProgram &c = active->request.instruction->communicate;
  if (c.parts.empty()) return;
  const std::vector<PartEnd<size_t>> &ends = c.part_ends[active->slice];
  uint32_t met = active->released;
  while (met < ends.size() &&
         (ends[met].round < round || (ends[met].round == round && ends[met].bytes == 0)))
    ++met;
  Release(active, met);
}

void ProgressEngine::Release(Active *active, uint32_t met) {
  const CommunicateProgram &c = active->request.instruction->communicate;
  for (; active->released < met; ++active->released) {
    const uint32_t part = c.part_ends[active->slice][active->released].part;
    if (active->unreleased == nullptr || --(*active->unreleased)[part] == 0)
      host_->PartDone(active->request.cookie, active->request.index, part);
  }
}

ProgressEngine::Into ProgressEngine::SinkOf(const Active &active, const core::Place &at,
                                            const Round &round) const {
  const PhaseProgram &phase = PhaseAt(active, at);
  const bool last = at.round + 1 == phase.rounds.size();
  return {active.request.instruction->communicate.element, phase.combine,
          last && phase.combine != ops::Combine::kReplace ? phase.scale : 0.0,
          active.request.buffer + round.recv_begin, observer_, round.recv_peer};
}

// False if there is none.
bool ProgressEngine::TakeMemory(size_t bytes, Memory *memory) {
  if (memory->size() >= bytes) return true;
  for (Memory &spare : spare_staging_)
    if (spare.size() >= bytes) {
      std::swap(spare, *memory);
      std::swap(spare, spare_staging_.back());
      spare_staging_.pop_back();
      return true;
    }
  absl::StatusOr<Memory> fresh = Memory::Allocate(bytes);
  if (fresh.ok())
    *memory = *std::move(fresh);
  else
    Fail(fresh.status());
  return fresh.ok();
}

// Does what receiving in place or through a sink has not done already.
void ProgressEngine::Combine(Active *active, const core::Place &at, const Round &round,
                             bool staged) {
  const CommunicateProgram &c = active->request.instruction->communicate;
  const PhaseProgram &phase = PhaseAt(*active, at);
  const bool last = at.round + 1 == phase.rounds.size();
  const double scale = last ? phase.scale : 0.0;
  const std::byte *staging = active->staging.data();
  const auto combine = [&](size_t begin, size_t bytes, bool from_staging) {
    std::byte *target = active->request.buffer + begin;
    const size_t count = bytes / ops::ElementBytes(c.element);
    if (from_staging)
      ops::CombineElements(c.element, phase.combine, scale, target, staging, count);
    else if (phase.combine == ops::Combine::kReplace && scale != 0 && scale != 1)
      ops::ScaleElements(c.element, scale, target, count);
    staging += from_staging ? bytes : 0;
  };
  if (c.parts.empty()) {
    combine(round.recv_begin, round.recv_bytes, staged && !active->streamed);
    active->streamed = false;
    return;
  }
  const Round &all = phase.rounds[at.round];
  // What was sent from a copy has been combined as it came.
  const bool from_staging = staged && !active->streamed;
  if (from_staging || phase.combine == ops::Combine::kReplace)
    for (const Segment &segment :
         SegmentsOf(c, phase.chunks, all.recv_chunk, all.recv_chunks, active->slice))
      combine(segment.begin, segment.bytes, from_staging);
  active->streamed = false;
  ReleaseBefore(active, at.index + 1);
}

void ProgressEngine::Finish(Active *active) {
  const Request request = active->request;
  const CommunicateProgram &c = request.instruction->communicate;
  const bool last = active->unfinished == nullptr || --*active->unfinished == 0;
  const uint64_t begun = active->begun;
  Forget(active);
  if (!last) return;
  if (c.exclusive > 0) {  // nothing changes if it never was
    exclusives_.End(begun);
    HoldBack(ToTime(Clock::now()));
  }
  if (request.output != nullptr && c.output_bytes != 0)
    std::memmove(request.output, request.buffer + c.output_at, c.output_bytes);
  --communications_;
  host_->CommunicationDone(request.cookie, request.index);
}

void ProgressEngine::Received(const Active &active) {
  if (active.request.instruction->communicate.exclusive == 0) return;
  const Time now = ToTime(Clock::now());
  exclusives_.Progress(active.begun, now);
  HoldBack(now);
}

void ProgressEngine::HoldBack(Time now) {
  const std::optional<plan::Urgency> least = exclusives_.Least(now);
  hold_ends_ = exclusives_.Until(now);
  if (least == least_) return;
  least_ = least;
  transport_->Hold(least);
}

MessageTag ProgressEngine::Tag(const Active &active, const core::Place &place) {
  const CommunicateProgram &c = active.request.instruction->communicate;
  return core::TagOf(active.request.call, c.key_id, place, active.slice, c.slices);
}

}  // namespace commsched::runtime
