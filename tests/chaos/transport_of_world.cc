// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The connections of tests/chaos/ranks_world.h: what grpc/ranks/link.cc does with the
// machines, on wires that keep their order as long as they hold.
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/chaos/ranks_world.h"

namespace commsched::runtime::core {
namespace {

constexpr size_t kElement = sizeof(uint32_t);

}  // namespace

RanksWorld::End::End(int peer, MessageLimits limits)
    : matcher(limits), end(absl::StrCat("peer ", peer)) {}

// --- Wires --------------------------------------------------------------------

void RanksWorld::Write(int from, int to, Packet packet) {
  End &there = end(to, from);
  // In order, and now and then slow.
  const Time most = random_() % 16 == 0 ? kSecond / 2 : 20 * kMillisecond;
  there.arrives = std::max(there.arrives + 1, now_ + Random(most));
  const Time arrives = there.arrives;
  At(arrives, &ranks_[size_t(to)], [=, this, packet = std::move(packet)] {
    const End &e = end(to, from);
    if (e.closed || (e.broken && arrives > *e.broken)) return;
    Deliver(to, from, packet);
  });
}

// Some of what is on its way still comes; both ends find out, each at its time.
void RanksWorld::Break(int r, int peer) {
  for (const auto &[self, other] : {std::pair(r, peer), std::pair(peer, r)}) {
    End &e = end(self, other);
    if (e.broken) continue;
    e.broken = now_ + Random(30 * kMillisecond);
    At(*e.broken + 1 + Random(kDetection), &ranks_[size_t(self)],
       [=, this] { Close(self, other); });
  }
}

// The connection is made when both are there.
void RanksWorld::Dial(int r, int peer) {
  Rank &rank = ranks_[size_t(r)];
  if (rank.ended || end(r, peer).open || end(r, peer).closed) return;
  if (!ranks_[size_t(peer)].alive || !ranks_[size_t(peer)].stall || ranks_[size_t(peer)].ended)
    return Later(&rank, 100 * kMillisecond, [=, this] { Dial(r, peer); });
  Write(r, peer, {Hello{GreetingOf(r, peer)}});
}

void RanksWorld::Close(int r, int peer) {
  End &e = end(r, peer);
  if (e.closed) return;
  e.closed = e.last_written = true;
  // What is on its way to a peer that still reads may be lost with the connection.
  if (!e.broken && !end(peer, r).closed) {
    if (e.ended || random_() % 2 == 0)
      Write(r, peer, {Closed()});
    else
      Break(r, peer);
  }
  Apply(r, peer, e.end.Lost());
}

// --- Packets ------------------------------------------------------------------

void RanksWorld::QueueControls(End *e) {
  for (const Control &control : e->controls)
    if (e->end.failure().ok()) e->frames.push_back(control);
  e->controls.clear();
}

void RanksWorld::Go(End *e, const RankMatcher::Going &going) {
  const Slice &slice = *going.item;
  const Place &at = slice.exchange.send();
  e->packets.Push({slice.program().phases[at.phase].priority, going.tag.step}, going.tag,
                  slice.RoundAt(at).send_bytes, going.item);
}

void RanksWorld::Pump(int r, int peer) {
  End &e = end(r, peer);
  if (!e.open || e.closed || e.writing || e.last_written) return;
  Packet packet;
  for (Frame &frame : e.frames) {
    e.last_written |=
        std::holds_alternative<Goodbye>(frame) || std::holds_alternative<Abort>(frame);
    packet.push_back(std::move(frame));
  }
  e.frames.clear();
  const auto add = [&](Slice *slice, size_t offset, size_t size, bool last) {
    const Place &at = slice->exchange.send();
    const Round round = slice->RoundAt(at);
    const bool parts = !slice->program().parts.empty();
    const Tensor &from = parts ? slice->outgoing : ranks_[size_t(r)].buffers[slice->program().key_id];
    const auto begin = from.begin() + long(((parts ? 0 : round.send_begin) + offset) / kElement);
    const MessageTag tag = slice->TagAt(at);
    packet.push_back(Data{tag, round.send_bytes, offset, Tensor(begin, begin + long(size / kElement))});
    if (!last) return;
    e.matcher.Sent(tag);
    e.in_last_packet.push_back(slice);
  };
  e.packets.Take(case_.packet_bytes, plan::kPacketFrames, add, std::max(kElement, case_.packet_bytes / 2));
  if (packet.empty()) return;
  e.writing = true;
  Write(r, peer, std::move(packet));
  Later(&ranks_[size_t(r)], 2 * kMillisecond, [=, this] { Written(r, peer); });
}

void RanksWorld::Written(int r, int peer) {
  End &e = end(r, peer);
  e.writing = false;
  for (const Slice *slice : std::exchange(e.in_last_packet, {}))
    Sent(r, slice->sequence, absl::OkStatus());
  if (e.last_written && e.end.keeps()) e.ended = true;
  if (e.ended) return Close(r, peer);
  Pump(r, peer);
}

void RanksWorld::Apply(int r, int peer, const LinkEnd::Outcome &outcome) {
  End &e = end(r, peer);
  Rank &rank = ranks_[size_t(r)];
  const absl::Status why = e.end.failure();
  if (outcome.report)
    Later(&rank, kMillisecond, [=, this] { Fail(r, why); });
  if (outcome.fails) {
    std::vector<Slice *> sends = e.packets.Clear();
    std::vector<Receive> receives;
    e.matcher.Clear(e.end.keeps(), &sends, &receives);
    for (const Slice *slice : sends)
      Later(&rank, kMillisecond, [=, this, s = slice->sequence] { Sent(r, s, why); });
    for (const Receive &receive : receives)
      Later(&rank, kMillisecond,
            [=, this, s = receive.slice->sequence] { Received(r, s, why); });
  }
  if (outcome.say == LinkEnd::Outcome::kGoodbye) {
    e.frames.push_back(Goodbye());
  } else if (outcome.say == LinkEnd::Outcome::kAbort) {
    e.frames = {Abort{outcome.why}};
  }
  Pump(r, peer);
}

// --- What comes ---------------------------------------------------------------

void RanksWorld::Open(int r, int peer) {
  End &e = end(r, peer);
  e.open = true;
  std::vector<RankMatcher::Going> going;
  if (e.end.failure().ok()) {
    e.matcher.Open(case_.limits, &going, &e.controls);
    for (const RankMatcher::Going &g : going) Go(&e, g);
    QueueControls(&e);
  }
  TryToBegin(r);
}

void RanksWorld::Deliver(int r, int peer, const Packet &packet) {
  End &e = end(r, peer);
  for (const Frame &frame : packet) {
    if (e.closed) return;
    if (const auto *hello = std::get_if<Hello>(&frame)) {
      if (e.open) continue;
      const Greeting own = GreetingOf(r, peer);
      const Verdict verdict = r < peer ? JudgeCaller(own, hello->greeting, Partner(r, peer))
                                       : JudgeCalled(own, hello->greeting);
      if (verdict.kind != Verdict::kWelcome) wrong_.push_back(verdict.why);
      if (r < peer) Write(r, peer, {Hello{own}});  // the reply comes before anything else
      Open(r, peer);
    } else if (const auto *data = std::get_if<Data>(&frame)) {
      if (e.end.failure().ok()) TakeData(r, peer, *data);
    } else if (const auto *control = std::get_if<Control>(&frame)) {
      if (e.end.failure().ok()) TakeControl(r, peer, *control);
    } else if (const auto *word = std::get_if<Word>(&frame)) {
      Later(&ranks_[size_t(r)], kMillisecond, [=, this, word = *word] {
        if (r == 0) return Answered(peer, word.message);
        ranks_[size_t(r)].words.push_back(word);
        Hear(r);
      });
    } else if (std::holds_alternative<Goodbye>(frame)) {
      Apply(r, peer, e.end.TakeGoodbye(!e.matcher.idle()));
      if (e.last_written && !e.writing) {
        e.ended = true;
        Close(r, peer);
      }
    } else if (const auto *abort = std::get_if<Abort>(&frame)) {
      Apply(r, peer, e.end.TakeAbort(uint32_t(abort->why.code()), abort->why.message()));
      Close(r, peer);
    } else {
      Close(r, peer);
    }
  }
  Pump(r, peer);
}

void RanksWorld::TakeControl(int r, int peer, const Control &control) {
  End &e = end(r, peer);
  absl::Status breach;
  switch (control.kind) {
    case Control::kAnnounce:
      breach = e.matcher.TakeAnnounce(control.tag, control.bytes, &e.controls);
      break;
    case Control::kGrant: {
      auto going = e.matcher.TakeGrant(control);
      breach = going.status();
      if (going.ok() && going->has_value()) Go(&e, **going);
      break;
    }
    case Control::kCredit:
      breach = e.matcher.TakeCredit(control.bytes);
  }
  QueueControls(&e);
  if (!breach.ok()) wrong_.push_back(absl::StrCat("rank ", r, ": ", breach.message()));
}

void RanksWorld::Store(const Receive &receive, size_t from, const Tensor &values) {
  Slice &slice = *receive.slice;
  Tensor &buffer = receive.staged ? slice.staging
                                  : ranks_[size_t(slice.rank)].buffers[slice.program().key_id];
  const size_t begin = receive.staged ? from : receive.round.recv_begin / kElement + from;
  const bool adds = !receive.staged && slice.program().phases[receive.place.phase].combine ==
                                           ops::Combine::kSum;
  const auto store = [&](size_t to, size_t i) {
    buffer[to] = (adds ? buffer[to] : 0) + values[i];
  };
  if (receive.staged || slice.program().parts.empty()) {
    for (size_t i = 0; i < values.size(); ++i) store(begin + i, i);
    return;
  }
  // In parts: where a message has what.
  const PhaseProgram &phase = slice.program().phases[receive.place.phase];
  const Round &round = phase.rounds[receive.place.round];
  size_t at = 0;  // element of the message
  for (const Segment &segment : SegmentsOf(slice.program(), phase.chunks, round.recv_chunk,
                                           round.recv_chunks, slice.number))
    for (size_t e = 0; e < segment.bytes / kElement; ++e, ++at)
      if (at >= from && at < from + values.size()) store(segment.begin / kElement + e, at - from);
  if (!slice.streamed) return;
  Later(&ranks_[size_t(slice.rank)], kMillisecond,
        [=, this, r = slice.rank, s = slice.sequence, round = receive.place.index,
         bytes = (from + values.size()) * kElement] {
          Rank &rank = ranks_[size_t(r)];
          const auto it = rank.active.find(s);
          if (!rank.failed && it != rank.active.end()) ReleaseBefore(it->second.get(), round, bytes);
        });
}

void RanksWorld::TakeData(int r, int peer, const Data &data) {
  End &e = end(r, peer);
  auto place = e.matcher.Take(data.tag, data.total, data.offset,
                              data.values.size() * kElement, &e.controls);
  QueueControls(&e);
  if (!place.ok()) {
    wrong_.push_back(absl::StrCat("rank ", r, ": ", place.status().message()));
    return;
  }
  if (place->kept != nullptr) {
    place->kept->insert(place->kept->end(), data.values.begin(), data.values.end());
    return;
  }
  Store(*place->receive, data.offset / kElement, data.values);
  if (!place->last) return;
  const Receive receive = e.matcher.End(data.tag);
  Later(&ranks_[size_t(r)], kMillisecond,
        [=, this, s = receive.slice->sequence] { Received(r, s, absl::OkStatus()); });
}

}  // namespace commsched::runtime::core
