// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/posts/rounds.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "plan/slices.h"

namespace commsched::runtime {
namespace {

// Of an all-reduce, where the number of messages counts rather than their bytes.
constexpr size_t kFewBytes = 16 << 10;
// Of the parts of a long broadcast.
constexpr size_t kPartBytes = 128 << 10;

// Parts of a buffer, in bytes.
class Parts {
 public:
  Parts(int64_t elements, int parts, ops::Element element)
      : elements_(elements), parts_(parts), unit_(ops::ElementBytes(element)) {}
  void Send(int peer, int part, Round *round) const {
    round->send_peer = peer;
    Range(part, &round->send_begin, &round->send_bytes);
  }
  void Receive(int peer, int part, Round *round) const {
    round->recv_peer = peer;
    Range(part, &round->recv_begin, &round->recv_bytes);
  }

 private:
  void Range(int part, size_t *begin, size_t *bytes) const {
    part = (part % parts_ + parts_) % parts_;
    *begin = size_t(PartBegin(elements_, parts_, part)) * unit_;
    *bytes = size_t(PartBegin(elements_, parts_, part + 1)) * unit_ - *begin;
  }
  const int64_t elements_;
  const int parts_;
  const size_t unit_;
};

// Around the ring once: first of part `first`, then of the one before it, and so on. What
// comes is combined with what is there.
void AddTurn(const Place &place, const Parts &parts, int first, PhaseProgram phase,
             CommunicateProgram *c) {
  const int next = (place.rank + 1) % place.size;
  const int previous = (place.rank + place.size - 1) % place.size;
  for (int i = 0; i < place.size - 1; ++i) {
    Round round;
    parts.Send(next, first - i, &round);
    parts.Receive(previous, first - i - 1, &round);
    phase.rounds.push_back(round);
  }
  c->phases.push_back(std::move(phase));
}

PhaseProgram Combined(ops::Combine combine, double scale) {
  PhaseProgram phase;
  phase.combine = combine;
  phase.scale = scale;
  return phase;
}

// Every round moves one of `size` parts: they may be cut.
void Slice(const Place &place, int64_t elements, CommunicateProgram *c) {
  size_t rounds = 0;
  for (const PhaseProgram &phase : c->phases) rounds += phase.rounds.size();
  c->chunks = uint32_t(place.size);
  c->slices = plan::SlicesOfPart(uint64_t(elements) * ops::ElementBytes(c->element) / c->chunks, rounds);
}

void AddHalves(const Place &place, ops::Combine combine, double scale, int64_t elements,
               CommunicateProgram *c) {
  PhaseProgram phase = Combined(combine, scale);
  const Parts whole(elements, 1, c->element);
  for (int distance = 1; distance < place.size; distance *= 2) {
    Round round;
    whole.Send(place.rank ^ distance, 0, &round);
    whole.Receive(place.rank ^ distance, 0, &round);
    phase.rounds.push_back(round);
  }
  c->phases.push_back(std::move(phase));
}

}  // namespace

void AddAllReduce(const Place &place, ops::Combine combine, double scale, int64_t elements,
                  CommunicateProgram *c) {
  const bool halves = (place.size & (place.size - 1)) == 0;
  if (halves && size_t(elements) * ops::ElementBytes(c->element) <= kFewBytes)
    return AddHalves(place, combine, scale, elements, c);
  const Parts parts(elements, place.size, c->element);
  AddTurn(place, parts, place.rank, Combined(combine, scale), c);
  AddTurn(place, parts, place.rank + 1, {}, c);
  Slice(place, elements, c);
}

void AddReduceScatter(const Place &place, ops::Combine combine, double scale, int64_t part,
                      CommunicateProgram *c) {
  const int64_t elements = part * place.size;
  AddTurn(place, Parts(elements, place.size, c->element), place.rank - 1,
          Combined(combine, scale), c);
  Slice(place, elements, c);
}

void AddAllGather(const Place &place, int64_t part, CommunicateProgram *c) {
  const int64_t elements = part * place.size;
  AddTurn(place, Parts(elements, place.size, c->element), place.rank, {}, c);
  Slice(place, elements, c);
}

void AddBroadcast(const Place &place, int root, int64_t elements, CommunicateProgram *c) {
  const int at = (place.rank - root + place.size) % place.size;  // behind the root
  const auto rank_of = [&](int behind) { return (behind + root) % place.size; };
  const size_t bytes = size_t(elements) * ops::ElementBytes(c->element);
  const int count = int(std::clamp<size_t>(bytes / kPartBytes, 1, 64));
  const Parts parts(elements, count, c->element);
  PhaseProgram phase;
  if (count == 1) {
    for (int distance = 1; distance < place.size; distance *= 2) {
      Round round;
      if (at < distance && at + distance < place.size)
        parts.Send(rank_of(at + distance), 0, &round);
      else if (at >= distance && at < 2 * distance)
        parts.Receive(rank_of(at - distance), 0, &round);
      phase.rounds.push_back(round);
    }
  } else {
    for (int i = 0; i < count + place.size - 2; ++i) {
      Round round;
      const int sent = i - at, received = i - at + 1;
      if (at + 1 < place.size && sent >= 0 && sent < count)
        parts.Send(rank_of(at + 1), sent, &round);
      if (at > 0 && received >= 0 && received < count)
        parts.Receive(rank_of(at - 1), received, &round);
      phase.rounds.push_back(round);
    }
  }
  c->phases.push_back(std::move(phase));
}

void AddAllToAll(const Place &place, const std::vector<uint64_t> &sends,
                 const std::vector<uint64_t> &receives, CommunicateProgram *c) {
  const size_t unit = ops::ElementBytes(c->element);
  const auto before = [unit](const std::vector<uint64_t> &counts, int rank) {
    return std::accumulate(counts.begin(), counts.begin() + rank, size_t{0}) * unit;
  };
  const size_t all = before(sends, place.size);
  PhaseProgram phase;
  for (int i = 1; i < place.size; ++i) {
    Round round;
    round.send_peer = (place.rank + i) % place.size;
    round.recv_peer = (place.rank + place.size - i) % place.size;
    round.send_begin = before(sends, round.send_peer);
    round.send_bytes = sends[size_t(round.send_peer)] * unit;
    round.recv_begin = all + before(receives, round.recv_peer);
    round.recv_bytes = receives[size_t(round.recv_peer)] * unit;
    phase.rounds.push_back(round);
  }
  c->phases.push_back(std::move(phase));
}

void AddBarrier(const Place &place, CommunicateProgram *c) {
  PhaseProgram phase;
  for (int distance = 1; distance < place.size; distance *= 2) {
    Round round;
    round.send_peer = (place.rank + distance) % place.size;
    round.recv_peer = (place.rank + place.size - distance) % place.size;
    phase.rounds.push_back(round);
  }
  c->phases.push_back(std::move(phase));
}

}  // namespace commsched::runtime
