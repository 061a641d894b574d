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
#include "ops/element.h"
#include "runtime/exchange.h"
#include "runtime/progress_engine.h"

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

}  // namespace

void ProgressEngine::BeginExchange(const Request &request) {
  const CommunicateProgram &c = request.instruction->communicate;
  const bool copies = request.input != nullptr && c.input_bytes != 0;
  // A copy of all of it takes the longer the less it hides behind messages.
  const bool by_slice = copies && c.slices > 1 && c.input_at == 0 && c.input_is_all;
  if (copies && !by_slice)
    std::memmove(request.buffer + c.input_at, request.input, c.input_bytes);
  std::shared_ptr<uint32_t> unfinished;
  if (c.slices > 1) unfinished = std::make_shared<uint32_t>(c.slices);
  const uint64_t begun = next_sequence_;
  for (uint32_t slice = 0; slice < c.slices && !failed_; ++slice) {
    Active *active = NewActive();
    active->request = request;
    active->begun = begun;
    active->slice = slice;
    active->unfinished = unfinished;
    Place &first = active->recv;
    while (!IsEnd(*active, first) && c.phases[first.phase].rounds.empty())
      ++first.phase;
    active->send = first;
    if (by_slice) CopyInput(request, slice);
    Advance(active);
    if (by_slice && !failed_) Pump();
  }
}

void ProgressEngine::HandleExchange(Event &event) {
  Active *active = event.active;
  if (!event.status.ok())
    return Fail(absl::Status(
        event.status.code(),
        absl::StrCat(Describe(*active), ": ", event.status.message())));
  if (event.kind == Event::kSent) {
    const Round round = RoundAt(*active, active->send);
    active->sending = false;
    Skip(*active, &active->send);
    Link &link = links_[round.send_peer];
    link.in_flight -= round.send_bytes;
    link.patient_until = stall_.looked() + patience_;
    Trace(*active, TraceSpan::kSend, round.send_peer, round.send_bytes,
          active->send_begin, event.at);
  } else {
    const Round round = RoundAt(*active, active->recv);
    active->receiving = false;
    active->staged = round.overlaps();
    if (observer_ != nullptr && round.overlaps())
      observer_->Count(round.recv_peer, round.recv_bytes);
    if (observer_ != nullptr)
      observer_->Arrived(round.recv_peer, active->request.call, event.at);
    Trace(*active, TraceSpan::kReceive, round.recv_peer, round.recv_bytes,
          active->recv_begin, event.at);
    if (!active->staged) FinishReceive(active);
  }
  if (active->staged && active->send.index > active->recv.index)
    FinishReceive(active);
  Advance(active);
}

bool ProgressEngine::IsEnd(const Active &active, const Place &place) {
  return place.phase == active.request.instruction->communicate.phases.size();
}

void ProgressEngine::Skip(const Active &active, Place *place) {
  const CommunicateProgram &c = active.request.instruction->communicate;
  ++place->index;
  ++place->round;
  while (place->phase < c.phases.size() &&
         place->round >= c.phases[place->phase].rounds.size()) {
    ++place->phase;
    place->round = 0;
  }
}

const PhaseProgram &ProgressEngine::PhaseAt(const Active &active,
                                            const Place &place) {
  return active.request.instruction->communicate.phases[place.phase];
}

Round ProgressEngine::RoundAt(const Active &active, const Place &place) {
  const CommunicateProgram &c = active.request.instruction->communicate;
  return SliceOf(c.phases[place.phase].rounds[place.round],
                 ops::ElementBytes(c.element), active.slice, c.slices);
}

void ProgressEngine::Advance(Active *active) {
  if (transport_ == nullptr && !IsEnd(*active, active->recv))
    return Fail(absl::FailedPreconditionError(
        absl::StrCat(Describe(*active), ": there is no transport")));
  // A round without one of the two lets the other one go on.
  for (bool moved = true; moved;) {
    moved = false;
    while (!active->receiving && !active->staged && MayReceive(*active)) {
      if (RoundAt(*active, active->recv).recv_peer >= 0) {
        PostReceive(active);
        if (failed_) return;
      } else {
        Skip(*active, &active->recv);
        moved = true;
      }
    }
    // What is sent in a round is what has been received before it.
    while (!active->sending && !IsEnd(*active, active->send) &&
           active->send.index <= active->recv.index) {
      if (RoundAt(*active, active->send).send_peer >= 0) {
        QueueSend(active);
      } else {
        Skip(*active, &active->send);
        moved = true;
      }
    }
  }
  if (IsEnd(*active, active->send) && IsEnd(*active, active->recv)) Finish(active);
}

// Whether the next receive may be posted: one round ahead of sending at most, and
// not onto what is still to be sent.
bool ProgressEngine::MayReceive(const Active &active) const {
  if (IsEnd(active, active.recv)) return false;
  if (active.recv.index <= active.send.index) return true;
  if (active.recv.index > active.send.index + 1) return false;
  const Round before = RoundAt(active, active.send);
  const Round next = RoundAt(active, active.recv);
  return before.send_peer < 0 || next.recv_peer < 0 ||
         before.send_begin >= next.recv_begin + next.recv_bytes ||
         next.recv_begin >= before.send_begin + before.send_bytes;
}

