// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exchanges of the ranks, and the transport with granted messages.
#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "runtime/loading/exchange.h"
#include "runtime/simulator/simulation.h"

namespace commsched::runtime::simulator {
namespace {

// A thirtieth of the deadline of cs-run.
constexpr Time kPatience = 1'000'000'000;

}  // namespace

// core::Exchange's driver.
struct Simulation::Slice {
  Simulation *simulation;
  size_t slot;
  Communication *communication;
  const ModelCommunication *model;

  Slice(Simulation *s, size_t of)
      : simulation(s),
        slot(of),
        communication(&s->communications_[of]),
        model(&s->model_.communications[s->CommunicationOf(of)]) {}

  uint32_t phases() const { return uint32_t(model->phases.size()); }
  uint32_t rounds(uint32_t phase) const {
    return uint32_t(simulation->model_.shapes[model->phases[phase].shape].rounds());
  }
  const Round &RoundAt(const core::Place &at) const { return simulation->RoundAt(slot, at); }
  bool Lands(const Round &received, const Round &sent) const {
    return simulation->Lands(slot, received, sent);
  }
  core::Posted Receive(const core::Place &at, const Round &round, bool staged);
  void Send(const core::Place &at, const Round &round);
  void Take(const core::Place &at, const Round &, bool) {
    communication->tells = false;
    if (simulation->HasParts(*model)) simulation->Release(slot, at.index + 1, 0);
  }
  void Done();
};

core::Posted Simulation::Slice::Receive(const core::Place &at, const Round &round,
                                        bool staged) {
  Simulation &s = *simulation;
  communication->tells = !staged || at.index == communication->exchange.send().index;
  Rank *rank = s.RankOf(slot);
  communication->recv_begin = s.now_;
  const uint32_t tag = s.TagOf(slot, at);
  auto here = rank->matcher.Receive({communication->call, model->key_id, 0, tag},
                                    size_t(round.recv_bytes), uint32_t(slot), &s.controls_);
  if (!here.ok()) {
    s.Fail(here.status());
    return core::Posted::kFailed;
  }
  if (!s.controls_.empty()) {
    const uint32_t m = s.network_.NewMessage();
    Message &grant = s.network_.message(m);
    grant.kind = Message::kGrant;
    grant.channel = round.from;
    grant.communication = s.CommunicationOf(slot);
    grant.round = tag;
    grant.call = communication->call;
    grant.bytes = round.recv_bytes;
    s.network_.Ready(m);
    s.controls_.clear();
  }
  if (!here->whole) return core::Posted::kWaits;
  if (s.options_.trace != nullptr)
    s.Trace(rank->rank, TraceSpan::kReceive, round.recv_peer, model->key, "message",
            communication->call, round.recv_bytes, s.now_, s.now_);
  return core::Posted::kHere;
}

void Simulation::Slice::Send(const core::Place &at, const Round &round) {
  Link &link = simulation->links_[round.to];
  link.queue.Push({{model->phases[at.phase].priority, communication->call},
                   communication->sequence,
                   at.index,
                   simulation->SliceOf(slot)},
                  round.send_bytes, uint32_t(slot));
  if (link.dirty) return;
  link.dirty = true;
  simulation->dirty_links_.push_back(round.to);
}

void Simulation::Slice::Done() {
  communication->active = false;
  const size_t first = slot - simulation->SliceOf(slot);
  if (--simulation->communications_[first].unfinished != 0) return;
  if (model->exclusive > 0) {
    simulation->RankOf(slot)->exclusives.End(communication->sequence);
    simulation->HoldBack(simulation->RankOf(slot));
  }
  simulation->EndCommunication(simulation->RankOf(slot), communication->call,
                               simulation->CommunicationOf(slot));
}

void Simulation::HoldBack(Rank *rank) {
  const std::optional<plan::Urgency> least = rank->exclusives.Least(now_);
  if (least != rank->least) {
    rank->least = least;
    std::vector<uint32_t> channels;  // a hash map has no order
    for (const auto &[peer, channel] : rank->channels) channels.push_back(channel);
    std::sort(channels.begin(), channels.end());
    for (uint32_t channel : channels) network_.Hold(channel, least);
  }
  const Time until = rank->exclusives.Until(now_);
  if (until == plan::Exclusives::kNever || (rank->looks_again >= now_ && rank->looks_again <= until)) return;
  rank->looks_again = until;
  events_.Add(until, Event::kHold, rank->index);
}

void Simulation::Ready(Rank *rank, uint64_t call, uint32_t communication) {
  if (model_.communications[communication].nccl >= 0) return MeetNccl(call, communication);
  if (order_ == nullptr) return BeginCommunication(rank, call, communication);
  rank->waits_its_turn[size_t(call % kInFlight) * model_.communications.size() + communication] =
      true;
  TakeTurn(rank);
}

void Simulation::TakeTurn(Rank *rank) {
  if (rank->in_turn) return;
  const uint64_t call = rank->turns / order_->size();
  const uint32_t communication = (*order_)[rank->turns % order_->size()];
  std::vector<bool>::reference waits =
      rank->waits_its_turn[size_t(call % kInFlight) * order_->size() + communication];
  if (!waits) return;
  waits = false;
  rank->in_turn = true;
  ++rank->turns;
  BeginCommunication(rank, call, communication);
}

void Simulation::EndCommunication(Rank *rank, uint64_t call, uint32_t communication) {
  rank->ended[call % kInFlight].push_back(communication);
  if (order_ != nullptr) {
    rank->in_turn = false;
    TakeTurn(rank);
  }
  Complete(rank, call, model_.communications[communication].instruction);
}

void Simulation::BeginCommunication(Rank *rank, uint64_t call, uint32_t communication) {
  rank->began[call % kInFlight].push_back(communication);
  const size_t first = SlotOf(*rank, call, communication);
  const uint32_t slices = model_.communications[communication].slices;
  const uint64_t sequence = rank->next_sequence++;
  for (size_t slot = first; slot < first + slices; ++slot) {
    Communication &c = communications_[slot];
    c.exchange = core::Exchange();
    c.rounds[0] = c.rounds[1] = Round();
    c.active = true;
    c.call = call;
    c.sequence = sequence;
    c.released = 0;
    c.tells = false;
    LetEngine(rank, slot, /*begins=*/true);
  }
  communications_[first].unfinished = slices;
  const ModelCommunication &model = model_.communications[communication];
  if (model.exclusive > 0) {
    rank->exclusives.Begin(sequence, {model.last_priority, call}, model.exclusive, now_);
    HoldBack(rank);
  }
  BeginParts(first);
}

void Simulation::LetEngine(Rank *rank, size_t slot, bool begins) {
  Time at = now_;
  if (model_.link.engine > 0) {
    at = std::max(now_, rank->engine_free) + model_.link.engine;
    rank->engine_free = at;
  } else if (!begins) {
    return Move(slot, begins);
  }
  events_.Add(at, Event::kRound, uint32_t(slot), begins);
}

void Simulation::Move(size_t slot, bool begins) {
  Slice slice(this, slot);
  if (begins && HasParts(*slice.model)) Release(slot, 0, 0);
  if (begins)
    slice.communication->exchange.Begin(slice);
  else {
    if (slice.model->exclusive > 0) {
      RankOf(slot)->exclusives.Progress(slice.communication->sequence, now_);
      HoldBack(RankOf(slot));
    }
    slice.communication->exchange.Received(slice);
  }
}

std::pair<double, double> Simulation::RangeOf(const ModelCommunication &c,
                                              const ExchangeShape &shape,
                                              const Transfer &transfer,
                                              uint32_t slice) const {
  if (model_.mean_sizes) {
    const double part = double(c.elements) / double(shape.chunks()) * c.element_bytes;
    const double bytes = part * double(transfer.count) / c.slices;
    return {part * double(transfer.begin) + bytes * slice, bytes};
  }
  const int64_t first = ChunkBegin(c.parts, shape.chunks(), transfer.begin);
  const int64_t size = ChunkBegin(c.parts, shape.chunks(), transfer.begin + transfer.count) - first;
  const int64_t begin = PartBegin(size, c.slices, slice);
  return {double(first + begin) * c.element_bytes,
          double(PartBegin(size, c.slices, slice + 1) - begin) * c.element_bytes};
}

uint32_t Simulation::ChannelTo(Rank *rank, int peer) {
  auto [it, is_new] = rank->channels.try_emplace(peer, 0);
  if (is_new) {
    const int to = model_.class_of[size_t(peer)];
    it->second = network_.AddChannel(rank->up, ranks_[size_t(to)].down, 1, 1,
                                     model_.link.latency, model_.link.overhead, to);
    network_.Hold(it->second, rank->least);
    links_.resize(it->second + 1);
  }
  return it->second;
}

bool Simulation::FindMoves(Rank *rank, uint32_t index, int64_t round, Moves *moves) {
  const ExchangeShape &shape = model_.shapes[index];
  const bool again = moves->known && shape.fixed();  // only where the parts begin changes
  absl::StatusOr<Transfer> send =
      again ? shape.SendAgain(rank->rank, round, moves->send)
            : shape.Send(rank->rank, round);
  absl::StatusOr<Transfer> receive =
      again ? shape.ReceiveAgain(rank->rank, round, moves->receive)
            : shape.Receive(rank->rank, round);
  if (!send.ok() || !receive.ok()) {
    Fail(send.ok() ? receive.status() : send.status());
    return false;
  }
  moves->send = *send;
  moves->receive = *receive;
  if (again) return true;
  moves->to = moves->send.peer < 0 ? kNone : ChannelTo(rank, moves->send.peer);
  moves->from = moves->receive.peer < 0 ? kNone : ChannelTo(rank, moves->receive.peer);
  moves->known = true;
  if (shape.turn() && moves->send.peer >= 0 && moves->receive.peer >= 0) {
    // Parts are in a circle; what is received begins so far behind what is sent.
    const int64_t n = shape.chunks();
    const auto apart = [&](int64_t behind) {
      behind = (behind % n + n) % n;
      return behind >= moves->send.count && n - behind >= moves->receive.count;
    };
    moves->apart = apart(moves->receive.begin - moves->send.begin);
    moves->apart_before = apart(moves->receive.begin + *shape.turn() - moves->send.begin);
  }
  return true;
}

bool Simulation::Lands(size_t slot, const Round &received, const Round &sent) {
  if (received.recv_peer < 0 || sent.send_peer < 0) return false;
  if (received.phase == sent.phase && received.moves != nullptr) {
    const uint32_t ahead = received.index - sent.index;
    if ((ahead == 0 && received.moves->apart) || (ahead == 1 && received.moves->apart_before))
      return false;
  }
  const ModelCommunication &m = model_.communications[CommunicationOf(slot)];
  const auto begin = [&](const Round &round, bool send) {
    if (round.moves == nullptr) return send ? round.send_begin : round.recv_begin;
    const ExchangeShape &shape = model_.shapes[m.phases[round.phase].shape];
    const int rank = RankOf(slot)->rank;
    auto transfer = send ? shape.SendAgain(rank, round.round, round.moves->send)
                         : shape.ReceiveAgain(rank, round.round, round.moves->receive);
    if (!transfer.ok()) {
      Fail(transfer.status());
      return 0.0;
    }
    return RangeOf(m, shape, *transfer, SliceOf(slot)).first;
  };
  const double to = begin(received, false), from = begin(sent, true);
  return from < to + received.recv_bytes && to < from + sent.send_bytes;
}

const Simulation::Round &Simulation::RoundAt(size_t slot, const core::Place &at) {
  Communication &c = communications_[slot];
  Round &round = c.rounds[at.index % 2];
  if (round.index == at.index) return round;
  const ModelCommunication &m = model_.communications[CommunicationOf(slot)];
  const Round &before = c.rounds[1 - at.index % 2];
  if (before.index == at.index - 1 && before.phase == at.phase && before.moves != nullptr) {
    // Which it has been since the round before that one, as a rule.
    if (round.moves != before.moves || round.phase != before.phase) round = before;
    round.index = at.index;
    round.round = at.round;
    return round;
  }
  round = Round();
  round.index = at.index;
  round.phase = at.phase;
  round.round = at.round;
  Rank *rank = RankOf(slot);
  const uint32_t shape_index = m.phases[at.phase].shape;
  const ExchangeShape &shape = model_.shapes[shape_index];
  Moves &moves = moves_[size_t(rank->index) * model_.shapes.size() + shape_index];
  if (!FindMoves(rank, shape_index, at.round, &moves)) return round;
  const uint32_t slice = SliceOf(slot);
  // An empty part is no message, on either side.
  if (moves.send.peer >= 0)
    std::tie(round.send_begin, round.send_bytes) = RangeOf(m, shape, moves.send, slice);
  if (moves.receive.peer >= 0)
    std::tie(round.recv_begin, round.recv_bytes) = RangeOf(m, shape, moves.receive, slice);
  if (round.send_bytes > 0) {
    round.send_peer = moves.send.peer;
    round.to = moves.to;
  }
  if (round.recv_bytes > 0) {
    round.recv_peer = moves.receive.peer;
    round.from = moves.from;
  }
  // Where parts have one size nothing differs in the next round but where they begin.
  const auto even = [&](int64_t elements) { return elements % shape.chunks() == 0; };
  if (shape.turn() &&
      (model_.mean_sizes || std::all_of(m.parts.begin(), m.parts.end(), even)))
    round.moves = &moves;
  return round;
}

void Simulation::Pump(uint32_t channel) {
  const double credit = double(model_.step->credit_bytes);
  uint32_t slot;
  while (links_[channel].queue.Next(credit, now_, kPatience, &slot)) HandOver(channel, slot);
  Link &link = links_[channel];
  if (link.queue.empty() || link.timer) return;
  link.timer = true;
  events_.Add(link.queue.patient_until(), Event::kPatience, channel);
}

void Simulation::HandOver(uint32_t channel, uint32_t slot) {
  Rank *rank = RankOf(slot);
  Communication &c = communications_[slot];
  const uint32_t index = CommunicationOf(slot);
  const core::Place &at = c.exchange.send();
  const double bytes = RoundAt(slot, at).send_bytes;
  c.send_begin = now_;
  const uint32_t m = network_.NewMessage();
  Message &message = network_.message(m);
  message.kind = Message::kData;
  message.priority = model_.communications[index].phases[at.phase].priority;
  message.channel = channel;
  message.communication = index;
  message.round = TagOf(slot, at);
  message.call = c.call;
  ++messages_;
  // In the order of the plan.
  message.number = (uint64_t(index) << 24) + message.round;
  message.bytes = bytes;
  message.share = model_.mean_sizes
                      ? std::min(1.0, bytes / model_.communications[index].element_bytes)
                      : 1;
  message.sender = slot;
  message.tells = HasParts(model_.communications[index]);
  auto going =
      rank->matcher.Send(TagOf(message), size_t(bytes), m, &controls_, /*whole=*/true);
  controls_.clear();  // announcements, of what is granted anyway
  if (!going.ok()) return Fail(going.status());
  if (!going->has_value()) return;
  if ((*going)->granted) rank->matcher.Sent(TagOf(message));
  network_.Ready(m);
}

void Simulation::Accepted(const Message &message) {
  if (message.kind == Message::kPush) return AcceptedPush(message);
  if (message.kind != Message::kData) return;
  Slice slice(this, message.sender);
  Link &link = links_[message.channel];
  link.queue.Completed({message.priority, message.call}, message.bytes, now_, kPatience);
  if (!link.dirty && !link.queue.empty()) {
    link.dirty = true;
    dirty_links_.push_back(message.channel);
  }
  core::Exchange &exchange = slice.communication->exchange;
  if (options_.trace != nullptr)
    Trace(RankOf(message.sender)->rank, TraceSpan::kSend,
          RoundAt(message.sender, exchange.send()).send_peer, slice.model->key, "message",
          message.call, message.bytes, slice.communication->send_begin, now_);
  exchange.Sent(slice);
}

void Simulation::Deliver(uint32_t first) {
  for (uint32_t m = first; m != kNone;) {
    const Message message = network_.message(m);
    network_.FreeMessage(m);
    m = message.next;
    switch (message.kind) {
      case Message::kData:
        TakeData(&ranks_[size_t(network_.to(message.channel))], message);
        break;
      case Message::kGrant:
        TakeGrant(&ranks_[size_t(network_.to(message.channel))], message);
        break;
      case Message::kPullReply:
        TakePullReply(message);
        break;
      default:
        TakeServerMessage(message);
    }
  }
}

void Simulation::TakeData(Rank *rank, const Message &message) {
  const size_t bytes = size_t(message.bytes);
  auto receive = rank->matcher.TakeWhole(TagOf(message), bytes, &controls_);
  if (!receive.ok()) return Fail(receive.status());
  if (!receive->has_value()) return;  // it came first
  const uint32_t slot = **receive;
  if (options_.trace != nullptr) {
    const Communication &c = communications_[slot];
    const Round &round = RoundAt(slot, c.exchange.recv());
    Trace(rank->rank, TraceSpan::kReceive, round.recv_peer,
          model_.communications[message.communication].key, "message", c.call,
          round.recv_bytes, c.recv_begin, now_);
  }
  LetEngine(rank, slot, /*begins=*/false);
}

void Simulation::TakeGrant(Rank *rank, const Message &message) {
  auto going = rank->matcher.TakeGrant(
      {core::Control::kGrant, TagOf(message), size_t(message.bytes)});
  if (!going.ok()) return Fail(going.status());
  if (!going->has_value()) return;
  rank->matcher.Sent((*going)->tag);
  network_.Ready((*going)->item);
}

}  // namespace commsched::runtime::simulator
