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
    return engine->PostReceive(active, at, round, staged) ? core::Posted::kWaits
                                                          : core::Posted::kFailed;
  }
  bool Lands(const Round &received, const Round &sent) const {
    return core::LandsOn(received, sent);
  }
  void Send(const core::Place &at, const Round &round) {
    engine->links_[round.send_peer].Push(
        {PhaseAt(*active, at).priority, active->request.call, active->begun, at.index,
         active->slice},
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
  const bool by_slice = copies && c.slices > 1 && c.input_at == 0 && c.input_is_all;
  if (copies && !by_slice)
    std::memmove(request.buffer + c.input_at, request.input, c.input_bytes);
  std::shared_ptr<uint32_t> unfinished;
  if (c.slices > 1) unfinished = std::make_shared<uint32_t>(c.slices);
  std::shared_ptr<std::vector<uint32_t>> unreleased;
  if (c.slices > 1 && !c.parts.empty())
    unreleased = std::make_shared<std::vector<uint32_t>>(c.parts.size(), c.slices);
  const uint64_t begun = next_sequence_;
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
    active->exchange.Begin(driver);
    if (by_slice && !failed_) Pump();
  }
}

void ProgressEngine::HandleExchange(Event &event) {
  Active *active = event.active;
  if (!event.status.ok())
    return Fail(absl::Status(
        event.status.code(),
        absl::StrCat(Describe(*active), ": ", event.status.message())));
  Slice driver{this, active};
  if (event.kind == Event::kSent) {
    const Round round = RoundAt(*active, active->exchange.send());
    links_[round.send_peer].Completed(round.send_bytes, ToTime(stall_.looked()),
                                      patience_);
    Trace(*active, TraceSpan::kSend, round.send_peer, round.send_bytes,
          active->send_begin, event.at);
    active->exchange.Sent(driver);
  } else {
    const Round round = RoundAt(*active, active->exchange.recv());
    if (observer_ != nullptr && core::LandsOn(round, round))
      observer_->Count(round.recv_peer, round.recv_bytes);
    if (observer_ != nullptr)
      observer_->Arrived(round.recv_peer, active->request.call, event.at);
    Trace(*active, TraceSpan::kReceive, round.recv_peer, round.recv_bytes,
          active->recv_begin, event.at);
    active->exchange.Received(driver);
  }
}

const PhaseProgram &ProgressEngine::PhaseAt(const Active &active,
                                            const core::Place &place) {
  return active.request.instruction->communicate.phases[place.phase];
}

Round ProgressEngine::RoundAt(const Active &active, const core::Place &place) {
  const CommunicateProgram &c = active.request.instruction->communicate;
  return SliceOf(c.phases[place.phase].rounds[place.round],
                 ops::ElementBytes(c.element), active.slice, c.slices);
}

bool ProgressEngine::PostReceive(Active *active, const core::Place &at,
                                 const Round &round, bool staged) {
  const ops::Element element = active->request.instruction->communicate.element;
  if (Timed()) active->recv_begin = Clock::now();
  auto done = [this, active](absl::Status status) {
    Event event(Event::kReceived);
    event.active = active;
    event.status = std::move(status);
    Push(std::move(event));
  };
  const MessageTag tag = Tag(*active, at);
  std::byte *target = active->request.buffer + round.recv_begin;
  active->sends_staging = false;
  const auto [first, last] = PartsIn(*active, at.index);
  // Of a round that is to be received before its turn to be sent, parts come with the rest.
  if (first < last && (!staged || at.index == active->exchange.send().index)) {
    if (staged && !StageSend(active, round)) return false;
    transport_->RecvStream(round.recv_peer, tag, round.recv_bytes, ops::ElementBytes(element),
                           Telling(*active, at, SinkOf(*active, at, round)), done);
    return true;
  }
  if (staged) {
    if (!TakeStaging(active, round.recv_bytes)) return false;
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

// What a round sends is copied before anything lands on it; the send has not begun.
bool ProgressEngine::StageSend(Active *active, const Round &round) {
  if (!TakeStaging(active, round.send_bytes)) return false;
  std::memcpy(active->staging.data(), active->request.buffer + round.send_begin,
              round.send_bytes);
  active->sends_staging = true;
  return true;
}

std::pair<uint32_t, uint32_t> ProgressEngine::PartsIn(const Active &active, uint32_t round) {
  const CommunicateProgram &c = active.request.instruction->communicate;
  if (c.parts.empty()) return {0, 0};
  const std::vector<PartEnd<size_t>> &ends = c.part_ends[active.slice];
  const auto before = [](const PartEnd<size_t> &end, uint32_t r) { return end.round < r; };
  const auto first = std::lower_bound(ends.begin(), ends.end(), round, before);
  const auto last = std::lower_bound(first, ends.end(), round + 1, before);
  return {uint32_t(first - ends.begin()), uint32_t(last - ends.begin())};
}

Transport::Sink ProgressEngine::Telling(const Active &active, const core::Place &at,
                                        Transport::Sink sink) {
  const auto [first, last] = PartsIn(active, at.index);
  const std::vector<PartEnd<size_t>> &ends =
      active.request.instruction->communicate.part_ends[active.slice];
  return [this, sink = std::move(sink), sequence = active.sequence, &ends, next = first,
          last = last](size_t offset, absl::Span<const std::byte> bytes) mutable {
    sink(offset, bytes);
    const uint32_t told = next;
    while (next < last && ends[next].bytes <= offset + bytes.size()) ++next;
    if (next == told) return;
    Event event(Event::kPart);
    event.sequence = sequence;
    event.met = next;
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

Transport::Sink ProgressEngine::SinkOf(const Active &active, const core::Place &at,
                                       const Round &round) const {
  const PhaseProgram &phase = PhaseAt(active, at);
  const bool last = at.round + 1 == phase.rounds.size();
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
void ProgressEngine::Combine(Active *active, const core::Place &at, const Round &round,
                             bool staged) {
  const ops::Element element = active->request.instruction->communicate.element;
  const PhaseProgram &phase = PhaseAt(*active, at);
  const bool last = at.round + 1 == phase.rounds.size();
  const double scale = last ? phase.scale : 0.0;
  std::byte *target = active->request.buffer + round.recv_begin;
  const size_t count = round.recv_bytes / ops::ElementBytes(element);
  if (staged && !active->sends_staging)
    ops::CombineElements(element, phase.combine, scale, target,
                         active->staging.data(), count);
  else if (phase.combine == ops::Combine::kReplace && scale != 0 && scale != 1)
    ops::ScaleElements(element, scale, target, count);
  active->sends_staging = false;
  ReleaseBefore(active, at.index + 1);
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

MessageTag ProgressEngine::Tag(const Active &active, const core::Place &place) {
  const CommunicateProgram &c = active.request.instruction->communicate;
  return core::TagOf(active.request.call, c.key_id, place, active.slice, c.slices);
}

}  // namespace commsched::runtime
