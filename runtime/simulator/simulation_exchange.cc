// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What runtime/progress_exchanges.cc does, and the transport with announced messages.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "runtime/exchange.h"
#include "runtime/simulator/simulation.h"

namespace commsched::runtime::simulator {
namespace {

// A thirtieth of the deadline of cs-run.
constexpr Time kPatience = 1'000'000'000;

}  // namespace

uint32_t Simulation::RoundOf(size_t slot) const {
  const Communication &c = communications_[slot];
  return model_.communications[CommunicationOf(slot)].phases[c.phase].first_round + c.round;
}

void Simulation::BeginCommunication(Rank *rank, uint64_t call, uint32_t communication) {
  const size_t first = SlotOf(*rank, call, communication);
  const uint32_t slices = model_.communications[communication].slices;
  const uint64_t sequence = rank->next_sequence++;
  for (size_t slot = first; slot < first + slices; ++slot) {
    Communication &c = communications_[slot];
    c = Communication();
    c.active = true;
    c.call = call;
    c.sequence = sequence;
    Time at = now_;
    if (model_.link.engine > 0) {
      at = std::max(now_, rank->engine_free) + model_.link.engine;
      rank->engine_free = at;
    }
    events_.Add(at, Event::kRound, uint32_t(slot));
  }
  communications_[first].unfinished = slices;
}

void Simulation::Advance(size_t slot) {
  if (model_.link.engine == 0) return Post(slot);
  Rank *rank = RankOf(slot);
  rank->engine_free = std::max(now_, rank->engine_free) + model_.link.engine;
  events_.Add(rank->engine_free, Event::kRound, uint32_t(slot));
}

void Simulation::Post(size_t slot) {
  const uint32_t index = CommunicationOf(slot);
  const ModelCommunication &m = model_.communications[index];
  Communication &c = communications_[slot];
  for (; c.phase < m.phases.size(); ++c.phase, c.round = 0)
    for (; int64_t(c.round) < model_.shapes[m.phases[c.phase].shape].rounds(); ++c.round)
      if (PostRound(slot)) return;
  c.active = false;
  if (--communications_[slot - SliceOf(slot)].unfinished == 0)
    Complete(RankOf(slot), c.call, m.instruction);
}

double Simulation::BytesOf(const ModelCommunication &c, const ExchangeShape &shape,
                           const Transfer &transfer, uint32_t slice) const {
  if (transfer.peer < 0) return 0;
  if (model_.mean_sizes)
    return double(c.elements) * double(transfer.count) / double(shape.chunks()) *
           c.element_bytes / c.slices;
  const int64_t begin = PartBegin(c.elements, shape.chunks(), transfer.begin);
  const int64_t end =
      PartBegin(c.elements, shape.chunks(), transfer.begin + transfer.count);
  return double(PartBegin(end - begin, c.slices, slice + 1) -
                PartBegin(end - begin, c.slices, slice)) *
         c.element_bytes;
}

uint32_t Simulation::ChannelTo(Rank *rank, int peer) {
  auto [it, is_new] = rank->channels.try_emplace(peer, 0);
  if (is_new) {
    const int to = model_.class_of[size_t(peer)];
    it->second = network_.AddChannel(rank->up, ranks_[size_t(to)].down, 1, 1,
                                     model_.link.latency, model_.link.overhead, to);
    links_.resize(it->second + 1);
  }
  return it->second;
}

bool Simulation::FindMoves(Rank *rank, uint32_t index, int64_t elements, int64_t round,
                           Moves *moves) {
  const ExchangeShape &shape = model_.shapes[index];
  // Of a fixed shape only where the parts begin changes, and so their size unless
  // all have one.
  const bool again = moves->known && shape.fixed();
  if (again && (model_.mean_sizes || elements % shape.chunks() == 0)) return true;
  absl::StatusOr<Transfer> send = shape.Send(rank->rank, model_.workers, round);
  absl::StatusOr<Transfer> receive = shape.Receive(rank->rank, model_.workers, round);
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
  return true;
}

// False if there is nothing to wait for in it.
bool Simulation::PostRound(size_t slot) {
  Rank *rank = RankOf(slot);
  Communication &c = communications_[slot];
  const uint32_t index = CommunicationOf(slot);
  const ModelCommunication &m = model_.communications[index];
  const uint32_t shape_index = m.phases[c.phase].shape;
  const ExchangeShape &shape = model_.shapes[shape_index];
  Moves &moves = moves_[size_t(rank->index) * model_.shapes.size() + shape_index];
  if (!FindMoves(rank, shape_index, m.elements, c.round, &moves)) return true;
  // An empty part is no message, on either side.
  c.send_bytes = BytesOf(m, shape, moves.send, SliceOf(slot));
  c.recv_bytes = BytesOf(m, shape, moves.receive, SliceOf(slot));
  c.sending = c.send_bytes > 0;
  c.receiving = c.recv_bytes > 0;
  if (!c.sending && !c.receiving) return false;
  c.send_begin = c.recv_begin = now_;
  if (c.receiving) {
    c.recv_peer = moves.receive.peer;
    Message wanted;
    wanted.call = c.call;
    wanted.communication = index;
    wanted.round = TagOf(slot);
    if (!rank->early.empty() && rank->early.erase(KeyOf(wanted)) != 0) {
      c.receiving = false;
      if (options_.trace != nullptr)
        Trace(rank->rank, TraceSpan::kReceive, c.recv_peer, m.key, "message", c.call,
              c.recv_bytes, now_, now_);
    } else if (c.recv_bytes > double(options_.eager_bytes)) {
      const uint32_t grant = network_.NewMessage();
      Message &message = network_.message(grant);
      message.kind = Message::kGrant;
      message.channel = moves.from;
      message.communication = index;
      message.round = wanted.round;
      message.call = c.call;
      network_.Ready(grant);
    }
  }
  if (c.sending) {
    c.send_peer = moves.send.peer;
    c.send_channel = moves.to;
    Link &link = links_[moves.to];
    link.queue.push_back(uint32_t(slot));
    std::push_heap(link.queue.begin(), link.queue.end(),
                   [this](uint32_t a, uint32_t b) { return Before(b, a); });
    if (!link.dirty) {
      link.dirty = true;
      dirty_links_.push_back(moves.to);
    }
  }
  return c.sending || c.receiving;
}

bool Simulation::Before(uint32_t a, uint32_t b) const {
  const Communication &x = communications_[a], &y = communications_[b];
  const int32_t p = model_.communications[CommunicationOf(a)].phases[x.phase].priority,
                q = model_.communications[CommunicationOf(b)].phases[y.phase].priority;
  if (p != q || x.call != y.call || x.sequence != y.sequence)
    return std::tie(p, x.call, x.sequence) < std::tie(q, y.call, y.sequence);
  return TagOf(a) < TagOf(b);  // of one communication, whose slices take turns
}

void Simulation::Pump(uint32_t channel) {
  const double credit = double(model_.step->credit_bytes);
  for (;;) {
    Link &link = links_[channel];
    if (link.queue.empty()) return;
    const double bytes = communications_[link.queue.front()].send_bytes;
    const bool fits = credit == 0 || link.in_flight == 0 ||
                      (bytes <= credit && link.in_flight <= credit - bytes);
    if (!fits && now_ < link.patient_until) {
      if (!link.timer) {
        link.timer = true;
        events_.Add(link.patient_until, Event::kPatience, channel);
      }
      return;
    }
    link.patient_until = now_ + kPatience;
    HandOver(channel);
  }
}

void Simulation::HandOver(uint32_t channel) {
  Link &link = links_[channel];
  const uint32_t slot = link.queue.front();
  std::pop_heap(link.queue.begin(), link.queue.end(),
                [this](uint32_t a, uint32_t b) { return Before(b, a); });
  link.queue.pop_back();
  Rank *rank = RankOf(slot);
  Communication &c = communications_[slot];
  const uint32_t index = CommunicationOf(slot);
  const ModelPhase &phase = model_.communications[index].phases[c.phase];
  link.in_flight += c.send_bytes;
  c.send_begin = now_;
  const uint32_t m = network_.NewMessage();
  Message &message = network_.message(m);
  message.kind = Message::kData;
  message.priority = phase.priority;
  message.channel = channel;
  message.communication = index;
  message.round = TagOf(slot);
  message.call = c.call;
  ++messages_;
  message.number = KeyOf(message);  // in the order of the plan
  message.bytes = c.send_bytes;
  message.share = model_.mean_sizes
                      ? std::min(1.0, c.send_bytes / model_.communications[index].element_bytes)
                      : 1;
  message.sender = slot;
  bool granted = c.send_bytes <= double(options_.eager_bytes);
  if (!granted && !rank->early_grants.empty())
    granted = rank->early_grants.erase(KeyOf(message)) != 0;
  if (granted) return network_.Ready(m);
  c.waits_for_grant = true;
  c.message = m;
}

void Simulation::Accepted(const Message &message) {
  if (message.kind == Message::kPush) return AcceptedPush(message);
  if (message.kind != Message::kData) return;
  Communication &c = communications_[message.sender];
  Link &link = links_[message.channel];
  link.in_flight -= message.bytes;
  link.patient_until = now_ + kPatience;
  if (!link.dirty && !link.queue.empty()) {
    link.dirty = true;
    dirty_links_.push_back(message.channel);
  }
  c.sending = false;
  if (options_.trace != nullptr)
    Trace(RankOf(message.sender)->rank, TraceSpan::kSend, c.send_peer,
          model_.communications[message.communication].key, "message", c.call,
          message.bytes, c.send_begin, now_);
  if (!c.receiving) EndRound(message.sender);
}

void Simulation::EndRound(size_t slot) {
  ++communications_[slot].round;
  Advance(slot);
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
  const size_t slot = SlotOf(*rank, message);
  Communication &c = communications_[slot];
  if (!c.active || c.call != message.call || !c.receiving ||
      TagOf(slot) != message.round) {
    rank->early.insert(KeyOf(message));
    return;
  }
  c.receiving = false;
  if (options_.trace != nullptr)
    Trace(rank->rank, TraceSpan::kReceive, c.recv_peer,
          model_.communications[message.communication].key, "message", c.call,
          c.recv_bytes, c.recv_begin, now_);
  if (!c.sending) EndRound(slot);
}

void Simulation::TakeGrant(Rank *rank, const Message &message) {
  const size_t slot = SlotOf(*rank, message);
  Communication &c = communications_[slot];
  if (c.active && c.call == message.call && c.waits_for_grant &&
      TagOf(slot) == message.round) {
    c.waits_for_grant = false;
    network_.Ready(c.message);
    return;
  }
  rank->early_grants.insert(KeyOf(message));
}

}  // namespace commsched::runtime::simulator
