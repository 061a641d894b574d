// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of messages that are there before the rest: by the packets that bring them.
#include <algorithm>

#include "runtime/simulator/simulation.h"

namespace commsched::runtime::simulator {

const std::vector<PartEnd<double>> &Simulation::PartEndsOf(size_t slot) {
  Rank *rank = RankOf(slot);
  std::vector<PartEnd<double>> &ends =
      part_ends_[rank->index * model_.slices.size() + slot % model_.slices.size()];
  if (!ends.empty()) return ends;
  const ModelCommunication &c = model_.communications[CommunicationOf(slot)];
  std::vector<Landing<double>> landings;
  for (const ModelPhase &phase : c.phases) {
    const ExchangeShape &shape = model_.shapes[phase.shape];
    for (int64_t round = 0; round < shape.rounds(); ++round) {
      absl::StatusOr<Transfer> receive = shape.Receive(rank->rank, round);
      if (!receive.ok()) Fail(receive.status());
      Landing<double> &landing = landings.emplace_back();
      if (!receive.ok() || receive->peer < 0) continue;
      const int64_t chunks = shape.chunks(), first = receive->begin, last = first + receive->count;
      // The slice's share of what there is of all parts, one behind the other.
      const int64_t all = ChunkBegin(c.parts, chunks, last) - ChunkBegin(c.parts, chunks, first);
      const int64_t from = PartBegin(all, c.slices, SliceOf(slot));
      const int64_t to = PartBegin(all, c.slices, SliceOf(slot) + 1);
      int64_t at = 0;
      for (uint32_t part = 0; part < c.parts.size(); ++part) {
        const int64_t begin = std::max(at, from);
        at += PartBegin(c.parts[part], chunks, last) - PartBegin(c.parts[part], chunks, first);
        if (const int64_t end = std::min(at, to); begin < end)
          landing.ends.emplace_back(part, double(end - from) * c.element_bytes);
      }
    }
  }
  ends = PartEnds(c.parts.size(), landings);
  return ends;
}

void Simulation::BeginParts(size_t first) {
  const ModelCommunication &c = model_.communications[CommunicationOf(first)];
  if (HasParts(c)) communications_[first].unreleased.assign(c.parts.size(), c.slices);
}

void Simulation::Release(size_t slot, uint32_t round, double bytes) {
  const std::vector<PartEnd<double>> &ends = PartEndsOf(slot);
  Communication &c = communications_[slot];
  Communication &first = communications_[slot - SliceOf(slot)];
  Rank *rank = RankOf(slot);
  bool any = false;
  for (; c.released < ends.size(); ++c.released) {
    const PartEnd<double> &end = ends[c.released];
    if (end.round > round || (end.round == round && end.bytes > bytes)) break;
    if (--first.unreleased[end.part] != 0) continue;
    any = true;
    rank->calls.Release(&rank->of_calls[c.call % kInFlight],
                        model_.communications[c.index].instruction, end.part, now_, &actions_);
  }
  if (any) Act(rank);
}

void Simulation::TakeProgress(const Progress &progress) {
  Rank *rank = &ranks_[size_t(network_.to(progress.channel))];
  const MessageTag tag{progress.call, model_.communications[progress.communication].key_id, 0,
                       progress.round};
  const uint32_t *slot = rank->matcher.Posted(tag);
  // What comes before its receive is posted is there when all of it is.
  if (slot == nullptr || !communications_[*slot].tells) return;
  Release(*slot, communications_[*slot].exchange.recv().index, progress.bytes);
}

}  // namespace commsched::runtime::simulator
