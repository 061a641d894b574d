// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Arrivals.h"

#include "passes/schedule/solver/Order.h"

#include <algorithm>

namespace commsched::schedule {

namespace {

int64_t sizeOf(const Piece &piece) { return piece.end - piece.begin; }

} // namespace

std::vector<Time> leadsOf(const Problem &problem, const Message &message) {
  const Communication &first = problem.communications[message.pieces.front().communication];
  std::vector<Time> leads(message.pieces.size());
  if (first.tail == 0 || message.pieces.size() < 2)
    return leads;
  int64_t bytes = 0, tail = 0;
  for (const Piece &piece : message.pieces) {
    const Communication &own = problem.communications[piece.communication];
    bytes += sizeOf(piece);
    tail += stageBytes(own, {own.stages.back().link, own.tail, 0, 0}, piece.begin, piece.end);
  }
  __int128 whole = static_cast<__int128>(tail) * 1'000'000'000 /
                   problem.links[first.stages.back().link].bytesPerSecond;
  int64_t left = bytes;
  for (size_t i = 0; i < leads.size(); ++i) {
    left -= sizeOf(message.pieces[i]);
    leads[i] = static_cast<Time>(whole * left / bytes);
  }
  return leads;
}

bool hasTails(const Problem &problem) {
  return std::any_of(problem.communications.begin(), problem.communications.end(),
                     [](const Communication &own) { return own.tail > 0; });
}

void arrangePieces(const Problem &problem, Schedule &schedule) {
  if (!hasTails(problem))
    return;
  View view(problem, schedule.order);
  for (Message &message : schedule.messages) {
    if (problem.communications[message.pieces.front().communication].tail == 0)
      continue;
    std::vector<size_t> places;
    std::vector<Piece> wholes;
    for (size_t i = 0; i < message.pieces.size(); ++i) {
      const Piece &piece = message.pieces[i];
      if (sizeOf(piece) == problem.communications[piece.communication].bytes) {
        places.push_back(i);
        wholes.push_back(piece);
      }
    }
    std::stable_sort(wholes.begin(), wholes.end(), [&](const Piece &a, const Piece &b) {
      return view.needed[a.communication] < view.needed[b.communication];
    });
    for (size_t i = 0; i < places.size(); ++i)
      message.pieces[places[i]] = wholes[i];
  }
}

} // namespace commsched::schedule