void ProgressEngine::PostReceive(Active *active) {
  const Round round = RoundAt(*active, active->recv);
  const ops::Element element = active->request.instruction->communicate.element;
  active->receiving = true;
  if (Timed()) active->recv_begin = Clock::now();
  auto done = [this, active](absl::Status status) {
    Event event(Event::kReceived);
    event.active = active;
    event.status = std::move(status);
    Push(std::move(event));
  };
  const MessageTag tag = Tag(*active, active->recv);
  std::byte *target = active->request.buffer + round.recv_begin;
  if (round.overlaps()) {
    if (!TakeStaging(active, round.recv_bytes)) return;
    transport_->Recv(round.recv_peer, tag,
                     absl::MakeSpan(active->staging.data(), round.recv_bytes), done);
  } else if (PhaseAt(*active, active->recv).combine == ops::Combine::kReplace &&
             observer_ == nullptr) {
    transport_->Recv(round.recv_peer, tag, absl::MakeSpan(target, round.recv_bytes),
                     done);
  } else {
    transport_->RecvStream(round.recv_peer, tag, round.recv_bytes,
                           ops::ElementBytes(element), SinkOf(*active), done);
  }
}

void ProgressEngine::QueueSend(Active *active) {
  const Place &at = active->send;
  active->sending = true;
  if (Timed()) active->send_begin = Clock::now();
  links_[RoundAt(*active, at).send_peer]
      .queue[{PhaseAt(*active, at).priority, active->request.call, active->begun,
              at.index, active->slice}] = active;
}

Transport::Sink ProgressEngine::SinkOf(const Active &active) const {
  const PhaseProgram &phase = PhaseAt(active, active.recv);
  const Round round = RoundAt(active, active.recv);
  const bool last = active.recv.round + 1 == phase.rounds.size();
  return [element = active.request.instruction->communicate.element,
          combine = phase.combine,
          scale = last && phase.combine != ops::Combine::kReplace ? phase.scale : 0.0,
          target = active.request.buffer + round.recv_begin, links = observer_,
          peer = round.recv_peer](size_t offset, absl::Span<const std::byte> bytes) {
    if (links != nullptr) links->Count(peer, bytes.size());
    if (combine == ops::Combine::kReplace)
      std::memcpy(target + offset, bytes.data(), bytes.size());
    else
      ops::CombineElements(element, combine, scale, target + offset, bytes.data(),
                           bytes.size() / ops::ElementBytes(element));
  };
}

// Memory for what may not be received in place; false if there is none.
bool ProgressEngine::TakeStaging(Active *active, size_t bytes) {
  if (active->staging.size() >= bytes) return true;
  for (Memory &spare : spare_staging_)
    if (spare.size() >= bytes) {
      std::swap(spare, active->staging);
      std::swap(spare, spare_staging_.back());
      spare_staging_.pop_back();
      return true;
    }
  absl::StatusOr<Memory> staging = Memory::Allocate(bytes);
  if (staging.ok())
    active->staging = *std::move(staging);
  else
    Fail(staging.status());
  return staging.ok();
}

// Does what receiving in place or through a sink has not done already.
void ProgressEngine::FinishReceive(Active *active) {
  const ops::Element element = active->request.instruction->communicate.element;
  const PhaseProgram &phase = PhaseAt(*active, active->recv);
  const Round round = RoundAt(*active, active->recv);
  const bool last = active->recv.round + 1 == phase.rounds.size();
  const double scale = last ? phase.scale : 0.0;
  std::byte *target = active->request.buffer + round.recv_begin;
  const size_t count = round.recv_bytes / ops::ElementBytes(element);
  if (active->staged)
    ops::CombineElements(element, phase.combine, scale, target,
                         active->staging.data(), count);
  else if (phase.combine == ops::Combine::kReplace && scale != 0 && scale != 1)
    ops::ScaleElements(element, scale, target, count);
  active->staged = false;
  Skip(*active, &active->recv);
}

void ProgressEngine::Finish(Active *active) {
  const Request request = active->request;
  const CommunicateProgram &c = request.instruction->communicate;
  const bool last = active->unfinished == nullptr || --*active->unfinished == 0;
  Forget(active);
  if (!last) return;
  if (request.output != nullptr && c.output_bytes != 0)
    std::memmove(request.output, request.buffer + c.output_at, c.output_bytes);
  --communications_;
  host_->CommunicationDone(request.cookie, request.index);
}

MessageTag ProgressEngine::Tag(const Active &active, const Place &place) {
  const CommunicateProgram &c = active.request.instruction->communicate;
  return {active.request.call, c.key_id, uint32_t(place.phase),
          uint32_t(place.round) * c.slices + active.slice};
}

}  // namespace commsched::runtime
